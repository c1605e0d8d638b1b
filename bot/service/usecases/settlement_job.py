"""The job that records the settlements which a rail reports after the form was answered."""

from __future__ import annotations

from typing import TYPE_CHECKING

import structlog

from bot.core.outbox import outbox
from bot.core.outbox.worker import Job
from bot.service.rails.rail import SETTLEMENTS
from bot.service.usecases import paying

if TYPE_CHECKING:
    from collections.abc import Callable

    from bot.core.database.database import Database, Transaction
    from bot.core.outbox.outbox import Message
    from bot.service.model.request import Payment

log = structlog.get_logger()


class SettlementHandler:
    """Records queued settlements; a worker performs its `job`."""

    def __init__(self, db: Database, now: Callable[[], int]) -> None:
        self._db = db
        self._now = now
        self.job = Job(SETTLEMENTS, self.handle)

    async def handle(self, message: Message) -> None:
        """Record one settlement and settle its message in one transaction."""
        payment = await self._db.transaction(lambda tx: self._record(tx, message))
        if payment is None:
            log.info("payment reported again", checkout=message.body.checkout_id)
            return
        write = log.warning if payment.oversold else log.info
        write(
            "payment recorded",
            request=payment.request_id,
            payment=payment.id,
            settlement=payment.state.value,
        )

    def _record(self, tx: Transaction, message: Message) -> Payment | None:
        payment = paying.record_settlement(tx, message.body, self._now())
        outbox.done(tx, SETTLEMENTS, message, self._now())
        return payment
