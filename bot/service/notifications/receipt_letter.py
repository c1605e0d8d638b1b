"""Letters to payers: the receipt, news about the payment, or that the payment was not found.

They contain no text from the seller, because the payer may have entered a stranger's address. Codes
and tracking numbers are shown if they can't be read as anything else (notification.py). Everything
else is on the receipt's page, which the letter links to.
"""

from __future__ import annotations

from collections.abc import Iterator
from email.message import EmailMessage
from typing import Any
from urllib.parse import quote, urlsplit

from bot.core.money import amounts
from bot.core.text import translations
from bot.service.notifications import letter_texts, notification
from bot.service.payments import payment_reports

NEWS = {
    payment_reports.News.SENT: ("mail-sent-subject", "mail-sent-heading"),
    payment_reports.News.PAID_BACK: ("mail-paid-back-subject", "mail-paid-back-heading"),
    payment_reports.News.CODES: ("mail-codes-subject", "mail-codes-heading"),
    payment_reports.News.GOODS: ("mail-goods-subject", "mail-goods-heading"),
}
"""The keys of subject and heading of each kind of news."""


@letter_texts.refuse_unwritable()
def receipt_letter(
    report: payment_reports.ReceiptReport,
    target: letter_texts.LetterTarget,
    origin: letter_texts.LetterOrigin,
    contents: notification.LetterContents = notification.NO_CONTENTS,
) -> EmailMessage:
    """Write the receipt of a payment in its payer's language.

    The same report gives the same letter. Raises MailRefused if its address is invalid.
    """
    language = report.language
    amount = amounts.format_money(report.amount, report.currency, language)
    subject = "mail-payer-subject-test" if report.test_money else "mail-payer-subject"
    if report.oversold:
        subject = "mail-payer-subject-oversold"
    words = {
        "subject": translations.t(language, subject, amount=amount.replace("\u00a0", " ")),
        "heading": translations.t(language, "mail-payer-heading", amount=amount),
        "warning": translations.t(language, "mail-payer-oversold") if report.oversold else None,
        "rows": [*_receipt_rows(report, contents, origin)],
    }
    return _compose(words, report, target, origin, contents)


@letter_texts.refuse_unwritable()
def notice_letter(
    notice: payment_reports.PaymentNotice,
    target: letter_texts.LetterTarget,
    origin: letter_texts.LetterOrigin,
    contents: notification.LetterContents,
) -> EmailMessage:
    """Write the letter with news about a payment. Raises the errors of `receipt_letter`."""
    language, (subject, heading) = notice.language, NEWS[notice.news]
    amount = amounts.format_money(notice.amount, notice.currency, language)
    counted = {"amount": amount, "count": notice.quantity}
    plain = {**counted, "amount": amount.replace("\u00a0", " ")}
    rows = [(translations.t(language, "mail-payer-amount"), amount)]
    if contents.has_note:
        note = contents.note or translations.t(language, "mail-payer-note-there")
        rows.append((translations.t(language, "mail-payer-note"), note))
    rows += _goods_rows(language, contents)
    rows.append((translations.t(language, "mail-transaction"), notice.transaction_id))
    words = {
        "subject": translations.t(language, subject, **plain),
        "heading": translations.t(language, heading, **counted),
        "rows": rows,
    }
    return _compose(words, notice, target, origin, contents)


@letter_texts.refuse_unwritable()
def rejection_letter(
    notice: payment_reports.RejectionNotice,
    target: letter_texts.LetterTarget,
    origin: letter_texts.LetterOrigin,
) -> EmailMessage:
    """Write that the seller hasn't found the payment. Raises the errors of `receipt_letter`."""
    language, host = notice.language, urlsplit(origin.public_url).netloc
    amount = amounts.format_money(notice.amount, notice.currency, language)
    rows = [("mail-payer-amount", amount), ("mail-payer-reference", notice.reference)]
    words = {
        "subject": translations.t(
            language, "mail-unfound-subject", amount=amount.replace("\u00a0", " ")
        ),
        "heading": translations.t(language, "mail-unfound-heading", amount=amount),
        "intro": translations.t(language, "mail-unfound"),
        "rows": [(translations.t(language, key), value) for key, value in rows if value],
        "action": translations.t(language, "mail-unfound-open"),
        "link": f"{origin.public_url}/pay/{notice.request_id}/checkout/{notice.checkout_id}",
        "why": translations.t(language, "mail-payer-why", host=host),
        "stop_label": translations.t(language, "mail-payer-stop"),
    }
    return letter_texts.compose(words, notice.rejected_at, target, origin, language)


def _receipt_rows(
    report: payment_reports.ReceiptReport,
    contents: notification.LetterContents,
    origin: letter_texts.LetterOrigin,
) -> Iterator[tuple[str, str]]:
    language = report.language
    yield (
        translations.t(language, "mail-payer-amount"),
        amounts.format_money(report.amount, report.currency, language),
    )
    if report.paid_amount is not None and report.paid_currency is not None:
        paid = amounts.format_money(report.paid_amount, report.paid_currency, language)
        yield translations.t(language, "mail-paid-in"), paid
    if contents.units:
        yield translations.t(language, "mail-payer-units"), _numbers(language, contents.units)
    yield from _goods_rows(language, contents)
    yield (
        translations.t(language, "mail-when"),
        translations.t(language, "mail-at", at=letter_texts.moment(report.completed_at)),
    )
    yield translations.t(language, "mail-payer-host"), urlsplit(origin.public_url).netloc
    yield translations.t(language, "mail-transaction"), report.transaction_id


def _goods_rows(language: str, contents: notification.LetterContents) -> Iterator[tuple[str, str]]:
    """Yield the codes, or the place where the payer finds the goods."""
    several = len(contents.codes) > 1
    for unit, code in contents.codes:
        key = "mail-payer-code-of" if several else "mail-payer-code"
        yield translations.t(language, key, unit=unit), code
    if contents.waits:
        yield (
            translations.t(language, "mail-payer-goods"),
            translations.t(language, "mail-payer-goods-wait"),
        )
    elif contents.has_goods and not contents.codes:
        yield (
            translations.t(language, "mail-payer-goods"),
            translations.t(language, "mail-payer-goods-there"),
        )


def _numbers(language: str, units: notification.UnitNumbers) -> str:
    numbers = {"first": units.first, "last": units.last, "total": units.total}
    return translations.t(
        language, "mail-payer-numbers", count=units.last - units.first + 1, **numbers
    )


def _compose(
    words: dict[str, Any],
    letter: payment_reports.ReceiptReport | payment_reports.PaymentNotice,
    target: letter_texts.LetterTarget,
    origin: letter_texts.LetterOrigin,
    contents: notification.LetterContents,
) -> EmailMessage:
    """Write a letter about a payment, with the links to its receipt."""
    language, host = letter.language, urlsplit(origin.public_url).netloc
    path = quote(f"/pay/{letter.request_id}/receipt/{letter.transaction_id}")
    intro = []
    if isinstance(letter, payment_reports.PaymentNotice):
        at = letter.noticed_at
        if letter.news is payment_reports.News.PAID_BACK:
            intro.append(translations.t(language, "mail-paid-back-text"))
    else:
        at = letter.completed_at
    if letter.test_money:
        intro.append(translations.t(language, "mail-payer-test"))
    links = {
        "intro": " ".join(intro) or None,
        "action": translations.t(language, "mail-receipt"),
        "link": f"{origin.public_url}{path}",
        "keep": contents.keep,
        "keep_label": translations.t(language, "mail-payer-keep"),
        "why": translations.t(language, "mail-payer-why", host=host),
        "stop_label": translations.t(language, "mail-payer-stop"),
    }
    return letter_texts.compose(links | words, at, target, origin, language)
