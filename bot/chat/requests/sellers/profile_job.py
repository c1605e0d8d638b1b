"""The job that sends a seller's profile with their requests, and the question that asks for it.

A change of the profile goes from the newest request to the oldest, one job at a time: each queues
the next in the transaction that settles it. So ten thousand requests hold nobody up, a crash
anywhere loses none of them, and a newer change leaves the older one's job without effect.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from bot.chat.forms.sellers.profile_texts import profile_offer
from bot.chat.messages.jobs import SendProfile
from bot.chat.model.draft import PayoutService
from bot.chat.provider.dialects import may_have_seller
from bot.chat.requests.create_attempt import is_seller_unknown
from bot.chat.requests.job_failures import RETRIES, in_time, log_failure
from bot.chat.requests.request_bodies import seller_of_edit
from bot.chat.store import listings, profiles, server_memory
from bot.chat.store.listings import LIVE, STOPPED
from bot.core.errors import InvalidBody, PeerError, Refused, requested_wait

if TYPE_CHECKING:
    from bot.chat.messages.jobs import CreateRequest
    from bot.chat.requests.create_attempt import Attempt
    from bot.chat.requests.job_outcomes import Outcomes
    from bot.chat.requests.request_bodies import PaymentServer
    from bot.chat.store.listings import Listing
    from bot.chat.store.profiles import ProfileState
    from bot.core.database.database import Transaction
    from bot.core.outbox.outbox import Message

PATIENCE = 20 * 3600 * 1000
"""Milliseconds after which a request is left with the former profile."""

ATTEMPTS_IN_TURN = 5
"""Attempts at one request before the others go on without it."""

SENT_AT_ONCE, SPACING = 50, 250
"""Requests that a change reaches without a pause, and the milliseconds between the others: a fifth
of the calls that API_RATE allows by default, so that new requests are still made at once."""

REFUSAL_KEPT = 7 * 24 * 3600 * 1000
"""Milliseconds for which a server that refused `seller` is not sent one: it may be updated."""


class ProfileHandler:
    """Performs SendProfile, and looks after the profile when a request is created."""

    def __init__(self, outcomes: Outcomes, server: PaymentServer) -> None:
        self._outcomes = outcomes
        self._server = server

    def knows_seller(self, tx: Transaction) -> bool:
        """Return whether the server may know a request's `seller`; HandCash does not."""
        url = self._server.url
        if url is None:
            return True
        is_possible = may_have_seller(server_memory.known_dialect(tx, url))
        if not is_possible or PayoutService.at(url).is_handcash:
            return False
        return not server_memory.refuses_seller(tx, url, self._outcomes.now() - REFUSAL_KEPT)

    async def send(self, message: Message, listing: Listing) -> None:
        """Send the profile with one request; after some failures the other requests go on."""
        job: SendProfile = message.body
        state, is_known = await self._outcomes.db.read(lambda tx: self._look(tx, listing))
        if state.version != job.version:
            await self._outcomes.finish(message)
            return
        try:
            if is_known and listing.state in (LIVE, STOPPED):
                body = {"seller": seller_of_edit(state.profile, self._server.addresses)}
                client = self._server.client.keyed(message.id)
                await in_time(client.edit(listing.request_id or "", body))
        except PeerError as error:
            log_failure(job, error)
            await self._postpone(message, error)
        except Refused as error:
            log_failure(job, error)
            await self._outcomes.finish(message, self._go_on, error)
        else:
            await self._outcomes.finish(message, self._go_on)

    def give_up(self, tx: Transaction, job: SendProfile) -> None:
        """Skip a request whose job was set aside."""
        self._go_on(tx, job)

    def after_create(
        self, tx: Transaction, job: CreateRequest, listing: Listing, attempt: Attempt
    ) -> None:
        """Send a profile that changed meanwhile; ask for one after the seller's first request."""
        state = profiles.profile_state(tx, listing.seller_id)
        if attempt.is_seller_refused:
            self._remember_refusal(tx)
        if state.version != attempt.profile_version:
            self._outcomes.add_later(tx, SendProfile(listing.id, state.version), 0)
        if state.is_offered:
            return
        is_first = profiles.mark_profile_offered(tx, listing.seller_id, self._outcomes.now())
        if is_first and state.profile.name is None:
            self._outcomes.send(tx, job, profile_offer(job.seller_name, job.reply_to.language))

    def _look(self, tx: Transaction, listing: Listing) -> tuple[ProfileState, bool]:
        return profiles.profile_state(tx, listing.seller_id), self.knows_seller(tx)

    async def _postpone(self, message: Message, error: PeerError) -> None:
        job: SendProfile = message.body
        delay = RETRIES.delay_or_last(message.attempts, requested_wait(error))
        if self._outcomes.now() - message.created_at > PATIENCE:
            await self._outcomes.finish(message, self._go_on)
        elif job.goes_on and message.attempts >= ATTEMPTS_IN_TURN:
            await self._outcomes.finish(message, self._go_on_without, delay)
        else:
            await self._outcomes.retry(message, job, delay)

    def _go_on(self, tx: Transaction, job: SendProfile, refused: Refused | None = None) -> None:
        """Refresh the posts of a request, and queue the seller's next older one."""
        if isinstance(refused, InvalidBody) and is_seller_unknown(refused):
            self._remember_refusal(tx)
        listing = listings.get_listing(tx, job.listing_id)
        self._outcomes.refresh(tx, listing.id)
        if job.goes_on and (older := profiles.next_older_link(tx, listing)):
            delay = 0 if job.sent < SENT_AT_ONCE else SPACING
            following = replace(job, listing_id=older, sent=job.sent + 1)
            self._outcomes.add_later(tx, following, delay)

    def _go_on_without(self, tx: Transaction, job: SendProfile, delay: int) -> None:
        self._go_on(tx, job)
        self._outcomes.add_later(tx, replace(job, goes_on=False), delay)

    def _remember_refusal(self, tx: Transaction) -> None:
        if self._server.url is not None:
            server_memory.remember_seller_refusal(tx, self._server.url, self._outcomes.now())
