"""The values of the pay page's template: a request as texts and numbers."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bot.core.money import amounts
from bot.core.text import phrases
from bot.service.checkouts import paying
from bot.service.pages import order_values, page_texts, payer_form
from bot.service.payouts import payout_account
from bot.service.requests.request import (
    NO_PAYOUT,
    PAUSED,
    RESERVED,
    UNPRICED,
    WAY_CLOSED,
    ExchangeRate,
    Kind,
    PayerField,
    PaymentRequest,
    Quote,
    Status,
    Terms,
    ascii_url,
)

WATCHED, SLOWEST, IDLE = 3_000, 15_000, 30_000
"""Milliseconds after which an open page asks for the state of its request: if units can run out;
then, while nothing changes; if only the seller or the clock can end it."""

AHEAD = frozenset({None, NO_PAYOUT, RESERVED, UNPRICED})
"""States of a request that is open."""

PREVIEW_SIZE = (1200, 630)
"""Pixels of the picture that chats show for a shared link, as Open Graph recommends."""

ASK_SELLER = frozenset(
    {Status.EXPIRED, PAUSED, Status.COMPLETED, Status.SOLD_OUT, NO_PAYOUT, WAY_CLOSED}
)
"""States in which a payer can only ask the seller."""

LONG_NAME = 66
"""Columns of a name that fits into three lines on a small phone; wide characters take two."""

AMOUNT_SIZES = ((11, "large"), (16, "medium"))
"""Characters of an amount that fit into one line on a small phone, by the size of the text."""

# How a browser helps with each field.
INPUTS: dict[PayerField, tuple[str, str]] = {
    "paymail": ("email", "on"),
    "email": ("email", "email"),
    "phoneNumber": ("tel", "tel"),
}


ADDRESS_PATTERN = r"(?!.*\.\.)[^@\s]+@[^@\s]+\.[^@\s.\d][^@\s.]*"
"""By which a page's script finds that an address was put right; the server decides."""


@dataclass(frozen=True, slots=True)
class PayerForm:
    """The payer's input, the fields that are wrong, and the state for which it was refused.

    `left` is how many units can still be had where the payer wanted more, `claimed` the path of a
    checkout that the payer has claimed and the seller has yet to confirm.
    """

    typed: Mapping[str, str]
    wrong: tuple[PayerField, ...] = ()
    stale: bool = False
    refused: str | None = None
    order: payer_form.PayerOrder | None = None
    left: int | None = None
    claimed: str | None = None


def pay_page(
    reader: payer_form.Reader, request: PaymentRequest, now: int, form: PayerForm
) -> dict[str, Any]:
    """Return the values of the pay page, in the state for which `form` was refused."""
    terms = request.terms
    amount = page_texts.price_text(reader, request)
    problems = _problems(reader, request, form)
    order = order_values.order_values(reader, request, form.order, form.typed)
    return {
        "name": terms.product.name,
        "name_is_long": _columns(terms.product.name) > LONG_NAME,
        "description": terms.product.description,
        "long_description": terms.product.long_description,
        "picture": _picture(request),
        "amount": amount,
        "amount_size": next((size for most, size in AMOUNT_SIZES if len(amount) <= most), "small"),
        "former": _former(reader, request),
        **live_part(reader, request, now, form.refused),
        "scripted": True,
        "uncharged": False,
        "code": f"/qr/{request.id}.svg",
        "fields": [_field(name, form) for name in terms.requested_user_data],
        "problem": _problem(reader, form, problems),
        "problems": problems,
        "counts": [reader.t("page-wrong", count=number + 1) for number in range(len(problems))],
        "claimed": _claimed(reader, request, form.claimed),
        "another": form.claimed is not None or form.typed.get("another") == "yes",
        **order,
        "wrong": {name: problems.get(name) for name in _inputs(terms, order)},
        "manner": form.typed.get("manner"),
        "way": form.typed.get("way"),
    }


def _claimed(
    reader: payer_form.Reader, request: PaymentRequest, path: str | None
) -> dict[str, str] | None:
    """Return what a payer reads whose claim is pending, and the label for a further payment."""
    if path is None:
        return None
    return {
        "url": path,
        "text": page_texts.named_seller(
            reader, request, "page-pending", name=page_texts.isolated(request.terms.product.name)
        ),
        "again": reader.t("page-buy-another" if request.units else "page-pay-again"),
    }


def _inputs(terms: Terms, order: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the ids of the fields that the form shows."""
    shown = (("amount", order["choice"]), ("quantity", order["quantity"]))
    there = (name for name, values in shown if values)
    return (*there, *terms.requested_user_data, *order_values.WORDS)


def live_part(
    reader: payer_form.Reader, request: PaymentRequest, now: int, state: str | None
) -> dict[str, Any]:
    """Return the values of the part that changes on an open page; `state` as of `hindrance`."""
    again = IDLE if request.units is None else WATCHED
    return {
        **_left(reader, request, state),
        "state": _state(reader, request, state),
        "goal": page_texts.goal_values(reader, request),
        "time": _time(reader, request, state),
        "now": now,
        "watch": f"/pay/{request.id}/live",
        "again": again,
        "slowest": max(again, SLOWEST),
    }


def link_preview(
    reader: payer_form.Reader, request: PaymentRequest, url: str
) -> list[tuple[str, str]]:
    """Return the Open Graph properties of the page at `url`, for chats that preview links."""
    product = request.terms.product
    properties = [
        ("og:type", "website"),
        ("og:site_name", request.seller.name if request.seller else reader.t("page-site")),
        ("og:locale", reader.t("page-locale")),
        ("og:title", product.name),
        ("og:description", about(reader, request)),
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
        ("og:image:alt", reader.t("page-card", name=product.name)),
    ]


def about(reader: payer_form.Reader, request: PaymentRequest) -> str:
    """Return the price and the description in one line, for chats and search."""
    amount = page_texts.price_text(reader, request)
    words = " ".join((request.terms.product.description or "").split())
    return " · ".join(filter(None, (amount, words)))


def _picture(request: PaymentRequest) -> str | None:
    url = request.terms.product.image_url
    return url and ascii_url(url)


def _former(reader: payer_form.Reader, request: PaymentRequest) -> str | None:
    price = request.terms.price_before_discount
    if price is None or price <= request.terms.amount:
        return None
    return page_texts.money_text(price, request.terms.currency, reader.tag)


def _columns(text: str) -> int:
    """Return how many columns a text takes; East Asian characters and emoji take two."""
    return sum(1 + (unicodedata.east_asian_width(one) in "WF") for one in text)


def _left(reader: payer_form.Reader, request: PaymentRequest, state: str | None) -> dict[str, Any]:
    """Return the units left of a drop, and apart from them those that others are paying for.

    Nothing where none is for sale: the state says it.
    """
    units = request.units
    for_sale = units and units.remaining and state in {*AHEAD, Status.SCHEDULED}
    if units is None or request.terms.kind is not Kind.LIMIT or not for_sale:
        return {"left": None, "share": None, "reserved": None}
    total = units.offered
    return {
        "left": reader.t("page-left", left=units.remaining, total=total),
        "share": units.remaining * 100 // max(total, 1),
        "reserved": reader.t("page-reserved", count=units.reserved) if units.reserved else None,
    }


def _state(
    reader: payer_form.Reader, request: PaymentRequest, state: str | None
) -> dict[str, Any] | None:
    if state is None:
        return None
    if state == Status.EXPIRED and request.paused:
        state = PAUSED
    title = reader.t("page-reserved-title" if state == RESERVED else f"page-{state}")
    units = request.units
    why = page_texts.named_seller(
        reader,
        request,
        f"page-{state}-why",
        at=page_texts.PLACE,
        sold=units.paid if units else 0,
        count=units.reserved if units else 0,
    )
    return {
        "name": state,
        "title": title,
        "why": page_texts.timed_text(why, page_texts.moment(reader, request.expires_at or 0)),
        "contact": request.seller.contact_url if request.seller and state in ASK_SELLER else None,
        "page": reader.t("page-title-state", title=title, name=request.terms.product.name),
    }


def _time(
    reader: payer_form.Reader, request: PaymentRequest, state: str | None
) -> dict[str, Any] | None:
    """Return when the request opens, or else when it ends; None if neither is ahead."""
    if state == Status.SCHEDULED:
        label, at = reader.t("page-opens"), request.enabled_at
    elif state in AHEAD:
        label, at = reader.t("page-ends"), request.expires_at
    else:
        return None
    if at is None:
        return None
    return {"label": label, "at": at, "moment": page_texts.moment(reader, at)}


def _field(name: PayerField, form: PayerForm) -> dict[str, Any]:
    kind, autocomplete = INPUTS[name]
    return {
        "name": name,
        "type": kind,
        "inputmode": kind,
        "pattern": ADDRESS_PATTERN,
        "autocomplete": autocomplete,
        "value": form.typed.get(name, ""),
    }


def _problems(
    reader: payer_form.Reader, request: PaymentRequest, form: PayerForm
) -> dict[str, str]:
    """Return what is wrong, by the ids of the fields, in their order on the page."""
    found = order_values.order_problems(reader, request, form.order)
    if form.left is not None:
        found["quantity"] = reader.t("page-only-left", left=form.left)
    asked = {name: _field_problem(reader, name, form) for name in form.wrong}
    later = {name: found.pop(name) for name in order_values.WORDS if name in found}
    return found | asked | later


def _field_problem(reader: payer_form.Reader, name: PayerField, form: PayerForm) -> str:
    typed = form.typed.get(name, "").strip()
    return reader.t(f"page-{name}-wrong" if typed else f"page-{name}-empty")


def _problem(reader: payer_form.Reader, form: PayerForm, problems: Mapping[str, str]) -> str | None:
    if form.stale:
        return reader.t("page-stale")
    return reader.t("page-wrong", count=len(problems)) if problems else None


def exchange_text(
    reader: payer_form.Reader, request: PaymentRequest, quote: Quote | None
) -> str | None:
    """Return the price in the currency of the payment, None if that is the price's own.

    Where the payer chooses, it is the rate alone.
    """
    if quote is None or quote.rate is None:
        return None
    said = {
        "rate": _rate(reader, request.terms.currency, quote, quote.rate),
        "source": phrases.rate_source_text(quote.rate.source, reader.t),
        "at": page_texts.utc(quote.rate.at),
    }
    if order_values.has_open_sum(request):
        return reader.t("page-exchanged-open", currency=amounts.unit(quote.currency), **said)
    amount = page_texts.money_text(quote.amount, quote.currency, reader.tag)
    return reader.t("page-exchanged", amount=amount, **said)


def rate_text(
    reader: payer_form.Reader, currency: str, quote: Quote, style: page_texts.Style = "clock"
) -> page_texts.TimedText | None:
    """Return the rate of a quote, its source and its time; None if nothing was converted."""
    if quote.rate is None:
        return None
    rate = _rate(reader, currency, quote, quote.rate)
    source = phrases.rate_source_text(quote.rate.source, reader.t)
    text = reader.t("page-rate", rate=rate, source=source, at=page_texts.PLACE)
    return page_texts.timed_text(text, page_texts.moment(reader, quote.rate.at, style))


def _rate(reader: payer_form.Reader, currency: str, quote: Quote, rate: ExchangeRate) -> str:
    number = amounts.format_number(rate.rate, reader.tag)
    return f"1 {amounts.unit(currency)} = {number} {amounts.unit(quote.currency)}"


# The ways to pay a request, as the pay page offers them to real money.


TAP = "tap"
"""A Lightning wallet that doesn't report payments: the payer and the seller each tap a button."""


CLOSED = frozenset({WAY_CLOSED, UNPRICED})
"""Why one way may be closed while others are open."""


def hindrance(ways: Sequence[paying.Way]) -> str | None:
    """Return why none of the ways is open, None if one is."""
    if not ways or any(is_open(way) for way in ways):
        return None
    return UNPRICED


def is_open(way: paying.Way) -> bool:
    return way.quote is not None


def name_of(kind: str, scheme: str) -> str:
    """Return the name under which payers know a way: every Lightning wallet takes the same."""
    return scheme if kind == payout_account.BANK else "lightning"


def way_values(
    reader: payer_form.Reader,
    request: PaymentRequest,
    ways: Sequence[paying.Way],
    chosen: str | None,
) -> dict[str, Any]:
    """Return the values of the form's part about the ways; `chosen` is the payer's choice."""
    offered = [way for way in ways if is_open(way)]
    picked = next((way for way in offered if way.name == chosen), offered[0] if offered else None)
    alone = picked if len(ways) == 1 else None
    cards = [_card(reader, request, ways, way, picked) for way in ways]
    rates = [card["rate"] for card in cards]
    for at, card in enumerate(cards):
        if card["rate"] in rates[:at]:
            card["rate"] = None  # several wallets have one rate, which is shown once
    return {
        "ways": cards,
        "alone": alone and f"page-by-{name_of(alone.kind, alone.scheme)}",
    }


def _card(
    reader: payer_form.Reader,
    request: PaymentRequest,
    ways: Sequence[paying.Way],
    way: paying.Way,
    picked: paying.Way | None,
) -> dict[str, Any]:
    name = name_of(way.kind, way.scheme)
    asks = name == "lightning" and not way.automatic
    return {
        "value": way.name,
        "title": _title(reader, ways, way),
        "how": page_texts.named_seller(reader, request, f"page-way-{TAP if asks else name}-how"),
        "checked": way is picked,
        "why_not": _why_not(reader, ways, way),
        **_price(reader, request, way.quote),
    }


def _title(reader: payer_form.Reader, ways: Sequence[paying.Way], way: paying.Way) -> str:
    """Return what a way is called; a further Lightning wallet is told apart by its host."""
    name = name_of(way.kind, way.scheme)
    alike = [one for one in ways if name_of(one.kind, one.scheme) == name]
    if way is alike[0]:
        return reader.t(f"page-way-{name}")
    return reader.t("page-way-other", wallet=_host(way))


def _host(way: paying.Way) -> str:
    """Return the host of a wallet, which its account's label names: `mia@wallet.example`."""
    return way.account.label.rpartition("@")[2].split()[0] if way.account else way.kind


def _why_not(reader: payer_form.Reader, ways: Sequence[paying.Way], way: paying.Way) -> str | None:
    """Return why a way is closed and which one to take instead."""
    if is_open(way):
        return None
    other = next((one for one in ways if is_open(one)), None)
    return reader.t(
        "page-way-unpriced",
        other=name_of(other.kind, other.scheme) if other else "none",
        title=_title(reader, ways, other) if other else "",
    )


def _price(
    reader: payer_form.Reader, request: PaymentRequest, quote: Quote | None
) -> dict[str, Any]:
    """Return the amount of a way unless it is open, and its rate where the price is converted."""
    if quote is None:
        return {"amount": None, "rate": None}
    if order_values.has_open_sum(request):
        return {"amount": None, "rate": rate_text(reader, request.terms.currency, quote)}
    amount = page_texts.money_text(quote.amount, quote.currency, reader.tag)
    if quote.rate is None:
        return {"amount": amount, "rate": None}
    return {
        "amount": reader.t("page-way-about", amount=amount),
        "rate": rate_text(reader, request.terms.currency, quote),
    }
