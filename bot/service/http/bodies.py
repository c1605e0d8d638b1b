"""Bodies of requests as text, and the Idempotency-Key of a call with its body."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bot.core import exact_json
from bot.core.errors import FieldProblem, InvalidBody, UnsupportedMediaType
from bot.core.net import request_body
from bot.service.http.openapi import IDEMPOTENCY_KEY, MAX_KEY, OWNER
from bot.service.store.idempotency import CallKey
from bot.service.wire import body_parsing

if TYPE_CHECKING:
    from starlette.requests import Request

    from bot.service.usecases.request_commands import Caller

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


def call_key(request: Request, caller: Caller, text: str | None = None) -> CallKey | None:
    """Return the Idempotency-Key of a call with this JSON body, however that is spaced.

    Raises InvalidBody for a key that is empty or too long.
    """
    if IDEMPOTENCY_KEY not in request.headers:
        return None
    body = None if text is None else body_parsing.read_json(text)
    return key_about(request, caller, body)


def key_about(request: Request, caller: Caller, body: Any) -> CallKey | None:
    """Return what `call_key` does for a body that is a JSON value."""
    key = request.headers.get(IDEMPOTENCY_KEY)
    if key is None:
        return None
    if not 1 <= len(key) <= MAX_KEY:
        problem = FieldProblem(IDEMPOTENCY_KEY, f"must have 1 to {MAX_KEY} characters")
        raise InvalidBody(info=[problem])
    path, owner = request.scope["path"].rstrip("/"), request.headers.get(OWNER)
    call = exact_json.canonical([request.method, path, owner, body])
    return CallKey.of(caller.app_id, key, call, caller.now)
