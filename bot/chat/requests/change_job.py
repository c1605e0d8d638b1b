"""The jobs of a card's buttons: stop, resume, delete, and bring a listing up to date."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from bot.chat.messages.jobs import ChangeJob, DeleteRequest, RefreshCard, ResumeRequest, SendCard
from bot.chat.requests.change import Outcome, change, check, end_after
from bot.chat.requests.job_failures import in_time, log_failure
from bot.chat.requests.job_outcomes import mark_deleted
from bot.chat.store import listings
from bot.chat.store.listings import DELETED, LIVE
from bot.core.errors import NotFound, PeerError, Refused

if TYPE_CHECKING:
    from bot.chat.messages.jobs import CardJob, CheckRequest, SellerJob
    from bot.chat.provider.client import Client
    from bot.chat.requests.job_outcomes import Outcomes
    from bot.chat.store.listings import Listing
    from bot.core.database.database import Transaction
    from bot.core.outbox.outbox import Message


class ChangeHandler:
    """Performs the jobs of a card's buttons, and CheckRequest."""

    def __init__(self, outcomes: Outcomes, client: Client) -> None:
        self._outcomes = outcomes
        self._client = client

    async def change(self, message: Message, listing: Listing) -> None:
        """Perform the job of a button, and show the card as it is then."""
        job, now, client = message.body, self._outcomes.now(), self._client.keyed(message.id)
        is_change = isinstance(job, ChangeJob)
        call = change(client, listing, job, now) if is_change else check(client, listing, now)
        try:
            outcome = await in_time(call)
        except (PeerError, Refused) as error:
            log_failure(job, error)
            await self._outcomes.finish(message, self.fail, error)
        else:
            await self._outcomes.finish(message, self._show, outcome)

    async def check(self, message: Message, listing: Listing) -> None:
        """Fetch a request for its listing and posts; a failure notifies nobody."""
        try:
            outcome = await in_time(check(self._client, listing, self._outcomes.now()))
        except NotFound:
            outcome = Outcome(state=DELETED)
        except (PeerError, Refused) as error:
            log_failure(message.body, error)
            await self._outcomes.finish(message)
            return
        await self._outcomes.finish(message, self._store, outcome)

    def fail(self, tx: Transaction, job: SellerJob, error: Exception) -> None:
        """Queue the text about a failed call; a card that was asked for is sent as last known."""
        if isinstance(error, Refused) or not isinstance(job, SendCard | RefreshCard):
            self._outcomes.send_failure(tx, job, error)
        elif isinstance(job, SendCard):
            self._outcomes.send_text(tx, job, "service-stale")
            self._outcomes.show(tx, job)
        else:
            self._outcomes.send_text(tx, job, "service-no-news")

    def answer_deleted(self, tx: Transaction, job: SellerJob) -> None:
        """Answer a button of a request that was deleted since."""
        if isinstance(job, DeleteRequest):
            self._outcomes.show(tx, job)
        else:
            self._outcomes.send_text(tx, job, "service-gone")

    def _show(self, tx: Transaction, job: CardJob, outcome: Outcome) -> None:
        self._store(tx, job, outcome)
        if isinstance(job, ResumeRequest) and outcome.state == LIVE:
            wish = listings.get_listing(tx, job.listing_id).wish
            ends_at = end_after(wish, self._outcomes.now())
            listings.set_wish(tx, job.listing_id, replace(wish, ends_at=ends_at))
        self._outcomes.show(tx, job)
        if outcome.text is not None:
            self._outcomes.send_text(tx, job, outcome.text)

    def _store(self, tx: Transaction, job: CardJob | CheckRequest, outcome: Outcome) -> None:
        """Store what is known after a call, and queue the refresh of the listing's posts."""
        self._outcomes.save_answer(tx, job.listing_id, outcome.answer)
        if outcome.state == DELETED:
            mark_deleted(tx, listings.get_listing(tx, job.listing_id))
        elif outcome.state is not None:
            listings.set_state(tx, job.listing_id, outcome.state)
        self._outcomes.refresh(tx, job.listing_id)
