"""Looking for the money of checkouts: due rows of a queue, so that a restart goes on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import structlog

from bot.core.outbox import outbox
from bot.core.outbox.payload_kinds import PayloadKinds
from bot.core.outbox.queue_policy import Queue
from bot.core.outbox.worker import Job
from bot.service.model.checkout import Settlement
from bot.service.model.payout import SANDBOX
from bot.service.model.rail_answers import Arrived, Asked, Opened, Waiting
from bot.service.store import checkouts
from bot.service.usecases import settling

if TYPE_CHECKING:
    from collections.abc import Callable

    from bot.core.database.database import Database, Transaction
    from bot.core.outbox.outbox import Message
    from bot.service.model.checkout import Checkout
    from bot.service.model.rail_answers import Look
    from bot.service.model.request import Payment
    from bot.service.rails.rail import Rails

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class DueLook:
    """A look for the money of a checkout."""

    checkout_id: str


LOOKS = Queue(
    "looks",
    lease=60_000,
    ordered=False,
    width=64,
    payloads=PayloadKinds(look=DueLook),
)
"""Looks at wallets for money; a lane a wallet's host."""


def queue_looks(tx: Transaction, checkout: Checkout, opened: Opened) -> None:
    """Queue the looks that the rail asks for."""
    for at in opened.looks or ():
        outbox.put(tx, LOOKS, SANDBOX, DueLook(checkout.id), checkout.created_at, due_at=at)


class LookHandler:
    """Asks the rails for the money of checkouts; a worker performs its `job`."""

    def __init__(self, db: Database, rails: Rails, now: Callable[[], int]) -> None:
        self._db = db
        self._rails = rails
        self._now = now
        self.job = Job(LOOKS, self.handle)

    async def handle(self, message: Message) -> None:
        """Ask once, and settle the message with what was found in one transaction."""
        checkout = await self._db.read(lambda tx: checkouts.find(tx, message.body.checkout_id))
        found = await self._look(checkout) if checkout else Waiting()
        payment = await self._db.transaction_until_stored(
            lambda tx: self._settle(tx, message, found)
        )
        if payment is None:
            if isinstance(found, Arrived):
                log.info("payment reported again", checkout=message.body.checkout_id)
            return
        write = log.warning if payment.oversold else log.info
        write(
            "payment recorded",
            request=payment.request_id,
            payment=payment.id,
            settlement=payment.state.value,
        )

    async def _look(self, checkout: Checkout) -> Look:
        asked = Asked(
            checkout_id=checkout.id,
            request_id=checkout.request_id,
            amount=checkout.quote.amount,
            currency=checkout.quote.currency,
            memo="",
            reference="",
            created_at=checkout.created_at,
            lapses_at=checkout.lapses_at,
        )
        return await self._rails.of(SANDBOX).look(asked, Opened(f"{SANDBOX}-{checkout.id}"))

    def _settle(self, tx: Transaction, message: Message, found: Look) -> Payment | None:
        payment = None
        if isinstance(found, Arrived):
            checkout_id = message.body.checkout_id
            settlement = Settlement(SANDBOX, checkout_id, f"{SANDBOX}-{checkout_id}")
            payment = settling.record_settlement(tx, settlement, self._now())
        outbox.done(tx, LOOKS, message, self._now())
        return payment
