"""Letters to payers who left an address: the receipt, and later news about the payment.

A payer can enter a stranger's address. So the letters contain no message from the seller, each
mailbox gets only a few, and one click ends them all (docs/decisions/notifications.md#0049).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from bot.core import stored_json
from bot.core.database import database
from bot.core.outbox import bulk_changes, outbox, queue_policy, worker
from bot.core.text import contacts
from bot.interface import vocabulary
from bot.service.checkouts import checkout, checkout_rows
from bot.service.goods import contents, fulfillment
from bot.service.notifications import notification, notification_rows, recipients
from bot.service.payments import payment_reports, payment_rows
from bot.service.requests import request_rows
from bot.service.requests.request import Payment, PaymentRequest


def read_letter(
    tx: database.Transaction,
    letter: payment_reports.ReceiptReport
    | payment_reports.RejectionNotice
    | payment_reports.PaymentNotice,
    now: int,
) -> notification.LetterContents | None:
    """Return the contents of a letter; None if the seller has withdrawn its news."""
    if isinstance(letter, payment_reports.RejectionNotice):
        return notification.NO_CONTENTS
    request = request_rows.find_ever(tx, letter.request_id, now)
    payment = payment_rows.find(tx, letter.request_id, letter.transaction_id)
    if request is None or payment is None:
        return notification.NO_CONTENTS
    news = letter.news if isinstance(letter, payment_reports.PaymentNotice) else None
    if news and not _is_current(payment, news):
        return None
    notes = {
        payment_reports.News.SENT: payment.marks.sent_note,
        payment_reports.News.PAID_BACK: payment.marks.paid_back_note,
    }
    note = notes.get(news) if news else None
    template = request.terms.keep_url
    keep = template and notification.keep_link(template, request.id, payment.id)
    received = fulfillment.find_received(tx, payment) or contents.Received()
    return notification.LetterContents(
        units=None if payment.marks.paid_back_at else unit_numbers(request, payment),
        keep=keep if keep and notification.is_deep_link(keep) else None,  # no other is mailed
        codes=_codes(payment, received),
        has_goods=received != contents.Received(),
        waits=received.waiting > 0,
        has_note=note is not None,
        note=note if note and notification.is_code(note) else None,
    )


def _is_current(payment: Payment, news: payment_reports.News) -> bool:
    marks = payment.marks
    if news is payment_reports.News.SENT:
        return marks.sent_at is not None
    return (marks.paid_back_at is not None) == (news is payment_reports.News.PAID_BACK)


def unit_numbers(request: PaymentRequest, payment: Payment) -> notification.UnitNumbers | None:
    """Return the numbers of a payment's units in a drop, None for another kind of request."""
    first, units = payment.first_unit, request.units
    if request.terms.kind is not vocabulary.Kind.LIMIT or units is None or first is None:
        return None
    return notification.UnitNumbers(first, first + payment.quantity - 1, units.offered)


def _codes(payment: Payment, received: contents.Received) -> tuple[tuple[int, str], ...]:
    """Return the code of each unit, () if one is missing or may not be in a letter."""
    codes = received.codes
    if len(codes) != payment.quantity or len(codes) > notification.MOST_CODES:
        return ()
    if not all(map(notification.is_code, codes)):
        return ()
    return tuple(enumerate(codes, payment.first_unit or 1))


# Limits. Letters about test money have their own limit, because test money costs nothing.

SECOND = 1000
HOUR = 60 * recipients.MINUTE
DAY = 24 * HOUR

TO_PAYER = queue_policy.Pace(2 * HOUR, burst=12)
"""Limit on letters to one mailbox from all sellers: at most 24 a day."""

TO_ALL = queue_policy.Pace(10 * SECOND, burst=600)
"""Limit on letters to all mailboxes: enough for a drop of 600 units, without harming the operator's
mail reputation.
"""

OF_SELLER = queue_policy.Pace(TO_ALL.interval)
"""A letter's cost for its seller. It only decides the order: the receipt of a single sale is sent
before the receipts of another seller's drop of thousands.
"""

OF_TEST_MONEY = queue_policy.Pace(2 * recipients.MINUTE, burst=60)
"""Limit on letters about test money; letters beyond the limit are not queued."""

NO_APP, RECEIPTS_OWNER = "", "receipts"
"""The application and owner that stand for all receipts in the table of unsubscribed mailboxes."""

TOO_LATE = "other receipts went first for a day"
TAKEN_BACK = "the seller took it back"

RECEIPTS = queue_policy.Queue(
    "receipts",
    lease=60_000,
    ordered=False,
    keep=True,
    pace=TO_ALL,
    lane_pace=lambda _mailbox: TO_PAYER,
    account_pace=OF_SELLER,
    payloads=notification_rows.RECEIPT_PAYLOADS,
)
"""Each mailbox has a lane, named by its digest."""


def queue_receipt(
    tx: database.Transaction,
    request: PaymentRequest,
    payment: Payment,
    language: str,
    *,
    test_money: bool,
) -> None:
    """Queue the receipt of a payment in the payer's language, if its address can get one."""
    address, at = payment.user_data.get("email", ""), payment.completed_at
    if contacts.ascii_address(address) is None or (test_money and not has_room(tx, at)):
        return
    receipt = payment_reports.ReceiptReport(
        address=address,
        language=language,
        test_money=test_money,
        **payment_reports.converted_facts(payment.amount, payment.currency, payment.paid),
        **payment_reports.payment_facts(request.app_id, payment),
    )
    put_letter(tx, request, receipt, at)


def queue_rejection(
    tx: database.Transaction, request: PaymentRequest, checkout: checkout.Checkout, now: int
) -> None:
    """Queue the letter to a payer whose claim was rejected, if they left an address."""
    address = checkout.user_data.get("email", "")
    if checkout.language is None or contacts.ascii_address(address) is None:
        return
    if checkout.kind == vocabulary.SANDBOX and not has_room(tx, now):
        return
    notice = payment_reports.RejectionNotice(
        address=address,
        language=checkout.language,
        rejected_at=now,
        **payment_reports.checkout_facts(request, checkout),
    )
    put_letter(tx, request, notice, now)


def put_letter(
    tx: database.Transaction,
    request: PaymentRequest,
    letter: payment_reports.ReceiptReport
    | payment_reports.RejectionNotice
    | payment_reports.PaymentNotice,
    now: int,
) -> None:
    """Queue a letter to a payer. The address must be valid."""
    notification_id = notification_rows.insert(
        tx, notification.Channel.RECEIPT, letter.address, letter, now
    )
    lane = contacts.mailbox_digest(letter.address)
    seller = f"{request.app_id}/{request.owner}"
    outbox.put(tx, RECEIPTS, lane, letter, now, key=notification_id, account=seller)


def has_room(tx: database.Transaction, now: int) -> bool:
    """Count a letter about test money; return False if the limit is used up."""
    return recipients.take_room(tx, [("test receipts", OF_TEST_MONEY)], now) is None


def prepare_receipt(
    tx: database.Transaction, message: outbox.Message, now: int
) -> notification.LetterContents | None:
    """Return the contents of a letter; None if it may not be sent and was settled."""
    body, reason, contents = message.body, None, None
    if isinstance(body, payment_reports.ErasedLetter):
        reason = recipients.ERASED
    elif has_stopped(tx, contacts.mailbox_digest(body.address)):
        reason = recipients.UNSUBSCRIBED
    else:
        contents = read_letter(tx, body, now)
        reason = None if contents else TAKEN_BACK
    if reason is not None:
        outbox.end(tx, RECEIPTS, message, now, reason)
    return contents


def end_late(tx: database.Transaction, now: int) -> int:
    """End letters that a limit has delayed for a day; return how many."""
    return bulk_changes.end_untried(tx, RECEIPTS.name, now - DAY, TOO_LATE, now)


def stop_receipts(
    tx: database.Transaction, mailbox: str, now: int, *, everybody: bool = False
) -> None:
    """End receipts to a mailbox, or every letter if `everybody`."""
    owner = "" if everybody else RECEIPTS_OWNER
    recipients.unsubscribe_mailbox(tx, mailbox, NO_APP, owner, now)


def has_stopped(tx: database.Transaction, mailbox: str) -> bool:
    """True if a mailbox gets no receipts."""
    return recipients.has_unsubscribed(tx, mailbox, NO_APP, RECEIPTS_OWNER)


# News after the receipt: the goods were sent, the money was paid back, or goods have arrived. The
# letters describe the state at the time of sending.

MOST_OF_PAYMENT = 6
"""Maximum letters about one payment, including the receipt, because a mark can be set and removed
forever.
"""

COUNT_LETTERS = (
    "SELECT COUNT(*) AS letters FROM deliveries WHERE payment_id = :id AND channel = 'receipt'"
)


def queue_notice(
    tx: database.Transaction,
    request: PaymentRequest,
    payment: Payment,
    news: payment_reports.News,
    now: int,
) -> bool:
    """Queue a letter with news of a payment; return False if its payer gets none.

    Call it only if emails are sent.
    """
    address = payment.user_data.get("email", "")
    if contacts.ascii_address(address) is None:
        return False
    checkout = checkout_rows.find(tx, payment.checkout_id)
    if checkout is None or checkout.language is None:
        return False
    if has_stopped(tx, contacts.mailbox_digest(address)):
        return False
    (row,) = tx.query(COUNT_LETTERS, id=payment.id)
    if row["letters"] >= MOST_OF_PAYMENT:
        return False
    test_money = payment.rail == vocabulary.SANDBOX
    if test_money and not has_room(tx, now):
        return False
    notice = payment_reports.PaymentNotice(
        address=address,
        language=checkout.language,
        news=news,
        noticed_at=now,
        test_money=test_money,
        **payment_reports.payment_facts(request.app_id, payment),
    )
    put_letter(tx, request, notice, now)
    return True


# Letters to all payers who waited for goods. There may be thousands, so a transaction queues some.

MOST_SERVED = 500
"""Letters to queue in one transaction. On SQLite, payments wait for it."""


@dataclass(frozen=True, slots=True)
class ServedUnits:
    """Units of a request, from `first` to `last`, whose payers get a letter about this news."""

    request_id: str
    first: int
    last: int
    news: payment_reports.News


SERVED = queue_policy.Queue(
    "served", lease=60_000, payloads=stored_json.PayloadKinds(served=ServedUnits)
)
"""The remaining letters of a call that served many payers; each request has a lane."""


def queue_served(
    tx: database.Transaction, request: PaymentRequest, served: range, now: int
) -> None:
    """Queue letters to payers whose units have got their codes or other goods.

    Payers who are waiting for another code get their letter when they have all codes. Call this
    only if emails are sent, after storing the codes, and with the request locked.
    """
    if not served:
        return
    news = payment_reports.News.GOODS
    if request.delivers is vocabulary.DeliveryKind.CODES:
        news = payment_reports.News.CODES
    _queue_batch(tx, request, ServedUnits(request.id, served[0], served[-1], news), now)


def _queue_batch(
    tx: database.Transaction, request: PaymentRequest, units: ServedUnits, now: int
) -> None:
    """Queue the first letters, and a message that queues the others.

    The other letters don't need the request's lock, because each letter is checked again on
    sending.
    """
    numbers = range(units.first, units.last + 1)
    found = payment_rows.with_last_unit(tx, request.id, numbers, MOST_SERVED)
    if len(found) == MOST_SERVED and found[-1].last_unit < units.last:
        rest = ServedUnits(request.id, found[-1].last_unit + 1, units.last, units.news)
        outbox.put(tx, SERVED, request.id, rest, now)
    for payment in found:
        queue_notice(tx, request, payment, units.news, now)


def served_handler(db: database.Database, now: Callable[[], int]) -> worker.QueueHandler:
    """Return the handler that queues some letters, and a message for the remaining letters."""

    def serve(tx: database.Transaction, message: outbox.Message) -> None:
        at, units = now(), message.body
        if outbox.done(tx, SERVED, message, at):
            request = request_rows.find_ever(tx, units.request_id, at)
            if request is not None:
                _queue_batch(tx, request, units, at)

    async def handle(message: outbox.Message) -> None:
        await db.bulk(lambda tx: serve(tx, message))

    return worker.QueueHandler(SERVED, handle)
