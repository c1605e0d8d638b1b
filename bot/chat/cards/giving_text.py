"""What payers choose, give and get, in words: the amount, the goal's bar, pieces and goods."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

from bot.chat.messages.reply import escaped
from bot.core.money.amounts import format_money, format_short
from bot.core.text.translations import t

if TYPE_CHECKING:
    from bot.chat.cards.request_card import Card

STEPS = 10
"""Blocks of a goal's bar, which fit into one line of any phone."""

FULL, EMPTY = "\N{BLACK PARALLELOGRAM}", "\N{WHITE PARALLELOGRAM}"
"""The blocks of a bar: of the same width in the fonts of phones and desktops, and no emoji."""

WHOLE = 100  # per cent


def price_text(card: Card, language: str) -> str:
    """Return the formatted price, or "From €3" where payers choose."""
    if card.choice is None:
        return format_money(card.amount, card.currency, language)
    minimum = format_short(card.choice.minimum, card.currency, language)
    return t(language, "card-price-from", amount=minimum)


def choice_line(card: Card, language: str) -> str | None:
    """Return what is suggested, and the largest amount; None for a fixed price."""
    if card.choice is None:
        return None
    shown = [format_short(each, card.currency, language) for each in card.choice.suggested]
    parts = [t(language, "card-suggested", amounts=escaped(" · ".join(shown)))] if shown else []
    if card.choice.maximum is not None:
        most = escaped(format_short(card.choice.maximum, card.currency, language))
        parts.append(t(language, "card-at-most", amount=most))
    return "\n".join(parts) or None


def goal_text(card: Card, language: str) -> str | None:
    """Return "€420 of €1,000", None without a goal."""
    if card.goal is None:
        return None
    raised = format_short(card.raised, card.currency, language)
    goal = format_short(card.goal, card.currency, language)
    return t(language, "card-goal", raised=raised, goal=goal)


def goal_share(card: Card) -> int | None:
    """Return the percentage of its goal that a request has raised, rounded down."""
    return card.raised * WHOLE // card.goal if card.goal else None


def goal_lines(card: Card, language: str) -> str | None:
    """Return a goal's bar with what was raised below it, also beyond the goal."""
    text, share = goal_text(card, language), goal_share(card)
    if text is None or share is None:
        return None
    return f"{goal_bar(share)}\n{escaped(text)} · {_percent(share, language)}"


def goal_brief(card: Card, language: str) -> str | None:
    """Return a goal in one line: "€420 of €1,000 · 42%"."""
    text, share = goal_text(card, language), goal_share(card)
    return None if text is None or share is None else f"{text} · {_percent(share, language)}"


def goal_bar(share: int) -> str:
    """Draw a percentage as a bar, which is full at the goal and not before."""
    full = min(STEPS, share * STEPS // WHOLE)
    return FULL * full + EMPTY * (STEPS - full)


def order_lines(card: Card, language: str) -> list[str]:
    """Return how many pieces a buyer may take at once, and what every buyer gets."""
    lines = []
    if card.max_quantity is not None and card.max_quantity > 1:
        lines.append(t(language, "card-each", most=card.max_quantity))
    if card.delivers is not None:
        lines.append(t(language, f"card-gets-{card.delivers}"))
    return lines


def _percent(share: int, language: str) -> str:
    return t(language, "card-percent", share=Decimal(share) / WHOLE)
