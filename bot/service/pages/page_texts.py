"""What stands around every page: the seller above it, the links below it, the accent colour."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from functools import lru_cache
from typing import Any, Literal, TypeAlias
from urllib.parse import quote

from bot.core import brand
from bot.core.money import amounts
from bot.core.text import contacts
from bot.service.pages import payer_form
from bot.service.requests import request

# Amounts as a page's reader writes them, kept because many payers see the same few.


money_text = lru_cache(maxsize=4096)(amounts.format_money)
short_text = lru_cache(maxsize=1024)(amounts.format_short)


@lru_cache(maxsize=256)
def affixes(currency: str, tag: str) -> tuple[str, str]:
    """Return what stands before and after the number of an amount: `$` and nothing, or ` €`."""
    text = amounts.format_money(1, currency, tag)
    places = [place for place, char in enumerate(text) if char.isdecimal()]
    return text[: places[0]], text[places[-1] + 1 :]


def price_text(reader: payer_form.Reader, request: request.PaymentRequest) -> str:
    """Return the price of a request, or from which amount on payers choose."""
    terms = request.terms
    if terms.choice is None:
        return money_text(terms.amount, terms.currency, reader.tag)
    return reader.t(
        "page-from", amount=short_text(terms.choice.minimum, terms.currency, reader.tag)
    )


def quantity_text(
    reader: payer_form.Reader, total: int, currency: str, quantity: int
) -> str | None:
    """Return how many units a sum is for, and the price of each; None for one."""
    if quantity == 1:
        return None
    each = money_text(total // quantity, currency, reader.tag)
    return reader.t("page-pieces", quantity=quantity, each=each)


# Times on pages, in UTC; pay.js replaces them by those of the payer's zone.


Style: TypeAlias = Literal["moment", "clock"]
"""What a time shows: its date too, or the time of day alone; pay.js knows the same."""

PLACE = "\x04"
"""Stands for a value in a text that a template inserts; no text of ours contains it."""


@dataclass(frozen=True, slots=True)
class Moment:
    """A time as HTML has it, and as text."""

    iso: str
    text: str
    style: Style


@dataclass(frozen=True, slots=True)
class TimedText:
    """A text, around a time if it names one."""

    before: str
    moment: Moment | None = None
    after: str = ""


def moment(reader: payer_form.Reader, at: int, style: Style = "moment") -> Moment:
    """Return a time (epoch ms) for this reader."""
    when = utc(at)
    text = reader.t("page-clock" if style == "clock" else "page-moment", at=when)
    return Moment(when.strftime("%Y-%m-%dT%H:%M:%SZ"), text, style)


def timed_text(text: str, shown: Moment) -> TimedText:
    """Return a text with the time at PLACE, or as it is if it names none."""
    before, place, after = text.partition(PLACE)
    return TimedText(before, shown if place else None, after)


def utc(at: int) -> datetime:
    """Convert epoch ms to a datetime in UTC."""
    return datetime.fromtimestamp(at // 1000, UTC)


# Texts that name the seller: by the profile's name, or as "the seller" where there is none.


FIRST_STRONG_ISOLATE, POP_ISOLATE = "\u2068", "\u2069"
SENTENCE_END = ". "


def named_seller(
    reader: payer_form.Reader, request: request.PaymentRequest, key: str, **values: object
) -> str:
    """Return the text of `key` with the seller's name as `$seller`."""
    if request.seller:
        return reader.t(key, seller=isolated(request.seller.name), **values)
    nobody = reader.t("page-the-seller")
    text = reader.t(key, seller=nobody, **values)
    return _capitalized(text, nobody)


def isolated(name: str) -> str:
    """Return a name so that its direction doesn't change that of the text around it."""
    if any(unicodedata.bidirectional(letter) in {"R", "AL"} for letter in name):
        return f"{FIRST_STRONG_ISOLATE}{name}{POP_ISOLATE}"
    return name


def _capitalized(text: str, words: str) -> str:
    """Write these words with a capital where a sentence begins with them."""
    first = words[0].upper() + words[1:]
    if text.startswith(words):
        text = first + text.removeprefix(words)
    return text.replace(SENTENCE_END + words, SENTENCE_END + first)


# The values of a goal's bar.


WHOLE = 100  # per cent


def goal_values(
    reader: payer_form.Reader, request: request.PaymentRequest
) -> dict[str, Any] | None:
    """Return how much of its goal a request has raised, also beyond it; None without a goal.

    The share is rounded down: 100 % stands for a goal that is reached.
    """
    goal = request.terms.goal
    if goal is None:
        return None
    currency, percent = request.terms.currency, request.raised * WHOLE // goal
    return {
        "text": reader.t(
            "page-goal",
            raised=short_text(request.raised, currency, reader.tag),
            goal=short_text(goal, currency, reader.tag),
        ),
        "percent": reader.t("page-percent", share=Decimal(percent) / WHOLE),
        "share": min(percent, WHOLE),
        "reached": percent >= WHOLE,
    }


def frame(
    reader: payer_form.Reader,
    request: request.PaymentRequest,
    url: str,
    operator_contact: str | None,
) -> dict[str, Any]:
    """Return the values of a page about a request, whose address is `url`."""
    seller = request.seller
    return {
        "seller": _seller(reader, seller) if seller else None,
        "accent": (seller and seller.accent) or brand.DEFAULT_ACCENT,
        "report": operator_contact and report_link(reader, operator_contact, url),
    }


def _seller(reader: payer_form.Reader, seller: request.SellerProfile) -> dict[str, Any]:
    return {
        "name": seller.name,
        "initials": brand.initials(seller.name),
        "picture": seller.image_url and request.ascii_url(seller.image_url),
        "about": seller.description,
        "contact": seller.contact_url,
        "sold_by": reader.t("page-sold-by", seller=PLACE).split(PLACE),
    }


def report_link(reader: payer_form.Reader, operator_contact: str, url: str) -> str:
    """Return the link that reports a page to the operator; an email names the page."""
    link = contacts.contact_link(operator_contact)
    if not link.startswith("mailto:"):
        return link
    return f"{link}?subject={quote(reader.t('page-report-subject', url=url))}"
