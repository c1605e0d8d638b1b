"""Texts of pages in the payer's language: amounts, times, the seller, the layout's texts."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal, TypeAlias
from urllib.parse import quote

from bot.core import brand
from bot.core.money import amounts
from bot.core.text import contacts, translations
from bot.service.requests.request import PaymentRequest, ascii_url

if TYPE_CHECKING:
    from starlette.requests import Request

# The payer's language.


_TAG = re.compile(r"([a-z]{2,3}(?:-[a-z0-9]{1,8}){0,3})(?:;q=([01](?:\.[0-9]{0,3})?))?")
MAX_HEADER = 200
"""Characters of an Accept-Language header that are read."""

RIGHT_TO_LEFT = frozenset(
    {"ar", "ckb", "dv", "fa", "he", "ks", "lrc", "mzn", "ps", "sd", "ug", "ur", "yi"}
)
"""Languages whose scripts run from right to left (CLDR)."""


@dataclass(frozen=True, slots=True)
class Locale:
    """The language of a page's texts and the format of its amounts.

    Both have the same text direction, because a right-to-left amount is garbled in English text.
    """

    language: str
    tag: str
    """The locale of amounts, such as `de-at`."""

    def t(self, key: str, **values: object) -> str:
        return _translate(self.language, key, tuple(values.items()))

    @property
    def direction(self) -> str:
        return _direction(self.language)

    def money(self, amount: int, currency: str) -> str:
        return _money_text(amount, currency, self.tag)

    def short(self, amount: int, currency: str) -> str:
        """Return an amount without decimals that are zero."""
        return _short_text(amount, currency, self.tag)

    def moment(self, at: int, style: TimeStyle = "moment") -> Moment:
        """Return a time (epoch ms) in the format of this locale."""
        when = utc(at)
        text = self.t("page-clock" if style == "clock" else "moment-utc", at=when)
        return Moment(when.strftime("%Y-%m-%dT%H:%M:%SZ"), text, style)


@lru_cache(maxsize=4096)
def _translate(language: str, key: str, values: tuple[tuple[str, object], ...]) -> str:
    """Return a text; cached, because all payers of a request need the same texts."""
    return translations.t(language, key, **dict(values))


def locale_of(request: Request) -> Locale:
    return read_locale(request.headers.get("accept-language", ""))


def read_locale(accept_language: str) -> Locale:
    """Return the locale of an Accept-Language header (RFC 9110 section 12.5.4)."""
    parts = accept_language[:MAX_HEADER].lower().replace(" ", "").split(",")
    found = [match for part in parts if (match := _TAG.fullmatch(part))]
    ranked = sorted(found, key=lambda match: -float(match[2] or 1))
    tags = [match[1] for match in ranked if float(match[2] or 1) > 0]
    known = (tag for tag in tags if tag.partition("-")[0] in translations.languages())
    language = translations.choose(next(known, None))
    fits = tags and _direction(tags[0]) == _direction(language)
    return Locale(language, tags[0] if fits else language)


def _direction(tag: str) -> str:
    """Return the direction of a language's script, as in HTML."""
    language, *parts = tag.split("-")
    return "rtl" if language in RIGHT_TO_LEFT or "arab" in parts else "ltr"


# Amounts, cached because many payers see the same amounts.


_money_text = lru_cache(maxsize=4096)(amounts.format_money)
_short_text = lru_cache(maxsize=1024)(amounts.format_short)


@lru_cache(maxsize=256)
def affixes(currency: str, tag: str) -> tuple[str, str]:
    """Return the texts before and after the number of an amount, such as `$` and ``, or ` €`."""
    text = amounts.format_money(1, currency, tag)
    places = [place for place, char in enumerate(text) if char.isdecimal()]
    return text[: places[0]], text[places[-1] + 1 :]


def price_text(locale: Locale, request: PaymentRequest) -> str:
    """Return the price of a request, or the lowest amount that a payer may choose."""
    terms = request.terms
    if terms.choice is None:
        return locale.money(terms.amount, terms.currency)
    return locale.t("price-from", amount=locale.short(terms.choice.minimum, terms.currency))


def quantity_text(locale: Locale, total: int, currency: str, quantity: int) -> str | None:
    """Return a quantity above 1 with the unit price, None if the quantity is 1."""
    if quantity == 1:
        return None
    each = locale.money(total // quantity, currency)
    return locale.t("pieces-of", count=quantity, what=each)


# Times in UTC, which pay.js replaces with the payer's local time.


TimeStyle: TypeAlias = Literal["moment", "clock"]
"""A time with its date, or only the time of day; pay.js knows the same styles."""

PLACE = "\x04"
"""Placeholder for a value that a template inserts; no other text contains it."""


@dataclass(frozen=True, slots=True)
class Moment:
    """A time as HTML's `datetime` and as text."""

    iso: str
    text: str
    style: TimeStyle


@dataclass(frozen=True, slots=True)
class TimedText:
    """A text, with or without a time in it."""

    before: str
    moment: Moment | None = None
    after: str = ""


def timed_text(text: str, shown: Moment) -> TimedText:
    """Return a text with the time in place of PLACE, if it contains PLACE."""
    before, place, after = text.partition(PLACE)
    return TimedText(before, shown if place else None, after)


def utc(at: int) -> datetime:
    """Convert epoch ms to a datetime in UTC."""
    return datetime.fromtimestamp(at // 1000, UTC)


# The seller, the goal, and the layout around every page.


FIRST_STRONG_ISOLATE, POP_ISOLATE = "\u2068", "\u2069"
WHOLE = 100
"""Per cent."""


def seller_text(locale: Locale, request: PaymentRequest, key: str, **values: object) -> str:
    """Return the text of `key`; `$seller` is the seller's name or "the seller"."""
    if request.seller:
        return locale.t(key, seller=isolated(request.seller.name), **values)
    words = locale.t("page-the-seller")
    capitalized = words[0].upper() + words[1:]
    text = locale.t(key, seller=words, **values)
    if text.startswith(words):
        text = capitalized + text.removeprefix(words)
    return text.replace(f". {words}", f". {capitalized}")


def isolated(name: str) -> str:
    """Return a name that doesn't change the direction of the text around it."""
    if any(unicodedata.bidirectional(letter) in {"R", "AL"} for letter in name):
        return f"{FIRST_STRONG_ISOLATE}{name}{POP_ISOLATE}"
    return name


def goal_values(locale: Locale, request: PaymentRequest) -> dict[str, Any] | None:
    """Return the values of the goal's bar, or None if there is no goal.

    The percentage may exceed 100. It is rounded down, so that 100 % means the goal is reached.
    """
    goal = request.terms.goal
    if goal is None:
        return None
    currency, percent = request.terms.currency, request.raised * WHOLE // goal
    return {
        "text": locale.t(
            "goal-raised",
            raised=locale.short(request.raised, currency),
            goal=locale.short(goal, currency),
        ),
        "percent": locale.t("goal-percent", share=Decimal(percent) / WHOLE),
        "share": min(percent, WHOLE),
        "reached": percent >= WHOLE,
    }


def layout_values(
    locale: Locale,
    request: PaymentRequest,
    url: str,
    operator_contact: str | None,
) -> dict[str, Any]:
    """Return the layout values of a request's page at `url`: seller, accent, report link."""
    seller = request.seller
    return {
        "seller": {
            "name": seller.name,
            "initials": brand.initials(seller.name),
            "picture": seller.image_url and ascii_url(seller.image_url),
            "about": seller.description,
            "contact": seller.contact_url,
            "sold_by": locale.t("page-sold-by", seller=PLACE).split(PLACE),
        }
        if seller
        else None,
        "accent": (seller and seller.accent) or brand.DEFAULT_COLOUR,
        "report": operator_contact and report_link(locale, operator_contact, url),
    }


def report_link(locale: Locale, operator_contact: str, url: str) -> str:
    """Return the link that reports a page to the operator; an email names the page."""
    link = contacts.contact_link(operator_contact)
    if not link.startswith("mailto:"):
        return link
    return f"{link}?subject={quote(locale.t('page-report-subject', url=url))}"
