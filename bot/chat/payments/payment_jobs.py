"""The jobs about payments: decide a claim, send a mark, keep a buyer's receipt.

Their calls are safe to repeat, so each job is retried until the service answers, for at least a
day.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import structlog

from bot.chat.cards import claim_cards, receipts
from bot.chat.model import jobs, payloads, payment, replies
from bot.chat.payments import client, job_context
from bot.chat.payments.job_context import Context, Outcome
from bot.chat.store import claim_rows, payment_marks, receipt_rows
from bot.core import errors
from bot.core.database import database
from bot.core.outbox import lanes, outbox
from bot.core.text import translations
from bot.interface import bodies

log = structlog.get_logger()


# Claims, confirmed or rejected at the service. If a claim was decided elsewhere meanwhile, its
# current state is shown.


CLAIM_TRIED_FOR = 24 * 3600 * 1000
"""Milliseconds for which the job is retried; then the seller has to press again."""

SETTLED = ("paid", "late", "oversold")
"""States of a checkout whose money is recorded."""


@dataclass(frozen=True, slots=True)
class Decision:
    """The outcome of a claim's job."""

    state: str
    """The claim's new state."""
    text: str | None = None
    """A text key if the seller's decision was not carried out."""
    has_lapsed: bool = False
    """True if the service no longer holds a unit for the claim."""


async def decide(context: Context, message: outbox.Message, _: object) -> None:
    """Confirm or reject a claim, unless its payment was recorded meanwhile."""
    job: jobs.DecideClaim = message.body
    claim = await context.db.read(lambda tx: claim_rows.find_claim(tx, job.claim_id))
    if claim is None or not claim.is_under_way():
        await context.finish(message)
        return
    call = _ask(context.server.client.keyed(message.id), job, claim)
    await context.finish(message, _conclude_claim, await job_context.in_time(call))


def claim_refused(outcome: Outcome[jobs.DecideClaim], error: errors.Refused) -> None:
    """Reopen the seller's decision, which the service refused."""
    key = "service-closed" if isinstance(error, errors.Unauthorized) else "claims-refused"
    _conclude_claim(outcome, Decision(outcome.job.before, key))


def claim_given_up(outcome: Outcome[jobs.DecideClaim]) -> None:
    """Reopen the seller's decision after the job became a dead letter."""
    _conclude_claim(outcome, Decision(outcome.job.before, "claims-given-up"))


async def _ask(client: client.Client, job: jobs.DecideClaim, claim: claim_rows.Claim) -> Decision:
    """Ask the service; raises PeerError and Refused."""
    try:
        if job.confirms:
            await client.confirm_checkout(claim.checkout_id)
            return Decision(claim_rows.CONFIRMED)
        await client.reject_checkout(claim.checkout_id)
        return Decision(claim_rows.REJECTED)
    except errors.WrongState:
        return decided_elsewhere(job, await client.checkout_state(claim.checkout_id))
    except errors.NotFound:
        return Decision(claim_rows.CLOSED, "claims-no-checkout")


def _conclude_claim(outcome: Outcome[jobs.DecideClaim], decision: Decision) -> None:
    """Store a claim's outcome and show it, unless its payment was recorded with an alert.

    An underpaid, unconfirmed claim has an alert too, which still shows the button.
    """
    claim, now = claim_rows.find_claim(outcome.tx, outcome.job.claim_id), outcome.now
    if claim is None or not claim.is_under_way():
        return
    claim_rows.change_state(outcome.tx, claim, decision.state, claim.answered_in)
    if decision.has_lapsed:
        claim_rows.lapse(outcome.tx, claim.id, now)
    if decision.state != claim_rows.UNDERPAID:
        claim_cards.show_claim(outcome, claim.id)
    if decision.text is not None:
        outcome.send_text(decision.text)
    elif decision.state == claim_rows.REJECTED and outcome.job.reply_to.message_id is None:
        link, seller = claim_cards.link_and_seller(outcome.tx, claim.link_id)
        rejected = replace(claim, state=claim_rows.REJECTED)
        outcome.send(claim_cards.claim_reply(rejected, link, seller, now))


def decided_elsewhere(job: jobs.DecideClaim, state: str) -> Decision:
    """Return the outcome if the claim's checkout was already in another state."""
    if state in SETTLED:
        return Decision(claim_rows.CONFIRMED, None if job.confirms else "claims-settled-already")
    if job.confirms:
        return Decision(job.before, "claims-refused")
    if state == claim_rows.REJECTED:
        return Decision(claim_rows.REJECTED)
    return Decision(job.before, "claims-lapsed-already", has_lapsed=True)


# Marks: the job sends their current values to the service. Buyers who keep the receipt in Telegram
# are notified there, others by the service's email if they left an address. The seller is told how
# the buyer was notified.


MARK_TRIED_FOR = 7 * 24 * 3600 * 1000
"""Milliseconds for which the job is retried; the chat keeps the mark in any case."""

MARK_EVENTS = {payment.SENT: receipts.SENT, payment.PAID_BACK: receipts.PAID_BACK}
"""The Telegram notice to a buyer about each mark."""


async def send_mark(context: Context, message: outbox.Message, _: object) -> None:
    """Send a mark, and reply to the seller how the buyer is notified."""
    job: jobs.SendMark = message.body
    ids = job.request_id, job.transaction_id
    marks = await context.db.read(lambda tx: payment_marks.find_marks(tx, *ids))
    if marks is None:
        await context.finish(message)
        return
    is_reached = await context.db.read(lambda tx: _reaches_owner(context, tx, ids))
    body = mark_body(marks, job.mark, notify=not is_reached)
    call = context.server.client.keyed(message.id).mark_payment(*ids, body)
    is_emailed = await job_context.in_time(call)
    unsure = "unsure" if message.attempts > 1 else "none"
    way = "email" if is_emailed else unsure
    await context.finish(message, _conclude_mark, way, marks)


def mark_refused(outcome: Outcome[jobs.SendMark], error: errors.Refused) -> None:
    """Notify the seller that the service has no such mark, or refused it."""
    is_unknown = isinstance(error, errors.NotFound | errors.MethodNotAllowed)
    explain_mark(outcome, "marks-local" if is_unknown else "marks-refused")


def explain_mark(outcome: Outcome[jobs.SendMark], key: str) -> None:
    """Notify the seller of a mark that didn't reach the buyer, unless it only hides words."""
    if outcome.job.mark != payment.HIDDEN:
        outcome.send_text(key)


def _reaches_owner(context: Context, tx: database.Transaction, ids: tuple[str, str]) -> bool:
    """True if a buyer keeps the receipt in Telegram and hasn't blocked the bot."""
    owner = receipt_rows.owner_of(tx, *ids)
    messages = context.queues.messages
    return owner is not None and not lanes.is_paused(tx, messages, str(owner.account_id))


def _conclude_mark(outcome: Outcome[jobs.SendMark], way: str, sent: payment.PaymentMarks) -> None:
    """Notify the buyer and the seller of a mark.

    They are notified once, and again if a note was added later. A mark that was set after the
    marks in `sent` has its own job. `way` is how a buyer without Telegram is notified: `email`,
    `none`, or `unsure` after a lost answer. If a buyer has blocked the bot, the notice waits.
    """
    tx, mark = outcome.tx, outcome.job.mark
    key = receipt_rows.ReceiptKey(outcome.job.request_id, outcome.job.transaction_id)
    if mark == payment.HIDDEN or not payment_marks.announce(tx, key, mark, *sent.noted(mark)):
        return
    receipts.notify_owner(outcome, key, MARK_EVENTS[mark])
    if _reaches_owner(outcome.context, tx, key):
        way = "telegram"
    outcome.send_text(f"marks-{mark}-{way}")


def mark_body(marks: payment.PaymentMarks, mark: str, *, notify: bool) -> bodies.MarksBody:
    """Return the body that sets the service's mark to the chat's value."""
    if mark == payment.HIDDEN:
        return bodies.MarksBody.model_construct(message_hidden=marks.is_hidden)
    at, note = marks.noted(mark)
    field = "sent" if mark == payment.SENT else "paid_back"
    if at is None:
        undone: dict[str, Any] = {field: None}
        return bodies.MarksBody.model_construct(**undone)
    noted: dict[str, Any] = {"note": note} if note else {}
    body: dict[str, Any] = {field: bodies.MarkBody.model_construct(**noted)}
    return bodies.MarksBody.model_construct(**body, notify_payer=notify)


# Receipts, kept for a buyer's account. The queue holds only a receipt's ids; the delivered goods
# are fetched again when the receipt is sent.


RECEIPT_TRIED_FOR = 24 * 3600 * 1000
"""Milliseconds for which the job is retried; then the buyer has to tap again."""


async def keep_receipt(context: Context, message: outbox.Message, _: object) -> None:
    """Keep a receipt; if the service doesn't have the receipt, the reply reveals nothing."""
    job: jobs.KeepReceipt = message.body
    try:
        receipt = await job_context.in_time(context.server.client.receipt(_key(job)))
    except errors.Refused as error:  # anybody may ask for any receipt
        log.info("receipt not found", error=type(error).__name__)
        await context.finish(message, answer_buyer, "receipt-unknown")
    else:
        await context.finish(message, _keep, receipt)


def _keep(outcome: Outcome[jobs.KeepReceipt], receipt: receipt_rows.Receipt) -> None:
    """Keep the receipt and queue its message, unless it belongs to another account."""
    key, language = _key(outcome.job), outcome.language
    owner = receipt_rows.ReceiptOwner(outcome.job.reply_to.chat_id, language)
    if receipt_rows.keep(outcome.tx, key, owner, receipt, outcome.now):
        outcome.put(payloads.ReceiptMessage(*key, language))
        if receipts.telegram_file(outcome.tx, key.request_id):
            outcome.put(payloads.ReceiptMessage(*key, language, is_file=True))
        return
    text = translations.t(language, "receipt-taken")  # the page's address is all that it reveals
    if replies.linkable(receipt.url):
        button = replies.Button(translations.t(language, "button-receipt"), url=receipt.url)
        outcome.send(replies.Reply(text, ((button,),)))
    else:
        page = translations.t(language, "receipt-kept-page", url=replies.escaped(receipt.url))
        outcome.send(replies.Reply(f"{text}\n{page}"))


def answer_buyer(outcome: Outcome[jobs.KeepReceipt], key: str) -> None:
    """Queue a text to the buyer."""
    outcome.send(replies.Reply(translations.t(outcome.language, key)))


def _key(job: jobs.KeepReceipt) -> receipt_rows.ReceiptKey:
    return receipt_rows.ReceiptKey(job.request_id, job.transaction_id)
