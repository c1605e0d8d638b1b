"""Lightning wallets of tests: invoices, and a wallet behind an address."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from bot.core.net.webhook_addresses import AllowList
from bot.service.rails import wallet_http
from bot.service.rails.rail import Charge, Opened, PollAnswer, Rail, Unavailable
from tests.support.asgi_server import serve_asgi
from tests.support.service_harness import Clock

ALPHABET = "qpzry9x8gf2tvdw0s3jn54khce6mua7l"
_GENERATOR = (0x3B6A57B2, 0x26508E6D, 0x1EA119FA, 0x3D4233DD, 0x2A1462B3)
_PICO = 10
"""Pico-bitcoin (the unit `p`) in a millisatoshi."""

PREIMAGE = "11" * 32


def hash_of(preimage: str = PREIMAGE) -> str:
    return hashlib.sha256(bytes.fromhex(preimage)).hexdigest()


@dataclass(frozen=True)
class InvoiceDraft:
    """What an invoice says: `msat` None asks for nothing, times are UTC epoch ms and seconds."""

    msat: int | None
    created_at: int
    expiry: int | None = 900
    payment_hash: str | None = hash_of()
    network: str = "bc"
    secret: bool = True
    extra: tuple[tuple[str, list[int]], ...] = ()

    def write(self) -> str:
        """Encode it as BOLT 11 does."""
        amount = "" if self.msat is None else _amount(self.msat)
        return seal(f"ln{self.network}{amount}", self.words())

    def words(self) -> list[int]:
        """Return the data part without the checksum."""
        fields = list(self.extra)
        if self.payment_hash is not None:
            fields.append(("p", _words(int(self.payment_hash, 16) << 4, 52)))
        if self.secret:
            fields.append(("s", _words(0, 52)))
        if self.expiry is not None:
            fields.append(("x", _words(self.expiry, 13)))
        words = _words(self.created_at // 1000, 7)
        for tag, value in fields:
            words += [ALPHABET.index(tag), *_words(len(value), 2), *value]
        return words + [0] * 104


def seal(head: str, words: list[int]) -> str:
    """Add the checksum."""
    spread = [ord(char) >> 5 for char in head] + [0] + [ord(char) & 31 for char in head]
    check = _polymod(spread + words + [0] * 6) ^ 1
    return f"{head}1" + "".join(ALPHABET[word] for word in words + _words(check, 6))


def _amount(msat: int) -> str:
    for unit, size in (("", 10**11), ("m", 10**8), ("u", 10**5), ("n", 100)):
        if msat % size == 0:
            return f"{msat // size}{unit}"
    return f"{msat * _PICO}p"


def _words(number: int, count: int) -> list[int]:
    return [number >> 5 * (count - 1 - at) & 31 for at in range(count)]


def _polymod(values: list[int]) -> int:
    check = 1
    for value in values:
        top = check >> 25
        check = (check & 0x1FFFFFF) << 5 ^ value
        for bit, generator in enumerate(_GENERATOR):
            check ^= generator if top >> bit & 1 else 0
    return check


THIS_MACHINE = AllowList.parse("127.0.0.1")
INVOICE_KEY, ADMIN_KEY = "1" * 32, "a" * 32
WALLET_ID = "c" * 32


@dataclass
class WalletStandIn:
    """A wallet: `changed` has fields of its answers by route, `answers` whole answers instead.

    `invoice` changes fields of its invoices, `issued` has the payment hash of each, `asked` are the
    calls that came.
    """

    now: Callable[[], int]
    url: str = ""
    changed: dict[str, dict[str, Any]] = field(default_factory=dict)
    answers: dict[str, Callable[[], Response]] = field(default_factory=dict)
    invoice: dict[str, Any] = field(default_factory=dict)
    asked: list[Request] = field(default_factory=list)
    preimages: dict[str, str] = field(default_factory=dict)
    issued: dict[str, str] = field(default_factory=dict)
    paid: set[str] = field(default_factory=set)

    @property
    def host(self) -> str:
        return self.url.partition("://")[2]

    @property
    def last(self) -> str:
        """Return the payment hash of the newest invoice."""
        return list(self.preimages)[-1]

    def paths(self) -> list[str]:
        return [call.url.path for call in self.asked]

    def routes(self) -> list[Route]:
        raise NotImplementedError

    def _issue(self, msat: int, expiry: int = 900) -> tuple[str, str]:
        """Return a new invoice, which lasts `expiry` seconds, and its payment hash."""
        preimage = f"{len(self.preimages) + 1:064x}"
        draft = InvoiceDraft(msat, self.now(), expiry, hash_of(preimage))
        self.preimages[hash_of(preimage)] = preimage
        text = replace(draft, **self.invoice).write()
        self.issued[text] = hash_of(preimage)
        return text, hash_of(preimage)

    def _answer(self, route: str, fields: dict[str, Any], status: int = 200) -> Response:
        if route in self.answers:
            return self.answers[route]()
        whole = fields | self.changed.get(route, {})
        return JSONResponse({name: one for name, one in whole.items() if one is not ...}, status)


class LnurlService(WalletStandIn):
    """The service of the Lightning address `shop@host`, with the routes offer, invoice, verify."""

    @property
    def address(self) -> str:
        return f"shop@{self.host}"

    def routes(self) -> list[Route]:
        return [
            Route("/.well-known/lnurlp/{user}", self._offer),
            Route("/callback", self._invoice),
            Route("/verify/{payment_hash}", self._verify),
        ]

    async def _offer(self, request: Request) -> Response:
        self.asked.append(request)
        if request.path_params["user"] != "shop":
            return JSONResponse({"status": "ERROR", "reason": "No such user."})
        fields = {
            "tag": "payRequest",
            "callback": f"{self.url}/callback?user=shop&sig=a%20b",
            "minSendable": 1_000,
            "maxSendable": 100_000_000,
            "metadata": f'[["text/plain","shop"],["text/identifier","{self.address}"]]',
            "commentAllowed": 20,
        }
        return self._answer("offer", fields)

    async def _invoice(self, request: Request) -> Response:
        self.asked.append(request)
        text, payment_hash = self._issue(int(request.query_params["amount"]))
        fields = {"pr": text, "routes": [], "verify": f"{self.url}/verify/{payment_hash}"}
        return self._answer("invoice", fields)

    async def _verify(self, request: Request) -> Response:
        self.asked.append(request)
        payment_hash = request.path_params["payment_hash"]
        settled = payment_hash in self.paid
        preimage = self.preimages[payment_hash] if settled else None
        fields = {"status": "OK", "settled": settled, "preimage": preimage}
        return self._answer("verify", fields)


@dataclass
class LNbitsStandIn(WalletStandIn):
    """An LNbits with a wallet of both keys, with the routes wallet, create, refuse, payment.

    `created` has the body that asked for each invoice.
    """

    created: dict[str, dict[str, Any]] = field(default_factory=dict)

    def routes(self) -> list[Route]:
        return [
            Route("/api/v1/wallet", self._wallet),
            Route("/api/v1/payments", self._payments, methods=["POST"]),
            Route("/api/v1/payments/{payment_hash}", self._payment),
        ]

    async def _wallet(self, request: Request) -> Response:
        self.asked.append(request)
        key = request.headers["x-api-key"]
        if key not in {INVOICE_KEY, ADMIN_KEY}:
            return JSONResponse({"detail": "Wallet not found."}, 404)
        fields = {"name": "shop", "balance": 0}
        return self._answer("wallet", fields | ({"id": WALLET_ID} if key == ADMIN_KEY else {}))

    async def _payments(self, request: Request) -> Response:
        self.asked.append(request)
        body = await request.json()
        request.state.body = body
        if body["out"]:
            if request.headers["x-api-key"] == ADMIN_KEY:
                return JSONResponse({"detail": "Missing BOLT11 invoice"}, 400)
            return self._answer("refuse", {"detail": "Invoice (or Admin) key required."}, 403)
        text, payment_hash = self._issue(body["amount"] * 1_000, body["expiry"])
        self.created[payment_hash] = body
        fields = {
            "payment_hash": payment_hash,
            "bolt11": text,
            "wallet_id": WALLET_ID,
            "amount": body["amount"] * 1_000,
            "status": "pending",
            "external_id": body["external_id"],
        }
        return self._answer("create", fields, 201)

    async def _payment(self, request: Request) -> Response:
        self.asked.append(request)
        payment_hash = request.path_params["payment_hash"]
        if payment_hash not in self.preimages:
            return JSONResponse({"detail": "Payment does not exist."}, 404)
        paid, body = payment_hash in self.paid, self.created[payment_hash]
        details = {
            "payment_hash": payment_hash,
            "amount": body["amount"] * 1_000,
            "wallet_id": WALLET_ID,
            "external_id": body["external_id"],
            "status": "success" if paid else "pending",
        }
        fields = {
            "paid": paid,
            "preimage": self.preimages[payment_hash] if paid else None,
            "details": details | self.changed.get("details", {}),
        }
        return self._answer("payment", fields)


@asynccontextmanager
async def serve_wallet(wallet: WalletStandIn) -> AsyncIterator[None]:
    """Serve a wallet on a free port of this machine."""
    async with serve_asgi(Starlette(routes=wallet.routes())) as url:
        wallet.url = url
        yield


@dataclass
class WalletShop:
    """A seller's account at a wallet, `details`, and the rail that asks it."""

    rail: Rail
    clock: Clock
    details: dict[str, Any] = field(default_factory=dict)

    async def open(self, **changed: Any) -> Opened | Unavailable:
        return await self.rail.open(charge(self.details, self.clock(), **changed))

    async def opened(self) -> Opened:
        found = await self.open()
        assert isinstance(found, Opened), found
        return found

    async def refused(self, **changed: Any) -> str:
        """Return why an opening failed."""
        found = await self.open(**changed)
        assert isinstance(found, Unavailable), found
        return found.reason

    async def poll(self, opened: Opened) -> PollAnswer:
        return await self.rail.poll(charge(self.details, self.clock()), opened)


def charge(wallet_details: dict[str, Any], now: int, **changed: Any) -> Charge:
    """Return a charge of 21 satoshi, for a quarter of an hour."""
    plain = Charge(
        checkout_id="checkout-1",
        amount=21,
        currency="SAT",
        memo="Coffee & cake for two people",
        reference="",
        created_at=now,
        lapses_at=now + 900_000,
        details=wallet_details,
    )
    return replace(plain, **changed)


def text_answer(text: str, status: int = 200, **headers: str) -> Callable[[], Response]:
    return lambda: Response(text, status, headers)


def redirect_to(url: str) -> Callable[[], Response]:
    return text_answer("", 302, location=url)


def endless_answer() -> Response:
    """Send spaces as fast as they are taken."""

    async def spaces() -> AsyncIterator[bytes]:
        while True:
            yield b" " * 4_096
            await asyncio.sleep(0)  # so that the caller's leaving is noticed

    return StreamingResponse(spaces())


def dripping_answer() -> Response:
    """Send a byte now and then, for ever."""

    async def drips() -> AsyncIterator[bytes]:
        while True:
            yield b" "
            await asyncio.sleep(0.02)

    return StreamingResponse(drips())


def crumbled_answer() -> Response:
    """Send an answer that is short enough, in chunks of a byte each."""

    async def crumbs() -> AsyncIterator[bytes]:
        for _ in range(5_000):
            yield b" "
        yield b"{}"

    return StreamingResponse(crumbs())


def silent_answer() -> Response:
    """Begin an answer and never end it."""

    async def nothing() -> AsyncIterator[bytes]:
        yield b"{"
        await asyncio.Event().wait()

    return StreamingResponse(nothing())


BROKEN_ANSWERS: dict[str, Callable[[], Response]] = {
    "html": text_answer("<html>Bad gateway</html>", 200),
    "htmlError": text_answer("<html>Bad gateway</html>", 502),
    "empty": text_answer(""),
    "list": text_answer("[1, 2]"),
    "deep": text_answer("[" * 5_000),
    "deepObject": text_answer('{"a":' * 500 + "1" + "}" * 500),
    "longNumber": text_answer('{"tag":' + "9" * 5_000 + "}"),
    "notUtf8": lambda: Response(b'{"tag":"\xff"}'),
    "tooManyCalls": text_answer('{"error":"Rate limit exceeded: 200 per 1 minute"}', 429),
    "endless": endless_answer,
    "dripping": dripping_answer,
    "crumbled": crumbled_answer,
    "silent": silent_answer,
    "redirectToPrivate": redirect_to("http://10.0.0.1/"),
    "redirectToMetadata": redirect_to("http://169.254.169.254/latest/meta-data"),
    "gzip": lambda: Response(b"\x1f\x8b\x08", headers={"content-encoding": "gzip"}),
}
"""Answers that no wallet should give, by name."""

UNFINISHED = ("dripping", "crumbled", "silent")
"""Those that only the time limit ends."""


def shorten_unfinished(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Shorten the time limit of an answer that it ends; a busy machine needs it for the others."""
    if name in UNFINISHED:
        monkeypatch.setattr(wallet_http, "SECONDS", 0.5)
