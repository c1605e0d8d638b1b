"""The texts of letters: about a payment or a claim, about several, and to confirm an address."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from email.errors import MessageError
from email.message import EmailMessage
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias
from urllib.parse import quote, urlsplit

from jinja2 import Environment, FileSystemLoader, StrictUndefined, select_autoescape

from bot.core import brand, errors
from bot.core.money import amounts
from bot.core.net import mail
from bot.core.text import contacts, links, sanitize, translations
from bot.service.notifications import notification
from bot.service.payments import payment_reports
from bot.service.requests import request

if TYPE_CHECKING:
    Report: TypeAlias = payment_reports.LetterReport | payment_reports.ClaimLetter

TEMPLATES = Path(__file__).with_name("templates")
PAYER = {"paymail": "mail-paymail", "email": "mail-email", "phoneNumber": "mail-phone"}
_JOINT = re.compile(r"(?<=[.:/@\u3002\uff0e\uff61])(?=\S)")
"""Places within an address: a payer's words are a stranger's, and may lead anywhere."""

LISTED = 50
"""The newest payments, which a summary lists; its total is of all of them."""


@dataclass(frozen=True, slots=True)
class LetterOrigin:
    """The sender of letters, and the URL to which their links lead."""

    sender: str
    public_url: str


@dataclass(frozen=True, slots=True)
class LetterTarget:
    """A letter's id, its address, and the token of its unsubscribe link."""

    id: str
    address: str
    stop: str


@contextmanager
def refuse_unwritable() -> Iterator[None]:
    """Raise a final MailRefused for what can't be written, without the text: it may be private."""
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
    """Write the letter about one payment or claim, or several of them.

    The same reports give the same letter. `seller` is who is paid: their name and colour head the
    letter. Raises MailRefused if its address is invalid or its text can't be written.
    """
    reports = _newest(reports)
    if len(reports) == 1:
        (report,) = reports
        if isinstance(report, payment_reports.LetterReport):
            words = _words(report, origin.public_url)
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

    It has no text of the seller: otherwise sellers could write to any address they name.
    """
    host = urlsplit(origin.public_url).netloc
    words = {
        "subject": translations.t(translations.DEFAULT, "mail-ask-subject", host=host),
        "heading": translations.t(translations.DEFAULT, "mail-ask-heading"),
        "intro": translations.t(
            translations.DEFAULT,
            "mail-ask",
            host=host,
            days=notification.CONFIRMABLE // notification.DAY,
        ),
        "rows": [],
        "action": translations.t(translations.DEFAULT, "mail-ask-confirm"),
        "link": f"{origin.public_url}{notification.CONFIRM_PATH}{token}",
        "why": translations.t(translations.DEFAULT, "mail-ask-why"),
    }
    return compose(words, at, target, origin)


def compose(
    words: dict[str, Any],
    at: int,
    target: LetterTarget,
    origin: LetterOrigin,
    language: str = translations.DEFAULT,
) -> EmailMessage:
    """Write a letter of these words, with an unsubscribe link (RFC 8058)."""
    address = contacts.ascii_address(target.address)
    from_ = mail.parse_sender(origin.sender)
    if address is None:
        raise errors.MailRefused("notifications.email is no email address", final=True)
    stop = f"{origin.public_url}{notification.STOP_PATH}{target.stop}"
    letter = EmailMessage(mail.encoded_headers())
    letter["Subject"] = mail.encode_text(words["subject"], "Subject")
    letter["From"], letter["To"] = mail.encode_mailbox(from_, "From"), address
    letter["Date"] = moment(at)
    letter["Message-ID"] = f"<{target.id}@{_origin(origin.public_url) or from_.domain}>"
    letter["Auto-Submitted"] = "auto-generated"  # RFC 3834: no out-of-office answers to it
    letter["List-Unsubscribe"] = f"<{request.ascii_url(stop)}>"
    letter["List-Unsubscribe-Post"] = "List-Unsubscribe=One-Click"
    shown: dict[str, Any] = dict.fromkeys(("warning", "intro", "link", "action", "keep"))
    shown |= {"lang": language, "brand": urlsplit(origin.public_url).netloc, "stacked": False}
    shown |= (
        {"stop": stop, "stop_label": translations.t(language, "mail-stop")} | _head(None) | words
    )
    plain, html = (
        _templates().get_template(name).render(shown) for name in ("mail.txt", "mail.html")
    )
    letter.set_content(plain, cte="quoted-printable")
    letter.add_alternative(html, subtype="html", cte="quoted-printable")
    return letter


def _head(seller: request.SellerProfile | None) -> dict[str, Any]:
    """Return the head of a letter: who is paid, and the colours of the letter."""
    name = _line(seller.name) if seller else ""
    return {
        "seller": name or None,
        "initials": brand.initials(name) if name else None,
        "accent": brand.accent_of(seller.accent if seller else None),
    }


def _words(report: payment_reports.LetterReport, public_url: str) -> dict[str, Any]:
    amount = amounts.format_money(report.amount, report.currency, translations.DEFAULT)
    name, (subject, heading, warning) = _line(report.product), _keys(report)
    given = {"amount": amount, "paid": _paid(report) or amount}
    plain = {word: text.replace("\u00a0", " ") for word, text in given.items()}
    payment = f"{report.request_id}/receipt/{report.transaction_id}"
    counts = {"quantity": report.quantity, "left": report.remaining_units or 0}
    words = {
        "subject": translations.t(translations.DEFAULT, subject, name=name, **plain),
        "heading": translations.t(translations.DEFAULT, heading, **given),
        "warning": translations.t(translations.DEFAULT, warning, **counts)
        if warning
        else _codes_waiting([report]),
        "rows": _rows(report, name),
        "why": translations.t(translations.DEFAULT, "mail-why"),
    }
    if report.underpaid:  # nothing was sold, so there is no receipt
        return words
    link = f"{public_url}/pay/{quote(payment)}"
    return words | {"action": translations.t(translations.DEFAULT, "mail-receipt"), "link": link}


def _keys(report: payment_reports.LetterReport) -> tuple[str, str, str | None]:
    """Return the keys of subject, heading and warning."""
    if report.underpaid:
        return "mail-subject-underpaid", "mail-heading-underpaid", "mail-underpaid"
    if report.oversold:
        some_left = report.quantity > 1 and report.remaining_units
        warning = "mail-oversold-few" if some_left else "mail-oversold"
        return "mail-subject-oversold", "mail-heading", warning
    return "mail-subject", "mail-heading", None


def _claim_words(report: payment_reports.ClaimLetter) -> dict[str, Any]:
    amount = amounts.format_money(report.amount, report.currency, translations.DEFAULT)
    name = _line(report.product)
    subject = {"name": name, "amount": amount.replace("\u00a0", " ")}
    rows = [
        ("mail-product", name),
        ("mail-paid-in", _paid(report)),
        ("mail-payer-reference", report.reference),
        (
            "mail-claimed",
            translations.t(translations.DEFAULT, "mail-at", at=moment(report.claimed_at)),
        ),
        (
            "mail-answer-by",
            translations.t(translations.DEFAULT, "mail-at", at=moment(report.lapses_at)),
        ),
        ("mail-request", report.request_id),
    ]
    return {
        "subject": translations.t(translations.DEFAULT, "mail-subject-claim", **subject),
        "heading": translations.t(translations.DEFAULT, "mail-heading-claim", amount=amount),
        "intro": translations.t(translations.DEFAULT, "mail-claim"),
        "rows": [
            (translations.t(translations.DEFAULT, key), value) for key, value in rows if value
        ],
        "why": translations.t(translations.DEFAULT, "mail-why"),
    }


def _newest(reports: Sequence[Report]) -> list[Report]:
    """Return the reports without underpaid money that a later one completes or raises."""
    newest = {_id(report): report for report in reports}
    return [
        report
        for report in reports
        if not (isinstance(report, payment_reports.LetterReport) and report.underpaid)
        or newest[_id(report)] is report
    ]


def _id(report: Report) -> str:
    return (
        report.transaction_id
        if isinstance(report, payment_reports.LetterReport)
        else report.checkout_id
    )


def _reported_at(report: Report) -> int:
    return (
        report.completed_at
        if isinstance(report, payment_reports.LetterReport)
        else report.claimed_at
    )


def _summary(reports: Sequence[Report]) -> dict[str, Any]:
    payments = [report for report in reports if isinstance(report, payment_reports.LetterReport)]
    sums: Counter[str] = Counter()
    for report in payments:
        if not report.underpaid:
            sums[report.currency] += report.amount
    total = " + ".join(
        amounts.format_money(sums[code], code, translations.DEFAULT) for code in sorted(sums)
    )
    rest = len(reports) - LISTED
    counts = {"mail-many": len(payments), "mail-many-claimed": len(reports) - len(payments)}
    title = ", ".join(
        translations.t(translations.DEFAULT, key, count=count)
        for key, count in counts.items()
        if count
    )
    intro = translations.t(translations.DEFAULT, "mail-many-total", total=total, rest=max(rest, 0))
    return {
        "subject": title,
        "heading": title,
        "warning": _warning(reports),
        "intro": intro if payments else None,
        "rows": [
            (
                translations.t(translations.DEFAULT, "mail-at", at=moment(_reported_at(report))),
                _brief(report),
            )
            for report in reports[-LISTED:]
        ],
        "stacked": True,
        "why": translations.t(translations.DEFAULT, "mail-why"),
    }


def _warning(reports: Sequence[Report]) -> str | None:
    payments = [report for report in reports if isinstance(report, payment_reports.LetterReport)]
    counts = {
        "mail-many-claims": len(reports) - len(payments),
        "mail-many-oversold": sum(report.oversold for report in payments),
        "mail-many-underpaid": sum(report.underpaid for report in payments),
    }
    texts = [
        translations.t(translations.DEFAULT, key, count=count)
        for key, count in counts.items()
        if count
    ]
    return " ".join(filter(None, [*texts, _codes_waiting(payments)])) or None


def _brief(report: Report) -> str:
    """Return a payment as one line: amount, quantity, payer; a claim with its reference."""
    amount = amounts.format_money(report.amount, report.currency, translations.DEFAULT)
    if not isinstance(report, payment_reports.LetterReport):
        amount = translations.t(translations.DEFAULT, "mail-brief-claim", amount=amount)
        return " · ".join(filter(None, [amount, _line(report.product), report.reference]))
    if report.underpaid:
        amount = translations.t(
            translations.DEFAULT, "mail-brief-underpaid", amount=amount, paid=_paid(report) or ""
        )
    payer = (_line(report.user_data.get(field, "")) for field in PAYER)
    said = (_unlinked(text or "") for text in (report.name, report.message))
    return " · ".join(filter(None, [amount, _quantity(report), *said, *payer]))


def _rows(report: payment_reports.LetterReport, name: str) -> list[tuple[str, str]]:
    rows = [
        ("mail-product", name),
        ("mail-quantity", str(report.quantity) if report.quantity > 1 else None),
        ("mail-payer-name", _unlinked(report.name or "")),
        ("mail-message", _unlinked(report.message or "")),
        ("mail-paid-in", _paid(report)),
        ("mail-left", _left(report)),
        (
            "mail-when",
            translations.t(translations.DEFAULT, "mail-at", at=moment(report.completed_at)),
        ),
        *((key, _line(report.user_data.get(field, ""))) for field, key in PAYER.items()),
        ("mail-transaction", report.transaction_id),
        ("mail-request", report.request_id),
    ]
    return [(translations.t(translations.DEFAULT, key), value) for key, value in rows if value]


def _quantity(report: payment_reports.LetterReport) -> str:
    product = _line(report.product)
    return product if report.quantity == 1 else f"{report.quantity} × {product}"


def _codes_waiting(payments: Sequence[payment_reports.LetterReport]) -> str | None:
    """Return the line about missing codes; None if no payment lacked one."""
    count = max((report.codes_waiting for report in payments), default=0)
    return (
        translations.t(translations.DEFAULT, "mail-codes-waiting", count=count) if count else None
    )


def _unlinked(text: str) -> str:
    """Return what a payer wrote as one line in which mail programs find no address."""
    return _JOINT.sub("\N{WORD JOINER}", _line(text))


def _paid(report: Report) -> str | None:
    if report.paid_amount is None or report.paid_currency is None:
        return None
    return amounts.format_money(report.paid_amount, report.paid_currency, translations.DEFAULT)


def _left(report: payment_reports.LetterReport) -> str | None:
    """Return what is left to buy; with reserved units the request is not sold out."""
    left, reserved = report.remaining_units, report.reserved_units
    if left is None:
        return None
    if reserved:
        return translations.t(
            translations.DEFAULT, "mail-left-reserved", left=left, reserved=reserved
        )
    return translations.t(translations.DEFAULT, "mail-left-units", left=left)


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


def _origin(public_url: str) -> str | None:
    """Return the domain of PUBLIC_URL, None if it is not unique in the world."""
    domain = links.ascii_domain(urlsplit(public_url).hostname or "")
    return domain if domain and "." in domain else None


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
