"""The job that takes units out of a drop, which must not be made twice.

The embedded service removes them once under the job's Idempotency-Key, so it is asked again after a
lost answer. For other servers the units are counted before, so that a lost answer leaves a way to
find out whether they are gone. If that can't be known at once, they are counted again later: the
server may still be at work, and payments on their way to us.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from bot.chat.requests import edit_rules
from bot.chat.requests.job_failures import RETRIES, in_time, log_failure
from bot.chat.requests.request_bodies import SETTLING
from bot.chat.store import listings, pending
from bot.core.errors import NotReached, PeerError, Refused, Throttled

if TYPE_CHECKING:
    from bot.chat.messages.jobs import RemoveUnits, UnitCounts
    from bot.chat.model.answers import Answer
    from bot.chat.requests.edit_job import EditHandler
    from bot.chat.requests.job_outcomes import Outcomes
    from bot.chat.requests.request_bodies import PaymentServer
    from bot.chat.store.listings import Listing
    from bot.core.database.database import Transaction
    from bot.core.outbox.outbox import Message

PATIENCE = 3600 * 1000
"""Milliseconds after which a removal with a lost answer stays unknown."""

KEYS_KEPT = 23 * 3600 * 1000
"""Milliseconds for which the embedded service has a job's keys, which it forgets after a day."""

NOTIFY_AT = 2
"""Number of the check after which the seller is told of a delay: the first one comes at once."""


class UnitsHandler:
    """Performs RemoveUnits; `edits` sends and stores what is an edit like others."""

    def __init__(self, outcomes: Outcomes, server: PaymentServer, edits: EditHandler) -> None:
        self._outcomes = outcomes
        self._client = server.client
        self._has_keys = not server.settling
        self._edits = edits

    async def remove(self, message: Message, listing: Listing) -> None:
        """Perform the next step of a removal: count, remove, or find out whether it was made."""
        job: RemoveUnits = message.body
        try:
            if job.before is None:
                await self._count(message, listing)
            elif self._may_send(message):
                await self._send(message, listing)
            else:
                await self._find_out(message, listing, job.before)
        except (PeerError, Refused) as error:
            log_failure(job, error)
            await self._outcomes.finish(message, self._edits.fail, error)

    def _may_send(self, message: Message) -> bool:
        """Return whether nothing was sent yet, or the service still has its key."""
        is_lost = message.body.lost_at is not None or message.uncertain
        is_kept = self._outcomes.now() - message.created_at < KEYS_KEPT
        return not is_lost or (self._has_keys and is_kept)

    async def _count(self, message: Message, listing: Listing) -> None:
        job: RemoveUnits = message.body
        answer = await in_time(self._client.get(listing.request_id or ""))
        before, problem = await self._outcomes.db.read(lambda tx: self._check(tx, job, answer))
        if problem is None:
            counted = replace(job, before=before)
            await self._outcomes.proceed(message, counted, self._store_answer, answer)
        else:
            await self._outcomes.finish(message, self._edits.keep, answer, problem)

    def _check(
        self, tx: Transaction, job: RemoveUnits, answer: Answer
    ) -> tuple[UnitCounts, str | None]:
        """Return the units by a new answer, and the key of why they can't be removed, if so."""
        listing = replace(listings.get_listing(tx, job.listing_id), answer=answer)
        problem = edit_rules.removal_problem(listing, edit_rules.change_of(job))
        if pending.is_removal_uncertain(tx, self._outcomes.queues, listing.id):
            problem = "units-doubted"
        return _count(answer, listing), problem

    async def _send(self, message: Message, listing: Listing) -> None:
        try:
            answer = await in_time(self._edits.send(message, listing))
        except (NotReached, Throttled):
            raise
        except PeerError as error:
            log_failure(message.body, error)
            await self._postpone(message, None)
        else:
            await self._outcomes.finish(message, self._edits.store, answer)

    async def _find_out(self, message: Message, listing: Listing, before: UnitCounts) -> None:
        """Count again; units that are gone without a payment were removed."""
        job: RemoveUnits = message.body
        try:
            answer = await in_time(self._client.get(listing.request_id or ""))
        except PeerError as error:
            log_failure(job, error)
            await self._postpone(message, None)
            return
        later = _count(answer, listing)
        removed = before.removed_until(later)
        now = self._outcomes.now()
        is_settled = job.lost_at is not None and now - job.lost_at >= SETTLING
        if removed == job.number and (later.paid is not None or is_settled):
            await self._outcomes.finish(message, self._edits.store, answer)
        elif removed == 0 and is_settled:
            await self._outcomes.finish(message, self._edits.keep, answer)
        else:
            await self._postpone(message, answer)

    async def _postpone(self, message: Message, answer: Answer | None) -> None:
        """Count again later; the seller gets one text about the delay, and one at the end."""
        job: RemoveUnits = message.body
        now = self._outcomes.now()
        lost_at = now if job.lost_at is None else min(job.lost_at, now)
        if now - lost_at > PATIENCE:
            await self._outcomes.finish(message, self._edits.keep, answer, "units-unknown")
            return
        doubted = replace(job, lost_at=lost_at, checks=job.checks + 1)
        text = "units-doubted" if doubted.checks == NOTIFY_AT else None
        await self._outcomes.retry(message, doubted, RETRIES.delay(doubted.checks) or 0, text)

    def _store_answer(self, tx: Transaction, job: RemoveUnits, answer: Answer) -> None:
        self._outcomes.save_answer(tx, job.listing_id, answer)


def _count(answer: Answer, listing: Listing) -> UnitCounts:
    several = (listing.wish.max_quantity or 1) > 1
    counted = edit_rules.count_units(answer, listing.pieces)
    return replace(counted, payments=listing.paid_count, several=several)
