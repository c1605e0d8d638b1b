"""Receipts by email to payers who left an address: queued with the payment, limited, ended.

Whoever pays can type a stranger's address, so a receipt has no message of the seller's, few go to
one mailbox, and one click ends them all (decision 0049).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bot.core.outbox import bulk_changes, outbox
from bot.core.outbox.queue_policy import Pace, Queue
from bot.core.text import email_addresses
from bot.service.model.payment_reports import (
    ErasedLetter,
    ReceiptReport,
    RejectionNotice,
    checkout_facts,
    converted_facts,
    payment_facts,
)
from bot.service.model.payout import SANDBOX
from bot.service.store import deliveries, recipients
from bot.service.usecases.letters import letter_limits, letter_reading
from bot.service.usecases.letters.letter_limits import ERASED, MINUTE, UNSUBSCRIBED

if TYPE_CHECKING:
    from bot.core.database.database import Transaction
    from bot.core.outbox.outbox import Message
    from bot.service.model.checkout import Checkout
    from bot.service.model.letter_words import LetterContents
    from bot.service.model.payment_reports import PaymentNotice
    from bot.service.model.request import Payment, PaymentRequest

SECOND = 1000
HOUR = 60 * MINUTE
DAY = 24 * HOUR

TO_PAYER = Pace(2 * HOUR, burst=12)
"""Receipts to one mailbox, of all sellers together: 24 in its busiest day."""

TO_ALL = Pace(10 * SECOND, burst=600)
"""Receipts to all mailboxes: a drop of 600 units at once, and the operator's reputation."""

OF_SELLER = Pace(TO_ALL.interval)
"""What a receipt costs its seller. It only orders: of a drop of thousands and a single sale, the
receipt of the single sale goes first."""

OF_TEST_MONEY = Pace(2 * MINUTE, burst=60)
"""Receipts for test money, which costs nothing: a payment beyond it has none."""

NO_APP, RECEIPTS_OWNER = "", "receipts"
"""What a mailbox refuses that wants no receipts, among the sellers that it refuses."""

TOO_LATE = "other receipts went first for a day"
TAKEN_BACK = "the seller took it back"

RECEIPTS = Queue(
    "receipts",
    lease=60_000,
    ordered=False,
    keep=True,
    pace=TO_ALL,
    lane_pace=lambda _mailbox: TO_PAYER,
    account_pace=OF_SELLER,
    payloads=deliveries.RECEIPT_PAYLOADS,
)
"""A lane a mailbox, named by its digest."""


def queue_receipt(
    tx: Transaction, request: PaymentRequest, payment: Payment, language: str, *, test_money: bool
) -> None:
    """Queue the receipt of a payment in the payer's language, if its address can get one."""
    address, at = payment.user_data.get("email", ""), payment.completed_at
    if email_addresses.ascii_address(address) is None or (test_money and not has_room(tx, at)):
        return
    receipt = ReceiptReport(
        address=address,
        language=language,
        test_money=test_money,
        **converted_facts(payment.amount, payment.currency, payment.paid),
        **payment_facts(request.app_id, payment),
    )
    put(tx, request, receipt, at)


def queue_rejection(tx: Transaction, request: PaymentRequest, checkout: Checkout, now: int) -> None:
    """Queue the letter to a payer whose claimed payment was not found, as their receipt would be.

    It tells only payers who left an address with the form.
    """
    address = checkout.user_data.get("email", "")
    if checkout.language is None or email_addresses.ascii_address(address) is None:
        return
    if checkout.kind == SANDBOX and not has_room(tx, now):
        return
    notice = RejectionNotice(
        address=address,
        language=checkout.language,
        rejected_at=now,
        **checkout_facts(request, checkout),
    )
    put(tx, request, notice, now)


def put(
    tx: Transaction,
    request: PaymentRequest,
    letter: ReceiptReport | RejectionNotice | PaymentNotice,
    now: int,
) -> None:
    """Queue a letter to a payer, whose address can get one."""
    delivery_id = deliveries.insert(tx, letter, outbox.new_id(now))
    lane = email_addresses.mailbox_digest(letter.address)
    seller = f"{request.app_id}/{request.owner}"
    outbox.put(tx, RECEIPTS, lane, letter, now, key=delivery_id, account=seller)


def has_room(tx: Transaction, now: int) -> bool:
    """Count a letter about test money; return False if there were enough of them."""
    return letter_limits.take_room(tx, [("test receipts", OF_TEST_MONEY)], now) is None


def prepare_receipt(tx: Transaction, message: Message, now: int) -> LetterContents | None:
    """Return what a letter says beside its report; settle it and return None if it may not go."""
    body, reason, contents = message.body, None, None
    if isinstance(body, ErasedLetter):
        reason = ERASED
    elif has_stopped(tx, email_addresses.mailbox_digest(body.address)):
        reason = UNSUBSCRIBED
    else:
        contents = letter_reading.read(tx, body, now)
        reason = None if contents else TAKEN_BACK
    if reason is not None:
        outbox.end(tx, RECEIPTS, message, now, reason)
    return contents


def end_late(tx: Transaction, now: int) -> int:
    """End receipts that a limit has held up for a day; return how many."""
    return bulk_changes.end_untried(tx, RECEIPTS.name, now - DAY, TOO_LATE, now)


def stop_receipts(tx: Transaction, mailbox: str, now: int, *, everybody: bool = False) -> None:
    """End receipts to a mailbox, or all letters from here."""
    owner = "" if everybody else RECEIPTS_OWNER
    recipients.unsubscribe(tx, mailbox, NO_APP, owner, now)


def has_stopped(tx: Transaction, mailbox: str) -> bool:
    """Return whether a mailbox gets no receipts."""
    return recipients.has_unsubscribed(tx, mailbox, NO_APP, RECEIPTS_OWNER)
