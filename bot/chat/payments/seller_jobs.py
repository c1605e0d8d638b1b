"""The jobs about sellers: send profiles with requests, and connect payout accounts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeAlias

from bot.chat.forms import flow, seller_forms, seller_texts
from bot.chat.model import drafts, jobs, payout
from bot.chat.model.replies import Reply, escaped
from bot.chat.payments import create_attempt, job_context, request_bodies
from bot.chat.payments.job_context import Context, Outcome
from bot.chat.store import link_rows, message_rows, post_rows, seller_rows
from bot.core import errors, stored_json
from bot.core.database import database
from bot.core.ops import audit
from bot.core.outbox import outbox
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


def knows_seller(context: Context, tx: database.Transaction) -> bool:
    """True if the server may know the field `seller`; HandCash doesn't."""
    url = context.server.url
    if url is None:
        return True
    is_possible = create_attempt.may_have_seller(create_attempt.known_dialect(tx, url))
    if not is_possible or drafts.PayoutService.at(url).is_handcash:
        return False
    return not create_attempt.refuses_seller(tx, url, context.now() - REFUSAL_KEPT)


async def send_profile(
    context: Context, message: outbox.Message, link: link_rows.PaymentLink
) -> None:
    """Send the profile with one request; after some failures, the other requests don't wait."""
    job: jobs.SendProfile = message.body
    state, is_known = await context.db.read(
        lambda tx: (seller_rows.profile_state(tx, link.seller_id), knows_seller(context, tx))
    )
    if state.version != job.version:
        await context.finish(message)
        return
    try:
        if is_known and link.state in (link_rows.LIVE, link_rows.STOPPED):
            body = request_bodies.seller_of_edit(state.profile, context.server.addresses)
            client = context.server.client.keyed(message.id)
            await job_context.in_time(client.edit(link.request_id or "", body))
    except errors.PeerError as error:
        if not job.goes_on or message.attempts < ATTEMPTS_IN_TURN:
            raise
        job_context.log_failure(job, error)
        delay = job_context.RETRIES.delay_or_last(message.attempts, errors.requested_wait(error))
        await context.finish(message, _queue_next_without, delay)
    else:
        await context.finish(message, queue_next)


def after_create(
    outcome: Outcome[jobs.CreateRequest],
    link: link_rows.PaymentLink,
    attempt: create_attempt.Attempt,
) -> None:
    """Send a profile that changed meanwhile; ask for a profile after the first request."""
    state = seller_rows.profile_state(outcome.tx, link.seller_id)
    if attempt.is_seller_refused:
        _remember_refusal(outcome)
    if state.version != attempt.profile_version:
        outcome.add_later(jobs.SendProfile(link.id, state.version), 0)
    if state.is_offered:
        return
    is_first = seller_rows.mark_once(outcome.tx, link.seller_id, "profile_offered", outcome.now)
    if is_first and state.profile.name is None:
        outcome.send(seller_texts.profile_offer(outcome.job.seller_name, outcome.language))


def queue_next(outcome: Outcome[jobs.SendProfile], refused: errors.Refused | None = None) -> None:
    """Refresh a request's posts, and queue the seller's next older request."""
    if isinstance(refused, errors.InvalidBody) and create_attempt.is_seller_unknown(refused):
        _remember_refusal(outcome)
    link = outcome.link
    outcome.refresh()
    if outcome.job.goes_on and (older := seller_rows.next_older_link(outcome.tx, link)):
        delay = 0 if outcome.job.sent < SENT_AT_ONCE else PROFILE_SPACING
        following = replace(outcome.job, link_id=older, sent=outcome.job.sent + 1)
        outcome.add_later(following, delay)


def _queue_next_without(outcome: Outcome[jobs.SendProfile], delay: int) -> None:
    queue_next(outcome)
    outcome.add_later(replace(outcome.job, goes_on=False), delay)


def _remember_refusal(outcome: Outcome[jobs.Job]) -> None:
    if (url := outcome.context.server.url) is not None:
        create_attempt.remember_seller_refusal(outcome.tx, url, outcome.now)


# Payout accounts. A seller's answers are stored encrypted and only decrypted for the call. The form
# waits for the outcome: it shows the service's result, or asks again for a refused field.


SellerAccountJob: TypeAlias = jobs.ConnectAccount | jobs.RemoveAccount

PAYOUT_PATIENCE = 3600 * 1000
"""Milliseconds for which a call is retried if the service doesn't answer; then the seller
decides."""

PAYOUT_SPACING = 250
"""Milliseconds between the updates of two requests, as for a changed profile."""


async def connect(context: Context, message: outbox.Message, _: object) -> None:
    """Check an account at the service, and save it unless this is a dry run."""
    job: jobs.ConnectAccount = message.body
    account, accounts = await job_context.in_time(_connect(context, message))
    follow = _show_found if job.dry_run else _conclude_save
    await context.finish(message, follow, account, accounts)


async def remove(context: Context, message: outbox.Message, _: object) -> None:
    """Remove an account."""
    accounts = await job_context.in_time(_remove(context, message))
    await context.finish(message, _conclude_remove, accounts)


async def refresh_payable(context: Context, message: outbox.Message, _: object) -> None:
    """Queue the checks of some requests, and a job for the older requests."""
    await context.finish(message, _refresh_some)


async def _connect(
    context: Context, message: outbox.Message
) -> tuple[payout.PayoutAccount, list[payout.PayoutAccount]]:
    """Return the account, and all accounts afterwards; none of them after a dry run."""
    job: jobs.ConnectAccount = message.body
    owner = payout.owner_ref(job.seller_id)
    values = stored_json.read(dict, context.vault.open(job.sealed))
    account = await context.server.client.keyed(message.id).connect_account(
        owner,
        payout.kind_of(job.way),
        payout.details_of(job.way, values),
        dry_run=job.dry_run,
    )
    return account, [] if job.dry_run else await context.server.client.payout_accounts(owner)


async def _remove(context: Context, message: outbox.Message) -> list[payout.PayoutAccount]:
    """Return the accounts that are left."""
    job: jobs.RemoveAccount = message.body
    await context.server.client.keyed(message.id).remove_account(job.account_id)
    return await context.server.client.payout_accounts(payout.owner_ref(job.seller_id))


def _show_found(
    outcome: Outcome[jobs.ConnectAccount], account: payout.PayoutAccount, _: object
) -> None:
    _resume_form(outcome, lambda draft, seller: seller_forms.account_probed(draft, account, seller))


def _conclude_save(
    outcome: Outcome[jobs.ConnectAccount],
    account: payout.PayoutAccount,
    accounts: list[payout.PayoutAccount],
) -> None:
    """Store the accounts, end the form, and refresh requests that could not be paid before."""
    seller = _seller(outcome)
    before = seller.account_of(account.way)
    seller_rows.save_accounts(outcome.tx, outcome.job.seller_id, accounts)
    _audit_account(outcome, before, account)
    _resume_form(
        outcome,
        lambda draft, _: seller_forms.account_saved(draft, account, seller),
        otherwise=seller_texts.saved_reply(account, before, seller),
    )
    outcome.add_later(jobs.RefreshPayable(outcome.job.seller_id, unpayable=True), 0)


def _conclude_remove(
    outcome: Outcome[jobs.RemoveAccount], accounts: list[payout.PayoutAccount]
) -> None:
    """Remove an account, and refresh the requests that depended on the account."""
    seller = _seller(outcome)
    gone = next((one for one in seller.accounts if one.id == outcome.job.account_id), None)
    seller_rows.save_accounts(outcome.tx, outcome.job.seller_id, accounts)
    if gone is None:  # the button was pressed twice
        return
    _audit_account(outcome, gone, None)
    affected = seller_rows.links_without(outcome.tx, outcome.job.seller_id, accounts)
    outcome.answer(seller_texts.removed_reply(gone, affected, seller))
    outcome.add_later(jobs.RefreshPayable(outcome.job.seller_id, unpayable=False), 0)


def _audit_account(
    outcome: Outcome[SellerAccountJob],
    before: payout.PayoutAccount | None,
    after: payout.PayoutAccount | None,
) -> None:
    """Record a change of a payout account with its former and new label; None means no account."""
    account, seller_id = after or before, outcome.job.seller_id
    if account is not None and before != after:
        details = {"way": account.way, "label": [one and one.label for one in (before, after)]}
        actor = audit.seller(seller_id)
        audit.record(outcome.tx, actor, "payout.changed", str(seller_id), outcome.now, details)


def refuse_account(outcome: Outcome[SellerAccountJob], error: errors.Refused) -> None:
    """Ask again for the refused field; if no form waits, reply with the refusal."""
    if not isinstance(error, errors.InvalidBody):
        key, words = "payout-refused", {"message": escaped(error.message)}
        if isinstance(error, errors.Unauthorized):
            key, words = "payout-closed", {}
        _interrupt(outcome, _text(outcome.job, key, **words))
        return
    problem = error.info[0] if error.info else errors.FieldProblem("", error.message)
    _resume_form(
        outcome,
        lambda draft, seller: seller_forms.account_refused(draft, problem, seller),
        otherwise=Reply(seller_texts.refusal_text(problem, outcome.language)),
    )


def give_up_account(outcome: Outcome[SellerAccountJob]) -> None:
    """Notify the seller that the outcome of a call is unknown."""
    _interrupt(outcome, _text(outcome.job, "payout-given-up"))


def delay_account(outcome: Outcome[SellerAccountJob]) -> None:
    """Notify the seller that the service doesn't answer yet."""
    outcome.answer(_text(outcome.job, "payout-waiting"))


def _interrupt(outcome: Outcome[SellerAccountJob], note: Reply) -> None:
    _resume_form(
        outcome,
        lambda draft, seller: seller_forms.probe_interrupted(draft, note.text, seller),
        otherwise=note,
    )


def _resume_form(
    outcome: Outcome[SellerAccountJob],
    follow: Callable[[drafts.PayoutDraft, drafts.Seller], flow.FormResult],
    otherwise: Reply | None = None,
) -> None:
    """Resume the form that waits for this job; if there is none, reply `otherwise`."""
    chat_id = outcome.job.reply_to.chat_id
    draft = seller_rows.find_draft(outcome.tx, chat_id, outcome.job.seller_id)
    replies: tuple[Reply, ...] = (otherwise,) if otherwise else ()
    job = outcome.job
    # The form still waits for this job if it has the same answers.
    if (
        isinstance(draft, drafts.PayoutDraft)
        and isinstance(job, jobs.ConnectAccount)
        and draft.id == job.draft_id
        and draft.step == (payout.CHECKING if job.dry_run else payout.SAVING)
        and seller_forms.connection_token(draft) == job.token
    ):
        result = follow(draft, _seller(outcome))
        seller_id = outcome.job.seller_id
        question = seller_rows.save_draft(outcome.tx, chat_id, seller_id, result.draft, outcome.now)
        if question is not None:  # the form has ended
            place = post_rows.MessagePlace(str(chat_id), question)
            message_rows.remove_buttons(outcome, place)
        replies = result.replies
    for reply in replies:
        outcome.answer(reply)


def _seller(outcome: Outcome[SellerAccountJob]) -> drafts.Seller:
    now, service = outcome.now, outcome.context.server.payout_service
    seller = seller_rows.ensure_seller(outcome.tx, outcome.job.seller_id, outcome.language, now)
    return seller_rows.at_service(outcome.tx, seller, outcome.job.seller_id, service)


def _refresh_some(outcome: Outcome[jobs.RefreshPayable]) -> None:
    """Queue the checks of some requests, and a job for the older requests."""
    found = seller_rows.live_links_before(outcome.tx, outcome.job.seller_id, outcome.job.before)
    wanted = [
        one for one in found
        if not outcome.job.unpayable or (one.answer is not None and one.answer.lacks_account)
    ]  # fmt: skip
    for place, link in enumerate(wanted):
        outcome.add_later(jobs.CheckRequest(link.id), place * PAYOUT_SPACING)
    if len(found) == seller_rows.BATCH:
        following = replace(outcome.job, before=found[-1].id)
        outcome.add_later(following, len(wanted) * PAYOUT_SPACING)


def _text(job: SellerAccountJob, key: str, **values: object) -> Reply:
    return Reply(translations.t(job.reply_to.language, key, **values))
