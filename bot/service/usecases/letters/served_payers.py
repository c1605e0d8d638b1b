"""Letters to all payers who waited for goods, some in each transaction: they may be thousands."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from bot.core.outbox import outbox
from bot.core.outbox.payload_kinds import PayloadKinds
from bot.core.outbox.queue_policy import Queue
from bot.core.outbox.worker import Job
from bot.service.model.payment_reports import News
from bot.service.model.request import DeliveryKind
from bot.service.store import payments, requests
from bot.service.usecases.letters import payer_notices

if TYPE_CHECKING:
    from collections.abc import Callable

    from bot.core.database.database import Database, Transaction
    from bot.core.outbox.outbox import Message
    from bot.service.model.request import PaymentRequest

MOST_SERVED = 500
"""Payers who are written to in one transaction: on SQLite payments wait for it."""


@dataclass(frozen=True, slots=True)
class ServedUnits:
    """Units of a request, the first to the last, whose payers get a letter with this news."""

    request_id: str
    first: int
    last: int
    news: News


SERVED = Queue("served", lease=60_000, payloads=PayloadKinds(served=ServedUnits))
"""What is left to do of a call that served more payers; a lane a request."""


def queue_served(tx: Transaction, request: PaymentRequest, served: range, now: int) -> None:
    """Queue letters to payers who waited for what these units have now.

    They have their codes, or what the request delivers in place of codes. Who still waits for
    another code hears once that has come too. Call it only where emails are sent, once the codes
    are stored and with the request locked.
    """
    if served:
        news = News.CODES if request.delivers is DeliveryKind.CODES else News.GOODS
        _queue(tx, request, ServedUnits(request.id, served[0], served[-1], news), now)


def _queue(tx: Transaction, request: PaymentRequest, units: ServedUnits, now: int) -> None:
    """Queue the first letters, and a message for the others.

    The others need no lock of the request: each letter is checked again when it is sent.
    """
    numbers = range(units.first, units.last + 1)
    found = payments.with_last_unit(tx, request.id, numbers, MOST_SERVED)
    if len(found) == MOST_SERVED and found[-1].last_unit < units.last:
        rest = ServedUnits(request.id, found[-1].last_unit + 1, units.last, units.news)
        outbox.put(tx, SERVED, request.id, rest, now)
    for payment in found:
        payer_notices.queue(tx, request, payment, units.news, now)


class ServedPayers:
    """Queues the letters that a call has left to do; a worker performs its `job`."""

    def __init__(self, db: Database, now: Callable[[], int]) -> None:
        self._db = db
        self._now = now
        self.job = Job(SERVED, self.handle)

    async def handle(self, message: Message) -> None:
        """Queue some letters, and a message for those that are left."""
        await self._db.bulk(lambda tx: self._continue(tx, message))

    def _continue(self, tx: Transaction, message: Message) -> None:
        now, units = self._now(), message.body
        if not outbox.done(tx, SERVED, message, now):
            return
        request = requests.find_ever(tx, units.request_id, now)
        if request is not None:
            _queue(tx, request, units, now)
