"""The ways to pay a request, as the pay page offers them to real money."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bot.service.model import payout
from bot.service.model.request import UNPRICED, WAY_CLOSED
from bot.service.page.money_texts import money_text
from bot.service.page.order.order_values import has_open_sum
from bot.service.page.sellers_name import named
from bot.service.page.template_values import rate_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bot.service.model.request import PaymentRequest, Quote
    from bot.service.page.forms import Reader
    from bot.service.usecases.paying import Way


TAP = "tap"
"""A Lightning wallet that doesn't report payments: the payer and the seller each tap a button."""


CLOSED = frozenset({WAY_CLOSED, UNPRICED})
"""Why one way may be closed while others are open."""


def hindrance(ways: Sequence[Way]) -> str | None:
    """Return why none of the ways is open, None if one is."""
    if not ways or any(is_open(way) for way in ways):
        return None
    return UNPRICED


def is_open(way: Way) -> bool:
    return way.quote is not None


def name_of(kind: str, scheme: str) -> str:
    """Return the name under which payers know a way: every Lightning wallet takes the same."""
    return scheme if kind == payout.BANK else "lightning"


def values(
    reader: Reader, request: PaymentRequest, ways: Sequence[Way], chosen: str | None
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
    reader: Reader, request: PaymentRequest, ways: Sequence[Way], way: Way, picked: Way | None
) -> dict[str, Any]:
    name = name_of(way.kind, way.scheme)
    asks = name == "lightning" and not way.automatic
    return {
        "value": way.name,
        "title": _title(reader, ways, way),
        "how": named(reader, request, f"page-way-{TAP if asks else name}-how"),
        "checked": way is picked,
        "why_not": _why_not(reader, ways, way),
        **_price(reader, request, way.quote),
    }


def _title(reader: Reader, ways: Sequence[Way], way: Way) -> str:
    """Return what a way is called; a further Lightning wallet is told apart by its host."""
    name = name_of(way.kind, way.scheme)
    alike = [one for one in ways if name_of(one.kind, one.scheme) == name]
    if way is alike[0]:
        return reader.t(f"page-way-{name}")
    return reader.t("page-way-other", wallet=_host(way))


def _host(way: Way) -> str:
    """Return the host of a wallet, which its account's label names: `mia@wallet.example`."""
    return way.account.label.rpartition("@")[2].split()[0] if way.account else way.kind


def _why_not(reader: Reader, ways: Sequence[Way], way: Way) -> str | None:
    """Return why a way is closed and which one to take instead."""
    if is_open(way):
        return None
    other = next((one for one in ways if is_open(one)), None)
    return reader.t(
        "page-way-unpriced",
        other=name_of(other.kind, other.scheme) if other else "none",
        title=_title(reader, ways, other) if other else "",
    )


def _price(reader: Reader, request: PaymentRequest, quote: Quote | None) -> dict[str, Any]:
    """Return the amount of a way unless it is open, and its rate where the price is converted."""
    if quote is None:
        return {"amount": None, "rate": None}
    if has_open_sum(request):
        return {"amount": None, "rate": rate_text(reader, request.terms.currency, quote)}
    amount = money_text(quote.amount, quote.currency, reader.tag)
    if quote.rate is None:
        return {"amount": amount, "rate": None}
    return {
        "amount": reader.t("page-way-about", amount=amount),
        "rate": rate_text(reader, request.terms.currency, quote),
    }
