"""The jobs that create a request (`create`) and delete accidental copies of it.

The ordinary way: `_order` reads what to create, `_run` calls the server, `_made` stores its answer.
The rest is for creates that the server refuses, and for those whose answer is lost: the request is
then searched for before it is created again, and its copies are deleted later.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from bot.chat.forms.form import reopen
from bot.chat.jobs import audit_trail, create_attempt, job_outcomes, request_bodies, seller_jobs
from bot.chat.jobs.dialects import DIALECTS, Dialect, dialects_to_try, instrument_of
from bot.chat.model import jobs, remote_request, replies
from bot.chat.store import link_rows, payment_rows, seller_rows, server_memory
from bot.core import errors
from bot.core.database import database
from bot.core.money import amounts
from bot.core.outbox import outbox
from bot.core.text import translations

PATIENCE = 20 * 3600 * 1000
"""Milliseconds until a create is given up; the service knows its key for 24 hours."""

COPIES_DELAY = 300_000
"""Milliseconds until the list is searched for late copies from a lost create."""


class CreateHandler:
    """Performs CreateRequest and DeleteAccidentalCopies."""

    def __init__(
        self,
        outcomes: job_outcomes.Outcomes,
        server: request_bodies.PaymentServer,
        profile: seller_jobs.ProfileHandler,
    ) -> None:
        self._outcomes = outcomes
        self._server = server
        self._profile = profile

    async def create(self, message: outbox.Message, link: link_rows.PaymentLink) -> None:
        """Create a request, or find the one that an earlier attempt made."""
        now = self._outcomes.now()
        progress: jobs.CreateProgress = message.body.progress.corrected(now)
        if message.uncertain:  # an interrupted attempt may have sent its create
            progress = progress.after_loss(now)
        order = await self._outcomes.db.read(lambda tx: self._order(tx, link))
        attempt = create_attempt.Attempt(self._server.client, order, progress)
        try:
            made = await job_outcomes.in_time(self._run(attempt, message, link, progress))
        except create_attempt.NoDialect as error:
            job_outcomes.log_failure(message.body, error)
            await self._outcomes.finish(message, self._fail_dialects, progress, attempt)
        except (create_attempt.OtherPrice, errors.PeerError, errors.Refused) as error:
            job_outcomes.log_failure(message.body, error)
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

    def _order(self, tx: database.Transaction, link: link_rows.PaymentLink) -> create_attempt.Order:
        """Return what to create, with the dialects that the server may know."""
        instrument = instrument_of(link.spec, self._server.instrument)
        if self._server.url is None:
            dialects: tuple[Dialect, ...] = DIALECTS[:1]
        else:
            known = server_memory.known_dialect(tx, self._server.url)
            dialects = dialects_to_try(known, link.spec, instrument)
        paid = payment_rows.paid_request_ids(tx, link.id)
        state = seller_rows.profile_state(tx, link.seller_id)
        seller = request_bodies.seller_of_create(state.profile, self._server.addresses)
        if seller and not self._profile.knows_seller(tx):
            seller = None
        return create_attempt.Order(link, instrument, dialects, paid, seller, state.version)

    async def _run(
        self,
        attempt: create_attempt.Attempt,
        message: outbox.Message,
        link: link_rows.PaymentLink,
        progress: jobs.CreateProgress,
    ) -> remote_request.RemoteRequest | None:
        """Find the request or create it; return None while the server may still be working."""
        now, server = self._outcomes.now(), self._server

        def write(dialect: Dialect) -> Mapping[str, Any]:
            return request_bodies.request_body(
                link, server.addresses, server.instrument, now, dialect
            )

        await attempt.delete_doomed()
        if message.attempts > 1 or progress.lost_at is not None:
            if found := await attempt.find():
                return found
            if progress.unsettled(now, server.settling):
                return None
        return await attempt.create(write)

    def _made(
        self,
        tx: database.Transaction,
        job: jobs.CreateRequest,
        made: remote_request.RemoteRequest,
        attempt: create_attempt.Attempt,
    ) -> None:
        link_rows.set_answer(tx, job.link_id, made)
        link_rows.set_state(tx, job.link_id, link_rows.LIVE)
        link = link_rows.get_link(tx, job.link_id)
        audit_trail.record_made(tx, link, made.id, self._outcomes.now())
        self._outcomes.refresh(tx, link.id)
        if attempt.leaves_more and self._server.settling:
            self._delete_copies_later(tx, job)
        self._outcomes.show(tx, job)
        self._profile.after_create(tx, job, link, attempt)
        if attempt.is_unchecked(made):
            if server_memory.mark_price_warning(tx, self._server.url or "", link.seller_id):
                self._outcomes.send_text(tx, job, "service-price-unchecked")
        else:
            self._remember_dialect(tx, link, attempt.dialect_used)

    def _remember_dialect(
        self, tx: database.Transaction, link: link_rows.PaymentLink, used: Dialect | None
    ) -> None:
        """Store the successful dialect if the price and the payment have different currencies."""
        server = self._server
        is_denominated = link.spec.currency != instrument_of(link.spec, server.instrument)
        if server.url is None or used is None or not is_denominated:
            return
        name = None if used is DIALECTS[0] else used.name
        if server_memory.known_dialect(tx, server.url) != name:
            server_memory.remember_dialect(tx, server.url, name)

    def _fail_dialects(
        self,
        tx: database.Transaction,
        job: jobs.CreateRequest,
        progress: jobs.CreateProgress,
        attempt: create_attempt.Attempt,
    ) -> None:
        """End a create that failed in every dialect; notify the seller of the first failure."""
        failure = progress.failure
        if failure is not None and failure.price is None:
            problem = errors.FieldProblem(failure.field, failure.message)
            self._refuse(tx, job, progress, errors.InvalidBody(failure.message, [problem]))
            return
        spec = self._fail(tx, job, progress).spec
        price = amounts.format_money(spec.amount, spec.currency, job.reply_to.language)
        self._outcomes.send_text(
            tx, job, "service-other-price",
            charged=replies.escaped(failure.price if failure and failure.price else ""),
            price=replies.escaped(price),
            left="yes" if attempt.is_other_price_left else "no",
        )  # fmt: skip

    def _refuse(
        self,
        tx: database.Transaction,
        job: jobs.CreateRequest,
        progress: jobs.CreateProgress,
        error: errors.Refused,
    ) -> None:
        """End a refused create; open its form again if that may help."""
        link = self._fail(tx, job, progress)
        if isinstance(error, errors.InvalidBody | errors.EmailUnavailable):
            self._reopen(tx, job, link, error)
        elif isinstance(error, errors.Unauthorized):
            self._outcomes.send_text(tx, job, "service-locked")
        else:
            self._outcomes.send_refusal(tx, job, error)

    def _fail(
        self, tx: database.Transaction, job: jobs.CreateRequest, progress: jobs.CreateProgress
    ) -> link_rows.PaymentLink:
        link_rows.set_state(tx, job.link_id, link_rows.FAILED)
        if progress.lost:
            self._delete_copies_later(tx, job)
        return link_rows.get_link(tx, job.link_id)

    def _reopen(
        self,
        tx: database.Transaction,
        job: jobs.CreateRequest,
        link: link_rows.PaymentLink,
        error: errors.Refused,
    ) -> None:
        """Open the form at the step of the refused field."""
        problem = create_attempt.refused_field(error)
        words = problem.message
        if isinstance(error, errors.EmailUnavailable):
            words = translations.t(job.reply_to.language, "email-unavailable")
        form = partial(reopen, link.spec, field=problem.field, message=words)
        self._outcomes.ask(tx, job, link, form)

    async def _postpone(
        self, message: outbox.Message, progress: jobs.CreateProgress, error: Exception | None
    ) -> None:
        """Retry later; the seller gets one text for each kind of failure, and a text at the end."""
        now = self._outcomes.now()
        if now - message.created_at > PATIENCE:
            await self._outcomes.finish(message, self.give_up, progress)
            return
        asked = errors.requested_wait(error) if error else 0
        delay = job_outcomes.RETRIES.delay(message.attempts, asked) or 0
        unsettled = progress.unsettled(now, self._server.settling)
        if unsettled and error is None:
            delay = min(delay, unsettled)
        text = job_outcomes.delay_text(error)
        is_known = text in progress.sent_texts or (error is None and progress.sent_texts)
        if not is_known:
            progress = replace(progress, sent_texts=(*progress.sent_texts, text))
        job = replace(message.body, progress=progress)
        await self._outcomes.retry(message, job, delay, None if is_known else text)

    def give_up(
        self, tx: database.Transaction, job: jobs.CreateRequest, progress: jobs.CreateProgress
    ) -> None:
        """End a create whose outcome may never be known."""
        self._fail(tx, job, progress)
        self._outcomes.send_text(tx, job, "service-given-up")

    def _delete_copies_later(self, tx: database.Transaction, job: jobs.CreateRequest) -> None:
        self._outcomes.add_later(tx, jobs.DeleteAccidentalCopies(job.link_id), COPIES_DELAY)

    async def delete_copies(self, message: outbox.Message, link: link_rows.PaymentLink) -> None:
        """Delete the requests that lost creates made late; retry while the server fails."""
        paid = await self._outcomes.db.read(lambda tx: payment_rows.paid_request_ids(tx, link.id))
        try:
            await job_outcomes.in_time(
                create_attempt.delete_accidental_copies(self._server.client, link, paid)
            )
        except (errors.PeerError, errors.Refused) as error:
            job_outcomes.log_failure(message.body, error)
            is_given_up = self._outcomes.now() - message.created_at > PATIENCE
            if isinstance(error, errors.PeerError) and not is_given_up:
                delay = job_outcomes.RETRIES.delay(message.attempts) or 0
                await self._outcomes.retry(message, message.body, delay)
                return
        await self._outcomes.finish(message)
