"""The jobs: what performs each kind, and what follows when it fails."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from bot.chat.model import jobs
from bot.chat.payments import (
    change_jobs,
    create_job,
    job_context,
    payment_jobs,
    seller_jobs,
)
from bot.chat.payments.job_context import Context, Outcome
from bot.chat.store import link_rows
from bot.core import errors
from bot.core.database import database
from bot.core.outbox import outbox


def nothing(*_: object) -> None:
    """Follow a job by nothing."""


@dataclass(frozen=True, slots=True)
class JobKind:
    """What happens with a kind of job.

    Each function but the first takes the Outcome, and stores what follows.
    """

    perform: Callable[..., Awaitable[None]]
    """Makes the calls and settles the job. Takes the context, the message, and the link: None for
    jobs without one. What it raises follows this row."""

    refused: job_context.Follow = nothing
    """After a refusal, and after a failure of a job that is not retried; takes the error too."""

    give_up: job_context.Follow = nothing
    """When the retries end, and for a dead letter: the outcome is unknown."""

    deleted: job_context.Follow | None = None
    """If the request has been deleted. With None the job is performed all the same: money may be
    there, and buyers may wait."""

    patience: int = 0
    """Milliseconds for which the job is retried while the service doesn't answer."""

    delayed: job_context.Follow | None = None
    """Before the first retry, of a job with `is_notified`."""


_BUTTON = JobKind(
    change_jobs.change, change_jobs.fail, change_jobs.give_up, change_jobs.answer_deleted
)

_ACCOUNT = JobKind(
    seller_jobs.connect,
    refused=seller_jobs.refuse_account,
    give_up=seller_jobs.give_up_account,
    patience=seller_jobs.PAYOUT_PATIENCE,
    delayed=seller_jobs.delay_account,
)

JOBS: dict[type[Any], JobKind] = {
    jobs.CreateRequest: JobKind(create_job.create, give_up=create_job.give_up),
    jobs.DeleteAccidentalCopies: JobKind(create_job.delete_copies, patience=create_job.PATIENCE),
    jobs.CheckRequest: JobKind(change_jobs.check, deleted=nothing),
    jobs.SendCard: _BUTTON,
    jobs.RefreshCard: _BUTTON,
    jobs.PauseRequest: _BUTTON,
    jobs.ResumeRequest: _BUTTON,
    jobs.DeleteRequest: _BUTTON,
    jobs.EditRequest: replace(_BUTTON, perform=change_jobs.edit, refused=change_jobs.edit_failed),
    jobs.RemoveUnits: replace(_BUTTON, perform=change_jobs.remove, refused=change_jobs.edit_failed),
    jobs.AddCodes: JobKind(
        change_jobs.add_codes,
        refused=change_jobs.codes_refused,
        give_up=partial(Outcome.send_text, key="codes-given-up"),
        patience=change_jobs.CODES_TRIED_FOR,
        delayed=partial(Outcome.send_text, key="codes-service-down"),
    ),
    jobs.DecideClaim: JobKind(
        payment_jobs.decide,
        refused=payment_jobs.claim_refused,
        give_up=payment_jobs.claim_given_up,
        patience=payment_jobs.CLAIM_TRIED_FOR,
        delayed=partial(Outcome.send_text, key="claims-service-down"),
    ),
    jobs.SendMark: JobKind(
        payment_jobs.send_mark,
        refused=payment_jobs.mark_refused,
        give_up=partial(payment_jobs.explain_mark, key="marks-given-up"),
        patience=payment_jobs.MARK_TRIED_FOR,
        delayed=partial(payment_jobs.explain_mark, key="marks-service-down"),
    ),
    jobs.SendProfile: JobKind(
        seller_jobs.send_profile,
        refused=seller_jobs.queue_next,
        give_up=seller_jobs.queue_next,
        patience=seller_jobs.PROFILE_PATIENCE,
    ),
    jobs.ConnectAccount: _ACCOUNT,
    jobs.RemoveAccount: replace(_ACCOUNT, perform=seller_jobs.remove),
    jobs.RefreshPayable: JobKind(seller_jobs.refresh_payable),
    jobs.KeepReceipt: JobKind(
        payment_jobs.keep_receipt,
        give_up=partial(payment_jobs.answer_buyer, key="receipt-given-up"),
        patience=payment_jobs.RECEIPT_TRIED_FOR,
        delayed=partial(payment_jobs.answer_buyer, key="receipt-later"),
    ),
}

SHORT = 60_000
"""The longest delay, in ms, of which a server that is only busy (429) is not worth a notice."""


class JobHandler:
    """The handler of the job queue: performs jobs, and retries them while nobody answers."""

    def __init__(self, context: Context) -> None:
        self._context = context

    async def perform(self, message: outbox.Message) -> None:
        """Perform and settle one job; raises StorageError."""
        job, context = message.body, self._context
        kind, link = JOBS[type(job)], None
        if isinstance(job, jobs.Job):
            link = await context.db.read(lambda tx: link_rows.find_link(tx, job.link_id))
            if link is None:
                await context.finish(message)
                return
            if link.state == link_rows.DELETED and kind.deleted:
                await context.finish(message, kind.deleted)
                return
        try:
            await kind.perform(context, message, link)
        except (errors.PeerError, errors.Refused) as error:
            job_context.log_failure(job, error)
            await self._go_on(message, kind, error)

    async def _go_on(
        self, message: outbox.Message, kind: JobKind, error: errors.PeerError | errors.Refused
    ) -> None:
        """Settle a job that failed, or retry it."""
        job, context = message.body, self._context
        if isinstance(error, errors.Refused) or not kind.patience:
            await context.finish(message, kind.refused, error)
            return
        if context.now() - message.created_at >= kind.patience:
            await context.finish(message, kind.give_up)
            return
        delay = job_context.RETRIES.delay_or_last(message.attempts, errors.requested_wait(error))
        is_short = isinstance(error, errors.Throttled) and delay <= SHORT
        if kind.delayed is None or job.is_notified or is_short:
            await context.retry(message, job, delay)
        else:
            await context.retry(message, replace(job, is_notified=True), delay, kind.delayed)

    def on_dead_letter(self, tx: database.Transaction, message: outbox.Message) -> None:
        """Notify the seller of a job that became a dead letter: its outcome is unknown."""
        job = message.body
        if isinstance(job, jobs.Job) and link_rows.find_link(tx, job.link_id) is None:
            return
        JOBS[type(job)].give_up(Outcome(self._context, tx, self._context.now(), job))
