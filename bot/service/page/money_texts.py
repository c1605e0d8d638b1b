"""Amounts as a page's reader writes them, kept because many payers see the same few."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from bot.core.money import amounts

if TYPE_CHECKING:
    from bot.service.model.request import PaymentRequest
    from bot.service.page.forms import Reader

money_text = lru_cache(maxsize=4096)(amounts.format_money)
short_text = lru_cache(maxsize=1024)(amounts.format_short)


@lru_cache(maxsize=256)
def affixes(currency: str, tag: str) -> tuple[str, str]:
    """Return what stands before and after the number of an amount: `$` and nothing, or ` €`."""
    text = amounts.format_money(1, currency, tag)
    places = [place for place, char in enumerate(text) if char.isdecimal()]
    return text[: places[0]], text[places[-1] + 1 :]


def price_text(reader: Reader, request: PaymentRequest) -> str:
    """Return the price of a request, or from which amount on payers choose."""
    terms = request.terms
    if terms.choice is None:
        return money_text(terms.amount, terms.currency, reader.tag)
    return reader.t(
        "page-from", amount=short_text(terms.choice.minimum, terms.currency, reader.tag)
    )


def pieces_text(reader: Reader, total: int, currency: str, quantity: int) -> str | None:
    """Return how many pieces a sum is for, and the price of each; None for one."""
    if quantity == 1:
        return None
    each = money_text(total // quantity, currency, reader.tag)
    return reader.t("page-pieces", quantity=quantity, each=each)
