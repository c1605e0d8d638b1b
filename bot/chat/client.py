"""The payment request service over HTTP: typed calls, typed errors.

Speaks nothing but the published interface, so any server that speaks it will
do. Where answers differ from server to server (dates as text or number, fields
left out), they are read in every form.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import httpx
import structlog

from bot.core import errors, exact, outgoing

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

log = structlog.get_logger()

PATH = "/v3/paymentRequests"
TIMEOUT = httpx.Timeout(15.0, connect=5.0)
LONGEST_EXPIRATION = 315_360_000
"""Seconds; the interface has no way to say `never` that every server knows."""
LONGEST_TEXT = 2048
"""Characters of an id or a link; a longer one fits no QR code and no button."""
MOST_UNITS = 10**12
"""Far more than any request has; what lies beyond can't even be written out."""

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
        errors.IdempotencyMismatch,
    )
}


@dataclass(frozen=True, slots=True)
class Answer:
    """A payment request as the server tells it (interface, section 2.2); times in epoch ms.

    `reserved_units` are being paid for, where the server tells.
    """

    id: str
    url: str
    is_enabled: bool
    total_units: int | None
    remaining_units: int | None
    enabled_at: int | None
    expires_at: int | None
    listing_id: str | None
    reserved_units: int = 0

    def with_left(self, remaining_units: int, reserved_units: int) -> Answer:
        """Give the same request with this many units left, and this many being paid for."""
        return replace(self, remaining_units=remaining_units, reserved_units=reserved_units)

    def to_json(self) -> dict[str, Any]:
        """Give what `from_json` reads."""
        return {name: getattr(self, name) for name in self.__slots__}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Answer:
        """Read what `to_json` gave."""
        return cls(**data)


class Client:
    """One application's calls; the credentials go to `base_url` and nowhere else."""

    def __init__(self, base_url: str, app_id: str, app_secret: str) -> None:
        self._http = httpx.AsyncClient(
            base_url=base_url,
            headers={"App-Id": app_id, "App-Secret": app_secret, "Accept": "application/json"},
            timeout=TIMEOUT,
            follow_redirects=False,
            verify=outgoing.context(),
            trust_env=outgoing.leaves_network(base_url),
            limits=httpx.Limits(max_connections=8),
        )

    async def create(self, body: Mapping[str, Any], key: str) -> Answer:
        """Create a request (4.1); the same `key` again gives the same request."""
        return _answer(await self._call("POST", PATH, body, {"Idempotency-Key": key}))

    async def get(self, request_id: str) -> Answer:
        """Give one request as it is now; NotFound where it is gone.

        The interface has no such call: a server without it is asked for its list.
        """
        try:
            return _answer(await self._call("GET", _path(request_id)))
        except (errors.NotFound, errors.MethodNotAllowed):
            for item in await self._items():
                if isinstance(item, dict) and item.get("id") == request_id:
                    return _answer(item)
            raise errors.NotFound from None

    async def list(self) -> list[Answer]:
        """Give the requests of the application (4.2); what can't be read is left out."""
        items = await self._items()
        found = [answer for item in items if (answer := _readable(item))]
        if len(found) < len(items):
            log.warning("requests that nobody can read", number=len(items) - len(found))
        return found

    async def _items(self) -> Sequence[Any]:
        data = await self._call("GET", PATH)
        items = data.get("items") if isinstance(data, dict) else None
        if not isinstance(items, list):
            raise errors.BadAnswer("the list has no items")
        return items

    async def find(self, listing_id: str) -> Answer | None:
        """Give the request that was created for this listing, if there is one."""
        for item in await self._items():
            if _is_of(item, listing_id):
                return _answer(item)
        return None

    async def stop(self, request_id: str) -> None:
        """End a request now, by an edit (4.3)."""
        await self._call("PUT", _path(request_id), {"expirationInSeconds": 1})

    async def resume(self, request_id: str) -> None:
        """Let a stopped request be paid again, by an edit (4.3)."""
        path = _path(request_id)
        try:
            await self._call("PUT", path, {"expirationInSeconds": None})
        except errors.InvalidBody:
            await self._call("PUT", path, {"expirationInSeconds": LONGEST_EXPIRATION})

    async def delete(self, request_id: str) -> None:
        """Remove a request (4.4); one that is gone already is no error."""
        try:
            await self._call("DELETE", _path(request_id))
        except errors.NotFound:
            return

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def _call(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Any:
        content = exact.dumps(body).encode() if body is not None else None
        kind = {"Content-Type": "application/json"} if content is not None else {}
        try:
            response = await self._http.request(
                method, path, content=content, headers={**kind, **(headers or {})}
            )
        except httpx.HTTPError as error:
            raise errors.Unreachable(f"{type(error).__name__} at {method} {path}") from error
        return _read(response)


def _path(request_id: str) -> str:
    """Another server's ids may be any text."""
    return f"{PATH}/{quote(request_id, safe='')}"


def _read(response: httpx.Response) -> Any:
    status = response.status_code
    if status == httpx.codes.TOO_MANY_REQUESTS or status >= httpx.codes.INTERNAL_SERVER_ERROR:
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
        return exact.loads(response.content)
    except ValueError as error:
        if response.is_success:
            raise errors.BadAnswer("the answer is no JSON") from error
        return None


def _refusal(status: int, data: Any) -> errors.BotError:
    told = data if isinstance(data, dict) else {}
    if status == httpx.codes.METHOD_NOT_ALLOWED:
        return errors.MethodNotAllowed()
    kind = BY_CODE.get(str(told.get("code"))) or REFUSALS.get(status)
    if kind is None:
        return errors.BadAnswer(f"the server answered {status}")
    message = told.get("message")
    return kind(message if isinstance(message, str) else None, _problems(told.get("info")))


def _problems(info: Any) -> list[errors.FieldProblem]:
    if not isinstance(info, list):
        return []
    return [
        errors.FieldProblem(str(item.get("field", "")), str(item.get("message", "")))
        for item in info
        if isinstance(item, dict)
    ]


def _retry_after(response: httpx.Response) -> float | None:
    told = response.headers.get("Retry-After", "")
    return float(told) if told.isascii() and told.isdigit() else None


def _answer(data: Any) -> Answer:
    try:
        return Answer(
            id=_text(data["id"]),
            url=_text(data["paymentRequestUrl"]),
            is_enabled=data.get("isEnabled") is not False,
            total_units=_whole(data.get("totalUnits")),
            remaining_units=_whole(data.get("remainingUnits")),
            enabled_at=_time(data.get("enabledAt")),
            expires_at=_time(data.get("expiresAt")),
            listing_id=_listing(data),
            reserved_units=_whole(data.get("reservedUnits")) or 0,
        )
    except (KeyError, TypeError, AttributeError, ValueError, ArithmeticError) as error:
        raise errors.BadAnswer("the answer is no payment request") from error


def _readable(data: Any) -> Answer | None:
    try:
        return _answer(data)
    except errors.BadAnswer:
        return None


def _is_of(data: Any, listing_id: str) -> bool:
    """Whether an item is this listing's, however little else of it can be read."""
    try:
        return _listing(data) == listing_id
    except AttributeError:
        return False


def _text(value: Any) -> str:
    if not isinstance(value, str) or not 0 < len(value) <= LONGEST_TEXT or not value.isprintable():
        raise TypeError(value)
    return value


def _whole(value: Any) -> int | None:
    """A number of units; None also for one that nobody can mean."""
    number = Decimal(-1 if value is None else value)
    return int(number) if 0 <= number <= MOST_UNITS else None


def _time(value: Any) -> int | None:
    """Epoch ms of an ISO 8601 text or of Unix seconds (the interface shows both)."""
    if value is None:
        return None
    if isinstance(value, int | Decimal):
        return int(value * 1000)
    moment = datetime.fromisoformat(value)
    return int(moment.replace(tzinfo=moment.tzinfo or UTC).timestamp() * 1000)


def _listing(data: Mapping[str, Any]) -> str | None:
    webhook = (data.get("notifications") or {}).get("webhook") or {}
    told = webhook.get("customParameters") or data.get("customParameters") or {}
    value = told.get("listing")
    return str(value) if value is not None else None
