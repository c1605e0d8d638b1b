"""The jobs of payout accounts: check and save one, remove one, and refresh what it makes payable.

What a seller typed comes sealed and is opened for the call alone. The form waits for the outcome:
it is shown what the service found, or asked again for the field that the service refused.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from bot.chat.forms import payout_form
from bot.chat.forms.sellers.payout_texts import refusal_text, removed_reply, saved_reply
from bot.chat.messages.jobs import CheckRequest, ConnectAccount, RefreshPayable, RemoveAccount
from bot.chat.messages.queues import BACKGROUND, WALLETS
from bot.chat.messages.reply import Reply, escaped
from bot.chat.model.payout import CHECKING, SAVING, details_of, kind_of, owner_ref
from bot.chat.requests import audit_trail
from bot.chat.requests.job_failures import RETRIES, in_time, log_failure
from bot.chat.store import payouts, questions, sellers
from bot.chat.store.posts import MessagePlace
from bot.core import exact_json
from bot.core.errors import (
    FieldProblem,
    InvalidBody,
    PeerError,
    Refused,
    Throttled,
    Unauthorized,
    requested_wait,
)
from bot.core.outbox import outbox
from bot.core.outbox.outbox import State
from bot.core.outbox.queue_policy import NOTICE
from bot.core.text.translations import t

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from bot.chat.forms.outcome import Outcome
    from bot.chat.messages.jobs import AccountJob
    from bot.chat.model.draft import Draft, Seller
    from bot.chat.model.payout import PayoutAccount
    from bot.chat.requests.job_outcomes import Outcomes
    from bot.chat.requests.request_bodies import PaymentServer
    from bot.core.database.database import Transaction
    from bot.core.database.vault import Vault
    from bot.core.outbox.outbox import Message

    SellerAccountJob = ConnectAccount | RemoveAccount

PATIENCE = 3600 * 1000
"""Milliseconds for which a call is repeated while the service does not answer; then the seller
decides."""

SPACING = 250
"""Milliseconds between two requests that are brought up to date, as for a changed profile."""


class PayoutHandler:
    """Performs the jobs of payout accounts; `vault` opens what sellers typed."""

    def __init__(self, outcomes: Outcomes, server: PaymentServer, vault: Vault) -> None:
        self._outcomes = outcomes
        self._server = server
        self._vault = vault

    async def perform(self, message: Message) -> None:
        """Perform one job and settle it; raises StorageError."""
        job: AccountJob = message.body
        match job:
            case RefreshPayable():
                await self._outcomes.finish(message, self._refresh_some)
            case ConnectAccount(dry_run=True):
                await self._attempt(message, self._probe)
            case ConnectAccount():
                await self._attempt(message, self._save)
            case RemoveAccount():
                await self._attempt(message, self._remove)

    def buried(self, tx: Transaction, job: AccountJob) -> None:
        """Return a call that was set aside to its seller: its outcome is not known."""
        if isinstance(job, ConnectAccount | RemoveAccount):
            self._give_up(tx, job)

    async def _attempt(self, message: Message, call: Callable[[Message], Awaitable[None]]) -> None:
        job = message.body
        try:
            await in_time(call(message))
        except InvalidBody as error:
            await self._outcomes.finish(message, self._refuse, error)
        except Refused as error:
            log_failure(job, error)
            await self._outcomes.finish(message, self._fail, error)
        except PeerError as error:
            log_failure(job, error)
            await self._postpone(message, error)

    async def _probe(self, message: Message) -> None:
        account = await self._connect(message)
        await self._outcomes.finish(message, self._show_found, account)

    async def _save(self, message: Message) -> None:
        job: ConnectAccount = message.body
        account = await self._connect(message)
        accounts = await self._server.client.payout_accounts(owner_ref(job.seller_id))
        await self._outcomes.finish(message, self._keep, account, accounts)

    async def _connect(self, message: Message) -> PayoutAccount:
        job: ConnectAccount = message.body
        values = exact_json.loads(self._vault.open(job.sealed))
        return await self._server.client.keyed(message.id).connect_account(
            owner_ref(job.seller_id),
            kind_of(job.way),
            details_of(job.way, values),
            dry_run=job.dry_run,
        )

    async def _remove(self, message: Message) -> None:
        job: RemoveAccount = message.body
        await self._server.client.keyed(message.id).remove_account(job.account_id)
        accounts = await self._server.client.payout_accounts(owner_ref(job.seller_id))
        await self._outcomes.finish(message, self._drop, accounts)

    def _show_found(self, tx: Transaction, job: ConnectAccount, account: PayoutAccount) -> None:
        self._go_on(tx, job, lambda draft, seller: payout_form.probed(draft, account, seller))

    def _keep(
        self,
        tx: Transaction,
        job: ConnectAccount,
        account: PayoutAccount,
        accounts: list[PayoutAccount],
    ) -> None:
        """Store the accounts, end the form, and refresh what could not be paid before."""
        seller = self._seller(tx, job)
        before = seller.account_of(account.way)
        payouts.save_accounts(tx, job.seller_id, accounts)
        audit_trail.record_account(tx, job.seller_id, before, account, self._outcomes.now())
        self._go_on(
            tx, job, lambda draft, _: payout_form.saved(draft, account, seller),
            otherwise=saved_reply(account, before, seller.language),
        )  # fmt: skip
        self._add(tx, RefreshPayable(job.seller_id, unpayable=True), 0)

    def _drop(self, tx: Transaction, job: RemoveAccount, accounts: list[PayoutAccount]) -> None:
        """Forget an account, and refresh what it alone was to be paid to."""
        seller = self._seller(tx, job)
        gone = next((one for one in seller.accounts if one.id == job.account_id), None)
        payouts.save_accounts(tx, job.seller_id, accounts)
        if gone is None:  # two presses of one button
            return
        audit_trail.record_account(tx, job.seller_id, gone, None, self._outcomes.now())
        affected = payouts.links_without(tx, job.seller_id, accounts)
        self._outcomes.answer(tx, job, removed_reply(gone, affected, seller.language))
        self._add(tx, RefreshPayable(job.seller_id, unpayable=False), 0)

    def _refuse(self, tx: Transaction, job: SellerAccountJob, error: InvalidBody) -> None:
        """Ask again for the refused field; where no form waits for it, say why."""
        problem = error.info[0] if error.info else FieldProblem("", error.message)
        self._go_on(
            tx, job,
            lambda draft, seller: payout_form.refused(draft, problem, seller),
            otherwise=Reply(refusal_text(problem, job.reply_to.language)),
        )  # fmt: skip

    def _fail(self, tx: Transaction, job: SellerAccountJob, error: Refused) -> None:
        key = "payout-closed" if isinstance(error, Unauthorized) else "payout-refused"
        words = {} if isinstance(error, Unauthorized) else {"message": escaped(error.message)}
        self._interrupt(tx, job, self._text(job, key, **words))

    def _give_up(self, tx: Transaction, job: SellerAccountJob) -> None:
        self._interrupt(tx, job, self._text(job, "payout-given-up"))

    def _interrupt(self, tx: Transaction, job: SellerAccountJob, note: Reply) -> None:
        self._go_on(
            tx, job,
            lambda draft, seller: payout_form.interrupted(draft, note.text, seller),
            otherwise=note,
        )  # fmt: skip

    async def _postpone(self, message: Message, error: PeerError) -> None:
        """Retry later in the background; the seller is told once that it takes longer."""
        job: SellerAccountJob = message.body
        outcomes = self._outcomes
        if outcomes.now() - message.created_at > PATIENCE:
            await outcomes.finish(message, self._give_up)
            return
        delay = RETRIES.delay_or_last(message.attempts, requested_wait(error))
        is_busy = isinstance(error, Throttled)  # then it takes a moment longer, and no more
        state = State(replace(job, is_told=job.is_told or not is_busy), _lane(job), NOTICE)
        due_at = outcomes.now() + delay

        def work(tx: Transaction) -> None:
            note = "the service does not answer"
            kept = outbox.retry(tx, outcomes.queues.jobs, message, due_at, note, state=state)
            if kept and not (job.is_told or is_busy):
                outcomes.answer(tx, job, self._text(job, "payout-waiting"))

        await outcomes.db.transaction_until_stored(work)

    def _go_on(
        self,
        tx: Transaction,
        job: SellerAccountJob,
        follow: Callable[[Draft, Seller], Outcome],
        otherwise: Reply | None = None,
    ) -> None:
        """Resume the form that waits for this job; reply `otherwise` where none does."""
        chat_id = job.reply_to.chat_id
        draft = sellers.find_draft(tx, chat_id, job.seller_id)
        replies: tuple[Reply, ...] = (otherwise,) if otherwise else ()
        if draft is not None and _awaits(draft, job):
            outcome = follow(draft, self._seller(tx, job))
            self._store(tx, job, outcome.draft)
            replies = outcome.replies
        for reply in replies:
            self._outcomes.answer(tx, job, reply)

    def _store(self, tx: Transaction, job: SellerAccountJob, draft: Draft | None) -> None:
        """Store the form; the last question of one that ended loses its buttons."""
        chat_id, now = job.reply_to.chat_id, self._outcomes.now()
        question = sellers.save_draft(tx, chat_id, job.seller_id, draft, now)
        if question is not None:
            place = MessagePlace(str(chat_id), question)
            questions.remove_buttons(tx, self._outcomes.queues, place, now)

    def _seller(self, tx: Transaction, job: SellerAccountJob) -> Seller:
        now, service = self._outcomes.now(), self._server.payout_service
        seller = sellers.ensure_seller(tx, job.seller_id, job.reply_to.language, now)
        return payouts.at_service(tx, seller, job.seller_id, service)

    def _refresh_some(self, tx: Transaction, job: RefreshPayable) -> None:
        """Queue the checks of some requests, and then of the older ones."""
        found = payouts.live_links_before(tx, job.seller_id, job.before)
        wanted = [
            one for one in found
            if not job.unpayable or (one.answer is not None and one.answer.lacks_account)
        ]  # fmt: skip
        for place, listing in enumerate(wanted):
            self._outcomes.add_later(tx, CheckRequest(listing.id), place * SPACING)
        if len(found) == payouts.BATCH:
            following = replace(job, before=found[-1].id)
            self._add(tx, following, len(wanted) * SPACING)

    def _add(self, tx: Transaction, job: AccountJob, delay: int) -> None:
        now, queue = self._outcomes.now(), self._outcomes.queues.jobs
        outbox.put(tx, queue, _lane(job), job, now, priority=NOTICE, due_at=now + delay)

    def _text(self, job: SellerAccountJob, key: str, **values: object) -> Reply:
        return Reply(t(job.reply_to.language, key, **values))


def _lane(job: AccountJob) -> str:
    """Return the lane of a seller's jobs that nobody waits for, or that wait for a wallet."""
    return f"{WALLETS if job.asks_wallet else BACKGROUND}{owner_ref(job.seller_id)}"


def _awaits(draft: Draft, job: SellerAccountJob) -> bool:
    """Return whether a form still waits for this job, with the same answers."""
    if not isinstance(job, ConnectAccount) or draft.id != job.draft_id:
        return False
    step = CHECKING if job.dry_run else SAVING
    return draft.step == step and payout_form.token(draft) == job.token
