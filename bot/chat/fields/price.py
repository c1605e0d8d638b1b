"""The price of a draft and the shares of its receivers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bot.chat.fields.receiver_shares import divide_price
from bot.core.money.amounts import format_money, from_minor, to_minor

if TYPE_CHECKING:
    from decimal import Decimal

    from bot.chat.messages.reply import Problem
    from bot.chat.model.draft import Draft, Seller
    from bot.chat.model.wish import Share


def minor_of(draft: Draft) -> int:
    """Return the price in minor units; 0 while it is not known."""
    if draft.amount is None or draft.currency is None:
        return 0
    return to_minor(draft.amount, draft.currency)


def shares_of(draft: Draft) -> tuple[Share, ...] | Problem:
    """Return what each receiver gets, () for one receiver only; a Problem where it can't be."""
    if not draft.receivers or draft.currency is None:
        return ()
    return divide_price(draft.receivers, minor_of(draft), draft.currency)


def shown_amount(amount: Decimal | None, currency: str | None, seller: Seller) -> str | None:
    """Format an amount for people; plain digits while its currency is not known."""
    if amount is None or currency is None:
        return None if amount is None else f"{amount:f}"  # Fluent would round it
    return format_money(to_minor(amount, currency), currency, seller.language)


def price_word(minor: int, currency: str) -> str:
    """Return an amount in minor units as a button carries it."""
    return f"{from_minor(minor, currency):f}"
