"""The service's HTTP answers: their JSON, or the error for a status and body."""

from __future__ import annotations

from datetime import UTC, datetime
from http import HTTPStatus
from typing import Annotated, Any, TypeAlias

from pydantic import PlainValidator

from bot.chat.model import lenient
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


class SentProblem(lenient.Sent):
    """A problem of one field."""

    field: Annotated[str, PlainValidator(str)] = ""
    message: Annotated[str, PlainValidator(str)] = ""
    code: Annotated[str | None, PlainValidator(lambda code: str(code) if code else None)] = None


Problems: TypeAlias = list[Annotated[SentProblem | None, lenient.IfReadable]]


class SentRefusal(lenient.Sent):
    """The body of a refusal."""

    code: Any = None
    message: lenient.TextOrNone = None
    info: Annotated[Problems | None, lenient.IfReadable] = None


def _refusal(status: int, data: object) -> errors.BotError:
    if status == HTTPStatus.METHOD_NOT_ALLOWED:
        return errors.MethodNotAllowed()
    sent = lenient.read_or_none(SentRefusal, data) or SentRefusal()
    if sent.code == errors.WrongState.code:
        return errors.WrongState("settled otherwise")
    kind = BY_CODE.get(str(sent.code)) or REFUSALS.get(status)
    if kind is None:
        return errors.BadAnswer(f"the server answered {status}")
    problems = [one for one in sent.info or () if one is not None]
    return kind(
        sent.message,
        [errors.FieldProblem(one.field, one.message, one.code) for one in problems],
    )


def _retry_after(reply: http_client.Reply) -> int | None:
    """Return the seconds to wait; a Retry-After date is compared with the server's own Date."""
    server_time = http_client.read_date(reply.headers.get("Date"))
    now = datetime.now(UTC).timestamp() if server_time is None else server_time
    return http_client.read_retry_after(reply.headers.get("Retry-After"), int(now * 1000)) or None
