"""The letters that a payer gets: the receipt, or that the payment was not found.

They have no text of the seller: whoever pays chooses the address, so that sellers could write to
anybody. The product's name is on the receipt's page, which its link opens.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlsplit

from bot.core.money import amounts
from bot.core.text.translations import t
from bot.service.notify.letter_texts import compose, moment, refuse_unwritable

if TYPE_CHECKING:
    from email.message import EmailMessage

    from bot.service.model.payment_reports import ReceiptReport, RejectionNotice
    from bot.service.notify.letter_texts import LetterOrigin, LetterTarget


@refuse_unwritable()
def receipt_letter(
    report: ReceiptReport, target: LetterTarget, origin: LetterOrigin
) -> EmailMessage:
    """Write the receipt of a payment in its payer's language; the same report, the same letter.

    Raises MailRefused if its address is invalid.
    """
    return compose(_words(report, origin), report.completed_at, target, origin, report.language)


def _words(report: ReceiptReport, origin: LetterOrigin) -> dict[str, Any]:
    language, host = report.language, urlsplit(origin.public_url).netloc
    amount = amounts.format_money(report.amount, report.currency, language)
    path = quote(f"/pay/{report.request_id}/receipt/{report.transaction_id}")
    return {
        "subject": t(language, _subject(report), amount=amount.replace("\u00a0", " ")),
        "heading": t(language, "mail-payer-heading", amount=amount),
        "warning": t(language, "mail-payer-oversold") if report.oversold else None,
        "intro": t(language, "mail-payer-test") if report.test_money else None,
        "rows": [(t(language, key), value) for key, value in _rows(report, host) if value],
        "action": t(language, "mail-receipt"),
        "link": f"{origin.public_url}{path}",
        "why": t(language, "mail-payer-why", host=host),
        "stop_label": t(language, "mail-payer-stop"),
    }


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


def _rows(report: ReceiptReport, host: str) -> list[tuple[str, str | None]]:
    language, paid = report.language, None
    if report.paid_amount is not None and report.paid_currency is not None:
        paid = amounts.format_money(report.paid_amount, report.paid_currency, language)
    return [
        ("mail-payer-amount", amounts.format_money(report.amount, report.currency, language)),
        ("mail-paid-in", paid),
        ("mail-when", t(language, "mail-at", at=moment(report.completed_at))),
        ("mail-payer-host", host),
        ("mail-transaction", report.transaction_id),
    ]
