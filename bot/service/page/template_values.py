"""The values of the templates: a request, a checkout or a receipt as texts and numbers."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from bot.core.money import amounts
from bot.service.model import payer_data as payers
from bot.service.model import redirects
from bot.service.model.checkout import CheckoutState
from bot.service.model.request import PAUSED, RESERVED, UNPRICED, Kind, Status

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bot.service.model.checkout import Checkout
    from bot.service.model.request import PayerField, Payment, PaymentRequest, Quote
    from bot.service.page.forms import Reader

money_text = lru_cache(maxsize=4096)(amounts.format_money)

SOON, LATER, LATE = 3, 10, 30
"""Seconds after which a checkout's page reloads: at first, after SOON_FOR, once it has lapsed."""

SOON_FOR, LATE_FOR = 60_000, 3_600_000
"""Milliseconds since the checkout was opened, and since it lapsed."""

WATCHED, SLOWEST, IDLE = 3_000, 15_000, 30_000
"""Milliseconds after which an open page asks for the state of its request: if units can run out;
then, while nothing changes; if only the seller or the clock can end it."""

GIVEN_UP = frozenset({CheckoutState.LAPSED, CheckoutState.CANCELLED})
"""States of a checkout that holds no unit, though its money may still arrive."""

AHEAD = frozenset({None, RESERVED, UNPRICED})
"""States of a request that has not ended."""

PREVIEW_SIZE = (1200, 630)
"""Pixels of the picture that chats show for a shared link, as Open Graph recommends."""

LONG = 14
"""Characters of an amount that fits into one large line on a phone."""

# How a browser helps with each field.
INPUTS: dict[PayerField, tuple[str, str]] = {
    "paymail": ("email", "on"),
    "email": ("email", "email"),
    "phoneNumber": ("tel", "tel"),
}


@dataclass(frozen=True, slots=True)
class PayerForm:
    """The payer's input, the fields that are wrong, and the state for which it was refused."""

    typed: Mapping[str, str]
    wrong: tuple[PayerField, ...] = ()
    stale: bool = False
    refused: str | None = None


def pay_page(reader: Reader, request: PaymentRequest, now: int, form: PayerForm) -> dict[str, Any]:
    """Return the values of the pay page, in the state for which `form` was refused."""
    terms = request.terms
    amount = money_text(terms.amount, terms.currency, reader.tag)
    return {
        "name": terms.product.name,
        "description": terms.product.description,
        "long_description": terms.product.long_description,
        "picture": _picture(request),
        "amount": amount,
        "long": len(amount) > LONG,
        "former": _former(reader, request),
        **live_part(reader, request, now, form.refused),
        "live": True,
        "code": f"/qr/{request.id}.svg",
        "fields": [_field(name, form) for name in terms.requested_user_data],
        "problem": _problem(reader, form),
        "wrong": form.wrong,
        "manner": form.typed.get("manner"),
    }


def live_part(
    reader: Reader, request: PaymentRequest, now: int, state: str | None
) -> dict[str, Any]:
    """Return the values of the part that changes on an open page; `state` as of `hindrance`."""
    again = IDLE if request.units is None else WATCHED
    return {
        **_left(reader, request),
        "state": _state(reader, request, state),
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
    amount = money_text(request.terms.amount, request.terms.currency, reader.tag)
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


def _left(reader: Reader, request: PaymentRequest) -> dict[str, Any]:
    """Return the units left of a drop, and apart from them those that others are paying for."""
    units = request.units
    if units is None or request.terms.kind is not Kind.LIMIT:
        return {"left": None, "share": None, "reserved": None}
    total = units.total - units.decreased
    beside = units.remaining and units.reserved  # with none remaining, the state says it
    return {
        "left": reader.t("page-left", left=units.remaining, total=total),
        "share": units.remaining * 100 // max(total, 1),
        "reserved": reader.t("page-reserved", count=units.reserved) if beside else None,
    }


def _state(reader: Reader, request: PaymentRequest, state: str | None) -> dict[str, str] | None:
    if state is None:
        return None
    if state == Status.EXPIRED and request.paused:
        state = PAUSED
    title = reader.t("page-reserved-title" if state == RESERVED else f"page-{state}")
    return {
        "name": state,
        "title": title,
        "why": reader.t(f"page-{state}-why", at=utc(request.expires_at or 0)),
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
    when = utc(at)
    return {
        "label": label,
        "at": at,
        "iso": when.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "text": reader.t("page-at", at=when),
    }


def _field(name: PayerField, form: PayerForm) -> dict[str, Any]:
    kind, autocomplete = INPUTS[name]
    return {
        "name": name,
        "type": kind,
        "inputmode": kind,
        "autocomplete": autocomplete,
        "value": form.typed.get(name, ""),
        "wrong": name in form.wrong,
    }


def _problem(reader: Reader, form: PayerForm) -> str | None:
    if form.stale:
        return reader.t("page-stale")
    return reader.t("page-wrong", count=len(form.wrong)) if form.wrong else None


def exchange_text(reader: Reader, request: PaymentRequest, quote: Quote | None) -> str | None:
    """Return the price in the currency of the payment, None if that is the price's own."""
    return _rated(reader, request.terms.currency, quote, "page-exchanged") if quote else None


def _rated(reader: Reader, currency: str, quote: Quote, key: str) -> str | None:
    if quote.rate is None:
        return None
    rate = amounts.format_number(quote.rate.rate, reader.tag)
    return reader.t(
        key,
        amount=money_text(quote.amount, quote.currency, reader.tag),
        rate=f"1 {currency} = {rate} {quote.currency}",
        source=quote.rate.source,
        at=utc(quote.rate.at),
    )


def checkout_page(
    reader: Reader, request: PaymentRequest, held: Checkout, payment: Payment | None, now: int
) -> dict[str, Any]:
    """Return the values of a checkout's page: waiting for money, given up or without a unit."""
    state, terms = held.state(now), request.terms
    title = reader.t(f"page-checkout-{state}")
    why = "why" if request.units else "free"  # without a limit, no unit is reserved
    given = money_text(held.quote.amount, held.quote.currency, reader.tag)
    at = utc(held.lapses_at)
    return {
        "name": terms.product.name,
        "amount": money_text(terms.amount, terms.currency, reader.tag),
        "paid": given if held.quote.rate else None,
        "title": title,
        "page": reader.t("page-title-state", title=title, name=terms.product.name),
        "why": reader.t(f"page-checkout-{state}-{why}", amount=given, at=at),
        "live": True,
        "watch": f"/pay/{held.request_id}/checkout/{held.id}",
        "now": now,
        "refresh": _refresh(state, now - held.created_at, now - held.lapses_at),
        "again": f"/pay/{held.request_id}" if state in GIVEN_UP else None,
        "cancel": state is CheckoutState.OPEN,
        "transaction_id": payment and payment.id,
    }


def _refresh(state: CheckoutState, open_for: int, lapsed_for: int) -> int | None:
    """Return the seconds after which a checkout's page reloads; None for never."""
    if state is CheckoutState.OPEN:
        return SOON if open_for < SOON_FOR else LATER
    return LATE if state in GIVEN_UP and lapsed_for < LATE_FOR else None


def receipt_page(reader: Reader, name: str, payment: Payment) -> dict[str, Any]:
    """Return the values of a receipt, the payer's data masked: people share its address."""
    return {
        "name": name,
        "paid": _rated(reader, payment.currency, payment.paid, "page-receipt-exchanged"),
        "oversold": payment.oversold,
        "amount": money_text(payment.amount, payment.currency, reader.tag),
        "when": reader.t("page-receipt-at", at=utc(payment.completed_at)),
        "payer": [
            (f"page-{field}", payers.masked(field, value))
            for field, value in payment.user_data.items()
        ],
        "transaction_id": payment.id,
    }


def utc(at: int) -> datetime:
    """Convert epoch ms to a datetime in UTC."""
    return datetime.fromtimestamp(at // 1000, UTC)
