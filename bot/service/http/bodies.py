"""Bodies of requests as text, and the Idempotency-Key that belongs to one."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from bot.core import exact_json
from bot.core.errors import FieldProblem, InvalidBody, UnsupportedMediaType
from bot.core.net import request_body
from bot.service.http.openapi import IDEMPOTENCY_KEY, MAX_KEY
from bot.service.store.apps import IdempotencyKey
from bot.service.wire import body_parsing

if TYPE_CHECKING:
    from starlette.requests import Request

FORM = "application/x-www-form-urlencoded"
JSON = "application/json"


async def read_text(request: Request, media_type: str, most: int = request_body.MAX_BODY) -> str:
    """Read the body of up to `most` bytes, which must have this media type.

    Raises UnsupportedMediaType, InvalidBody for text that is not UTF-8, and the errors of
    `request_body.read`.
    """
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != media_type:
        raise UnsupportedMediaType(f"Send the body as {media_type}.")
    try:
        return (await request_body.read(request, most)).decode()
    except UnicodeDecodeError:
        raise InvalidBody("The body is not UTF-8.") from None


def idempotency_key(request: Request, text: str) -> IdempotencyKey | None:
    """Return the key of the header with the hash of the JSON body, however it is spaced.

    Raises InvalidBody for a key that is empty or too long.
    """
    header = request.headers.get(IDEMPOTENCY_KEY)
    if header is None:
        return None
    if not 1 <= len(header) <= MAX_KEY:
        problem = FieldProblem(IDEMPOTENCY_KEY, f"must have 1 to {MAX_KEY} characters")
        raise InvalidBody(info=[problem])
    body = exact_json.canonical(body_parsing.read_json(text))
    return IdempotencyKey(header, hashlib.sha256(body.encode()).hexdigest())
