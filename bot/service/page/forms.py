"""Requests of a payer's browser: the address, the language, the fields of a form."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import parse_qsl

from bot.core.errors import InvalidBody
from bot.service.http import bodies
from bot.service.page.reader import Reader, reader_of

if TYPE_CHECKING:
    from fastapi import Request


MAX_FIELDS = 20


def reader(request: Request) -> Reader:
    """Return the reader of the answer."""
    return reader_of(request.headers.get("accept-language", ""))


def request_id(request: Request) -> str:
    """Return the id of the payment request in the address."""
    found: str = request.path_params["id"]
    return found


async def read(request: Request) -> dict[str, str]:
    """Return the fields of a posted form. Raises InvalidBody and the errors of `read_text`."""
    text = await bodies.read_text(request, bodies.FORM)
    try:
        pairs = parse_qsl(text, keep_blank_values=True, max_num_fields=MAX_FIELDS)
    except ValueError:
        raise InvalidBody("The form has too many fields.") from None
    return dict(pairs)
