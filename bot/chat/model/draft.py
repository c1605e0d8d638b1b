"""A form's answers so far."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from bot.chat.model.request_options import RequestOptions

if TYPE_CHECKING:
    from decimal import Decimal

REST = "rest"
"""The measure of a receiver who gets what the others leave."""


@dataclass(frozen=True, slots=True)
class Portion:
    """What one of several receivers gets, as the seller typed it.

    `measure` is `60%` of the price, `2.50` of its currency's major units, REST for what the others
    leave, or empty for an equal share.
    """

    destination: str
    measure: str


@dataclass(frozen=True, slots=True)
class Draft(RequestOptions):
    """A form under way; None is a question still open, or an option not taken.

    `form` is `new`, `line`, `settings` or `edit`, `step` the question that stands. `amount` is in
    major units, since its currency may be asked after it. `asks_destination` keeps the number of
    steps steady. `paused` is the new form that this shorter one interrupts. `listing` is the
    request that an edit is about, `poster_text` the text on its poster. With `in_menu` an answer
    leads back to "More options". `wanted` is the step to go on with once the time zone is known.
    An `asleep` form takes no text until it is continued. `touched_at` (epoch ms) is set on a draft
    that was stored.
    """

    id: str
    form: str
    step: str
    kind: str | None = None
    name: str | None = None
    description: str | None = None
    amount: Decimal | None = None
    currency: str | None = None
    units: int | None = None
    asks_destination: bool = False
    paused: Draft | None = None
    receivers: tuple[Portion, ...] = ()
    listing: str | None = None
    poster_text: str | None = None
    in_menu: bool = False
    wanted: str | None = None
    asleep: bool = False
    touched_at: int | None = field(default=None, compare=False)
