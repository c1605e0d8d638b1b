"""Values of the pay page's template: the request, the payer's input, and the ways to pay."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bot.core.money import amounts
from bot.core.text import translations
from bot.interface import vocabulary
from bot.service.checkouts import paying
from bot.service.pages import page_texts, payer_form
from bot.service.requests.request import (
    PAUSED,
    RESERVED,
    UNPRICED,
    WAY_CLOSED,
    ExchangeRate,
    PaymentRequest,
    Quote,
    ascii_url,
)

WATCHED_MS, SLOWEST_MS = 3_000, 15_000
"""Time until an open page asks for the state of a request whose units can run out: at first, and at
most if nothing changes.
"""

IDLE_MS = 30_000
"""The same if only the seller or the clock can end the request."""

OPEN_STATES = frozenset({None, vocabulary.NO_PAYOUT, RESERVED, UNPRICED})
"""States of an open request, whether or not it can be paid now."""

PREVIEW_SIZE = (1200, 630)
"""Pixels of the picture that chats show for a shared link, as Open Graph recommends."""

ASK_SELLER = frozenset(
    {
        vocabulary.Status.EXPIRED,
        PAUSED,
        vocabulary.Status.COMPLETED,
        vocabulary.Status.SOLD_OUT,
        vocabulary.NO_PAYOUT,
        WAY_CLOSED,
    }
)
"""States in which a payer can only ask the seller."""

LONG_NAME = 66
"""Columns of the longest name that fits into three lines on a small phone."""

AMOUNT_SIZES = ((11, "large"), (16, "medium"))
"""Characters of an amount that fit into one line on a small phone, by text size."""

INPUTS: dict[vocabulary.PayerField, tuple[str, str]] = {
    "paymail": ("email", "on"),
    "email": ("email", "email"),
    "phoneNumber": ("tel", "tel"),
}
"""The type and the autocompletion of each field."""

ADDRESS_PATTERN = r"(?!.*\.\.)[^@\s]+@[^@\s]+\.[^@\s.\d][^@\s.]*"
"""The page's script uses it to notice that an address was corrected; the server decides."""


@dataclass(frozen=True, slots=True)
class PayerForm:
    """The payer's input and its problems."""

    typed: Mapping[str, str]
    wrong: tuple[vocabulary.PayerField, ...] = ()
    stale: bool = False
    """True if the form came without its token."""

    refused: str | None = None
    """The state of the request that caused the payment to be refused."""

    order: payer_form.PayerOrder | None = None
    left: int | None = None
    """The remaining units if the payer wanted more."""

    claimed: str | None = None
    """The path of a checkout whose claim the seller has not answered yet."""


def pay_page(
    locale: page_texts.Locale, request: PaymentRequest, now: int, form: PayerForm
) -> dict[str, Any]:
    """Return the values of the pay page, in the state that caused the form's refusal, if any."""
    terms = request.terms
    amount, price = page_texts.price_text(locale, request), terms.price_before_discount
    problems = _problems(locale, request, form)
    problem = locale.t("page-wrong", count=len(problems)) if problems else None
    # East Asian characters and emoji take two columns.
    columns = sum(1 + (unicodedata.east_asian_width(one) in "WF") for one in terms.product.name)
    order = payer_form.order_values(locale, request, form.order, form.typed)
    inputs = [*terms.requested_user_data, *payer_form.WORDS]
    if order["choice"]:
        inputs.append("amount")
    if order["quantity"]:
        inputs.append("quantity")
    return {
        "name": terms.product.name,
        "name_is_long": columns > LONG_NAME,
        "description": terms.product.description,
        "long_description": terms.product.long_description,
        "picture": _picture(request),
        "amount": amount,
        "amount_size": next((size for most, size in AMOUNT_SIZES if len(amount) <= most), "small"),
        "price_before_discount": locale.money(price, terms.currency)
        if price is not None and price > terms.amount
        else None,
        **live_part(locale, request, now, form.refused),
        "scripted": True,
        "uncharged": False,
        "code": f"/qr/{request.id}.svg",
        "fields": [
            {
                "name": name,
                "type": INPUTS[name][0],
                "inputmode": INPUTS[name][0],
                "pattern": ADDRESS_PATTERN,
                "autocomplete": INPUTS[name][1],
                "value": form.typed.get(name, ""),
            }
            for name in terms.requested_user_data
        ],
        "problem": locale.t("page-stale") if form.stale else problem,
        "problems": problems,
        "counts": [locale.t("page-wrong", count=number + 1) for number in range(len(problems))],
        "claimed": _claimed(locale, request, form.claimed),
        "another": form.claimed is not None or form.typed.get("another") == "yes",
        **order,
        "wrong": {name: problems.get(name) for name in inputs},
        "scenario": form.typed.get("manner"),
        "way": form.typed.get("way"),
    }


def _claimed(
    locale: page_texts.Locale, request: PaymentRequest, path: str | None
) -> dict[str, str] | None:
    """Return the text for a payer with a pending claim, and the label for another payment."""
    if path is None:
        return None
    return {
        "url": path,
        "text": page_texts.seller_text(
            locale, request, "page-pending", name=page_texts.isolated(request.terms.product.name)
        ),
        "again": locale.t("page-buy-another" if request.units else "page-pay-again"),
    }


def live_part(
    locale: page_texts.Locale, request: PaymentRequest, now: int, state: str | None
) -> dict[str, Any]:
    """Return the values of the live part of a page; `state` is the request's hindrance."""
    again = IDLE_MS if request.units is None else WATCHED_MS
    label, at = None, None  # when the request opens or ends, if that is in the future
    if state == vocabulary.Status.SCHEDULED:
        label, at = "page-opens", request.enabled_at
    elif state in OPEN_STATES:
        label, at = "page-ends", request.expires_at
    time = None
    if label and at is not None:
        time = {"label": locale.t(label), "at": at, "moment": locale.moment(at)}
    return {
        **_left(locale, request, state),
        "state": _state(locale, request, state),
        "goal": page_texts.goal_values(locale, request),
        "time": time,
        "now": now,
        "watch": f"/pay/{request.id}/live",
        "again": again,
        "slowest": max(again, SLOWEST_MS),
    }


def link_preview(
    locale: page_texts.Locale, request: PaymentRequest, url: str
) -> list[tuple[str, str]]:
    """Return the Open Graph properties of the page at `url`, for chats that preview links."""
    product = request.terms.product
    properties = [
        ("og:type", "website"),
        ("og:site_name", request.seller.name if request.seller else locale.t("payment-link")),
        ("og:locale", locale.t("page-locale")),
        ("og:title", product.name),
        ("og:description", about(locale, request)),
        ("og:url", url),
    ]
    if picture := _picture(request):
        return [*properties, ("og:image", picture), ("og:image:alt", product.name)]
    width, height = PREVIEW_SIZE
    return [
        *properties,
        ("og:image", f"{url}/card.png"),
        ("og:image:type", "image/png"),
        ("og:image:width", str(width)),
        ("og:image:height", str(height)),
        ("og:image:alt", locale.t("page-card", name=product.name)),
    ]


def about(locale: page_texts.Locale, request: PaymentRequest) -> str:
    """Return the price and the description in one line, for chats and search."""
    amount = page_texts.price_text(locale, request)
    words = " ".join((request.terms.product.description or "").split())
    return " · ".join(filter(None, (amount, words)))


def _picture(request: PaymentRequest) -> str | None:
    url = request.terms.product.image_url
    return url and ascii_url(url)


def _left(locale: page_texts.Locale, request: PaymentRequest, state: str | None) -> dict[str, Any]:
    """Return a drop's remaining units, and the units that others are paying for.

    If no unit is for sale, the state says so and these values are empty.
    """
    units = request.units
    for_sale = units and units.remaining and state in {*OPEN_STATES, vocabulary.Status.SCHEDULED}
    if units is None or request.terms.kind is not vocabulary.Kind.LIMIT or not for_sale:
        return {"left": None, "share": None, "reserved": None}
    total = units.offered
    return {
        "left": locale.t("page-left", left=units.remaining, total=total),
        "share": units.remaining * 100 // max(total, 1),
        "reserved": locale.t("page-reserved", count=units.reserved) if units.reserved else None,
    }


def _state(
    locale: page_texts.Locale, request: PaymentRequest, state: str | None
) -> dict[str, Any] | None:
    if state is None:
        return None
    if state == vocabulary.Status.EXPIRED and request.paused:
        state = PAUSED
    title = locale.t("page-reserved-title" if state == RESERVED else f"page-{state}")
    units = request.units
    why = page_texts.seller_text(
        locale,
        request,
        f"page-{state}-why",
        at=page_texts.PLACE,
        sold=units.paid if units else 0,
        count=units.reserved if units else 0,
    )
    return {
        "name": state,
        "title": title,
        "why": page_texts.timed_text(why, locale.moment(request.expires_at or 0)),
        "contact": request.seller.contact_url if request.seller and state in ASK_SELLER else None,
        "page": locale.t("page-title-state", title=title, name=request.terms.product.name),
    }


def _problems(
    locale: page_texts.Locale, request: PaymentRequest, form: PayerForm
) -> dict[str, str]:
    """Return the problems by field id, in the order of the page."""
    found = payer_form.order_problems(locale, request, form.order)
    if form.left is not None:
        found["quantity"] = locale.t("page-only-left", left=form.left)
    last = {name: found.pop(name) for name in payer_form.WORDS if name in found}
    for name in form.wrong:
        is_typed = form.typed.get(name, "").strip()
        found[name] = locale.t(f"page-{name}-wrong" if is_typed else f"page-{name}-empty")
    return found | last


def exchange_text(
    locale: page_texts.Locale, request: PaymentRequest, quote: Quote | None
) -> str | None:
    """Return the converted price, None if the payment is in the price's currency.

    If the payer chooses the sum, return only the rate instead.
    """
    if quote is None or quote.rate is None:
        return None
    values = {
        "rate": _rate(locale, request.terms.currency, quote, quote.rate),
        "source": translations.rate_source_text(quote.rate.source, locale.language),
        "at": page_texts.utc(quote.rate.at),
    }
    if payer_form.has_open_sum(request):
        return locale.t("page-exchanged-open", currency=amounts.unit(quote.currency), **values)
    amount = locale.money(quote.amount, quote.currency)
    return locale.t("page-exchanged", amount=amount, **values)


def rate_text(
    locale: page_texts.Locale, currency: str, quote: Quote, style: page_texts.TimeStyle = "clock"
) -> page_texts.TimedText | None:
    """Return the rate of a quote with its source and time; None if nothing was converted."""
    if quote.rate is None:
        return None
    rate = _rate(locale, currency, quote, quote.rate)
    source = translations.rate_source_text(quote.rate.source, locale.language)
    text = locale.t("page-rate", rate=rate, source=source, at=page_texts.PLACE)
    return page_texts.timed_text(text, locale.moment(quote.rate.at, style))


def _rate(locale: page_texts.Locale, currency: str, quote: Quote, rate: ExchangeRate) -> str:
    number = amounts.format_number(rate.rate, locale.tag)
    return f"1 {amounts.unit(currency)} = {number} {amounts.unit(quote.currency)}"


# The ways to pay with real money.


TAP = "tap"
"""A Lightning wallet that doesn't report payments; payer and seller each tap a button instead."""

WAY_HINDRANCES = frozenset({WAY_CLOSED, UNPRICED})
"""States that concern only the chosen way; other ways may be open."""


def hindrance(ways: Sequence[paying.Way]) -> str | None:
    """Return why no way is open, or None if a way is open."""
    if not ways or any(is_open(way) for way in ways):
        return None
    return UNPRICED


def is_open(way: paying.Way) -> bool:
    return way.quote is not None


def name_of(kind: str, scheme: str) -> str:
    """Return the name of a way: the bank's scheme, or `lightning` for any wallet."""
    return scheme if kind == vocabulary.BANK else "lightning"


def way_values(
    locale: page_texts.Locale,
    request: PaymentRequest,
    ways: Sequence[paying.Way],
    chosen: str | None,
) -> dict[str, Any]:
    """Return the form's values about the ways to pay; `chosen` is the payer's choice."""
    offered = [way for way in ways if is_open(way)]
    first = offered[0] if offered else None
    picked = next((way for way in offered if way.account.way == chosen), first)
    only = picked if len(ways) == 1 else None
    cards = [_card(locale, request, ways, way) | {"checked": way is picked} for way in ways]
    rates = [card["rate"] for card in cards]
    for at, card in enumerate(cards):
        if card["rate"] in rates[:at]:
            card["rate"] = None  # a rate shared by several wallets is shown once
    return {
        "ways": cards,
        "alone": only and f"page-by-{_name(only)}",
    }


def _card(
    locale: page_texts.Locale,
    request: PaymentRequest,
    ways: Sequence[paying.Way],
    way: paying.Way,
) -> dict[str, Any]:
    """Return a way's values: the amount if it is fixed, or why the way is closed."""
    name, quote = _name(way), way.quote
    how = TAP if name == "lightning" and not way.account.automatic else name
    why_not = amount = rate = None
    if quote is None:
        other = next((one for one in ways if is_open(one)), None)
        why_not = locale.t(
            "page-way-unpriced",
            other=_name(other) if other else "none",
            title=_title(locale, ways, other) if other else "",
        )
    else:
        rate = rate_text(locale, request.terms.currency, quote)
        if not payer_form.has_open_sum(request):
            amount = locale.money(quote.amount, quote.currency)
            if rate:
                amount = locale.t("page-way-about", amount=amount)
    return {
        "value": way.account.way,
        "title": _title(locale, ways, way),
        "how": page_texts.seller_text(locale, request, f"page-way-{how}-how"),
        "why_not": why_not,
        "amount": amount,
        "rate": rate,
    }


def _name(way: paying.Way) -> str:
    return name_of(way.account.kind, way.account.scheme)


def _title(locale: page_texts.Locale, ways: Sequence[paying.Way], way: paying.Way) -> str:
    """Return the title of a way; a further Lightning wallet is distinguished by its host."""
    name = _name(way)
    if way is next(one for one in ways if _name(one) == name):
        return locale.t(f"page-way-{name}")
    # The label of an account is such as `mia@wallet.example`.
    host = way.account.label.rpartition("@")[2].split()[0]
    return locale.t("page-way-other", wallet=host)
