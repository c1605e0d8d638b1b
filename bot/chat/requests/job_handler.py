"""The handler of the queue of jobs: each kind is passed on to its own handler."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bot.chat.messages.jobs import (
    AccountJob,
    AddCodes,
    CheckRequest,
    CreateRequest,
    DecideClaim,
    DeleteDoubles,
    EditRequest,
    KeepReceipt,
    RemoveUnits,
    SellerJob,
    SendMark,
    SendProfile,
)
from bot.chat.requests.change_job import ChangeHandler
from bot.chat.requests.codes_job import CodesHandler
from bot.chat.requests.create_job import CreateHandler
from bot.chat.requests.edit_job import EditHandler
from bot.chat.requests.job_outcomes import Outcomes
from bot.chat.requests.payment_jobs.claim_job import ClaimHandler
from bot.chat.requests.payment_jobs.mark_job import MarkHandler
from bot.chat.requests.receipt_job import ReceiptHandler
from bot.chat.requests.sellers.payout_job import PayoutHandler
from bot.chat.requests.sellers.profile_job import ProfileHandler
from bot.chat.requests.units_job import UnitsHandler
from bot.chat.store import listings
from bot.chat.store.listings import DELETED
from bot.core.errors import Unreachable

if TYPE_CHECKING:
    from collections.abc import Callable

    from bot.chat.messages.jobs import Job
    from bot.chat.messages.queues import Queues
    from bot.chat.requests.request_bodies import PaymentServer
    from bot.chat.store.listings import Listing
    from bot.core.database.database import Database, Transaction
    from bot.core.database.vault import Vault
    from bot.core.outbox.outbox import Message


class JobHandler:
    """Performs jobs at `server`; `now` in epoch ms. `vault` opens what sellers typed as secrets."""

    def __init__(
        self,
        db: Database,
        queues: Queues,
        now: Callable[[], int],
        server: PaymentServer,
        vault: Vault,
    ) -> None:
        self._outcomes = outcomes = Outcomes(db, queues, now, server.payout_service)
        self._payouts = PayoutHandler(outcomes, server, vault)
        self._profile = ProfileHandler(outcomes, server)
        self._creates = CreateHandler(outcomes, server, self._profile)
        self._changes = ChangeHandler(outcomes, server.client)
        self._claims = ClaimHandler(outcomes, server.client)
        self._codes = CodesHandler(outcomes, server.client)
        self._marks = MarkHandler(outcomes, server.client)
        self._edits = EditHandler(outcomes, server)
        self._receipts = ReceiptHandler(outcomes, server.client)
        self._units = UnitsHandler(outcomes, server, self._edits)

    async def perform(self, message: Message) -> None:
        """Perform one job and settle it with what follows; raises StorageError."""
        if isinstance(message.body, AccountJob):
            await self._payouts.perform(message)
            return
        if isinstance(message.body, KeepReceipt):
            await self._receipts.keep(message)
            return
        job: Job = message.body
        listing = await self._outcomes.db.read(lambda tx: listings.find_listing(tx, job.listing_id))
        if listing is None:
            await self._outcomes.finish(message)
        elif not await self._edits.goes_behind(message):
            await self._perform(message, job, listing)

    async def _perform(self, message: Message, job: Job, listing: Listing) -> None:
        match job:
            case CreateRequest():
                await self._creates.create(message, listing)
            case DeleteDoubles():
                await self._creates.delete_doubles(message, listing)
            case SendProfile():
                await self._profile.send(message, listing)
            case DecideClaim() | SendMark():  # also of a deleted request: the money may be there
                act = self._claims.decide if isinstance(job, DecideClaim) else self._marks.send
                await act(message)
            case AddCodes():  # its buyers wait for them, too
                await self._codes.add(message, listing)
            case _ if listing.state == DELETED:
                is_asked = isinstance(job, SellerJob)
                follow = self._changes.answer_deleted if is_asked else None
                await self._outcomes.finish(message, follow)
            case CheckRequest():
                await self._changes.check(message, listing)
            case EditRequest():
                await self._edits.edit(message, listing)
            case RemoveUnits():
                await self._units.remove(message, listing)
            case _:
                await self._changes.change(message, listing)

    def buried(self, tx: Transaction, message: Message) -> None:
        """Notify the seller of a job that was set aside: its outcome is not known."""
        if isinstance(message.body, AccountJob):
            self._payouts.buried(tx, message.body)
            return
        if isinstance(message.body, KeepReceipt):
            self._receipts.give_up(tx, message.body)
            return
        job: Job = message.body
        if listings.find_listing(tx, job.listing_id) is None:
            return
        if isinstance(job, CreateRequest):
            self._creates.give_up(tx, job, job.progress.after_loss(self._outcomes.now()))
        elif isinstance(job, SendProfile):
            self._profile.give_up(tx, job)
        elif isinstance(job, DecideClaim):
            self._claims.give_up(tx, job)
        elif isinstance(job, AddCodes):
            self._codes.give_up(tx, job)
        elif isinstance(job, SendMark):
            self._marks.give_up(tx, job)
        elif isinstance(job, SellerJob):
            self._changes.fail(tx, job, Unreachable("no attempt came to an end"))
