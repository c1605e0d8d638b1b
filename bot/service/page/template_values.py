"""The values of the pay page's template: a request as texts and numbers."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bot.core.money import amounts
from bot.core.text.rate_sources import rate_source_text
from bot.service.model import redirects
from bot.service.model.request import (
    NO_PAYOUT,
    PAUSED,
    RESERVED,
    UNPRICED,
    WAY_CLOSED,
    Kind,
    Status,
)
from bot.service.page import page_times
from bot.service.page.goal_values import goal_values
from bot.service.page.money_texts import money_text, price_text
from bot.service.page.order import order_values
from bot.service.page.page_times import PLACE
from bot.service.page.sellers_name import isolated, named

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bot.service.model.request import ExchangeRate, PayerField, PaymentRequest, Quote, Terms
    from bot.service.page.forms import Reader
    from bot.service.page.order.order_form import PayerOrder

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

    `left` is how many pieces can still be had where the payer wanted more, `claimed` the path of a
    checkout that the payer has claimed and the seller has yet to confirm.
    """

    typed: Mapping[str, str]
    wrong: tuple[PayerField, ...] = ()
    stale: bool = False
    refused: str | None = None
    order: PayerOrder | None = None
    left: int | None = None
    claimed: str | None = None


def pay_page(reader: Reader, request: PaymentRequest, now: int, form: PayerForm) -> dict[str, Any]:
    """Return the values of the pay page, in the state for which `form` was refused."""
    terms = request.terms
    amount = price_text(reader, request)
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


def _claimed(reader: Reader, request: PaymentRequest, path: str | None) -> dict[str, str] | None:
    """Return what a payer reads whose claim is pending, and the label for a further payment."""
    if path is None:
        return None
    return {
        "url": path,
        "text": named(reader, request, "page-pending", name=isolated(request.terms.product.name)),
        "again": reader.t("page-buy-another" if request.units else "page-pay-again"),
    }


def _inputs(terms: Terms, order: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the ids of the fields that the form shows."""
    shown = (("amount", order["choice"]), ("quantity", order["quantity"]))
    there = (name for name, values in shown if values)
    return (*there, *terms.requested_user_data, *order_values.WORDS)


def live_part(
    reader: Reader, request: PaymentRequest, now: int, state: str | None
) -> dict[str, Any]:
    """Return the values of the part that changes on an open page; `state` as of `hindrance`."""
    again = IDLE if request.units is None else WATCHED
    return {
        **_left(reader, request, state),
        "state": _state(reader, request, state),
        "goal": goal_values(reader, request),
        "time": _time(reader, request, state),
        "now": now,
        "watch": f"/pay/{request.id}/live",
        "again": again,
        "slowest": max(again, SLOWEST),
    }


def link_preview(reader: Reader, request: PaymentRequest, url: str) -> list[tuple[str, str]]:
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


def about(reader: Reader, request: PaymentRequest) -> str:
    """Return the price and the description in one line, for chats and search."""
    amount = price_text(reader, request)
    words = " ".join((request.terms.product.description or "").split())
    return " · ".join(filter(None, (amount, words)))


def _picture(request: PaymentRequest) -> str | None:
    url = request.terms.product.image_url
    return url and redirects.ascii_url(url)


def _former(reader: Reader, request: PaymentRequest) -> str | None:
    price = request.terms.price_before_discount
    if price is None or price <= request.terms.amount:
        return None
    return money_text(price, request.terms.currency, reader.tag)


def _columns(text: str) -> int:
    """Return how many columns a text takes; East Asian characters and emoji take two."""
    return sum(1 + (unicodedata.east_asian_width(one) in "WF") for one in text)


def _left(reader: Reader, request: PaymentRequest, state: str | None) -> dict[str, Any]:
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


def _state(reader: Reader, request: PaymentRequest, state: str | None) -> dict[str, Any] | None:
    if state is None:
        return None
    if state == Status.EXPIRED and request.paused:
        state = PAUSED
    title = reader.t("page-reserved-title" if state == RESERVED else f"page-{state}")
    units = request.units
    why = named(
        reader,
        request,
        f"page-{state}-why",
        at=PLACE,
        sold=units.paid if units else 0,
        count=units.reserved if units else 0,
    )
    return {
        "name": state,
        "title": title,
        "why": page_times.timed(why, page_times.moment(reader, request.expires_at or 0)),
        "contact": request.seller.contact_url if request.seller and state in ASK_SELLER else None,
        "page": reader.t("page-title-state", title=title, name=request.terms.product.name),
    }


def _time(reader: Reader, request: PaymentRequest, state: str | None) -> dict[str, Any] | None:
    """Return when the request opens, or else when it ends; None if neither is ahead."""
    if state == Status.SCHEDULED:
        label, at = reader.t("page-opens"), request.enabled_at
    elif state in AHEAD:
        label, at = reader.t("page-ends"), request.expires_at
    else:
        return None
    if at is None:
        return None
    return {"label": label, "at": at, "moment": page_times.moment(reader, at)}


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


def _problems(reader: Reader, request: PaymentRequest, form: PayerForm) -> dict[str, str]:
    """Return what is wrong, by the ids of the fields, in their order on the page."""
    found = order_values.order_problems(reader, request, form.order)
    if form.left is not None:
        found["quantity"] = reader.t("page-only-left", left=form.left)
    asked = {name: _field_problem(reader, name, form) for name in form.wrong}
    later = {name: found.pop(name) for name in order_values.WORDS if name in found}
    return found | asked | later


def _field_problem(reader: Reader, name: PayerField, form: PayerForm) -> str:
    typed = form.typed.get(name, "").strip()
    return reader.t(f"page-{name}-wrong" if typed else f"page-{name}-empty")


def _problem(reader: Reader, form: PayerForm, problems: Mapping[str, str]) -> str | None:
    if form.stale:
        return reader.t("page-stale")
    return reader.t("page-wrong", count=len(problems)) if problems else None


def exchange_text(reader: Reader, request: PaymentRequest, quote: Quote | None) -> str | None:
    """Return the price in the currency of the payment, None if that is the price's own.

    Where the payer chooses, it is the rate alone.
    """
    if quote is None or quote.rate is None:
        return None
    said = {
        "rate": _rate(reader, request.terms.currency, quote, quote.rate),
        "source": rate_source_text(quote.rate.source, reader.t),
        "at": page_times.utc(quote.rate.at),
    }
    if order_values.has_open_sum(request):
        return reader.t("page-exchanged-open", currency=amounts.unit(quote.currency), **said)
    amount = money_text(quote.amount, quote.currency, reader.tag)
    return reader.t("page-exchanged", amount=amount, **said)


def rate_text(
    reader: Reader, currency: str, quote: Quote, style: page_times.Style = "clock"
) -> page_times.TimedText | None:
    """Return the rate of a quote, its source and its time; None if nothing was converted."""
    if quote.rate is None:
        return None
    rate = _rate(reader, currency, quote, quote.rate)
    source = rate_source_text(quote.rate.source, reader.t)
    text = reader.t("page-rate", rate=rate, source=source, at=PLACE)
    return page_times.timed(text, page_times.moment(reader, quote.rate.at, style))


def _rate(reader: Reader, currency: str, quote: Quote, rate: ExchangeRate) -> str:
    number = amounts.format_number(rate.rate, reader.tag)
    return f"1 {amounts.unit(currency)} = {number} {amounts.unit(quote.currency)}"
