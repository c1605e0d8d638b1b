"""Rails of real money whose wallet is a variable, and a service that offers them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from bot.core.errors import FieldProblem, InvalidBody
from bot.interface.vocabulary import BANK, LIGHTNING
from bot.service.payments import account_rows
from bot.service.rails.rail import (
    Charge,
    Connected,
    Opened,
    PayWith,
    PollAnswer,
    Rail,
    Rails,
    Unavailable,
    Waiting,
)
from tests.support.service_harness import NOON, ServiceHarness, open_service

if TYPE_CHECKING:
    import httpx


ACCOUNTS_PATH = "/v3/payoutAccounts"
OWNER = "anna"
SECRET = "s3cret-key-of-anna"
TO_ANNA = [{"sendAmount": 5, "destination": f"account:{OWNER}"}]
"""Receivers of a request whose money goes to Anna's accounts."""

EUROS: dict[str, Any] = {"instrumentCurrencyCode": "EUR", "receivers": TO_ANNA}
"""Fields of a request for five euros to Anna."""

RESERVATION, CLAIMS = 900, 3_600
"""Seconds for which Anna's service reserves a unit and holds a claim."""


@dataclass
class ScriptedRail(Rail):
    """A rail that accepts any details with a `name`; `gate` holds its probes until it is set,
    `opening_gate` its openings; `hung_hosts` never answer.

    Details may have a `scheme`; `begun` is released by each probe. `opens` and `polls` are the next
    answers, an exception is raised.
    """

    kind: str = LIGHTNING
    automatic: bool = True
    currencies: tuple[str, ...] = ("SAT",)
    test_money: bool = False
    gate: asyncio.Event | None = None
    probes: int = 0
    opening_gate: asyncio.Event | None = None
    begun_opening: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(0))
    begun: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(0))
    asked: list[Charge] = field(default_factory=list)
    opens: list[Opened | Unavailable | Exception] = field(default_factory=list)
    polls: list[PollAnswer | Exception] = field(default_factory=list)
    unavailable: Unavailable | None = None
    hung_hosts: set[str] = field(default_factory=set)

    async def connect(self, details: Mapping[str, Any]) -> Connected:
        self.probes += 1
        self.begun.release()
        if self.gate is not None:
            await self.gate.wait()
        if "name" not in details:
            raise InvalidBody(
                "details.name: is required", [FieldProblem("details.name", "is required")]
            )
        return Connected(
            kind=self.kind,
            details=dict(details),
            label=f"{details['name'][:3]}…",
            currencies=self.currencies,
            automatic=self.automatic,
            scheme=details.get("scheme", ""),
        )

    def open_offline(self, charge: Charge) -> Opened | None:
        if self.kind != BANK:
            return None
        self.asked.append(charge)
        pay_with = PayWith(qr_text=f"BCD {charge.reference}", fields=(("iban", "DE89"),))
        return Opened(charge.reference, pay_with, poll_times=())

    async def open(self, charge: Charge) -> Opened | Unavailable:
        self.asked.append(charge)
        self.begun_opening.release()
        if self.opening_gate is not None:
            await self.opening_gate.wait()
        if self.host(charge.details) in self.hung_hosts:
            await asyncio.Event().wait()
        if self.unavailable is not None:
            return self.unavailable
        made = Opened(f"hash-{charge.checkout_id}", PayWith(f"lnbc{charge.checkout_id}"))
        answer = self.opens.pop(0) if self.opens else made
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def poll(self, charge: Charge, opened: Opened) -> PollAnswer:
        del charge, opened
        answer = self.polls.pop(0) if self.polls else Waiting()
        if isinstance(answer, Exception):
            raise answer
        return answer

    def host(self, details: Mapping[str, Any]) -> str:
        return str(details.get("host", ""))


def make_bank() -> ScriptedRail:
    return ScriptedRail(BANK, automatic=False, currencies=("EUR",))


@asynccontextmanager
async def open_real_service(
    database_url: str, *rails: Rail, **settings: Any
) -> AsyncIterator[ServiceHarness]:
    """Open the service with these rails instead of test money."""
    async with open_service(database_url, rails=Rails(*rails), **settings) as service:
        kinds = [rail.kind for rail in rails]
        service.db.run(lambda tx: account_rows.write_offered(tx, kinds))
        yield service


@asynccontextmanager
async def open_annas_service(
    database_url: str, wallet: Rail, first: str, second: str, **settings: Any
) -> AsyncIterator[ServiceHarness]:
    """Open the service with a wallet and a bank, both connected by Anna in this order."""
    times = {"reservation": RESERVATION * 1000, "claims": CLAIMS * 1000}
    async with open_real_service(database_url, wallet, make_bank(), **times | settings) as service:
        for at, kind in ((NOON - 1, first), (NOON, second)):
            service.clock.at = at
            details = {"name": "Anna", "scheme": "sepa"} if kind == BANK else {}
            assert (await connect(service, kind, **details)).status_code == 200
        yield service


async def connect(
    service: ServiceHarness, kind: str = LIGHTNING, owner: str = OWNER, **details: Any
) -> httpx.Response:
    """Connect an account of `details`, by default with a secret."""
    body = {"owner": owner, "kind": kind, "details": details or {"name": "Anna", "key": SECRET}}
    return await service.seller.post(ACCOUNTS_PATH, json=body)
