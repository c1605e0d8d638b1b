"""Answers over HTTP: their JSON, or the error that their status and body stand for."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import httpx

from bot.core import errors, exact_json
from bot.core.net.http_client import read_date, read_retry_after

REFUSALS: dict[int, type[errors.Refused]] = {
    400: errors.InvalidBody,
    401: errors.Unauthorized,
    403: errors.Unauthorized,
    404: errors.NotFound,
    409: errors.NotEnoughUnits,
    413: errors.BodyTooLarge,
    415: errors.UnsupportedMediaType,
    422: errors.InvalidBody,
}
BY_CODE: dict[str, type[errors.Refused]] = {
    kind.code: kind
    for kind in (
        errors.InvalidBody,
        errors.EmailUnavailable,
        errors.Unauthorized,
        errors.NotFound,
        errors.NotLimited,
        errors.NotEnoughUnits,
        errors.BuyersWait,
        errors.NoCodes,
        errors.TooManyFiles,
        errors.IdempotencyMismatch,
    )
}


def parse_response(response: httpx.Response) -> Any:
    """Return the JSON of an answer. Raises the error that a failed one stands for."""
    status = response.status_code
    if status == httpx.codes.TOO_MANY_REQUESTS:
        raise errors.Throttled(f"the server answered {status}", _retry_after(response))
    if status >= httpx.codes.INTERNAL_SERVER_ERROR:
        raise errors.Overloaded(f"the server answered {status}", _retry_after(response))
    if response.is_redirect:
        raise errors.BadAnswer(f"the server redirects ({status}): check PAYMENTS_URL")
    data = _json(response)
    if response.is_success:
        return data
    raise _refusal(status, data)


def _json(response: httpx.Response) -> Any:
    if not response.content:
        return None
    try:
        return exact_json.loads(response.content)
    except ValueError as error:
        if response.is_success:
            raise errors.BadAnswer("the answer is no JSON") from error
        return None


def _refusal(status: int, data: Any) -> errors.BotError:
    body = data if isinstance(data, dict) else {}
    if status == httpx.codes.METHOD_NOT_ALLOWED:
        return errors.MethodNotAllowed()
    if body.get("code") == errors.WrongState.code:
        return errors.WrongState("settled otherwise")
    kind = BY_CODE.get(str(body.get("code"))) or REFUSALS.get(status)
    if kind is None:
        return errors.BadAnswer(f"the server answered {status}")
    message = body.get("message")
    return kind(message if isinstance(message, str) else None, _problems(body.get("info")))


def _problems(info: Any) -> list[errors.FieldProblem]:
    if not isinstance(info, list):
        return []
    return [
        errors.FieldProblem(
            str(item.get("field", "")),
            str(item.get("message", "")),
            str(item["code"]) if item.get("code") else None,
        )
        for item in info
        if isinstance(item, dict)
    ]


def _retry_after(response: httpx.Response) -> int | None:
    """Return the seconds to wait; a Retry-After date is compared with the server's own Date."""
    server_time = read_date(response.headers.get("Date"))
    now = datetime.now(UTC).timestamp() if server_time is None else server_time
    return read_retry_after(response.headers.get("Retry-After"), int(now * 1000)) or None
