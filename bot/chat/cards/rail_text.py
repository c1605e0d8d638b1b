"""How a payment was paid: the rail, both amounts and the rate, and how to pay it back."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from bot.chat.messages.reply import escaped
from bot.chat.model.paid_by import BANK, LIGHTNING_KINDS, TEST_MONEY
from bot.core.money.amounts import format_money
from bot.core.text.rate_sources import rate_source_text
from bot.core.text.translations import t

if TYPE_CHECKING:
    from bot.chat.model.paid_by import PaidBy

# Limits in UTF-16 units.
_REFERENCE = 80
_KIND = 24
_SOURCE = 200


def way_text(kind: str, language: str) -> str:
    """Return by what a payment is made: "by bank transfer", "by Lightning"."""
    if kind == BANK:
        return t(language, "claims-by-bank")
    if kind in LIGHTNING_KINDS:
        return t(language, "claims-by-lightning")
    if kind == TEST_MONEY:
        return t(language, "claims-by-sandbox")
    return t(language, "claims-by-other", kind=escaped(kind, _KIND))


def reference_line(reference: str | None, language: str) -> list[str]:
    """Return the line of a transfer's reference, which a tap copies; nothing without one."""
    if not reference:
        return []
    return [t(language, "claims-reference", reference=escaped(reference, _REFERENCE))]


def paid_by_lines(paid: PaidBy, price: tuple[int, str] | None, language: str) -> list[str]:
    """Return how a payment was paid and, where it was converted, its worth in both currencies.

    `price` is the sum that was asked in the price's currency; None leaves the worth out. Of test
    money there is nothing to say: all of an installation is test money, or none.
    """
    if paid.kind == TEST_MONEY:
        return []
    way = way_text(paid.kind, language)
    lines = [t(language, "claims-how", way=way)]
    if paid.kind == BANK and paid.reference:
        reference = escaped(paid.reference, _REFERENCE)
        lines = [t(language, "claims-how-reference", way=way, reference=reference)]
    asked = None if price is None else paid.asked(*price)
    if price is None or asked is None or price[1] == paid.currency:
        return lines
    worth = {"price": _money(*price, language), "paid": _money(asked, paid.currency, language)}
    return [
        *lines,
        t(language, "claims-worth", **worth, source=_source(paid.source or "", language)),
    ]


def surplus_line(paid: PaidBy, price: tuple[int, str], language: str) -> list[str]:
    """Return how much more or less than the price arrived, nothing where it is the price."""
    more = paid.surplus(*price)
    if not more:
        return []
    if more > 0:
        return [t(language, "claims-surplus", more=_money(more, paid.currency, language))]
    return [t(language, "claims-shortfall", less=_money(-more, paid.currency, language))]


def refund_hint(paid: PaidBy, language: str) -> str:
    """Explain how money is paid back that came by this rail."""
    if paid.kind in LIGHTNING_KINDS:
        return t(language, "claims-refund-lightning")
    return t(language, "claims-refund-bank" if paid.kind == BANK else "claims-refund-other")


def _source(source: str, language: str) -> str:
    return escaped(rate_source_text(source, partial(t, language)), _SOURCE)


def _money(amount: int, currency: str, language: str) -> str:
    return escaped(format_money(amount, currency, language))
