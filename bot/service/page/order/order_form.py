"""What a payer ordered on the pay page: amount, quantity, name and message, checked."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from bot.core.images import clusters
from bot.core.money import amounts
from bot.core.text import sanitize
from bot.service.model.order import AMOUNT, TOO_SMALL
from bot.service.model.payer_words import LONGEST_MESSAGE, LONGEST_NAME, NO_WORDS, PayerWords
from bot.service.page.order.chosen_amount import AmountProblem, ChosenAmount, read_chosen

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from bot.core.errors import InvalidBody
    from bot.service.model.request import Terms

CODE_POINTS = 4
"""Code points that a character has at most on average: alerts have bounds in code points."""

FAR = 16
"""Code points per allowed character beyond which a text is refused uncounted: counting blocks."""


@dataclass(frozen=True, slots=True)
class PayerOrder:
    """A payer's order; `quantity` is None where the form has none that can be had.

    `too_long` has the lengths of texts beyond their limits, `amounts` the posted values of the
    amount.
    """

    chosen: ChosenAmount
    quantity: int | None = 1
    words: PayerWords = NO_WORDS
    too_long: Mapping[str, int] = field(default_factory=dict)
    amounts: Sequence[str] = ()

    @property
    def is_sound(self) -> bool:
        """Return whether it can be paid as it is."""
        return not self.chosen.problem and self.quantity is not None and not self.too_long


NO_ORDER = PayerOrder(ChosenAmount())


def misfit_of(order: PayerOrder, refusal: InvalidBody) -> PayerOrder | None:
    """Return the order with the problem for which it was refused, None for another refusal.

    Only the way to pay decides whether an amount comes to something in its currency.
    """
    codes = {one.field: one.code for one in refusal.info}
    if AMOUNT not in codes:
        return None
    problem = AmountProblem.TINY if codes[AMOUNT] == TOO_SMALL else AmountProblem.HIGH
    return replace(order, chosen=replace(order.chosen, problem=problem))


def read_order(terms: Terms, posted: Sequence[str], form: Mapping[str, str]) -> PayerOrder:
    """Read an order; `posted` are the values of the amount."""
    chosen = read_chosen(posted, terms)
    quantity = _quantity(form.get("quantity", ""), terms.max_quantity or 1)
    name = " ".join(sanitize.words(form.get("name", "")).split())
    message = sanitize.words(form.get("message", ""))
    lengths = {"name": (name, LONGEST_NAME), "message": (message, LONGEST_MESSAGE)}
    return PayerOrder(
        chosen if quantity is None else _within_bounds(chosen, quantity, terms),
        quantity,
        PayerWords(name or None, message or None),
        {which: n for which, (text, most) in lengths.items() if (n := _excess(text, most))},
        posted,
    )


def _quantity(text: str, most: int) -> int | None:
    """Return a quantity, 1 for an empty text; None for anything but a number from 1 to `most`."""
    text = sanitize.typed(text, digits=True)
    if not text:
        return 1
    digits = text.isdecimal() and len(text) <= len("100")
    return int(text) if digits and 1 <= int(text) <= most else None


def _within_bounds(chosen: ChosenAmount, quantity: int, terms: Terms) -> ChosenAmount:
    """Refuse an amount whose sum is beyond the limit of all amounts."""
    total = quantity * (terms.amount if chosen.amount is None else chosen.amount)
    if chosen.problem or total <= amounts.most_minor(terms.currency):
        return chosen
    return ChosenAmount(None, AmountProblem.HIGH)


def _excess(text: str, most: int) -> int:
    """Return the number of characters, as people see them, of a text that is too long; else 0."""
    if len(text) <= most:
        return 0
    if len(text) > most * FAR:
        return len(text)
    count = len(clusters.split(text))
    if count > most:
        return count
    return len(text) if len(text) > most * CODE_POINTS else 0
