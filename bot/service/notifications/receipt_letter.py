"""Letters to payers: the receipt, news about the payment, or that the payment was not found.

They contain no text from the seller, because the payer may have entered a stranger's address. Codes
and tracking numbers are shown if they can't be read as anything else (notification.py). Everything
else is on the receipt's page, which the letter links to.
"""

from __future__ import annotations

from collections.abc import Sequence
from email.message import EmailMessage
from functools import partial
from typing import Any, TypeAlias
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
    language, units, numbers = report.language, contents.units, None
    translate = partial(translations.t, language)
    amount = letter_texts.money_text(report, language)
    subject = "mail-payer-subject-test" if report.test_money else "mail-payer-subject"
    if report.oversold:
        subject = "mail-payer-subject-oversold"
    if units:
        named = translations.unit_numbers(units.first, units.last, language)
        numbers = translate("mail-payer-numbers", numbers=named, total=units.total)
    head = [
        ("receipt-amount", amount),
        ("receipt-paid", letter_texts.paid_text(report, language)),
        ("mail-payer-units", numbers),
    ]
    rest = [
        ("receipt-when", translate("moment-utc", at=letter_texts.moment(report.completed_at))),
        ("mail-payer-host", urlsplit(origin.public_url).netloc),
        ("receipt-transaction", report.transaction_id),
    ]
    words = {
        "subject": translate(subject, amount=amount),
        "heading": translate("mail-payer-heading", amount=amount),
        "warning": translate("mail-payer-oversold") if report.oversold else None,
        "rows": _rows(language, contents, head, rest),
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
    translate = partial(translations.t, language)
    amount = letter_texts.money_text(notice, language)
    counted = {"amount": amount, "count": notice.quantity}
    note = contents.note or translate("mail-payer-there")
    head = [("receipt-amount", amount), ("mail-payer-note", note if contents.has_note else None)]
    rest = [("receipt-transaction", notice.transaction_id)]
    words = {
        "subject": translate(subject, **counted),
        "heading": translate(heading, **counted),
        "rows": _rows(language, contents, head, rest),
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
    translate = partial(translations.t, language)
    rows = [("receipt-amount", amount), ("receipt-reference", notice.reference)]
    path = request.checkout_path(notice.request_id, notice.checkout_id)
    words = {
        "subject": translate("mail-unfound-subject", amount=amount),
        "heading": translate("mail-unfound-heading", amount=amount),
        "intro": translate("mail-unfound"),
        "rows": letter_texts.labelled(rows, language),
        "action": translate("mail-unfound-open"),
        "link": f"{origin.public_url}{path}",
    }
    words |= _reason(origin, language)
    return letter_texts.compose(words, notice.rejected_at, target, origin, language)


Rows: TypeAlias = Sequence[tuple[str, str | None]]


def _rows(
    language: str, contents: notification.LetterContents, head: Rows, rest: Rows
) -> list[tuple[str, str]]:
    """Return the rows of a letter; the codes, or the place of the goods, stand in the middle."""
    translate = partial(translations.t, language)
    key = "mail-payer-code-of" if len(contents.codes) > 1 else "mail-payer-code"
    goods = [(translate(key, unit=unit), code) for unit, code in contents.codes]
    if contents.waits or (contents.has_goods and not goods):
        where = "mail-payer-goods-wait" if contents.waits else "mail-payer-there"
        goods.append((translate("mail-payer-goods"), translate(where)))
    labelled = partial(letter_texts.labelled, language=language)
    return [*labelled(head), *goods, *labelled(rest)]


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
