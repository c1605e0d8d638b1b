"""Bodies of create and edit, and the refusals of them."""

from __future__ import annotations

from typing import Any

import pytest

from bot.core import exact_json
from bot.core.errors import InvalidBody
from bot.service.wire import body_parsing
from tests.support.service_harness import NEW

NOW = 1_800_000_000_000


def body(**fields: Any) -> str:
    return exact_json.dumps(NEW | fields)


def refused(text: str, *, edit: bool = False) -> dict[str, str]:
    """Read a body that must be refused; return the problems by field."""
    read = body_parsing.read_edit if edit else body_parsing.read_create
    with pytest.raises(InvalidBody) as refusal:
        read(text, NOW)
    return {one.field: one.message for one in refusal.value.info}


def webhook(parameters: Any) -> dict[str, Any]:
    return {"webhook": {"webhookUrl": "https://h.example", "customParameters": parameters}}
