"""What a payer's browser sends: the address, the language, the fields of a form."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import parse_qsl

from bot.core.errors import InvalidBody
from bot.service.http import bodies
from bot.service.page import view

if TYPE_CHECKING:
    from fastapi import Request

    from bot.service.page.view import Reader

MAX_FIELDS = 20


def reader(request: Request) -> Reader:
    """Return who reads the answer."""
    return view.reader(request.headers.get("accept-language", ""))


def request_id(request: Request) -> str:
    """Return the id of the payment request in the address."""
    found: str = request.path_params["id"]
    return found


async def read(request: Request) -> dict[str, str]:
    """Return the fields of a posted form. Raises InvalidBody and what `bodies.read` raises."""
    text = await bodies.read_text(request, bodies.FORM)
    try:
        pairs = parse_qsl(text, keep_blank_values=True, max_num_fields=MAX_FIELDS)
    except ValueError:
        raise InvalidBody("The form has too many fields.") from None
    return dict(pairs)
