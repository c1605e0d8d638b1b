"""The job that adds codes for the buyers of a request; the service takes none of them twice.

So it is tried until the service answers, for a day.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from bot.chat.cards.goods_texts import added_reply
from bot.chat.requests.change import fetch
from bot.chat.requests.job_failures import RETRIES, in_time, log_failure
from bot.chat.store import listings
from bot.core.errors import NoCodes, NotFound, PeerError, Refused, requested_wait

if TYPE_CHECKING:
    from bot.chat.messages.jobs import AddCodes
    from bot.chat.model.answers import Answer
    from bot.chat.provider.client import Client
    from bot.chat.provider.goods_calls import AddedCodes
    from bot.chat.requests.job_outcomes import Outcomes
    from bot.chat.store.listings import Listing
    from bot.core.database.database import Transaction
    from bot.core.outbox.outbox import Message

TRIED_FOR = 24 * 3600 * 1000
"""Milliseconds for which the service is asked; then the seller has to send the codes again."""

AT_ONCE = 150
"""Codes in one call: the service takes a body of 1 MiB, and a character may be 12 bytes of JSON."""


@dataclass(frozen=True, slots=True)
class Added:
    """What the service has after its calls: its counts, how many codes are new, the request.

    `is_exact`: no earlier attempt may have added some of them.
    """

    counts: AddedCodes
    new: int
    answer: Answer | None
    is_exact: bool


class CodesHandler:
    """Performs AddCodes."""

    def __init__(self, outcomes: Outcomes, client: Client) -> None:
        self._outcomes = outcomes
        self._client = client

    async def add(self, message: Message, listing: Listing) -> None:
        """Add codes to a request, and reply with who has theirs now."""
        job: AddCodes = message.body
        is_exact = message.attempts == 1 and not message.uncertain
        try:
            added = await in_time(self._send(message, listing, is_exact=is_exact))
        except PeerError as error:
            log_failure(job, error)
            await self._retry(message, job, error)
        except NoCodes:
            await self._outcomes.finish(message, self._outcomes.send_text, "toast-no-codes")
        except Refused as error:
            log_failure(job, error)
            await self._outcomes.finish(message, self._outcomes.send_failure, error)
        else:
            await self._outcomes.finish(message, self._conclude, added)

    def give_up(self, tx: Transaction, job: AddCodes) -> None:
        """Ask for the codes again after a job that was set aside."""
        self._outcomes.send_text(tx, job, "codes-given-up")

    async def _send(self, message: Message, listing: Listing, *, is_exact: bool) -> Added:
        job: AddCodes = message.body
        client = self._client.keyed(message.id)
        request_id, new, counts = listing.request_id or "", 0, None
        for start in range(0, len(job.codes), AT_ONCE):
            codes = job.codes[start : start + AT_ONCE]
            counts = await client.add_codes(request_id, codes)
            new += counts.added
        if counts is None:
            raise ValueError("there are no codes to add")
        try:
            answer = await fetch(client, request_id)
        except NotFound:  # deleted, with buyers who waited
            answer = None
        return Added(counts, new, answer, is_exact)

    async def _retry(self, message: Message, job: AddCodes, error: PeerError) -> None:
        if self._outcomes.now() - job.asked_at >= TRIED_FOR:
            await self._outcomes.finish(message, self.give_up)
            return
        delay = RETRIES.delay_or_last(message.attempts, requested_wait(error))
        text = None if job.is_told else "codes-service-down"
        await self._outcomes.retry(message, replace(job, is_told=True), delay, text)

    def _conclude(self, tx: Transaction, job: AddCodes, added: Added) -> None:
        self._outcomes.save_answer(tx, job.listing_id, added.answer, brings_goods=True)
        before = listings.get_listing(tx, job.listing_id).answer
        if added.answer is None and before is not None:
            counted = replace(before, codes=added.counts.in_all)
            listings.set_answer(tx, job.listing_id, counted)
        self._outcomes.refresh(tx, job.listing_id)
        listing = listings.get_listing(tx, job.listing_id)
        new = added.new if added.is_exact else None
        self._outcomes.send(
            tx, job, added_reply(listing, added.counts.waiting, new, job.reply_to.language)
        )
