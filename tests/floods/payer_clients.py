"""Payers: each a browser with its own address and cookies."""

from __future__ import annotations

import asyncio
import ipaddress
import itertools
import ssl
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import httpx

from bench.stage import TOKEN

FIRST_ADDRESS = ipaddress.IPv4Address("127.1.0.1")
PATIENCE = 10.0
"""Seconds after which a payer gives up."""

_TLS = ssl.create_default_context()
"""Shared: nothing here speaks TLS, and making one takes longer than a payment."""


@dataclass(slots=True)
class Payment:
    """One attempt: epoch seconds; `status` is 303 once paid, 0 where no answer came.

    `posted` where the form was sent, so that the payment may have been made without the payer
    hearing of it.
    """

    chat: int
    began: float
    posted: bool = False
    status: int = 0
    paid: float = 0.0
    receipt: str = ""


@dataclass(slots=True)
class Payers:
    """Whoever pays the sellers in turn; `made` are their attempts so far."""

    url: str
    pages: dict[int, str]
    made: list[Payment] = field(default_factory=list)

    async def pay(self, seconds: float, rate: float) -> None:
        """Begin `rate` payments a second, whether those before have been answered or not."""
        chats = itertools.cycle(self.pages)
        due, until = time.monotonic(), time.monotonic() + seconds
        async with asyncio.TaskGroup() as payers:
            while due < until:
                payment = Payment(next(chats), time.time())
                self.made.append(payment)
                payers.create_task(self._pay(payment, len(self.made)))
                due += 1 / rate
                await asyncio.sleep(max(0.0, due - time.monotonic()))

    async def _pay(self, payment: Payment, number: int) -> None:
        try:
            async with asyncio.timeout(PATIENCE), browser(self.url, address(number)) as http:
                page = self.pages[payment.chat]
                token = TOKEN.search((await http.get(page)).text)
                payment.posted = True
                answer = await http.post(page, data={"token": token[1] if token else ""})
                payment.paid, payment.status = time.time(), answer.status_code
                payment.receipt = answer.headers.get("location", "")
        except (TimeoutError, httpx.TransportError):
            payment.paid = time.time()


def address(number: int, first: ipaddress.IPv4Address = FIRST_ADDRESS) -> str:
    """Return an address of this machine, another one for each number."""
    return str(first + number)


@asynccontextmanager
async def browser(url: str, source: str) -> AsyncIterator[httpx.AsyncClient]:
    """Make a client with a cookie jar that connects from an address of this machine."""
    transport = httpx.AsyncHTTPTransport(local_address=source, verify=_TLS)
    client = httpx.AsyncClient(
        base_url=url, transport=transport, timeout=PATIENCE, trust_env=False, verify=_TLS
    )
    async with client:
        yield client


def served(payments: Sequence[Payment]) -> int:
    """Return how many have paid and know it."""
    return sum(payment.status == httpx.codes.SEE_OTHER for payment in payments)
