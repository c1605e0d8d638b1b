"""Letters to payers: the receipt, news about the payment, or that the payment was not found.

They contain no text from the seller, because the payer may have entered a stranger's address. Codes
and tracking numbers are shown if they can't be read as anything else (notification.py). Everything
else is on the receipt's page, which the letter links to.
"""

from __future__ import annotations

from email.message import EmailMessage
from typing import Any
from urllib.parse import urlsplit

from bot.core.text import translations
from bot.service.notifications import letter_texts, notification
from bot.service.payments import payment_reports
from bot.service.requests import request

NEWS = {
    payment_reports.News.SENT: ("mail-sent-subject", "mail-sent-heading"),
    payment_reports.News.PAID_BACK: ("mail-paid-back-subject", "mail-paid-back-heading"),
    payment_reports.News.CODES: ("mail-codes", "mail-codes"),
    payment_reports.News.GOODS: ("mail-goods", "mail-goods"),
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
    amount = letter_texts.money_text(report, language)
    subject = "mail-payer-subject-test" if report.test_money else "mail-payer-subject"
    if report.oversold:
        subject = "mail-payer-subject-oversold"
    words = {
        "subject": translations.t(language, subject, amount=amount),
        "heading": translations.t(language, "mail-payer-heading", amount=amount),
        "warning": translations.t(language, "mail-payer-oversold") if report.oversold else None,
        "rows": _receipt_rows(report, contents, origin),
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
    amount = letter_texts.money_text(notice, language)
    counted = {"amount": amount, "count": notice.quantity}
    note = contents.note or translations.t(language, "mail-payer-there")
    head = [("receipt-amount", amount), ("mail-payer-note", note if contents.has_note else None)]
    rows = [
        *letter_texts.labelled(head, language),
        *_goods_rows(language, contents),
        *letter_texts.labelled([("receipt-transaction", notice.transaction_id)], language),
    ]
    words = {
        "subject": translations.t(language, subject, **counted),
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
    language, amount = notice.language, letter_texts.money_text(notice, notice.language)
    rows = [("receipt-amount", amount), ("receipt-reference", notice.reference)]
    path = request.checkout_path(notice.request_id, notice.checkout_id)
    words = {
        "subject": translations.t(language, "mail-unfound-subject", amount=amount),
        "heading": translations.t(language, "mail-unfound-heading", amount=amount),
        "intro": translations.t(language, "mail-unfound"),
        "rows": letter_texts.labelled(rows, language),
        "action": translations.t(language, "mail-unfound-open"),
        "link": f"{origin.public_url}{path}",
    }
    words |= _reason(origin, language)
    return letter_texts.compose(words, notice.rejected_at, target, origin, language)


def _receipt_rows(
    report: payment_reports.ReceiptReport,
    contents: notification.LetterContents,
    origin: letter_texts.LetterOrigin,
) -> list[tuple[str, str]]:
    language, units, numbers = report.language, contents.units, None
    if units:
        named = translations.unit_numbers(units.first, units.last, language)
        numbers = translations.t(language, "mail-payer-numbers", numbers=named, total=units.total)
    at = letter_texts.moment(report.completed_at)
    head = [
        ("receipt-amount", letter_texts.money_text(report, language)),
        ("receipt-paid", letter_texts.paid_text(report, language)),
        ("mail-payer-units", numbers),
    ]
    rest = [
        ("receipt-when", translations.t(language, "moment-utc", at=at)),
        ("mail-payer-host", urlsplit(origin.public_url).netloc),
        ("receipt-transaction", report.transaction_id),
    ]
    return [
        *letter_texts.labelled(head, language),
        *_goods_rows(language, contents),
        *letter_texts.labelled(rest, language),
    ]


def _goods_rows(language: str, contents: notification.LetterContents) -> list[tuple[str, str]]:
    """Return the codes, or the place where the payer finds the goods."""
    key = "mail-payer-code-of" if len(contents.codes) > 1 else "mail-payer-code"
    rows = [(translations.t(language, key, unit=unit), code) for unit, code in contents.codes]
    if contents.waits or (contents.has_goods and not rows):
        where = "mail-payer-goods-wait" if contents.waits else "mail-payer-there"
        rows += letter_texts.labelled(
            [("mail-payer-goods", translations.t(language, where))], language
        )
    return rows


def _compose(
    words: dict[str, Any],
    letter: payment_reports.ReceiptReport | payment_reports.PaymentNotice,
    target: letter_texts.LetterTarget,
    origin: letter_texts.LetterOrigin,
    contents: notification.LetterContents,
) -> EmailMessage:
    """Write a letter about a payment, with the links to its receipt."""
    language, intro = letter.language, []
    if isinstance(letter, payment_reports.PaymentNotice):
        at = letter.noticed_at
        if letter.news is payment_reports.News.PAID_BACK:
            intro.append(translations.t(language, "mail-paid-back-text"))
    else:
        at = letter.completed_at
    if letter.test_money:
        intro.append(translations.t(language, "mail-payer-test"))
    words |= letter_texts.receipt_link(letter, origin.public_url, language)
    words |= {
        "intro": " ".join(intro) or None,
        "keep": contents.keep,
        "keep_label": translations.t(language, "receipt-keep"),
    }
    words |= _reason(origin, language)
    return letter_texts.compose(words, at, target, origin, language)


def _reason(origin: letter_texts.LetterOrigin, language: str) -> dict[str, str]:
    """Return why a payer gets a letter, and the label of the link that ends them."""
    host = urlsplit(origin.public_url).netloc
    return {
        "why": translations.t(language, "mail-payer-why", host=host),
        "stop_label": translations.t(language, "mail-payer-stop"),
    }
