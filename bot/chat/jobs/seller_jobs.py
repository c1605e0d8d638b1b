"""The jobs about sellers: send profiles with requests, and connect payout accounts."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import TypeAlias

from bot.chat.forms import flow, seller_forms, seller_texts
from bot.chat.jobs import audit_trail, create_attempt, dialects, job_outcomes, request_bodies
from bot.chat.model import drafts, jobs, payout
from bot.chat.model.queues import BACKGROUND, WALLETS
from bot.chat.model.replies import Reply, escaped
from bot.chat.store import (
    link_rows,
    message_rows,
    post_rows,
    seller_rows,
    server_memory,
)
from bot.core import errors, stored_json
from bot.core.database import database, vault
from bot.core.outbox import outbox, queue_policy
from bot.core.text import translations

# Profiles. A change is sent from the newest request to the oldest, one job at a time: each job
# queues the next job in the transaction that settles it. So ten thousand requests delay nobody, a
# crash loses none of them, and a newer change ends the older change's job.


PROFILE_PATIENCE = 20 * 3600 * 1000
"""Milliseconds after which a request keeps the former profile."""

ATTEMPTS_IN_TURN = 5
"""Attempts at one request before the other requests go first."""

SENT_AT_ONCE, PROFILE_SPACING = 50, 250
"""Requests that are updated at once, and the milliseconds between the others. This uses a fifth of
API_RATE's default, so that new requests are still created at once."""

REFUSAL_KEPT = 7 * 24 * 3600 * 1000
"""Milliseconds until `seller` is sent again to a server that refused it: the server may be
updated."""


class ProfileHandler:
    """Performs SendProfile; after a create, sends a changed profile or asks for one."""

    def __init__(
        self, outcomes: job_outcomes.Outcomes, server: request_bodies.PaymentServer
    ) -> None:
        self._outcomes = outcomes
        self._server = server

    def knows_seller(self, tx: database.Transaction) -> bool:
        """True if the server may know the field `seller`; HandCash doesn't."""
        url = self._server.url
        if url is None:
            return True
        is_possible = dialects.may_have_seller(server_memory.known_dialect(tx, url))
        if not is_possible or drafts.PayoutService.at(url).is_handcash:
            return False
        return not server_memory.refuses_seller(tx, url, self._outcomes.now() - REFUSAL_KEPT)

    async def send(self, message: outbox.Message, link: link_rows.PaymentLink) -> None:
        """Send the profile with one request; after some failures, the other requests don't wait."""
        job: jobs.SendProfile = message.body
        state, knows_seller = await self._outcomes.db.read(
            lambda tx: (seller_rows.profile_state(tx, link.seller_id), self.knows_seller(tx))
        )
        if state.version != job.version:
            await self._outcomes.finish(message)
            return
        try:
            if knows_seller and link.state in (link_rows.LIVE, link_rows.STOPPED):
                body = request_bodies.seller_of_edit(state.profile, self._server.addresses)
                client = self._server.client.keyed(message.id)
                await job_outcomes.in_time(client.edit(link.request_id or "", body))
        except errors.PeerError as error:
            job_outcomes.log_failure(job, error)
            await self._postpone(message, error)
        except errors.Refused as error:
            job_outcomes.log_failure(job, error)
            await self._outcomes.finish(message, self._queue_next, error)
        else:
            await self._outcomes.finish(message, self._queue_next)

    def give_up(self, tx: database.Transaction, job: jobs.SendProfile) -> None:
        """Skip a request whose job became a dead letter."""
        self._queue_next(tx, job)

    def after_create(
        self,
        tx: database.Transaction,
        job: jobs.CreateRequest,
        link: link_rows.PaymentLink,
        attempt: create_attempt.Attempt,
    ) -> None:
        """Send a profile that changed meanwhile; ask for a profile after the first request."""
        state = seller_rows.profile_state(tx, link.seller_id)
        if attempt.is_seller_refused:
            self._remember_refusal(tx)
        if state.version != attempt.profile_version:
            self._outcomes.add_later(tx, jobs.SendProfile(link.id, state.version), 0)
        if state.is_offered:
            return
        is_first = seller_rows.mark_profile_offered(tx, link.seller_id, self._outcomes.now())
        if is_first and state.profile.name is None:
            self._outcomes.send(
                tx, job, seller_texts.profile_offer(job.seller_name, job.reply_to.language)
            )

    async def _postpone(self, message: outbox.Message, error: errors.PeerError) -> None:
        job: jobs.SendProfile = message.body
        delay = job_outcomes.RETRIES.delay_or_last(message.attempts, errors.requested_wait(error))
        if self._outcomes.now() - message.created_at > PROFILE_PATIENCE:
            await self._outcomes.finish(message, self._queue_next)
        elif job.goes_on and message.attempts >= ATTEMPTS_IN_TURN:
            await self._outcomes.finish(message, self._queue_next_without, delay)
        else:
            await self._outcomes.retry(message, job, delay)

    def _queue_next(
        self, tx: database.Transaction, job: jobs.SendProfile, refused: errors.Refused | None = None
    ) -> None:
        """Refresh a request's posts, and queue the seller's next older request."""
        if isinstance(refused, errors.InvalidBody) and create_attempt.is_seller_unknown(refused):
            self._remember_refusal(tx)
        link = link_rows.get_link(tx, job.link_id)
        self._outcomes.refresh(tx, link.id)
        if job.goes_on and (older := seller_rows.next_older_link(tx, link)):
            delay = 0 if job.sent < SENT_AT_ONCE else PROFILE_SPACING
            following = replace(job, link_id=older, sent=job.sent + 1)
            self._outcomes.add_later(tx, following, delay)

    def _queue_next_without(
        self, tx: database.Transaction, job: jobs.SendProfile, delay: int
    ) -> None:
        self._queue_next(tx, job)
        self._outcomes.add_later(tx, replace(job, goes_on=False), delay)

    def _remember_refusal(self, tx: database.Transaction) -> None:
        if self._server.url is not None:
            server_memory.remember_seller_refusal(tx, self._server.url, self._outcomes.now())


# Payout accounts. A seller's answers are stored encrypted and only decrypted for the call. The form
# waits for the outcome: it shows the service's result, or asks again for a refused field.


SellerAccountJob: TypeAlias = jobs.ConnectAccount | jobs.RemoveAccount

PAYOUT_PATIENCE = 3600 * 1000
"""Milliseconds for which a call is retried if the service doesn't answer; then the seller
decides."""

PAYOUT_SPACING = 250
"""Milliseconds between the updates of two requests, as for a changed profile."""


class PayoutHandler:
    """Performs the jobs of payout accounts; `vault` decrypts sellers' answers."""

    def __init__(
        self,
        outcomes: job_outcomes.Outcomes,
        server: request_bodies.PaymentServer,
        vault: vault.Vault,
    ) -> None:
        self._outcomes = outcomes
        self._server = server
        self._vault = vault

    async def perform(self, message: outbox.Message) -> None:
        """Perform one job and settle it; raises StorageError."""
        job: jobs.AccountJob = message.body
        match job:
            case jobs.RefreshPayable():
                await self._outcomes.finish(message, self._refresh_some)
            case jobs.ConnectAccount(dry_run=True):
                await self._attempt(message, self._probe)
            case jobs.ConnectAccount():
                await self._attempt(message, self._save)
            case jobs.RemoveAccount():
                await self._attempt(message, self._remove)

    def on_dead_letter(self, tx: database.Transaction, job: jobs.AccountJob) -> None:
        """Notify the seller of a call whose job became a dead letter: the outcome is unknown."""
        if isinstance(job, jobs.ConnectAccount | jobs.RemoveAccount):
            self._give_up(tx, job)

    async def _attempt(
        self, message: outbox.Message, call: Callable[[outbox.Message], Awaitable[None]]
    ) -> None:
        job = message.body
        try:
            await job_outcomes.in_time(call(message))
        except errors.InvalidBody as error:
            await self._outcomes.finish(message, self._refuse, error)
        except errors.Refused as error:
            job_outcomes.log_failure(job, error)
            await self._outcomes.finish(message, self._fail, error)
        except errors.PeerError as error:
            job_outcomes.log_failure(job, error)
            await self._postpone(message, error)

    async def _probe(self, message: outbox.Message) -> None:
        account = await self._connect(message)
        await self._outcomes.finish(message, self._show_found, account)

    async def _save(self, message: outbox.Message) -> None:
        job: jobs.ConnectAccount = message.body
        account = await self._connect(message)
        accounts = await self._server.client.payout_accounts(payout.owner_ref(job.seller_id))
        await self._outcomes.finish(message, self._conclude_save, account, accounts)

    async def _connect(self, message: outbox.Message) -> payout.PayoutAccount:
        job: jobs.ConnectAccount = message.body
        values = stored_json.read(dict, self._vault.open(job.sealed))
        return await self._server.client.keyed(message.id).connect_account(
            payout.owner_ref(job.seller_id),
            payout.kind_of(job.way),
            payout.details_of(job.way, values),
            dry_run=job.dry_run,
        )

    async def _remove(self, message: outbox.Message) -> None:
        job: jobs.RemoveAccount = message.body
        await self._server.client.keyed(message.id).remove_account(job.account_id)
        accounts = await self._server.client.payout_accounts(payout.owner_ref(job.seller_id))
        await self._outcomes.finish(message, self._conclude_remove, accounts)

    def _show_found(
        self, tx: database.Transaction, job: jobs.ConnectAccount, account: payout.PayoutAccount
    ) -> None:
        self._resume_form(
            tx, job, lambda draft, seller: seller_forms.account_probed(draft, account, seller)
        )

    def _conclude_save(
        self,
        tx: database.Transaction,
        job: jobs.ConnectAccount,
        account: payout.PayoutAccount,
        accounts: list[payout.PayoutAccount],
    ) -> None:
        """Store the accounts, end the form, and refresh requests that could not be paid before."""
        seller = self._seller(tx, job)
        before = seller.account_of(account.way)
        seller_rows.save_accounts(tx, job.seller_id, accounts)
        audit_trail.record_account(tx, job.seller_id, before, account, self._outcomes.now())
        self._resume_form(
            tx, job, lambda draft, _: seller_forms.account_saved(draft, account, seller),
            otherwise=seller_texts.saved_reply(account, before, seller.language),
        )  # fmt: skip
        self._add(tx, jobs.RefreshPayable(job.seller_id, unpayable=True), 0)

    def _conclude_remove(
        self,
        tx: database.Transaction,
        job: jobs.RemoveAccount,
        accounts: list[payout.PayoutAccount],
    ) -> None:
        """Remove an account, and refresh the requests that depended on the account."""
        seller = self._seller(tx, job)
        gone = next((one for one in seller.accounts if one.id == job.account_id), None)
        seller_rows.save_accounts(tx, job.seller_id, accounts)
        if gone is None:  # the button was pressed twice
            return
        audit_trail.record_account(tx, job.seller_id, gone, None, self._outcomes.now())
        affected = seller_rows.links_without(tx, job.seller_id, accounts)
        self._outcomes.answer(tx, job, seller_texts.removed_reply(gone, affected, seller.language))
        self._add(tx, jobs.RefreshPayable(job.seller_id, unpayable=False), 0)

    def _refuse(
        self, tx: database.Transaction, job: SellerAccountJob, error: errors.InvalidBody
    ) -> None:
        """Ask again for the refused field; if no form waits, reply with the refusal."""
        problem = error.info[0] if error.info else errors.FieldProblem("", error.message)
        self._resume_form(
            tx, job,
            lambda draft, seller: seller_forms.account_refused(draft, problem, seller),
            otherwise=Reply(seller_texts.refusal_text(problem, job.reply_to.language)),
        )  # fmt: skip

    def _fail(self, tx: database.Transaction, job: SellerAccountJob, error: errors.Refused) -> None:
        key = "payout-closed" if isinstance(error, errors.Unauthorized) else "payout-refused"
        words = (
            {} if isinstance(error, errors.Unauthorized) else {"message": escaped(error.message)}
        )
        self._interrupt(tx, job, self._text(job, key, **words))

    def _give_up(self, tx: database.Transaction, job: SellerAccountJob) -> None:
        self._interrupt(tx, job, self._text(job, "payout-given-up"))

    def _interrupt(self, tx: database.Transaction, job: SellerAccountJob, note: Reply) -> None:
        self._resume_form(
            tx, job,
            lambda draft, seller: seller_forms.probe_interrupted(draft, note.text, seller),
            otherwise=note,
        )  # fmt: skip

    async def _postpone(self, message: outbox.Message, error: errors.PeerError) -> None:
        """Retry later in the background; the seller is notified of the delay once."""
        job: SellerAccountJob = message.body
        outcomes = self._outcomes
        if outcomes.now() - message.created_at > PAYOUT_PATIENCE:
            await outcomes.finish(message, self._give_up)
            return
        delay = job_outcomes.RETRIES.delay_or_last(message.attempts, errors.requested_wait(error))
        is_busy = isinstance(error, errors.Throttled)  # a short delay isn't worth a notice
        state = outbox.NextAttempt(
            replace(job, is_notified=job.is_notified or not is_busy),
            _lane(job),
            queue_policy.NOTICE,
        )
        due_at = outcomes.now() + delay

        def work(tx: database.Transaction) -> None:
            note = "the service does not answer"
            kept = outbox.retry(tx, outcomes.queues.jobs, message, due_at, note, following=state)
            if kept and not (job.is_notified or is_busy):
                outcomes.answer(tx, job, self._text(job, "payout-waiting"))

        await outcomes.db.transaction_until_stored(work)

    def _resume_form(
        self,
        tx: database.Transaction,
        job: SellerAccountJob,
        follow: Callable[[drafts.Draft, drafts.Seller], flow.FormResult],
        otherwise: Reply | None = None,
    ) -> None:
        """Resume the form that waits for this job; if there is none, reply `otherwise`."""
        chat_id = job.reply_to.chat_id
        draft = seller_rows.find_draft(tx, chat_id, job.seller_id)
        replies: tuple[Reply, ...] = (otherwise,) if otherwise else ()
        if draft is not None and _awaits(draft, job):
            result = follow(draft, self._seller(tx, job))
            self._save_form(tx, job, result.draft)
            replies = result.replies
        for reply in replies:
            self._outcomes.answer(tx, job, reply)

    def _save_form(
        self, tx: database.Transaction, job: SellerAccountJob, draft: drafts.Draft | None
    ) -> None:
        """Store the form; if it has ended, remove the buttons of its last question."""
        chat_id, now = job.reply_to.chat_id, self._outcomes.now()
        question = seller_rows.save_draft(tx, chat_id, job.seller_id, draft, now)
        if question is not None:
            place = post_rows.MessagePlace(str(chat_id), question)
            message_rows.remove_buttons(tx, self._outcomes.queues, place, now)

    def _seller(self, tx: database.Transaction, job: SellerAccountJob) -> drafts.Seller:
        now, service = self._outcomes.now(), self._server.payout_service
        seller = seller_rows.ensure_seller(tx, job.seller_id, job.reply_to.language, now)
        return seller_rows.at_service(tx, seller, job.seller_id, service)

    def _refresh_some(self, tx: database.Transaction, job: jobs.RefreshPayable) -> None:
        """Queue the checks of some requests, and a job for the older requests."""
        found = seller_rows.live_links_before(tx, job.seller_id, job.before)
        wanted = [
            one for one in found
            if not job.unpayable or (one.answer is not None and one.answer.lacks_account)
        ]  # fmt: skip
        for place, link in enumerate(wanted):
            self._outcomes.add_later(tx, jobs.CheckRequest(link.id), place * PAYOUT_SPACING)
        if len(found) == seller_rows.BATCH:
            following = replace(job, before=found[-1].id)
            self._add(tx, following, len(wanted) * PAYOUT_SPACING)

    def _add(self, tx: database.Transaction, job: jobs.AccountJob, delay: int) -> None:
        now, queue = self._outcomes.now(), self._outcomes.queues.jobs
        outbox.put(
            tx, queue, _lane(job), job, now, priority=queue_policy.NOTICE, due_at=now + delay
        )

    def _text(self, job: SellerAccountJob, key: str, **values: object) -> Reply:
        return Reply(translations.t(job.reply_to.language, key, **values))


def _lane(job: jobs.AccountJob) -> str:
    """Return the lane of a seller's background jobs, or of jobs that ask a wallet."""
    return f"{WALLETS if job.asks_wallet else BACKGROUND}{payout.owner_ref(job.seller_id)}"


def _awaits(draft: drafts.Draft, job: SellerAccountJob) -> bool:
    """True if a form still waits for this job, with the same answers."""
    if not isinstance(job, jobs.ConnectAccount) or draft.id != job.draft_id:
        return False
    step = payout.CHECKING if job.dry_run else payout.SAVING
    return draft.step == step and seller_forms.connection_token(draft) == job.token
