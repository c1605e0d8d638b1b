"""Parsing of the service's HTTP answers: their JSON, or the error for a status and body.

Only the embedded service has the calls about files and codes.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from http import HTTPStatus
from typing import Any

from bot.chat.model import request_spec
from bot.core import errors, exact_json
from bot.core.net import http_client

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


def parse_reply(reply: http_client.Reply) -> Any:
    """Return the JSON of an answer. Raises the matching error if the call failed."""
    status = reply.status
    if status == HTTPStatus.TOO_MANY_REQUESTS:
        raise errors.Throttled(f"the server answered {status}", _retry_after(reply))
    if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        raise errors.Overloaded(f"the server answered {status}", _retry_after(reply))
    if HTTPStatus.MULTIPLE_CHOICES <= status < HTTPStatus.BAD_REQUEST:
        raise errors.BadAnswer(f"the server redirects ({status}): check PAYMENTS_URL")
    data = _json(reply)
    if _is_success(reply):
        return data
    raise _refusal(status, data)


def _is_success(reply: http_client.Reply) -> bool:
    return HTTPStatus.OK <= reply.status < HTTPStatus.MULTIPLE_CHOICES


def _json(reply: http_client.Reply) -> Any:
    if not reply.body:
        return None
    try:
        return exact_json.loads(reply.body)
    except ValueError as error:
        if _is_success(reply):
            raise errors.BadAnswer("the answer is no JSON") from error
        return None


def _refusal(status: int, data: Any) -> errors.BotError:
    body = data if isinstance(data, dict) else {}
    if status == HTTPStatus.METHOD_NOT_ALLOWED:
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


def _retry_after(reply: http_client.Reply) -> int | None:
    """Return the seconds to wait; a Retry-After date is compared with the server's own Date."""
    server_time = http_client.read_date(reply.headers.get("Date"))
    now = datetime.now(UTC).timestamp() if server_time is None else server_time
    return http_client.read_retry_after(reply.headers.get("Retry-After"), int(now * 1000)) or None


@dataclass(frozen=True, slots=True)
class StoredFile:
    """A file that the service keeps."""

    id: str
    name: str
    size: int
    """Bytes."""


@dataclass(frozen=True, slots=True)
class AddedCodes:
    """The numbers of a request's codes after some were added."""

    total: int
    added: int
    """New codes."""
    assigned: int
    waiting: int
    """Buyers who still wait for a code."""

    @property
    def in_all(self) -> request_spec.CodeCounts:
        """Return the counts as in the request's answer."""
        return request_spec.CodeCounts(self.total, self.assigned, self.waiting)


def read_file(data: Any) -> StoredFile:
    """Parse the answer about a file. Raises BadAnswer."""
    try:
        return StoredFile(str(data["id"]), str(data["name"]), int(data["size"]))
    except (KeyError, TypeError, ValueError) as error:
        raise errors.BadAnswer("the answer is no file") from error


def read_added(data: Any) -> AddedCodes:
    """Parse the answer about added codes. Raises BadAnswer."""
    try:
        return AddedCodes(*(int(data[name]) for name in ("total", "added", "assigned", "waiting")))
    except (KeyError, TypeError, ValueError) as error:
        raise errors.BadAnswer("the answer is no count of codes") from error
