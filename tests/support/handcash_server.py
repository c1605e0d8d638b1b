"""HandCash Cloud's payment requests as a server: its dialect, and its failures."""

from __future__ import annotations

import asyncio
import itertools
import secrets
import time
from collections import defaultdict, deque
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import httpx

from bot.core import exact_json
from tests.support.http_peers import (
    CUT,
    SECONDS,
    HttpRequest,
    ServerFailure,
    http_response,
    read_request,
)

SECRET = "a secret of HandCash's own"


def keys(server: HandCash) -> dict[str, str]:
    """Return the settings for this server: no WEBHOOK_SECRET, payments in BSV."""
    return {
        "PAYMENTS_URL": server.url,
        "APP_ID": server.app_id,
        "APP_SECRET": server.app_secret,
        "INSTRUMENT_CURRENCY": "BSV",
    }


LONGEST_NAME = 25
INSTRUMENTS = ("BSV", "MNEE")
FIAT = ("USD", "EUR", "GBP", "CHF", "JPY", "SEK", "MXN", "BRL")
KINDS = ("never", "onPaymentCompleted", "limit")


class Refusal(Exception):
    """An answer that is no success: status and message."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.answer = http_response(status, {"message": message, "info": None})


def written(data: Any) -> bytes:
    """Build a success: always 200, with a body."""
    return http_response(200, exact_json.dumps(data).encode(), Content_Type="application/json")


def iso(moment: float) -> str:
    """Format a time in seconds since 1970."""
    return datetime.fromtimestamp(moment, UTC).isoformat(timespec="milliseconds")


def read(body: bytes) -> dict[str, Any]:
    """Parse the JSON object of a call. Raises Refusal."""
    try:
        data = exact_json.loads(body)
    except ValueError:
        data = None
    if not isinstance(data, dict):
        raise Refusal(400, "Unexpected token in JSON")
    return data


def echoed(body: dict[str, Any]) -> dict[str, Any]:
    """Return the body as the server keeps it: every custom parameter becomes a string."""
    webhook = body.get("notifications", {}).get("webhook")
    if webhook is None:
        return dict(body)
    told_as = {name: str(value) for name, value in webhook.get("customParameters", {}).items()}
    kept = {**body["notifications"], "webhook": {**webhook, "customParameters": told_as}}
    return {**body, "notifications": kept}


def check(body: Mapping[str, Any]) -> None:
    """Refuse a body as HandCash does, in its words: the field in quotes, then the problem."""
    check_name(body.get("product"))
    _choice(body, "instrumentCurrencyCode", INSTRUMENTS)
    if "denominationCurrencyCode" in body:
        _choice(body, "denominationCurrencyCode", FIAT)
    _choice(body, "expirationType", KINDS)
    if body["expirationType"] == "limit" and not isinstance(body.get("totalUnits"), int):
        raise Refusal(400, '"totalUnits" is required')
    receivers = body.get("receivers")
    if not isinstance(receivers, list) or not receivers:
        raise Refusal(400, '"receivers" must contain at least 1 items')


def check_name(product: Any) -> None:
    """Refuse a product without a name, or with a long one."""
    name = product.get("name") if isinstance(product, dict) else None
    if not isinstance(name, str) or not name:
        raise Refusal(400, '"product.name" is required')
    if len(name) > LONGEST_NAME:
        words = f"length must be less than or equal to {LONGEST_NAME} characters long"
        raise Refusal(400, f'"product.name" {words}')


def _choice(body: Mapping[str, Any], name: str, choices: Sequence[str]) -> None:
    if body.get(name) not in choices:
        raise Refusal(400, f'"{name}" must be one of [{", ".join(choices)}]')


REQUESTS_PATH = "/v3/paymentRequests"
RETRIES = (0.05, 0.1, 0.2, 0.4)
"""Seconds between webhooks that got no 200, the last again and again; HandCash takes a day."""
WAITS = 10.0
"""Seconds that a webhook waits for its answer."""


class Declined(Exception):
    """What a payer reads instead of a receipt; the message says why."""


@dataclass
class Made:
    """A payment request as the server has it; times in seconds since 1970."""

    id: str
    number: int
    body: dict[str, Any]
    created_at: float
    expires_at: float | None
    remaining: int | None
    price_in: str = ""
    paid: list[str] = field(default_factory=list)

    @property
    def link(self) -> str:
        """Return the link's id, which the bot sent along."""
        return str(self.body["notifications"]["webhook"]["customParameters"]["listing"])

    def closed(self, now: float) -> str | None:
        """Return why it cannot be paid at `now`, None if it can."""
        if self.expires_at is not None and self.expires_at <= now:
            return "expired"
        if self.remaining == 0:
            return "sold out"
        once = self.body.get("expirationType") == "onPaymentCompleted"
        return "completed" if once and self.paid else None


@dataclass(frozen=True, slots=True)
class Sent:
    """A webhook that was sent, and the status that came back, 0 for none."""

    transaction: str
    status: int


@dataclass
class HandCash:
    """The server: `made` by id, `calls` as they came, `sent` webhooks; `now` in seconds."""

    app_id: str
    app_secret: str
    now: Callable[[], float]
    url: str = ""
    made: dict[str, Made] = field(default_factory=dict)
    deleted: dict[str, Made] = field(default_factory=dict)
    calls: list[HttpRequest] = field(default_factory=list)
    sent: list[Sent] = field(default_factory=list)
    news: asyncio.Condition = field(default_factory=asyncio.Condition)
    understands: str = "denominationCurrencyCode"
    """The only field that it reads for the currency of prices; it ignores the others."""
    refused: frozenset[str] = frozenset()
    """Fields of create that it refuses instead."""
    tells_prices: bool = True
    blank: bool = False
    """Whether it writes "" for an end that there is none of, instead of leaving it out."""
    _failures: dict[str, deque[ServerFailure]] = field(default_factory=lambda: defaultdict(deque))
    _down: ServerFailure | None = None
    _gate: asyncio.Event = field(default_factory=asyncio.Event)
    _hooks: dict[str, dict[str, Any]] = field(default_factory=dict)
    _tasks: set[asyncio.Task[None]] = field(default_factory=set)
    _open: dict[asyncio.StreamWriter, asyncio.Task[None] | None] = field(default_factory=dict)

    @property
    def only(self) -> Made:
        """Return the only request."""
        (made,) = self.made.values()
        return made

    def fail(self, method: str, *failures: ServerFailure) -> None:
        """Fail the next calls of this method, one after the other."""
        self._failures[method].extend(failures)

    def down(self, failure: ServerFailure | None) -> None:
        """Fail every call from now on; None ends it."""
        self._down = failure

    def release(self) -> None:
        """Release all calls that are held; later ones are held again."""
        self._gate.set()
        self._gate = asyncio.Event()

    def asked(self, method: str) -> int:
        """Count the calls of this method."""
        return sum(call.method == method for call in self.calls)

    async def until(self, look: Callable[[], object], seconds: float = SECONDS) -> None:
        """Wait until a call or a webhook's answer has made this true."""
        async with asyncio.timeout(seconds), self.news:
            await self.news.wait_for(look)

    async def pay(
        self, request_id: str, data: Mapping[str, Any] | None = None, *, hook: bool = True
    ) -> str:
        """Pay a request, with what the payer was asked for; the transaction's id.

        Its webhook goes out by itself, unless `hook` is false. Raises Declined.
        """
        made = self.made.get(request_id)
        why = made.closed(self.now()) if made else "deleted"
        if made is None or why:
            raise Declined(why)
        transaction = secrets.token_hex(32)
        made.paid.append(transaction)
        if made.remaining is not None:
            made.remaining -= 1
        self._hooks[transaction] = self._hook(made, transaction, data or {})
        if hook:
            self._start(self._deliver(made, transaction))
        return transaction

    def hook(self, transaction: str) -> dict[str, Any]:
        """Return the body of a payment's webhook, for tests that forge or repeat it."""
        return dict(self._hooks[transaction])

    async def send(self, request_id: str, body: Any) -> int:
        """Post a webhook to a request's address; return the status, 0 for no answer."""
        made = self.made.get(request_id) or self.deleted[request_id]
        address = made.body["notifications"]["webhook"]["webhookUrl"]
        async with httpx.AsyncClient(trust_env=False, timeout=WAITS) as http:
            try:
                return (await http.post(address, json=body)).status_code
            except httpx.HTTPError:
                return 0

    async def delivered(self, transaction: str, seconds: float = SECONDS) -> None:
        """Wait until a payment's webhook has got its 200."""
        await self.until(lambda: Sent(transaction, 200) in self.sent, seconds)

    def _hook(self, made: Made, transaction: str, data: Mapping[str, Any]) -> dict[str, Any]:
        webhook = made.body.get("notifications", {}).get("webhook", {})
        return {
            "appSecret": self.app_secret,
            "paymentRequestId": made.id,
            "transactionId": transaction,
            "customParameters": webhook.get("customParameters", {}),
            "userData": dict(data),
        }

    def _start(self, work: Any) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _deliver(self, made: Made, transaction: str) -> None:
        for wait in itertools.chain(RETRIES, itertools.repeat(RETRIES[-1])):
            status = await self.send(made.id, self._hooks[transaction])
            async with self.news:
                self.sent.append(Sent(transaction, status))
                self.news.notify_all()
            if status == httpx.codes.OK:
                return
            await asyncio.sleep(wait)

    async def close(self) -> None:
        """Close every connection, and end the webhooks that never got a 200."""
        self.release()
        served = [task for task in self._open.values() if task]
        for writer in self._open:
            writer.close()
        for task in tuple(self._tasks):
            task.cancel()
        await asyncio.gather(*served, *self._tasks, return_exceptions=True)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer the calls of one connection."""
        self._open[writer] = asyncio.current_task()
        try:
            while await self._one(reader, writer):
                pass
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            self._open.pop(writer)
            writer.close()

    async def _one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        asked = await read_request(reader)
        async with self.news:
            self.calls.append(asked)
            self.news.notify_all()
        answer = await self._go(asked)
        writer.write(answer)
        await writer.drain()
        return answer != CUT

    async def _go(self, asked: HttpRequest) -> bytes:
        """Perform a call as far as its failure allows."""
        planned = self._failures[asked.method]
        failure = self._down or (planned.popleft() if planned else ServerFailure(works=True))
        answer = (
            self._answer(asked) if failure.works and (failure.late or not failure.holds) else b""
        )
        if failure.holds:
            await self._gate.wait()
            answer = answer or (self._answer(asked) if failure.works else CUT)
            async with self.news:
                self.news.notify_all()
        return answer if failure.answer is None else failure.answer

    def _answer(self, asked: HttpRequest) -> bytes:
        try:
            return self._carried_out(asked)
        except Refusal as error:
            return error.answer

    def _carried_out(self, asked: HttpRequest) -> bytes:
        path = asked.path.partition("?")[0].removesuffix("/")
        place, request_id = (path, "") if path == REQUESTS_PATH else path.rsplit("/", 1)
        if (asked.method, place) == ("GET", "/pay"):
            return self._page(request_id)
        keys = (asked.headers.get("app-id"), asked.headers.get("app-secret"))
        if place == REQUESTS_PATH and keys != (self.app_id, self.app_secret):
            raise Refusal(401, "Unauthorized")
        match asked.method, place, request_id:
            case "POST", "/v3/paymentRequests", "":
                return written(self._shown(self._create(read(asked.body))))
            case "GET", "/v3/paymentRequests", "":
                items = [self._shown(made, listed=True) for made in self.made.values()]
                return written({"items": items})
            case "PUT", "/v3/paymentRequests", known if known in self.made:
                return written(self._shown(self._edit(self.made[known], read(asked.body))))
            case "DELETE", "/v3/paymentRequests", known if known in self.made:
                self.deleted[known] = self.made.pop(known)
                return http_response(200)
        raise Refusal(404, "Not found")

    def _page(self, request_id: str) -> bytes:
        made = self.made.get(request_id)
        return http_response(404) if made is None else http_response(200, b"<html>Pay</html>")

    def _create(self, body: dict[str, Any]) -> Made:
        check(body)
        for name in sorted(self.refused & body.keys()):
            raise Refusal(400, f'"{name}" is not allowed')
        units = body["totalUnits"] if body["expirationType"] == "limit" else None
        seconds = body.get("expirationInSeconds")
        now = self.now()
        made = Made(
            secrets.token_hex(12),
            len(self.made) + len(self.deleted) + 1,
            echoed(body),
            now,
            None if seconds is None else now + seconds,
            units,
            str(body.get(self.understands, body["instrumentCurrencyCode"])),
        )
        self.made[made.id] = made
        return made

    def _edit(self, made: Made, body: dict[str, Any]) -> Made:
        if "expirationInSeconds" in body:
            seconds = body["expirationInSeconds"]
            if not isinstance(seconds, int):
                raise Refusal(400, '"expirationInSeconds" must be a number')
            made.expires_at = self.now() + seconds
        fewer = body.get("decreaseRemainingUnits", 0)
        if fewer:
            if made.remaining is None or fewer > made.remaining:
                raise Refusal(400, '"decreaseRemainingUnits" is not allowed')
            made.remaining -= fewer
        if "product" in body:
            check_name(body["product"])
            made.body["product"] |= body["product"]
        for name in ("redirectUrl", "notifications"):
            if name in body:
                made.body[name] = echoed(body)[name]
        return made

    def _shown(self, made: Made, *, listed: bool = False) -> dict[str, Any]:
        """Return a request as answers show it: neither the kind, nor parameters at the top."""
        body = made.body
        url = f"{self.url}/pay/{made.id}"
        shown: dict[str, Any] = {
            "id": made.id,
            "paymentRequestUrl": url,
            "paymentRequestQrCodeUrl": f"{url}.png",
            "isEnabled": made.closed(self.now()) is None,
            "product": body["product"],
            "receivers": [
                {"sendAmount": one["sendAmount"], "destination": one["destination"]}
                for one in body["receivers"]
            ],
            "notifications": body.get("notifications", {}),
            "requestedUserData": body.get("requestedUserData", []),
            "createdAt": iso(made.created_at) if made.number % 2 else int(made.created_at),
        }
        if self.tells_prices:
            shown["paymentAmount"] = _price(made)
        if self.blank:
            shown |= {"expiresAt": "", "enabledAt": ""}
        if made.remaining is not None:
            shown |= {"totalUnits": body["totalUnits"], "remainingUnits": made.remaining}
        if made.expires_at is not None:
            end = made.expires_at
            shown["expiresAt"] = int(end) if listed else iso(end)
        return shown


def _price(made: Made) -> dict[str, Any]:
    return {
        "currencyCode": made.body["instrumentCurrencyCode"],
        "amount": sum(one["sendAmount"] for one in made.body["receivers"]),
        "denominatedIn": made.price_in,
    }


@asynccontextmanager
async def handcash(
    *,
    app_id: str = "handcash-app",
    app_secret: str = "a secret of HandCash's",
    now: Callable[[], float] = time.time,
    port: int = 0,
) -> AsyncIterator[HandCash]:
    """Serve HandCash's dialect on a loopback port, 0 for a free one."""
    server = HandCash(app_id, app_secret, now)
    listener = await asyncio.start_server(server.serve, "127.0.0.1", port)
    server.url = f"http://127.0.0.1:{listener.sockets[0].getsockname()[1]}"
    try:
        yield server
    finally:
        listener.close()
        await server.close()
