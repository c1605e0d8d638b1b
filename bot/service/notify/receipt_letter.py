"""The letters that a payer gets: the receipt, news of it, or that the payment was not found.

They have no text of the seller: whoever pays chooses the address, so that sellers could write to
anybody. Codes and tracking numbers are carried where they can be nothing else
(model/letter_words.py); all the rest is on the receipt's page, which the letter's link opens.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlsplit

from bot.core.money import amounts
from bot.core.text.translations import t
from bot.service.model.letter_words import NO_CONTENTS
from bot.service.model.payment_reports import News, PaymentNotice
from bot.service.notify.letter_texts import compose, moment, refuse_unwritable

if TYPE_CHECKING:
    from collections.abc import Iterator
    from email.message import EmailMessage

    from bot.service.model.letter_words import LetterContents, UnitNumbers
    from bot.service.model.payment_reports import ReceiptReport, RejectionNotice
    from bot.service.notify.letter_texts import LetterOrigin, LetterTarget

NEWS = {
    News.SENT: ("mail-sent-subject", "mail-sent-heading"),
    News.PAID_BACK: ("mail-paid-back-subject", "mail-paid-back-heading"),
    News.CODES: ("mail-codes-subject", "mail-codes-heading"),
    News.GOODS: ("mail-goods-subject", "mail-goods-heading"),
}
"""The keys of subject and heading of each kind of news."""


@refuse_unwritable()
def receipt_letter(
    report: ReceiptReport,
    target: LetterTarget,
    origin: LetterOrigin,
    contents: LetterContents = NO_CONTENTS,
) -> EmailMessage:
    """Write the receipt of a payment in its payer's language; the same report, the same letter.

    Raises MailRefused if its address is invalid.
    """
    language = report.language
    amount = amounts.format_money(report.amount, report.currency, language)
    words = {
        "subject": t(language, _subject(report), amount=amount.replace("\u00a0", " ")),
        "heading": t(language, "mail-payer-heading", amount=amount),
        "warning": t(language, "mail-payer-oversold") if report.oversold else None,
        "rows": [*_receipt_rows(report, contents, origin)],
    }
    return _compose(words, report, target, origin, contents)


@refuse_unwritable()
def notice_letter(
    notice: PaymentNotice, target: LetterTarget, origin: LetterOrigin, contents: LetterContents
) -> EmailMessage:
    """Write to a payer what is new about a payment. Raises as `receipt_letter`."""
    language, (subject, heading) = notice.language, NEWS[notice.news]
    amount = amounts.format_money(notice.amount, notice.currency, language)
    counted = {"amount": amount, "count": notice.quantity}
    plain = {**counted, "amount": amount.replace("\u00a0", " ")}
    rows = [
        (t(language, "mail-payer-amount"), amount),
        *_note_rows(language, contents),
        *_goods_rows(language, contents),
        (t(language, "mail-transaction"), notice.transaction_id),
    ]
    words = {
        "subject": t(language, subject, **plain),
        "heading": t(language, heading, **counted),
        "rows": rows,
    }
    return _compose(words, notice, target, origin, contents)


@refuse_unwritable()
def rejection_letter(
    notice: RejectionNotice, target: LetterTarget, origin: LetterOrigin
) -> EmailMessage:
    """Write to a payer that the seller has not found the payment. Raises as `receipt_letter`."""
    language, host = notice.language, urlsplit(origin.public_url).netloc
    amount = amounts.format_money(notice.amount, notice.currency, language)
    rows = [("mail-payer-amount", amount), ("mail-payer-reference", notice.reference)]
    words = {
        "subject": t(language, "mail-unfound-subject", amount=amount.replace("\u00a0", " ")),
        "heading": t(language, "mail-unfound-heading", amount=amount),
        "intro": t(language, "mail-unfound"),
        "rows": [(t(language, key), value) for key, value in rows if value],
        "action": t(language, "mail-unfound-open"),
        "link": f"{origin.public_url}/pay/{notice.request_id}/checkout/{notice.checkout_id}",
        "why": t(language, "mail-payer-why", host=host),
        "stop_label": t(language, "mail-payer-stop"),
    }
    return compose(words, notice.rejected_at, target, origin, language)


def _subject(report: ReceiptReport) -> str:
    if report.oversold:
        return "mail-payer-subject-oversold"
    return "mail-payer-subject-test" if report.test_money else "mail-payer-subject"


def _receipt_rows(
    report: ReceiptReport, contents: LetterContents, origin: LetterOrigin
) -> Iterator[tuple[str, str]]:
    language = report.language
    yield (
        t(language, "mail-payer-amount"),
        amounts.format_money(report.amount, report.currency, language),
    )
    if report.paid_amount is not None and report.paid_currency is not None:
        paid = amounts.format_money(report.paid_amount, report.paid_currency, language)
        yield t(language, "mail-paid-in"), paid
    if contents.units:
        yield t(language, "mail-payer-units"), _numbers(language, contents.units)
    yield from _goods_rows(language, contents)
    yield t(language, "mail-when"), t(language, "mail-at", at=moment(report.completed_at))
    yield t(language, "mail-payer-host"), urlsplit(origin.public_url).netloc
    yield t(language, "mail-transaction"), report.transaction_id


def _goods_rows(language: str, contents: LetterContents) -> Iterator[tuple[str, str]]:
    """Yield the codes, or where what was bought is to be found."""
    several = len(contents.codes) > 1
    for unit, code in contents.codes:
        key = "mail-payer-code-of" if several else "mail-payer-code"
        yield t(language, key, unit=unit), code
    if contents.waits:
        yield t(language, "mail-payer-goods"), t(language, "mail-payer-goods-wait")
    elif contents.has_goods and not contents.codes:
        yield t(language, "mail-payer-goods"), t(language, "mail-payer-goods-there")


def _note_rows(language: str, contents: LetterContents) -> Iterator[tuple[str, str]]:
    """Yield the seller's note, or that the receipt has one."""
    if contents.has_note:
        note = contents.note or t(language, "mail-payer-note-there")
        yield t(language, "mail-payer-note"), note


def _numbers(language: str, units: UnitNumbers) -> str:
    numbers = {"first": units.first, "last": units.last, "total": units.total}
    return t(language, "mail-payer-numbers", count=units.last - units.first + 1, **numbers)


def _compose(
    words: dict[str, Any],
    letter: ReceiptReport | PaymentNotice,
    target: LetterTarget,
    origin: LetterOrigin,
    contents: LetterContents,
) -> EmailMessage:
    """Write a letter about a payment, with the links to its receipt."""
    language, host = letter.language, urlsplit(origin.public_url).netloc
    path = quote(f"/pay/{letter.request_id}/receipt/{letter.transaction_id}")
    links = {
        "intro": " ".join(_intro(letter)) or None,
        "action": t(language, "mail-receipt"),
        "link": f"{origin.public_url}{path}",
        "keep": contents.keep,
        "keep_label": t(language, "mail-payer-keep"),
        "why": t(language, "mail-payer-why", host=host),
        "stop_label": t(language, "mail-payer-stop"),
    }
    at = letter.noticed_at if isinstance(letter, PaymentNotice) else letter.completed_at
    return compose(links | words, at, target, origin, language)


def _intro(letter: ReceiptReport | PaymentNotice) -> Iterator[str]:
    if isinstance(letter, PaymentNotice) and letter.news is News.PAID_BACK:
        yield t(letter.language, "mail-paid-back-text")
    if letter.test_money:
        yield t(letter.language, "mail-payer-test")
