"""Money of each kind for simulated requests: wallets, banks and test money."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial

from bot.core.database.database import Database
from bot.interface.vocabulary import BANK, LIGHTNING, LNBITS
from bot.service.payments import account_rows
from bot.service.payments.account_rows import PayoutAccount
from bot.service.payments.settling import PaymentContext
from bot.service.rails.exchange_rates import SandboxExchange
from bot.service.rails.rail import (
    Arrived,
    Charge,
    Connected,
    Opened,
    PayWith,
    PollAnswer,
    Rail,
    Rails,
    SandboxRail,
    Unavailable,
    Waiting,
)
from tests.simulation.request_twins import CAP

RESERVATION, CLAIMS = 60_000, 300_000
OWNER = "anna"
WAYS = {LIGHTNING: True, LNBITS: False, "bank:sepa": False}
"""The ways to pay real money, and whether the rail learns of its payments."""


@dataclass
class Wallet(Rail):
    """A rail whose next answers are set; `automatic` False: its seller confirms what came."""

    kind: str
    automatic: bool = False
    test_money: bool = False
    opens: Opened | Unavailable | None = None
    amount: int | None = None
    charge: list[str] = field(default_factory=list)

    async def connect(self, details: Mapping[str, object]) -> Connected:
        raise NotImplementedError

    def open_offline(self, charge: Charge) -> Opened | None:
        return Opened(charge.reference, poll_times=()) if self.kind == BANK else None

    async def open(self, charge: Charge) -> Opened | Unavailable:
        made = Opened(
            f"hash-{charge.checkout_id}",
            PayWith(f"lnbc-{charge.checkout_id}"),
            poll_times=None if self.automatic else (),
        )
        return self.opens or made

    async def poll(self, charge: Charge, opened: Opened) -> PollAnswer:
        self.charge.append(opened.external_id)
        assert opened.external_id == f"hash-{charge.checkout_id}"
        return Waiting() if self.amount is None else Arrived(self.amount)

    def host(self, details: Mapping[str, object]) -> str:
        del details
        return "" if self.kind == BANK else f"{self.kind}.example"


def sandbox_money() -> PaymentContext:
    return PaymentContext(Rails(SandboxRail()), SandboxExchange(), RESERVATION, CAP, CLAIMS)


def real_money(db: Database, app_id: str, now: int, *rails: Wallet) -> PaymentContext:
    """Offer these rails, with an account of the owner for each way."""
    kinds = [rail.kind for rail in rails]
    db.run(lambda tx: account_rows.write_offered(tx, kinds))
    for number, (way, automatic) in enumerate(WAYS.items()):
        kind, _, scheme = way.partition(":")
        account = PayoutAccount(
            id=f"account-{number}",
            app_id=app_id,
            owner=OWNER,
            kind=kind,
            scheme=scheme,
            automatic=automatic,
            currencies=("USD",) if kind == BANK else ("SAT",),
            label=way,
            sealed="",
            since=now + number,
            created_at=now,
        )
        db.run(partial(account_rows.insert, account=account))
    return PaymentContext(Rails(*rails), SandboxExchange(), RESERVATION, CAP, CLAIMS)
