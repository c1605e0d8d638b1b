"""`/bought`: the receipts that an account keeps, newest first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bot.chat.cards.card_text import page_buttons
from bot.chat.messages.reply import Button, Reply, plain
from bot.chat.model.receipt import OVERSOLD, PAID_BACK
from bot.core.money.amounts import format_money
from bot.core.text.translations import t

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bot.chat.store.kept_receipts import KeptReceipt

NAME = 24
"""UTF-16 units of what was bought, on a button."""


def bought_page(kept: Sequence[KeptReceipt], page: int, pages: int, language: str) -> Reply:
    """Render one page of kept receipts, each a button that shows it; `page` counts from 0."""
    if not kept:
        return Reply(t(language, "bought-none"))
    lines = tuple((Button(_line(one, language), action=("receipt", one.id)),) for one in kept)
    text = t(language, "bought", page=page + 1, pages=pages)
    return Reply(text, (*lines, *page_buttons(("bought",), page, pages, language)))


def _line(kept: KeptReceipt, language: str) -> str:
    price = format_money(kept.amount, kept.currency, language)
    name, standing = plain(kept.name, NAME), _standing(kept)
    return t(language, "bought-line", standing=standing, name=name, price=price)


def _standing(kept: KeptReceipt) -> str:
    """Return how a purchase stands, by what matters most to its buyer."""
    if kept.status in (PAID_BACK, OVERSOLD):
        return kept.status
    if kept.awaited is not None:
        return "waits"
    return "sent" if kept.is_sent else "paid"
