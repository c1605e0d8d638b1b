"""Notices that a rail sends after the payer's form was answered."""

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
    from bot.service.rails.rail import Rail

log = structlog.get_logger()


class SettlementHandler:
    """Takes the sandbox rail's later notices; `job` is what a worker works."""

    def __init__(self, db: Database, rail: Rail, now: Callable[[], int]) -> None:
        self._db = db
        self._rail = rail
        self._now = now
        self.job = Job(SETTLEMENTS, self.handle)

    async def handle(self, message: Message) -> None:
        """Take one settlement; it and its mark commit together."""
        payment = await self._db.transaction(lambda tx: self._take(tx, message))
        if payment is None:
            log.info("money told again", checkout=message.body.checkout_id)
            return
        told = log.warning if payment.oversold else log.info
        told(
            "money arrived",
            request=payment.request_id,
            payment=payment.id,
            settlement=payment.state.value,
        )

    def _take(self, tx: Transaction, message: Message) -> Payment | None:
        payment = paying.record_settlement(tx, self._rail.name, message.body, self._now())
        outbox.done(tx, SETTLEMENTS, message, self._now())
        return payment
