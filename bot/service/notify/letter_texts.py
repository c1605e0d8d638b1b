"""Letters as they are written: of a payment, of many, and the one that asks for a confirmation."""

from __future__ import annotations

import unicodedata
from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from email.errors import MessageError
from email.message import EmailMessage
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlsplit

from jinja2 import Environment, FileSystemLoader, StrictUndefined, select_autoescape

from bot.core.errors import MailRefused
from bot.core.mail import headers, smtp
from bot.core.money import amounts
from bot.core.text.sanitize import DIRECTION_MARKS
from bot.core.text.translations import DEFAULT, t
from bot.service.model import redirects
from bot.service.model.recipient import CONFIRM, DAY, STOP, VALID

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

TEMPLATES = Path(__file__).with_name("templates")
PAYER = {"paymail": "mail-paymail", "email": "mail-email", "phoneNumber": "mail-phone"}
LISTED = 50
"""Payments that a summary lists, the newest; it adds up all of them."""


@dataclass(frozen=True, slots=True)
class LetterOrigin:
    """Who letters are from, and where their links lead."""

    sender: str
    public_url: str


@dataclass(frozen=True, slots=True)
class LetterTarget:
    """A letter's id, the address that gets it, and the token of the link that ends them."""

    id: str
    address: str
    stop: str


@contextmanager
def refuse_unwritable() -> Iterator[None]:
    """Refuse for good what can't be written; what is in the way may be private, and is not told."""
    try:
        yield
    except (ValueError, MessageError) as error:
        told = f"the e-mail can't be written ({type(error).__name__})"
        raise MailRefused(told, final=True) from error


@refuse_unwritable()
def payment_letter(
    bodies: Sequence[Mapping[str, Any]], target: LetterTarget, origin: LetterOrigin
) -> EmailMessage:
    """Write the letter of one payment or of several, as they are owed; the same each time.

    Raises MailRefused where its address is none, or something else in it can't be written.
    """
    if len(bodies) == 1:
        (body,) = bodies
        return _letter(_words(body, origin.public_url), body["completedAt"], target, origin)
    ids = "".join(body["transactionId"] for body in bodies)
    marked = f"{target.id}-{sha256(ids.encode()).hexdigest()[:16]}"
    several = LetterTarget(marked, target.address, target.stop)
    return _letter(_summary(bodies), bodies[-1]["completedAt"], several, origin)


@refuse_unwritable()
def confirmation_letter(
    token: str, at: int, target: LetterTarget, origin: LetterOrigin
) -> EmailMessage:
    """Write the letter that asks the holder of an address to confirm it, as asked at `at` (ms).

    Nothing in it is the seller's: whoever names an address would else write to it.
    """
    host = urlsplit(origin.public_url).netloc
    words = {
        "subject": t(DEFAULT, "mail-ask-subject", host=host),
        "heading": t(DEFAULT, "mail-ask-heading"),
        "intro": t(DEFAULT, "mail-ask", host=host, days=VALID // DAY),
        "rows": [],
        "action": t(DEFAULT, "mail-ask-confirm"),
        "link": f"{origin.public_url}{CONFIRM}{token}",
        "why": t(DEFAULT, "mail-ask-why"),
    }
    return _letter(words, at, target, origin)


def _letter(
    words: dict[str, Any], at: int, target: LetterTarget, origin: LetterOrigin
) -> EmailMessage:
    """Write a letter of these words; every one can be ended by its reader (RFC 8058)."""
    address, from_ = smtp.ascii_address(target.address), smtp.parse_sender(origin.sender)
    if address is None:
        raise MailRefused("notifications.email is no e-mail address", final=True)
    stop = f"{origin.public_url}{STOP}{target.stop}"
    letter = EmailMessage(headers.literal())
    letter["Subject"] = words["subject"]
    letter["From"], letter["To"] = from_, address
    letter["Date"] = _moment(at)
    letter["Message-ID"] = f"<{target.id}@{_origin(origin.public_url) or from_.domain}>"
    letter["Auto-Submitted"] = "auto-generated"  # RFC 3834: no out-of-office answers to it
    letter["List-Unsubscribe"] = f"<{redirects.ascii_url(stop)}>"
    letter["List-Unsubscribe-Post"] = "List-Unsubscribe=One-Click"
    shown = {"lang": DEFAULT, "warning": None, "intro": None, "link": None, "action": None}
    shown |= words | {"stop": stop, "stop_label": t(DEFAULT, "mail-stop")}
    plain, html = (
        _templates().get_template(name).render(shown) for name in ("mail.txt", "mail.html")
    )
    letter.set_content(plain, cte="quoted-printable")
    letter.add_alternative(html, subtype="html", cte="quoted-printable")
    return letter


def _words(body: Mapping[str, Any], public_url: str) -> dict[str, Any]:
    """Return every text of the letter."""
    amount = amounts.format_money(body["amount"], body["currency"], DEFAULT)
    given = {"amount": amount.replace("\u00a0", " "), "name": _line(body["product"])}
    oversold = bool(body.get("oversold"))
    payment = f"{body['requestId']}/receipt/{body['transactionId']}"
    return {
        "subject": t(
            DEFAULT, "mail-subject-oversold" if oversold else "mail-subject",
            amount=given["amount"], name=given["name"],
        ),
        "heading": t(DEFAULT, "mail-heading", amount=amount),
        "warning": t(DEFAULT, "mail-oversold") if oversold else None,
        "rows": _rows(body, given["name"]),
        "action": t(DEFAULT, "mail-receipt"),
        "link": f"{public_url}/pay/{quote(payment)}",
        "why": t(DEFAULT, "mail-why"),
    }  # fmt: skip


def _summary(bodies: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return every text of a letter that tells several payments."""
    sums: Counter[str] = Counter()
    for body in bodies:
        sums[body["currency"]] += body["amount"]
    total = " + ".join(amounts.format_money(sums[code], code, DEFAULT) for code in sorted(sums))
    oversold = sum(bool(body.get("oversold")) for body in bodies)
    rest = len(bodies) - LISTED
    return {
        "subject": t(DEFAULT, "mail-many-subject", count=len(bodies)),
        "heading": t(DEFAULT, "mail-many-heading", count=len(bodies)),
        "warning": t(DEFAULT, "mail-many-oversold", count=oversold) if oversold else None,
        "intro": t(DEFAULT, "mail-many", total=total, rest=max(rest, 0)),
        "rows": [
            (t(DEFAULT, "mail-at", at=_moment(body["completedAt"])), _brief(body))
            for body in bodies[-LISTED:]
        ],
        "why": t(DEFAULT, "mail-why"),
    }


def _brief(body: Mapping[str, Any]) -> str:
    """Return a payment on one line: what came, for what, from whom."""
    amount = amounts.format_money(body["amount"], body["currency"], DEFAULT)
    told = body.get("userData") or {}
    payer = (_line(str(told.get(field) or "")) for field in PAYER)
    return " · ".join(filter(None, [amount, _line(body["product"]), *payer]))


def _rows(body: Mapping[str, Any], name: str) -> list[tuple[str, str]]:
    """Return what there is to know, by label."""
    paid = body.get("paidCurrency")
    told = body.get("userData") or {}
    rows = [
        ("mail-product", name),
        ("mail-paid-in", paid and amounts.format_money(body["paidAmount"], paid, DEFAULT)),
        ("mail-left", _left(body)),
        ("mail-when", t(DEFAULT, "mail-at", at=_moment(body["completedAt"]))),
        *((key, _line(str(told.get(field) or ""))) for field, key in PAYER.items()),
        ("mail-transaction", body["transactionId"]),
        ("mail-request", body["requestId"]),
    ]
    return [(t(DEFAULT, key), value) for key, value in rows if value]


def _left(body: Mapping[str, Any]) -> str | None:
    """Return what is left to buy: nothing is sold out while others may still give theirs up."""
    left, reserved = body.get("remainingUnits"), body.get("reservedUnits")
    if left is None:
        return None
    if reserved:
        return t(DEFAULT, "mail-left-reserved", left=left, reserved=reserved)
    return t(DEFAULT, "mail-left-units", left=left)


def _line(text: str) -> str:
    """Return what a person typed as one line that turns nothing around it."""
    kinds = ((char, unicodedata.category(char)) for char in text.translate(DIRECTION_MARKS))
    shown = "".join(" " if kind in ("Cc", "Cs", "Zl", "Zp") else char for char, kind in kinds)
    return " ".join(shown.split())


def _moment(at: int) -> datetime:
    return datetime.fromtimestamp(at // 1000, UTC)


def _origin(public_url: str) -> str | None:
    """Return our name in the world, where PUBLIC_URL has one that is nobody else's."""
    domain = smtp.ascii_domain(urlsplit(public_url).hostname or "")
    return domain if domain and "." in domain else None


@cache
def _templates() -> Environment:
    return Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=select_autoescape(["html"]),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
