"""The handler of the job queue, which passes each job to the handler of its kind."""

from __future__ import annotations

from collections.abc import Callable

from bot.chat.jobs import (
    change_jobs,
    create_job,
    edit_job,
    job_outcomes,
    payment_jobs,
    request_bodies,
    seller_jobs,
)
from bot.chat.model import jobs, queues
from bot.chat.store import link_rows
from bot.core import errors
from bot.core.database import database, vault
from bot.core.outbox import outbox


class JobHandler:
    """Performs jobs at `server`; `now` in epoch ms. `vault` decrypts secrets that sellers typed."""

    def __init__(
        self,
        db: database.Database,
        queues: queues.Queues,
        now: Callable[[], int],
        server: request_bodies.PaymentServer,
        vault: vault.Vault,
    ) -> None:
        self._outcomes = outcomes = job_outcomes.Outcomes(db, queues, now, server.payout_service)
        self._payouts = seller_jobs.PayoutHandler(outcomes, server, vault)
        self._profile = seller_jobs.ProfileHandler(outcomes, server)
        self._creates = create_job.CreateHandler(outcomes, server, self._profile)
        self._changes = change_jobs.ChangeHandler(outcomes, server.client)
        self._claims = payment_jobs.ClaimHandler(outcomes, server.client)
        self._codes = change_jobs.CodesHandler(outcomes, server.client)
        self._marks = payment_jobs.MarkHandler(outcomes, server.client)
        self._edits = edit_job.EditHandler(outcomes, server)
        self._receipts = payment_jobs.ReceiptHandler(outcomes, server.client)
        self._units = edit_job.UnitsHandler(outcomes, server, self._edits)

    async def perform(self, message: outbox.Message) -> None:
        """Perform and settle one job; raises StorageError."""
        if isinstance(message.body, jobs.AccountJob):
            await self._payouts.perform(message)
            return
        if isinstance(message.body, jobs.KeepReceipt):
            await self._receipts.keep(message)
            return
        job: jobs.Job = message.body
        link = await self._outcomes.db.read(lambda tx: link_rows.find_link(tx, job.link_id))
        if link is None:
            await self._outcomes.finish(message)
        elif not await self._edits.queue_behind_goods_edit(message):
            await self._perform(message, job, link)

    async def _perform(
        self, message: outbox.Message, job: jobs.Job, link: link_rows.PaymentLink
    ) -> None:
        match job:
            case jobs.CreateRequest():
                await self._creates.create(message, link)
            case jobs.DeleteAccidentalCopies():
                await self._creates.delete_copies(message, link)
            case jobs.SendProfile():
                await self._profile.send(message, link)
            # These jobs also run for a deleted request: its money may be there, and its buyers may
            # wait.
            case jobs.DecideClaim():
                await self._claims.decide(message)
            case jobs.SendMark():
                await self._marks.send(message)
            case jobs.AddCodes():
                await self._codes.add(message, link)
            case _ if link.state == link_rows.DELETED:
                is_asked = isinstance(job, jobs.SellerJob)
                follow = self._changes.answer_deleted if is_asked else None
                await self._outcomes.finish(message, follow)
            case jobs.CheckRequest():
                await self._changes.check(message, link)
            case jobs.EditRequest():
                await self._edits.edit(message, link)
            case jobs.RemoveUnits():
                await self._units.remove(message, link)
            case _:
                await self._changes.change(message, link)

    def on_dead_letter(self, tx: database.Transaction, message: outbox.Message) -> None:
        """Notify the seller of a job that became a dead letter: its outcome is unknown."""
        if isinstance(message.body, jobs.AccountJob):
            self._payouts.on_dead_letter(tx, message.body)
            return
        if isinstance(message.body, jobs.KeepReceipt):
            self._receipts.give_up(tx, message.body)
            return
        job: jobs.Job = message.body
        if link_rows.find_link(tx, job.link_id) is None:
            return
        if isinstance(job, jobs.CreateRequest):
            self._creates.give_up(tx, job, job.progress.after_loss(self._outcomes.now()))
        elif isinstance(job, jobs.SendProfile):
            self._profile.give_up(tx, job)
        elif isinstance(job, jobs.DecideClaim):
            self._claims.give_up(tx, job)
        elif isinstance(job, jobs.AddCodes):
            self._codes.give_up(tx, job)
        elif isinstance(job, jobs.SendMark):
            self._marks.give_up(tx, job)
        elif isinstance(job, jobs.SellerJob):
            self._changes.fail(tx, job, errors.Unreachable("no attempt came to an end"))
