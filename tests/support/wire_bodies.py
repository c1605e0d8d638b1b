"""Bodies of create and edit, and the refusals of them."""

from __future__ import annotations

from typing import Any

import pytest

from bot.core import exact_json
from bot.core.errors import InvalidBody
from bot.interface import bodies, refusals
from bot.service.api import calls, from_bodies
from bot.service.requests import changes
from tests.support.service_harness import NEW

NOW = 1_800_000_000_000


def body(**fields: Any) -> str:
    return exact_json.dumps(NEW | fields)


def read_create(text: str) -> changes.Creation:
    given = calls.read_object(text)
    return from_bodies.creation(refusals.checked(bodies.CreateBody, given), NOW)


def read_edit(text: str) -> changes.Edit:
    given = calls.read_object(text)
    return from_bodies.edit(refusals.checked(bodies.EditBody, given), NOW)


def refused(text: str, *, edit: bool = False) -> dict[str, str]:
    """Read a body that must be refused; return the problems by field."""
    read = read_edit if edit else read_create
    with pytest.raises(InvalidBody) as refusal:
        read(text)
    return {one.field: one.message for one in refusal.value.info}


def webhook(parameters: Any) -> dict[str, Any]:
    return {"webhook": {"webhookUrl": "https://h.example", "customParameters": parameters}}
