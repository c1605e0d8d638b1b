"""The jobs that create a request and delete its doubles."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from bot.chat.forms.form import reopen
from bot.chat.messages.jobs import CreateRequest, DeleteDoubles
from bot.chat.messages.reply import escaped
from bot.chat.provider.dialects import DIALECTS, Dialect, dialects_to_try, instrument_of
from bot.chat.requests import audit_trail
from bot.chat.requests.create_attempt import (
    Attempt,
    NoDialect,
    Order,
    OtherPrice,
    delete_doubles,
    refused_field,
)
from bot.chat.requests.job_failures import RETRIES, delay_text, in_time, log_failure
from bot.chat.requests.request_bodies import request_body, seller_of_create
from bot.chat.store import listings, profiles, server_memory
from bot.chat.store.listings import FAILED, LIVE
from bot.chat.store.received_payments import paid_request_ids
from bot.core.errors import (
    EmailUnavailable,
    FieldProblem,
    InvalidBody,
    PeerError,
    Refused,
    Unauthorized,
    requested_wait,
)
from bot.core.money.amounts import format_money
from bot.core.text.translations import t

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from bot.chat.messages.jobs import CreateProgress
    from bot.chat.model.answers import Answer
    from bot.chat.requests.job_outcomes import Outcomes
    from bot.chat.requests.request_bodies import PaymentServer
    from bot.chat.requests.sellers.profile_job import ProfileHandler
    from bot.chat.store.listings import Listing
    from bot.core.database.database import Transaction
    from bot.core.outbox.outbox import Message

PATIENCE = 20 * 3600 * 1000
"""Milliseconds after which a create is given up: the service knows its key for 24 hours."""

TIDYING = 300_000
"""Milliseconds until the list is searched for doubles that a lost create made late."""


class CreateHandler:
    """Performs CreateRequest and DeleteDoubles."""

    def __init__(self, outcomes: Outcomes, server: PaymentServer, profile: ProfileHandler) -> None:
        self._outcomes = outcomes
        self._server = server
        self._profile = profile

    async def create(self, message: Message, listing: Listing) -> None:
        """Create a request, or find the one that an earlier attempt made."""
        now = self._outcomes.now()
        progress: CreateProgress = message.body.progress.corrected(now)
        if message.uncertain:  # an attempt that was cut short may have sent its create
            progress = progress.after_loss(now)
        order = await self._outcomes.db.read(lambda tx: self._order(tx, listing))
        attempt = Attempt(self._server.client, order, progress)
        try:
            made = await in_time(self._run(attempt, message, listing, progress))
        except NoDialect as error:
            log_failure(message.body, error)
            await self._outcomes.finish(message, self._fail_dialects, progress, attempt)
        except (OtherPrice, PeerError, Refused) as error:
            log_failure(message.body, error)
            progress = attempt.progress_after(error, self._outcomes.now())
            if attempt.is_misspelled(error):
                job = replace(message.body, progress=progress)
                await self._outcomes.retry(message, job, 0)
            elif attempt.is_final(error):
                await self._outcomes.finish(message, self._refuse, progress, error)
            else:
                await self._postpone(message, progress, error)
        else:
            if made is None:
                await self._postpone(message, progress, None)
            else:
                await self._outcomes.finish(message, self._made, made, attempt)

    async def _run(
        self, attempt: Attempt, message: Message, listing: Listing, progress: CreateProgress
    ) -> Answer | None:
        """Find the request or create it; return None while the server may still be at work."""
        now, server = self._outcomes.now(), self._server

        def write(dialect: Dialect) -> Mapping[str, Any]:
            return request_body(listing, server.addresses, server.instrument, now, dialect)

        await attempt.delete_doomed()
        if message.attempts > 1 or progress.lost_at is not None:
            if found := await attempt.find():
                return found
            if progress.unsettled(now, server.settling):
                return None
        return await attempt.create(write)

    async def delete_doubles(self, message: Message, listing: Listing) -> None:
        """Delete the requests that lost creates made late; retry while the server fails."""
        paid = await self._outcomes.db.read(lambda tx: paid_request_ids(tx, listing.id))
        try:
            await in_time(delete_doubles(self._server.client, listing, paid))
        except (PeerError, Refused) as error:
            log_failure(message.body, error)
            is_given_up = self._outcomes.now() - message.created_at > PATIENCE
            if isinstance(error, PeerError) and not is_given_up:
                delay = RETRIES.delay(message.attempts) or 0
                await self._outcomes.retry(message, message.body, delay)
                return
        await self._outcomes.finish(message)

    def give_up(self, tx: Transaction, job: CreateRequest, progress: CreateProgress) -> None:
        """End a create whose outcome may never be known."""
        self._fail(tx, job, progress)
        self._outcomes.send_text(tx, job, "service-given-up")

    def _order(self, tx: Transaction, listing: Listing) -> Order:
        """Return what to create, in the dialects that the server may know."""
        instrument = instrument_of(listing.wish, self._server.instrument)
        if self._server.url is None:
            dialects: tuple[Dialect, ...] = DIALECTS[:1]
        else:
            known = server_memory.known_dialect(tx, self._server.url)
            dialects = dialects_to_try(known, listing.wish, instrument)
        paid = paid_request_ids(tx, listing.id)
        state = profiles.profile_state(tx, listing.seller_id)
        seller = seller_of_create(state.profile, self._server.addresses)
        if seller and not self._profile.knows_seller(tx):
            seller = None
        return Order(listing, instrument, dialects, paid, seller, state.version)

    def _made(self, tx: Transaction, job: CreateRequest, made: Answer, attempt: Attempt) -> None:
        listings.set_answer(tx, job.listing_id, made)
        listings.set_state(tx, job.listing_id, LIVE)
        listing = listings.get_listing(tx, job.listing_id)
        audit_trail.record_made(tx, listing, made.id, self._outcomes.now())
        self._outcomes.refresh(tx, listing.id)
        if attempt.leaves_more and self._server.settling:
            self._tidy_later(tx, job)
        self._outcomes.show(tx, job)
        self._profile.after_create(tx, job, listing, attempt)
        if attempt.is_unchecked(made):
            if server_memory.mark_price_warning(tx, self._server.url or "", listing.seller_id):
                self._outcomes.send_text(tx, job, "service-price-unchecked")
        else:
            self._remember_dialect(tx, listing, attempt.dialect_used)

    def _remember_dialect(self, tx: Transaction, listing: Listing, used: Dialect | None) -> None:
        """Store the dialect that worked, if the price is in another currency than is paid."""
        server = self._server
        is_denominated = listing.wish.currency != instrument_of(listing.wish, server.instrument)
        if server.url is None or used is None or not is_denominated:
            return
        name = None if used is DIALECTS[0] else used.name
        if server_memory.known_dialect(tx, server.url) != name:
            server_memory.remember_dialect(tx, server.url, name)

    def _fail_dialects(
        self, tx: Transaction, job: CreateRequest, progress: CreateProgress, attempt: Attempt
    ) -> None:
        """End a create that failed in every dialect; the seller gets the first one's failure."""
        failure = progress.failure
        if failure is not None and failure.price is None:
            problem = FieldProblem(failure.field, failure.message)
            self._refuse(tx, job, progress, InvalidBody(failure.message, [problem]))
            return
        wish = self._fail(tx, job, progress).wish
        price = format_money(wish.amount, wish.currency, job.reply_to.language)
        self._outcomes.send_text(
            tx, job, "service-other-price",
            charged=escaped(failure.price if failure and failure.price else ""),
            price=escaped(price),
            left="yes" if attempt.is_left else "no",
        )  # fmt: skip

    def _refuse(
        self, tx: Transaction, job: CreateRequest, progress: CreateProgress, error: Refused
    ) -> None:
        """End a create that the server refused; open its form again if that may help."""
        listing = self._fail(tx, job, progress)
        if isinstance(error, InvalidBody | EmailUnavailable):
            self._reopen(tx, job, listing, error)
        elif isinstance(error, Unauthorized):
            self._outcomes.send_text(tx, job, "service-locked")
        else:
            self._outcomes.send_refusal(tx, job, error)

    def _fail(self, tx: Transaction, job: CreateRequest, progress: CreateProgress) -> Listing:
        listings.set_state(tx, job.listing_id, FAILED)
        if progress.lost:
            self._tidy_later(tx, job)
        return listings.get_listing(tx, job.listing_id)

    def _reopen(
        self, tx: Transaction, job: CreateRequest, listing: Listing, error: Refused
    ) -> None:
        """Open the form at the step that a refusal is about."""
        problem = refused_field(error)
        words = problem.message
        if isinstance(error, EmailUnavailable):
            words = t(job.reply_to.language, "email-unavailable")
        form = partial(reopen, listing.wish, field=problem.field, message=words)
        self._outcomes.ask(tx, job, listing, form)

    async def _postpone(
        self, message: Message, progress: CreateProgress, error: Exception | None
    ) -> None:
        """Retry later; the seller gets one text for each kind of failure, and one at the end."""
        now = self._outcomes.now()
        if now - message.created_at > PATIENCE:
            await self._outcomes.finish(message, self.give_up, progress)
            return
        delay = RETRIES.delay(message.attempts, requested_wait(error) if error else 0) or 0
        unsettled = progress.unsettled(now, self._server.settling)
        if unsettled and error is None:
            delay = min(delay, unsettled)
        text = delay_text(error)
        is_known = text in progress.sent_texts or (error is None and progress.sent_texts)
        if not is_known:
            progress = replace(progress, sent_texts=(*progress.sent_texts, text))
        job = replace(message.body, progress=progress)
        await self._outcomes.retry(message, job, delay, None if is_known else text)

    def _tidy_later(self, tx: Transaction, job: CreateRequest) -> None:
        self._outcomes.add_later(tx, DeleteDoubles(job.listing_id), TIDYING)
