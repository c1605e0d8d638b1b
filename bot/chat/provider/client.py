"""The payment request service over HTTP: typed calls, typed errors.

Needs nothing but the published interface, so any server that speaks it will do;
what only some servers have (pages, a list of payments) is asked for and done
without.
"""

from __future__ import annotations

from contextlib import aclosing
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import quote, urlencode

import httpx
import structlog

from bot.chat.model import answers
from bot.core import errors, exact_json
from bot.core.net import http_client
from bot.core.net.retry_after import read_date, read_retry_after

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Mapping, Sequence

    from bot.chat.model.answers import Answer, Paid

log = structlog.get_logger()
T = TypeVar("T")

PATH = "/v3/paymentRequests"
TIMEOUT = httpx.Timeout(15.0, connect=5.0)
LONGEST_EXPIRATION = 315_360_000
"""Seconds; the interface has no way to say `never` that every server knows."""
CLOCKS_APART = 24 * 3600 * 1000
"""Milliseconds that a server's clock may be behind ours."""
PAGE = 100
"""Items to a page, where the server gives pages at all; the interface's list is whole."""

UNSENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout)
"""Failures before a word of the call has left."""

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


class Client:
    """One application's calls; the credentials go to `base_url` and nowhere else.

    `owners`: that server is ours, and is told which seller a request is made for.
    """

    def __init__(
        self, base_url: str, app_id: str, app_secret: str, *, owners: bool = False
    ) -> None:
        self._owners = owners
        self._http = httpx.AsyncClient(
            base_url=base_url,
            headers={"App-Id": app_id, "App-Secret": app_secret, "Accept": "application/json"},
            timeout=TIMEOUT,
            follow_redirects=False,
            verify=http_client.context(),
            trust_env=http_client.leaves_network(base_url),
            limits=httpx.Limits(max_connections=8),
        )

    async def create(self, body: Mapping[str, Any], key: str, owner: str = "") -> Answer:
        """Create a request (4.1) for a seller; the same `key` again gives the same request."""
        headers = {"Idempotency-Key": key}
        if owner and self._owners:
            headers["Owner-Ref"] = owner
        return answers.request(await self._call("POST", PATH, body, headers))

    async def get(self, request_id: str) -> Answer:
        """Give one request as it is now; NotFound where it is gone."""
        answer, _ = await self.get_with_fields(request_id)
        return answer

    async def get_with_fields(self, request_id: str) -> tuple[Answer, Mapping[str, Any]]:
        """Give one request as it is now, with all that its server tells; NotFound where it is gone.

        The interface has no such call: a server without it is asked for its list.
        """
        try:
            told = await self._call("GET", _path(request_id))
            return answers.request(told), told
        except (errors.NotFound, errors.MethodNotAllowed):
            async with aclosing(self._pages(PATH)) as pages:
                async for page in pages:
                    for item in page:
                        if _is(item, lambda item: item.get("id") == request_id):
                            return answers.request(item), item
            raise errors.NotFound from None

    async def request_pages(self) -> AsyncGenerator[list[Answer], None]:
        """Give the requests of the application (4.2), at most `PAGE` at a time.

        What can't be read is left out.
        """
        async with aclosing(self._pages(PATH)) as pages:
            async for page in pages:
                yield _readable(page, answers.request, "requests")

    async def check_access(self) -> None:
        """Ask for the first of our requests, only to hear whether we are answered.

        Raises PeerError and Refused.
        """
        async with aclosing(self.request_pages()) as pages:
            await anext(pages, None)

    async def payment_pages(self, request_id: str) -> AsyncGenerator[list[Paid], None]:
        """Give a request's payments, newest first, at most `PAGE` at a time.

        The interface has no such call: NotFound or MethodNotAllowed where the server has none.
        """
        async with aclosing(self._pages(f"{_path(request_id)}/payments")) as pages:
            async for page in pages:
                yield _readable(page, answers.payment, "payments")

    async def find_by_listing(self, listing_id: str, since: int) -> Sequence[Answer]:
        """Give the requests that were created for this listing, oldest first as far as told.

        None was before `since` (epoch ms), so a list that goes back in time is read no further.
        More than one only where the server made a lost create twice.
        """
        found = []
        async with aclosing(self._pages(PATH)) as pages:
            async for page in pages:
                found += [
                    item for item in page
                    if _is(item, lambda item: answers.listing_of(item) == listing_id)
                ]  # fmt: skip
                if answers.are_before(page, since - CLOCKS_APART):
                    break
        return [answers.request(item) for item in sorted(found, key=answers.created_at)]

    async def _pages(self, path: str) -> AsyncGenerator[Sequence[Any], None]:
        """Give a list page by page, in pieces where the server gives it whole."""
        seen: set[str | None] = {None}
        data = await self._first_page(path)
        while True:
            items = data.get("items") if isinstance(data, dict) else None
            if not isinstance(items, list):
                raise errors.BadAnswer("the list has no items")
            for start in range(0, len(items), PAGE):
                yield items[start : start + PAGE]
            cursor = data.get("nextCursor")
            if not isinstance(cursor, str):
                return
            if cursor in seen:
                raise errors.BadAnswer("the list never ends")
            seen.add(cursor)
            data = await self._call("GET", _asking(path, cursor=cursor))

    async def _first_page(self, path: str) -> Any:
        """Not every server takes a parameter that the interface doesn't have."""
        try:
            return await self._call("GET", _asking(path))
        except errors.InvalidBody:
            return await self._call("GET", path)

    async def edit(self, request_id: str, body: Mapping[str, Any]) -> Answer | None:
        """Change what `body` names, null clears (4.3); the request as it then is, where told.

        The interface says neither what a server answers nor that it knows null.
        """
        path = _path(request_id)
        try:
            told = await self._call("PUT", path, body)
        except errors.InvalidBody:
            plain = _without_null(body)
            if plain == body:
                raise
            told = await self._call("PUT", path, plain)
        return next(iter(_readable([told], answers.request, "edited requests")), None)

    async def stop(self, request_id: str) -> None:
        """End a request now, by an edit (4.3)."""
        await self.edit(request_id, {"expirationInSeconds": 1})

    async def resume(self, request_id: str, seconds: int | None) -> None:
        """Let a stopped request be paid again for so long, None for ever, by an edit (4.3)."""
        await self.edit(request_id, {"expirationInSeconds": seconds})

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
        content = exact_json.dumps(body).encode() if body is not None else None
        kind = {"Content-Type": "application/json"} if content is not None else {}
        try:
            response = await self._http.request(
                method, path, content=content, headers={**kind, **(headers or {})}
            )
        except UNSENT as error:
            what = f"{type(error).__name__} at {method} {path}"
            raise errors.NotReached(f"{what}: {error}".rstrip(": ")) from error
        except httpx.HTTPError as error:
            raise errors.Unreachable(f"{type(error).__name__} at {method} {path}") from error
        return _read(response)


def _path(request_id: str) -> str:
    """Another server's ids may be any text."""
    return f"{PATH}/{quote(request_id, safe='')}"


def _asking(path: str, **more: str) -> str:
    return f"{path}?{urlencode({'limit': PAGE, **more})}"


def _without_null(body: Mapping[str, Any]) -> dict[str, Any]:
    """Give an edit's body for a server that can't clear: the longest time, empty words."""
    return {
        name: _without_null(value) if isinstance(value, dict)
        else value if value is not None
        else LONGEST_EXPIRATION if name == "expirationInSeconds" else ""
        for name, value in body.items()
    }  # fmt: skip


def _read(response: httpx.Response) -> Any:
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


def _retry_after(response: httpx.Response) -> int | None:
    """Seconds to wait; a date is meant by the server's own clock."""
    sent = read_date(response.headers.get("Date"))
    now = datetime.now(UTC).timestamp() if sent is None else sent
    return read_retry_after(response.headers.get("Retry-After"), int(now * 1000)) or None


def _readable(items: Sequence[Any], read: Callable[[Any], T], what: str) -> list[T]:
    """Give what can be read; the rest keeps nobody from it."""
    found = []
    for item in items:
        try:
            found.append(read(item))
        except errors.BadAnswer:
            continue
    if len(found) < len(items):
        log.debug("items that nobody can read", of=what, number=len(items) - len(found))
    return found


def _is(item: Any, wanted: Callable[[Mapping[str, Any]], bool]) -> bool:
    try:
        return wanted(item)
    except AttributeError:
        return False
