"""Composes letters, and writes the letters to sellers: about payments, claims and confirmations.

Letters to sellers are in the default language.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from email.errors import MessageError
from email.message import EmailMessage
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, get_args
from urllib.parse import quote, urlsplit

from jinja2 import Environment, FileSystemLoader, StrictUndefined, select_autoescape

from bot.core import brand, errors
from bot.core.money import amounts
from bot.core.net import mail
from bot.core.text import contacts, links, sanitize, translations
from bot.interface import vocabulary
from bot.service.notifications import notification
from bot.service.payments import payment_reports
from bot.service.requests import request

if TYPE_CHECKING:
    Report: TypeAlias = payment_reports.LetterReport | payment_reports.ClaimLetter

TEMPLATES = Path(__file__).with_name("templates")
MOST_LISTED = 50
"""Payments that a summary lists, newest first; its total includes all payments."""

_JOINT = re.compile(r"(?<=[.:/@\u3002\uff0e\uff61])(?=\S)")
"""Where an address can be split, because a payer's links may lead anywhere."""


@dataclass(frozen=True, slots=True)
class LetterOrigin:
    """The sender of letters, and the URL to which their links lead."""

    sender: str
    public_url: str


@dataclass(frozen=True, slots=True)
class LetterTarget:
    """Where one letter goes."""

    id: str
    """The basis of the Message-ID."""

    address: str
    stop: str
    """The end of the unsubscribe link after STOP_PATH: a token, preceded by STOP_RECEIPTS for
    payers.
    """


@contextmanager
def refuse_unwritable() -> Iterator[None]:
    """Raise a final MailRefused if a letter can't be written, without its private text."""
    try:
        yield
    except (ValueError, MessageError) as error:
        reason = f"the email can't be written ({type(error).__name__})"
        raise errors.MailRefused(reason, final=True) from error


@refuse_unwritable()
def payment_letter(
    reports: Sequence[Report],
    target: LetterTarget,
    origin: LetterOrigin,
    seller: request.SellerProfile | None = None,
) -> EmailMessage:
    """Write the letter about one or more payments and claims.

    The same reports give the same letter. The head shows the name and colour of `seller`. Raises
    MailRefused if the address is invalid or the text can't be written.
    """
    newest = {_id(report): report for report in reports}
    reports = [  # without underpaid payments that a later report replaces
        report
        for report in reports
        if not (isinstance(report, payment_reports.LetterReport) and report.underpaid)
        or newest[_id(report)] is report
    ]
    if len(reports) == 1:
        (report,) = reports
        if isinstance(report, payment_reports.LetterReport):
            words = _payment_words(report, origin.public_url)
        else:
            words = _claim_words(report)
        return compose(words | _head(seller), _reported_at(report), target, origin)
    ids = "".join(map(_id, reports))
    marked = f"{target.id}-{sha256(ids.encode()).hexdigest()[:16]}"
    several = LetterTarget(marked, target.address, target.stop)
    words = _summary(reports) | _head(seller)
    return compose(words, _reported_at(reports[-1]), several, origin)


@refuse_unwritable()
def confirmation_letter(
    token: str, at: int, target: LetterTarget, origin: LetterOrigin
) -> EmailMessage:
    """Write the letter that asks the holder of an address to confirm it; `at` in epoch ms.

    It contains no text from the seller, because sellers can name any address.
    """
    host = urlsplit(origin.public_url).netloc
    days = notification.CONFIRMABLE // notification.DAY
    words = {
        "subject": _t("mail-ask-subject", host=host),
        "heading": _t("mail-ask-heading"),
        "intro": _t("mail-ask", host=host, days=days),
        "rows": [],
        "action": _t("mail-ask-confirm"),
        "link": f"{origin.public_url}{notification.CONFIRM_PATH}{token}",
        "why": _t("mail-ask-why"),
    }
    return compose(words, at, target, origin)


def compose(
    words: dict[str, Any],
    at: int,
    target: LetterTarget,
    origin: LetterOrigin,
    language: str = translations.DEFAULT,
) -> EmailMessage:
    """Write a letter with these words and an unsubscribe link (RFC 8058); `at` in epoch ms."""
    words = words | {"subject": words["subject"].replace("\u00a0", " ")}
    address = contacts.ascii_address(target.address)
    from_ = mail.parse_sender(origin.sender)
    if address is None:
        raise errors.MailRefused("notifications.email is no email address", final=True)
    stop = f"{origin.public_url}{notification.STOP_PATH}{target.stop}"
    domain = links.ascii_domain(urlsplit(origin.public_url).hostname or "")
    if not domain or "." not in domain:  # it is not globally unique
        domain = from_.domain
    letter = EmailMessage(mail.encoded_headers())
    letter["Subject"] = mail.encode_text(words["subject"], "Subject")
    letter["From"], letter["To"] = mail.encode_mailbox(from_, "From"), address
    letter["Date"] = moment(at)
    letter["Message-ID"] = f"<{target.id}@{domain}>"
    letter["Auto-Submitted"] = "auto-generated"  # RFC 3834: no out-of-office answers to it
    letter["List-Unsubscribe"] = f"<{request.ascii_url(stop)}>"
    letter["List-Unsubscribe-Post"] = "List-Unsubscribe=One-Click"
    shown: dict[str, Any] = dict.fromkeys(("warning", "intro", "link", "action", "keep"))
    shown |= {"lang": language, "brand": urlsplit(origin.public_url).netloc, "stacked": False}
    shown |= {"stop": stop, "stop_label": translations.t(language, "mail-stop")}
    shown |= _head(None) | words
    plain = _templates().get_template("mail.txt").render(shown)
    html = _templates().get_template("mail.html").render(shown)
    letter.set_content(plain, cte="quoted-printable")
    letter.add_alternative(html, subtype="html", cte="quoted-printable")
    return letter


def _head(seller: request.SellerProfile | None) -> dict[str, Any]:
    """Return the head of a letter: the seller's name and the colours."""
    name = _line(seller.name) if seller else ""
    return {
        "seller": name or None,
        "initials": brand.initials(name) if name else None,
        "accent": brand.colour_named(seller.accent if seller else None),
    }


def _payment_words(report: payment_reports.LetterReport, public_url: str) -> dict[str, Any]:
    amount, name, left = money_text(report), _line(report.product), report.remaining_units
    subject, heading, warning = "mail-subject", "mail-heading", None
    if report.underpaid:
        subject, heading = "mail-subject-underpaid", "mail-heading-underpaid"
        warning = "mail-underpaid"
    elif report.oversold:
        subject = "mail-subject-oversold"
        warning = "mail-oversold-few" if report.quantity > 1 and left else "mail-oversold"
    given = {"amount": amount, "paid": paid_text(report) or amount}
    counts = {"quantity": report.quantity, "left": left or 0}
    words = {
        "subject": _t(subject, name=name, **given),
        "heading": _t(heading, **given),
        "warning": _t(warning, **counts) if warning else _codes_waiting([report]),
        "rows": _rows(report, name),
        "why": _t("mail-why"),
    }
    if report.underpaid:  # nothing was sold, so there is no receipt
        return words
    return words | receipt_link(report, public_url)


def receipt_link(
    report: payment_reports.PaymentReport, public_url: str, language: str = translations.DEFAULT
) -> dict[str, str]:
    """Return the words of the button that leads to a payment's receipt."""
    path = quote(request.receipt_path(report.request_id, report.transaction_id))
    return {"action": translations.t(language, "receipt-view"), "link": f"{public_url}{path}"}


def labelled(
    rows: Iterable[tuple[str, str | None]], language: str = translations.DEFAULT
) -> list[tuple[str, str]]:
    """Return rows with the texts of their keys, without empty ones."""
    return [(translations.t(language, key), value) for key, value in rows if value]


def _claim_words(report: payment_reports.ClaimLetter) -> dict[str, Any]:
    amount, name = money_text(report), _line(report.product)
    rows = [
        ("mail-product", name),
        ("receipt-paid", paid_text(report)),
        ("receipt-reference", report.reference),
        ("mail-claimed", _t("moment-utc", at=moment(report.claimed_at))),
        ("mail-answer-by", _t("moment-utc", at=moment(report.lapses_at))),
        ("payment-link", report.request_id),
    ]
    return {
        "subject": _t("mail-subject-claim", name=name, amount=amount),
        "heading": _t("mail-heading-claim", amount=amount),
        "intro": _t("mail-claim"),
        "rows": labelled(rows),
        "why": _t("mail-why"),
    }


def _id(report: Report) -> str:
    if isinstance(report, payment_reports.LetterReport):
        return report.transaction_id
    return report.checkout_id


def _reported_at(report: Report) -> int:
    if isinstance(report, payment_reports.LetterReport):
        return report.completed_at
    return report.claimed_at


def _summary(reports: Sequence[Report]) -> dict[str, Any]:
    payments = [report for report in reports if isinstance(report, payment_reports.LetterReport)]
    sums: Counter[str] = Counter()
    for report in payments:
        if not report.underpaid:
            sums[report.currency] += report.amount
    total = " + ".join(
        amounts.format_money(sums[code], code, translations.DEFAULT) for code in sorted(sums)
    )
    rest = len(reports) - MOST_LISTED
    counts = {"mail-many": len(payments), "mail-many-claimed": len(reports) - len(payments)}
    title = ", ".join(_t(key, count=count) for key, count in counts.items() if count)
    intro = _t("mail-many-total", total=total, rest=max(rest, 0))
    warned = {
        "mail-many-claims": len(reports) - len(payments),
        "mail-many-oversold": sum(report.oversold for report in payments),
        "mail-many-underpaid": sum(report.underpaid for report in payments),
    }
    warnings = [_t(key, count=count) for key, count in warned.items() if count]
    return {
        "subject": title,
        "heading": title,
        "warning": " ".join(filter(None, [*warnings, _codes_waiting(payments)])) or None,
        "intro": intro if payments else None,
        "rows": [
            (_t("moment-utc", at=moment(_reported_at(report))), _brief(report))
            for report in reports[-MOST_LISTED:]
        ],
        "stacked": True,
        "why": _t("mail-why"),
    }


def _brief(report: Report) -> str:
    """Return one line: amount, product and payer of a payment, or the reference of a claim."""
    amount = money_text(report)
    if not isinstance(report, payment_reports.LetterReport):
        amount = _t("mail-brief-claim", amount=amount)
        return " · ".join(filter(None, [amount, _line(report.product), report.reference]))
    if report.underpaid:
        amount = _t("mail-brief-underpaid", amount=amount, paid=paid_text(report) or "")
    product = _line(report.product)
    if report.quantity > 1:
        product = _t("pieces-of", count=report.quantity, what=product)
    said = (_unlinked(text or "") for text in (report.name, report.message))
    payer = (value for _, value in _payer_rows(report))
    return " · ".join(filter(None, [amount, product, *said, *payer]))


def _rows(report: payment_reports.LetterReport, name: str) -> list[tuple[str, str]]:
    units, reserved = report.remaining_units, report.reserved_units
    left = None if units is None else _t("mail-left-units", left=units)
    if units is not None and reserved:  # not sold out yet
        left = _t("mail-left-reserved", left=units, reserved=reserved)
    rows = [
        ("mail-product", name),
        ("receipt-quantity", str(report.quantity) if report.quantity > 1 else None),
        ("mail-payer-name", _unlinked(report.name or "")),
        ("mail-message", _unlinked(report.message or "")),
        ("receipt-paid", paid_text(report)),
        ("mail-left", left),
        ("receipt-when", _t("moment-utc", at=moment(report.completed_at))),
        *_payer_rows(report),
        ("receipt-transaction", report.transaction_id),
        ("payment-link", report.request_id),
    ]
    return labelled(rows)


def _payer_rows(report: payment_reports.LetterReport) -> list[tuple[str, str]]:
    """Return the key and value of each field of the payer's form."""
    fields = get_args(vocabulary.PayerField)
    return [(f"page-{field}", _line(report.user_data.get(field, ""))) for field in fields]


def _codes_waiting(payments: Sequence[payment_reports.LetterReport]) -> str | None:
    """Return the line about missing codes, or None if no code is missing."""
    count = max((report.codes_waiting for report in payments), default=0)
    return _t("mail-codes-waiting", count=count) if count else None


def _unlinked(text: str) -> str:
    """Return a payer's words as one line without anything that mail programs turn into a link."""
    return _JOINT.sub("\N{WORD JOINER}", _line(text))


def money_text(
    report: payment_reports.PaymentReport
    | payment_reports.ClaimLetter
    | payment_reports.RejectionNotice,
    language: str = translations.DEFAULT,
) -> str:
    """Return the amount of a payment or claim, in the price's currency."""
    return amounts.format_money(report.amount, report.currency, language)


def paid_text(
    report: Report | payment_reports.ReceiptReport, language: str = translations.DEFAULT
) -> str | None:
    """Return the amount in the currency of the payment; None if it is the price's."""
    if report.paid_amount is None or report.paid_currency is None:
        return None
    return amounts.format_money(report.paid_amount, report.paid_currency, language)


def _t(key: str, **values: object) -> str:
    return translations.t(translations.DEFAULT, key, **values)


def _line(text: str) -> str:
    """Return a typed text as one line without direction marks."""
    kinds = (
        (char, unicodedata.category(char)) for char in text.translate(sanitize.DIRECTION_MARKS)
    )
    shown = "".join(" " if kind in ("Cc", "Cs", "Zl", "Zp") else char for char, kind in kinds)
    return " ".join(shown.split())


def moment(at: int) -> datetime:
    """Convert epoch ms to a datetime in UTC, to the second."""
    return datetime.fromtimestamp(at // 1000, UTC)


@cache
def _templates() -> Environment:
    made = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=select_autoescape(["html"]),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    made.globals["ink"] = brand.INK
    return made
