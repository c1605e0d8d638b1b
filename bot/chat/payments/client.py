"""Client of the payment request service: typed calls and typed errors over HTTP.

The client works with every server of the published interface. It first tries extensions that only
some servers have (pages, a request by its id, a list of payments), then falls back to the
interface.
"""

from __future__ import annotations

import asyncio
import hashlib
import re
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping, Sequence
from contextlib import aclosing, suppress
from copy import copy
from datetime import UTC, datetime
from functools import partial
from http import HTTPStatus
from operator import itemgetter
from typing import Annotated, Any, TypeAlias, TypeVar
from urllib.parse import quote, urlencode

import structlog
from pydantic import PlainValidator

from bot.chat.model import lenient, payout, remote_request
from bot.chat.store.receipt_rows import Receipt, ReceiptKey, read_receipt
from bot.core import errors, exact_json
from bot.core.net import http_client
from bot.interface import answers, bodies, fields

log = structlog.get_logger()
T = TypeVar("T")

IDEMPOTENCY_KEY, _KEY_DIGITS = "Idempotency-Key", 16
PATH = "/v3/paymentRequests"
CHECKOUTS = "/v3/checkouts"
ACCOUNTS = "/v3/payoutAccounts"
SECONDS = 15.0
CONNECT_SECONDS = 5.0
WALLET_SECONDS = 40.0
"""The time limit if the service asks a wallet before it answers."""
FILES = "/v3/files"
UPLOAD_SECONDS = 60.0
PART = 64 * 1024
"""Bytes sent at a time, so that a file is in memory only once."""

ANY_TYPE = "application/octet-stream"
_MEDIA_TYPE = re.compile(r"[\w.+-]{1,60}/[\w.+-]{1,60}", re.ASCII)
_LONGEST_NAME = 120  # characters
_PATH_PARTS = frozenset("/\\")

CLOCKS_APART = 24 * 3600 * 1000
"""Milliseconds that a server's clock may be behind ours."""
PAGE = 100
"""Items per page on servers with pages; the interface returns the whole list."""


class Client:
    """The calls of one application; its credentials are only sent to `base_url`.

    If `owners` is set, the seller's reference is sent with a create; only the embedded service
    supports this. `http` calls that service within this process; without it, calls use the network.
    """

    job_key = ""
    """The id of the calling job, as the first part of Idempotency-Keys; "" to send no keys."""

    def __init__(
        self,
        base_url: str,
        app_id: str,
        app_secret: str,
        *,
        owners: bool = False,
        http: http_client.HttpClient | None = None,
    ) -> None:
        self._owners = owners
        self._read = partial(remote_request.read_request, is_embedded=owners)
        self._base_url = base_url
        self._headers = {"App-Id": app_id, "App-Secret": app_secret, "Accept": "application/json"}
        self._http = http or http_client.web_client(
            http_client.proxy_for(base_url), connect_seconds=CONNECT_SECONDS
        )

    def keyed(self, job: str) -> Client:
        """Return this client with an Idempotency-Key for each call of a job that changes something.

        If a job is repeated after a lost answer, a server that knows such keys changes nothing
        twice. Each body has its own key, because a body with seconds from now differs when the job
        is repeated.
        """
        view = copy(self)
        view.job_key = job
        return view

    async def create(
        self, body: Mapping[str, Any], key: str, owner: str = ""
    ) -> remote_request.RemoteRequest:
        """Create a request (interface 4.1); a repeated `key` returns the request made first."""
        headers = {IDEMPOTENCY_KEY: key}
        if owner and self._owners:
            headers["Owner-Ref"] = owner
        return self._read(await self._call("POST", PATH, body, headers))

    async def get(self, request_id: str) -> remote_request.RemoteRequest:
        """Fetch one request; raises NotFound."""
        answer, _ = await self.get_with_fields(request_id)
        return answer

    async def get_if_possible(self, request_id: str) -> remote_request.RemoteRequest | None:
        """Fetch a request after a change; None if the server fails. Raises NotFound."""
        try:
            return await self.get(request_id)
        except errors.NotFound:
            raise
        except (errors.PeerError, errors.Refused):
            return None

    async def get_with_fields(
        self, request_id: str
    ) -> tuple[remote_request.RemoteRequest, Mapping[str, Any]]:
        """Fetch one request, both parsed and as the JSON object sent; raises NotFound.

        The interface has no such call: on a server without the call, the list is searched.
        """
        try:
            sent = await self._call("GET", _path(request_id))
            return self._read(sent), sent
        except (errors.NotFound, errors.MethodNotAllowed):
            async with aclosing(self._pages(PATH)) as pages:
                async for page in pages:
                    for item in page:
                        if isinstance(item, dict) and item.get("id") == request_id:
                            return self._read(item), item
            raise errors.NotFound from None

    async def request_pages(self) -> AsyncGenerator[list[remote_request.RemoteRequest], None]:
        """Yield the requests of the application (interface 4.2), at most `PAGE` at a time.

        Unreadable items are skipped.
        """
        async with aclosing(self._pages(PATH)) as pages:
            async for page in pages:
                yield _readable(page, self._read, "requests")

    async def check_access(self) -> None:
        """Check that the server accepts our credentials; raises PeerError and Refused."""
        async with aclosing(self.request_pages()) as pages:
            await anext(pages, None)

    async def payment_pages(
        self, request_id: str
    ) -> AsyncGenerator[list[remote_request.SentPayment], None]:
        """Yield a request's payments, newest first, at most `PAGE` at a time.

        The interface has no such call: without it, NotFound or MethodNotAllowed is raised.
        """
        async with aclosing(self._pages(f"{_path(request_id)}/payments")) as pages:
            async for page in pages:
                yield _readable(page, remote_request.read_payment, "payments")

    async def find_by_link(
        self, link_id: str, since: int
    ) -> Sequence[remote_request.RemoteRequest]:
        """Return the requests that were created for a link, oldest first.

        There are several only if the server repeated a create whose answer was lost. None is older
        than `since` (epoch ms), so a list with the newest first is read only up to that time.
        """
        found: list[tuple[int, Any]] = []
        async with aclosing(self._pages(PATH)) as pages:
            async for page in pages:
                items = [remote_request.read_item(data) for data in page]
                found += [
                    (item.created_at or 0, data)
                    for item, data in zip(items, page, strict=True)
                    if item.link_id == link_id
                ]
                if remote_request.reaches_before(items, since - CLOCKS_APART):
                    break
        return [self._read(data) for _, data in sorted(found, key=itemgetter(0))]

    async def _pages(self, path: str) -> AsyncGenerator[Sequence[Any], None]:
        """Yield a list page by page; a list that is sent as a whole is cut into pages."""
        seen: set[str | None] = {None}
        try:
            data = await self._call("GET", _page_address(path))
        except errors.InvalidBody:  # the interface has no parameter `limit`
            data = await self._call("GET", path)
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
            data = await self._call("GET", _page_address(path, cursor=cursor))

    async def edit(
        self, request_id: str, body: Mapping[str, Any]
    ) -> remote_request.RemoteRequest | None:
        """Edit the fields in `body`, null clears (interface 4.3); return the request if sent.

        The interface defines neither the response nor null, so if a body with nulls is refused, it
        is sent again without nulls.
        """
        path = _path(request_id)
        try:
            sent = await self._call("PUT", path, body)
        except errors.InvalidBody:
            plain = _without_null(body)
            if plain == body:
                raise
            sent = await self._call("PUT", path, plain)
        return next(iter(_readable([sent], self._read, "edited requests")), None)

    async def pause(self, request_id: str) -> None:
        """Pause a request with an edit that ends it now (interface 4.3)."""
        await self.resume(request_id, 1)

    async def resume(self, request_id: str, seconds: int | None) -> None:
        """Resume a paused request for `seconds`, without an end if None (interface 4.3)."""
        body = bodies.EditBody.model_construct(expiration_in_seconds=seconds)
        await self.edit(request_id, written(body))

    async def delete(self, request_id: str) -> None:
        """Delete a request (interface 4.4), unless it is already deleted."""
        try:
            await self._call("DELETE", _path(request_id))
        except errors.NotFound:
            return

    async def confirm_checkout(self, checkout_id: str) -> str:
        """Confirm that a checkout's money arrived, and return the checkout's state; safe to repeat.

        Only the embedded service has this call and the next two. Raises NotFound and WrongState.
        """
        return _state(await self._call("POST", f"{_checkout_path(checkout_id)}/confirm"))

    async def reject_checkout(self, checkout_id: str) -> str:
        """Report that a claimed checkout's money is missing; otherwise like `confirm_checkout`."""
        return _state(await self._call("POST", f"{_checkout_path(checkout_id)}/reject"))

    async def checkout_state(self, checkout_id: str) -> str:
        """Return a checkout's state; raises NotFound."""
        return _state(await self._call("GET", _checkout_path(checkout_id)))

    async def receipt(self, key: ReceiptKey) -> Receipt:
        """Fetch a payer's receipt; raises NotFound.

        Only the embedded service has this call. Errors don't name the receipt, because its address
        is a secret.
        """
        part = f"{PATH}/public/{quote(key.request_id, safe='')}/receipts"
        try:
            sent = await self._call("GET", f"{part}/{quote(key.transaction_id, safe='')}")
        except errors.Unreachable as error:
            raise type(error)("no answer about a receipt") from None
        return read_receipt(sent)

    async def mark_payment(
        self, request_id: str, transaction_id: str, body: bodies.MarksBody
    ) -> bool:
        """Set the marks of a payment; return True if its payer gets an email. Safe to repeat.

        Only the embedded service has this call. Raises NotFound. Errors don't name the payment,
        because its ids form the receipt's address.
        """
        path = f"{_path(request_id)}/payments/{quote(transaction_id, safe='')}"
        try:
            data = await self._call("PUT", path, written(body))
        except errors.Unreachable as error:
            raise type(error)("no answer about the marks of a payment") from None
        sent = lenient.read_or_none(SentMark, data)
        return sent is not None and sent.payer_notified == "email"

    async def connect_account(
        self, owner: str, kind: str, details: dict[str, Any], *, dry_run: bool = False
    ) -> payout.PayoutAccount:
        """Connect a payout account, which replaces the owner's account of the same kind.

        With `dry_run`, the account is only checked. Raises InvalidBody, whose `info` names fields
        of `details`.
        """
        probe: dict[str, Any] = {"dry_run": True} if dry_run else {}
        body = bodies.PayoutBody.model_construct(owner=owner, kind=kind, details=details, **probe)
        return payout.read_account(
            await self._call("POST", ACCOUNTS, written(body), seconds=WALLET_SECONDS)
        )

    async def payout_accounts(self, owner: str) -> list[payout.PayoutAccount]:
        """Return an owner's payout accounts in the order in which they are used."""
        data = await self._call("GET", f"{ACCOUNTS}?{urlencode({'owner': owner})}")
        listed = lenient.read(answers.PayoutList, data, "list of payout accounts")
        return [payout.account_of(item) for item in listed.items]

    async def remove_account(self, account_id: str) -> None:
        """Remove a payout account, unless it is already removed."""
        with suppress(errors.NotFound):
            await self._call("DELETE", f"{ACCOUNTS}/{quote(account_id, safe='')}")

    async def keep_file(
        self, owner: str, name: str, media_type: str, data: bytes | bytearray
    ) -> answers.FileAnswer:
        """Store an owner's file for buyers; it is deleted after a week if no request names it.

        Only the embedded service has this call. Forbidden characters of the name are replaced, and
        an invalid media type becomes a generic one.
        """
        kept = "".join(
            char if char.isprintable() and char not in _PATH_PARTS else "_"
            for char in name[-_LONGEST_NAME:]
        )
        shown = {"name": kept.strip(" .") or "file"}
        address = f"{FILES}?{urlencode(shown, quote_via=quote)}"
        headers = {
            "Content-Type": media_type if _MEDIA_TYPE.fullmatch(media_type) else ANY_TYPE,
            "Content-Length": str(len(data)),
            "Owner-Ref": owner,
        }
        if self.job_key:
            content = await asyncio.to_thread(lambda: hashlib.sha256(data).digest())
            headers |= self._key_header("POST", address, content)

        async def parts() -> AsyncIterator[bytes]:
            for start in range(0, len(data), PART):
                yield bytes(data[start : start + PART])

        sent = await self._send("POST", address, parts(), headers, UPLOAD_SECONDS)
        return lenient.read(answers.FileAnswer, sent, "file")

    async def add_codes(self, request_id: str, codes: Sequence[str]) -> answers.AddedCodesAnswer:
        """Add codes for the buyers of a request; codes that the request already has are ignored."""
        body = bodies.CodesBody.model_construct(codes=[*codes])
        sent = await self._call("POST", f"{_path(request_id)}/codes", written(body))
        return lenient.read(answers.AddedCodesAnswer, sent, "count of codes")

    async def close(self) -> None:
        """Close the connections."""
        await self._http.close()

    async def _call(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
        seconds: float | None = None,
    ) -> Any:
        content = exact_json.dumps(body).encode() if body is not None else None
        kind = {"Content-Type": "application/json"} if content is not None else {}
        key = self._key_header(method, path, content or b"")
        return await self._send(method, path, content, {**key, **kind, **(headers or {})}, seconds)

    def _key_header(self, method: str, path: str, content: bytes) -> dict[str, str]:
        if not self.job_key or method == "GET":
            return {}
        digest = hashlib.sha256(f"{method} {path} ".encode() + content).hexdigest()
        return {IDEMPOTENCY_KEY: f"{self.job_key}-{digest[:_KEY_DIGITS]}"}

    async def _send(
        self,
        method: str,
        path: str,
        content: bytes | AsyncIterator[bytes] | None,
        headers: Mapping[str, str],
        seconds: float | None = None,
    ) -> Any:
        try:
            reply = await self._http.call(
                method,
                self._base_url + path,
                {**self._headers, **headers},
                content,
                seconds=seconds or SECONDS,
            )
        except errors.NotReached as error:
            raise errors.NotReached(f"{error} at {method} {path}") from error
        except errors.Unreachable as error:
            raise errors.Unreachable(f"{error} at {method} {path}") from error
        return _parse_reply(reply)


# Answers: their JSON, or the error for a status and body.


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


def _parse_reply(reply: http_client.Reply) -> Any:
    """Return the JSON of an answer. Raises the matching error if the call failed."""
    status = reply.status
    if status == HTTPStatus.TOO_MANY_REQUESTS:
        raise errors.Throttled(f"the server answered {status}", _retry_after(reply))
    if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        raise errors.Overloaded(f"the server answered {status}", _retry_after(reply))
    if HTTPStatus.MULTIPLE_CHOICES <= status < HTTPStatus.BAD_REQUEST:
        raise errors.BadAnswer(f"the server redirects ({status}): check PAYMENTS_URL")
    data, is_success = None, HTTPStatus.OK <= status < HTTPStatus.MULTIPLE_CHOICES
    try:
        data = exact_json.loads(reply.body) if reply.body else None
    except ValueError as error:
        if is_success:
            raise errors.BadAnswer("the answer is no JSON") from error
    if is_success:
        return data
    raise _refusal(status, data)


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


class SentCheckout(lenient.Sent):
    """A checkout, as far as it is read."""

    state: str


class SentMark(lenient.Sent):
    """A marked payment, as far as it is read."""

    payer_notified: Any = None


def _state(data: object) -> str:
    return lenient.read(SentCheckout, data, "checkout").state


def written(body: bodies.Body) -> dict[str, Any]:
    """Return the JSON object of a body, with the fields that were set; null clears a field."""
    return body.model_dump(by_alias=True, exclude_unset=True)


def _path(request_id: str) -> str:
    return f"{PATH}/{quote(request_id, safe='')}"  # an external server's ids may be any text


def _checkout_path(checkout_id: str) -> str:
    return f"{CHECKOUTS}/{quote(checkout_id, safe='')}"


def _page_address(path: str, **parameters: str) -> str:
    return f"{path}?{urlencode({'limit': PAGE, **parameters})}"


def _without_null(body: Mapping[str, Any]) -> dict[str, Any]:
    """Replace nulls with the longest time or an empty text, for servers that refuse null."""
    return {
        name: _without_null(value) if isinstance(value, dict)
        else value if value is not None
        else fields.MAX_SECONDS if name == "expirationInSeconds" else ""
        for name, value in body.items()
    }  # fmt: skip


def _readable(items: Sequence[Any], read: Callable[[Any], T], what: str) -> list[T]:
    """Return the readable items, so that an unreadable item doesn't hide the others."""
    found = []
    for item in items:
        try:
            found.append(read(item))
        except errors.BadAnswer:
            continue
    if len(found) < len(items):
        log.debug("unreadable items left out", of=what, number=len(items) - len(found))
    return found
