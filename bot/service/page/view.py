"""A request as its pay page shows it: texts and numbers ready for the template."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from bot.core.money import amounts
from bot.core.text import translations
from bot.service.model import payer_data as payers
from bot.service.model import redirects
from bot.service.model.checkout import CheckoutState
from bot.service.model.request import RESERVED, UNPRICED, Kind, Status

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bot.service.model.checkout import Checkout
    from bot.service.model.request import PayerField, Payment, PaymentRequest, Quote

_TAG = re.compile(r"([a-z]{2,3}(?:-[a-z0-9]{1,8}){0,3})(?:;q=([01](?:\.[0-9]{0,3})?))?")
MAX_HEADER = 200  # characters of Accept-Language that are looked at
money_text = lru_cache(maxsize=4096)(amounts.format_money)

SOON, LATER, LATE = 3, 10, 30
"""Seconds after which who waits looks again: at first, after SOON_FOR, once it has lapsed."""
SOON_FOR, LATE_FOR = 60_000, 3_600_000  # ms since it was opened, since it lapsed

WATCHED, SLOWEST, IDLE = 3_000, 15_000, 30_000
"""Milliseconds after which an open page asks how its request stands: where units can run out; there
while nothing changes; where only the seller's hand or the clock ends it."""

GIVEN_UP = frozenset({CheckoutState.LAPSED, CheckoutState.CANCELLED})
"""States of a checkout that holds nothing, though its money may come yet."""

RIGHT_TO_LEFT = frozenset({"ar", "ckb", "dv", "fa", "he", "ps", "sd", "ug", "ur", "yi"})
"""Languages whose scripts run so (CLDR)."""

AHEAD = frozenset({None, RESERVED, UNPRICED})
"""States of a request whose end is still to come."""

CARD = (1200, 630)
"""Pixels of the picture that chats show of a shared link: the size that Open Graph asks for."""

LONG = 14  # characters of an amount that a phone shows large in one line

# How a browser helps with each field.
INPUTS: dict[PayerField, tuple[str, str]] = {
    "paymail": ("email", "on"),
    "email": ("email", "email"),
    "phoneNumber": ("tel", "tel"),
}


@dataclass(frozen=True, slots=True)
class Reader:
    """Who reads: `language` of the texts, `tag` of the amounts."""

    language: str
    tag: str

    def t(self, key: str, **values: object) -> str:
        """Give a text in the reader's language."""
        return _said(self.language, key, tuple(values.items()))

    @property
    def direction(self) -> str:
        """Give the way the language is written, as HTML has it."""
        return "rtl" if self.language in RIGHT_TO_LEFT else "ltr"


@lru_cache(maxsize=4096)
def _said(language: str, key: str, values: tuple[tuple[str, object], ...]) -> str:
    """Give a text, remembered: the same few are asked for by every payer of a request."""
    return translations.t(language, key, **dict(values))


@dataclass(frozen=True, slots=True)
class Form:
    """What the payer typed, what of it is wrong, and the state that it was refused for."""

    typed: Mapping[str, str]
    wrong: tuple[PayerField, ...] = ()
    stale: bool = False
    refused: str | None = None


def reader(accept_language: str) -> Reader:
    """Give the reader of an Accept-Language header (RFC 9110 section 12.5.4)."""
    parts = accept_language[:MAX_HEADER].lower().replace(" ", "").split(",")
    found = [match for part in parts if (match := _TAG.fullmatch(part))]
    ranked = sorted(found, key=lambda match: -float(match[2] or 1))
    tags = [match[1] for match in ranked if float(match[2] or 1) > 0]
    known = (tag for tag in tags if tag.partition("-")[0] in translations.languages())
    return Reader(translations.choose(next(known, None)), tags[0] if tags else translations.DEFAULT)


def pay(who: Reader, request: PaymentRequest, now: int, form: Form) -> dict[str, Any]:
    """Give what the pay page shows of a request, in the state that `form` is refused for."""
    terms = request.terms
    amount = money_text(terms.amount, terms.currency, who.tag)
    return {
        "name": terms.product.name,
        "description": terms.product.description,
        "long_description": terms.product.long_description,
        "picture": _picture(request),
        "amount": amount,
        "long": len(amount) > LONG,
        "former": _former(who, request),
        **standing(who, request, now, form.refused),
        "live": True,
        "code": f"/qr/{request.id}.svg",
        "fields": [_field(name, form) for name in terms.requested_user_data],
        "problem": _problem(who, form),
        "wrong": form.wrong,
        "manner": form.typed.get("manner"),
    }


def standing(who: Reader, request: PaymentRequest, now: int, state: str | None) -> dict[str, Any]:
    """Give the part of the page that changes while somebody looks; `state` as of `hindrance`."""
    again = IDLE if request.units is None else WATCHED
    return {
        **_left(who, request),
        "state": _state(who, request, state),
        "time": _time(who, request, state),
        "now": now,
        "watch": f"/pay/{request.id}/live",
        "again": again,
        "slowest": max(again, SLOWEST),
    }


def shared(who: Reader, request: PaymentRequest, url: str) -> list[tuple[str, str]]:
    """Give what a chat shows of a link to the page at `url` (Open Graph)."""
    product = request.terms.product
    amount = money_text(request.terms.amount, request.terms.currency, who.tag)
    about = " ".join((product.description or "").split())
    told = [
        ("og:type", "website"),
        ("og:site_name", who.t("page-site")),
        ("og:locale", who.t("page-locale")),
        ("og:title", product.name),
        ("og:description", " · ".join(filter(None, (amount, about)))),
        ("og:url", url),
    ]
    if picture := _picture(request):
        return [*told, ("og:image", picture), ("og:image:alt", product.name)]
    width, height = CARD
    return [
        *told,
        ("og:image", f"{url}/card.png"),
        ("og:image:type", "image/png"),
        ("og:image:width", str(width)),
        ("og:image:height", str(height)),
        ("og:image:alt", who.t("page-card", name=product.name)),
    ]


def _picture(request: PaymentRequest) -> str | None:
    url = request.terms.product.image_url
    return url and redirects.ascii_url(url)


def _former(who: Reader, request: PaymentRequest) -> str | None:
    price = request.terms.price_before_discount
    if price is None or price <= request.terms.amount:
        return None
    return money_text(price, request.terms.currency, who.tag)


def _left(who: Reader, request: PaymentRequest) -> dict[str, Any]:
    """Tell what is left of a drop, and apart from it what others are paying for."""
    units = request.units
    if units is None or request.terms.kind is not Kind.LIMIT:
        return {"left": None, "share": None, "reserved": None}
    total = units.total - units.decreased
    beside = units.remaining and units.reserved  # with none remaining, the state says it
    return {
        "left": who.t("page-left", left=units.remaining, total=total),
        "share": units.remaining * 100 // max(total, 1),
        "reserved": who.t("page-reserved", count=units.reserved) if beside else None,
    }


def _state(who: Reader, request: PaymentRequest, state: str | None) -> dict[str, str] | None:
    if state is None:
        return None
    title = who.t("page-reserved-title" if state == RESERVED else f"page-{state}")
    return {
        "name": state,
        "title": title,
        "why": who.t(f"page-{state}-why", at=moment(request.expires_at or 0)),
        "page": who.t("page-title-state", title=title, name=request.terms.product.name),
    }


def _time(who: Reader, request: PaymentRequest, state: str | None) -> dict[str, Any] | None:
    """Tell when it opens, or else until when it can be paid; None where neither is ahead."""
    if state == Status.SCHEDULED:
        label, at = who.t("page-opens"), request.enabled_at
    elif state in AHEAD:
        label, at = who.t("page-ends"), request.expires_at
    else:
        return None
    if at is None:
        return None
    when = moment(at)
    return {
        "label": label,
        "at": at,
        "iso": when.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "text": who.t("page-at", at=when),
    }


def _field(name: PayerField, form: Form) -> dict[str, Any]:
    kind, autocomplete = INPUTS[name]
    return {
        "name": name,
        "type": kind,
        "inputmode": kind,
        "autocomplete": autocomplete,
        "value": form.typed.get(name, ""),
        "wrong": name in form.wrong,
    }


def _problem(who: Reader, form: Form) -> str | None:
    if form.stale:
        return who.t("page-stale")
    return who.t("page-wrong", count=len(form.wrong)) if form.wrong else None


def exchanged(who: Reader, request: PaymentRequest, quote: Quote | None) -> str | None:
    """Say what the price is in the currency that is paid, where that is another one."""
    return _rated(who, request.terms.currency, quote, "page-exchanged") if quote else None


def _rated(who: Reader, currency: str, quote: Quote, key: str) -> str | None:
    if quote.rate is None:
        return None
    return who.t(
        key,
        amount=money_text(quote.amount, quote.currency, who.tag),
        rate=f"1 {currency} = {amounts.format_number(quote.rate.rate, who.tag)} {quote.currency}",
        source=quote.rate.source,
        at=moment(quote.rate.at),
    )


def checkout(
    who: Reader, request: PaymentRequest, held: Checkout, payment: Payment | None, now: int
) -> dict[str, Any]:
    """Give what a payer sees whose money is awaited, or came for no unit."""
    state, terms = held.state(now), request.terms
    title = who.t(f"page-checkout-{state}")
    why = "why" if request.units else "free"  # nothing is kept where any number may pay
    given = money_text(held.quote.amount, held.quote.currency, who.tag)
    at = moment(held.lapses_at)
    return {
        "name": terms.product.name,
        "amount": money_text(terms.amount, terms.currency, who.tag),
        "paid": given if held.quote.rate else None,
        "title": title,
        "page": who.t("page-title-state", title=title, name=terms.product.name),
        "why": who.t(f"page-checkout-{state}-{why}", amount=given, at=at),
        "live": True,
        "watch": f"/pay/{held.request_id}/checkout/{held.id}",
        "now": now,
        "refresh": _refresh(state, now - held.created_at, now - held.lapses_at),
        "again": f"/pay/{held.request_id}" if state in GIVEN_UP else None,
        "cancel": state is CheckoutState.OPEN,
        "transaction_id": payment and payment.id,
    }


def _refresh(state: CheckoutState, open_for: int, lapsed_for: int) -> int | None:
    """Seconds after which a checkout's page looks again: its money may come yet."""
    if state is CheckoutState.OPEN:
        return SOON if open_for < SOON_FOR else LATER
    return LATE if state in GIVEN_UP and lapsed_for < LATE_FOR else None


def receipt(who: Reader, name: str, payment: Payment) -> dict[str, Any]:
    """Return what the receipt shows; its address travels, so the payer's data is masked."""
    return {
        "name": name,
        "paid": _rated(who, payment.currency, payment.paid, "page-receipt-exchanged"),
        "oversold": payment.oversold,
        "amount": money_text(payment.amount, payment.currency, who.tag),
        "when": who.t("page-receipt-at", at=moment(payment.completed_at)),
        "payer": [
            (f"page-{field}", payers.masked(field, value))
            for field, value in payment.user_data.items()
        ],
        "transaction_id": payment.id,
    }


def moment(at: int) -> datetime:
    """Time in epoch ms as a datetime in UTC."""
    return datetime.fromtimestamp(at // 1000, UTC)
