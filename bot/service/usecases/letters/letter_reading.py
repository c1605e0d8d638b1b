"""What a letter to a payer says beside its report, read in the transaction before it is sent."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bot.service.goods import receiving
from bot.service.model import receipt_links
from bot.service.model.goods.delivered import Received
from bot.service.model.letter_words import (
    MOST_CODES,
    NO_CONTENTS,
    LetterContents,
    UnitNumbers,
    is_deep_link,
    is_token,
)
from bot.service.model.payment_reports import News, PaymentNotice, RejectionNotice
from bot.service.model.request import Kind
from bot.service.store import payments, requests

if TYPE_CHECKING:
    from bot.core.database.database import Transaction
    from bot.service.model.payment_reports import ReceiptReport
    from bot.service.model.request import Payment, PaymentRequest


def read(
    tx: Transaction, letter: ReceiptReport | RejectionNotice | PaymentNotice, now: int
) -> LetterContents | None:
    """Return what a letter says; None for news that the seller has taken back."""
    if isinstance(letter, RejectionNotice):
        return NO_CONTENTS
    request = requests.find_ever(tx, letter.request_id, now)
    payment = payments.find(tx, letter.request_id, letter.transaction_id)
    if request is None or payment is None:
        return NO_CONTENTS
    news = letter.news if isinstance(letter, PaymentNotice) else None
    if news and not _holds(payment, news):
        return None
    note = _note(payment, news)
    received = receiving.find(tx, payment) or Received()
    return LetterContents(
        units=_units(request, payment),
        keep=_keep(request, payment),
        codes=_codes(payment, received),
        has_goods=received != Received(),
        waits=received.waiting > 0,
        has_note=note is not None,
        note=note if note and is_token(note) else None,
    )


def _holds(payment: Payment, news: News) -> bool:
    """Return whether news of a payment is still true."""
    marks = payment.marks
    if news is News.SENT:
        return marks.sent_at is not None
    return (marks.paid_back_at is not None) == (news is News.PAID_BACK)


def _note(payment: Payment, news: News | None) -> str | None:
    notes = {News.SENT: payment.marks.sent_note, News.PAID_BACK: payment.marks.paid_back_note}
    return notes.get(news) if news else None


def _units(request: PaymentRequest, payment: Payment) -> UnitNumbers | None:
    """Return the numbers of a drop's units, None where the payment has none or was paid back."""
    first, total = payment.first_unit, request.units.offered if request.units else 0
    if request.terms.kind is not Kind.LIMIT or first is None or payment.marks.paid_back_at:
        return None
    return UnitNumbers(first, first + payment.quantity - 1, total)


def _keep(request: PaymentRequest, payment: Payment) -> str | None:
    """Return where the receipt can be kept in Telegram: no other address is mailed."""
    if request.terms.keep_url is None:
        return None
    url = receipt_links.keep_link(request.terms.keep_url, request.id, payment.id)
    return url if is_deep_link(url) else None


def _codes(payment: Payment, received: Received) -> tuple[tuple[int, str], ...]:
    """Return the code of each unit, () where one is missing or may not travel."""
    codes = received.codes
    if not len(codes) == payment.quantity <= MOST_CODES or not all(map(is_token, codes)):
        return ()
    return tuple(enumerate(codes, payment.first_unit or 1))
