"""An edit that a seller asked for: what the interface is told of it, and what it makes of a wish.

Pure rules; `editing` makes the calls.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from bot.chat.fields.registry import EDITS, ENDS, UNITS
from bot.chat.forms.existing import ExistingRequest
from bot.chat.forms.outcome import Change
from bot.chat.requests.change import APART, end_after

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bot.chat.model.answers import Answer
    from bot.chat.model.wish import Wish
    from bot.chat.store.listings import Listing


@dataclass(frozen=True, slots=True)
class Addresses:
    """Where the outside reaches us: `receiver` for webhooks, `images` for sellers' pictures."""

    receiver: str
    images: str


def change_of(body: Mapping[str, Any]) -> Change:
    """Read the change that a call is to make."""
    return Change(body["listing"], body["change"]["field"], body["change"]["value"])


def call_of(change: Change) -> dict[str, Any]:
    """Give the call that makes a change at the service."""
    asked = {"field": change.field, "value": change.value}
    return {"call": "edit", "listing": change.listing_id, "change": asked}


def number(change: Change) -> int:
    """Give the value of a field that is a number: a time in epoch ms, or units."""
    return change.value if isinstance(change.value, int) else 0


def text(change: Change) -> str | None:
    """Give the value of a field that is a text."""
    return change.value if isinstance(change.value, str) else None


def wished(wish: Wish, change: Change) -> Wish:
    """Give what a request is after an edit; units that were taken out are off its own."""
    field = EDITS[change.field]
    value: Any = change.value
    if field.edit and field.edit.apply:
        value = field.edit.apply(known(wish, change.field), value)
    return replace(wish, **{field.attribute: value})


def problem_of(listing: Listing, change: Change) -> str | None:
    """Give the key of why so many units can't be taken out, by what is known; None where they can.

    A drop of none is none: all of it can be stopped or deleted.
    """
    left = left_of(listing)
    if left is not None and number(change) > left:
        return "units-too-many"
    return "units-all" if number(change) >= (listing.wish.units or 0) else None


def left_of(listing: Listing) -> int | None:
    """Give what is left of a drop, by its server's word where there is one; None of others."""
    known_left = listing.answer.remaining_units if listing.answer else None
    return listing.left if known_left is None else known_left


def asked_about(listing: Listing, field: str) -> ExistingRequest:
    """Give what a form that asks for a field says of the request: of its units, what is left."""
    wish = listing.wish
    if EDITS[field] is UNITS:
        wish = replace(wish, units=left_of(listing) or wish.units)
    return ExistingRequest(listing.id, wish, listing.poster_text)


def fresh(wish: Wish, now: int) -> Wish:
    """Give what another request is made of at `now` (epoch ms): without times that have passed."""
    starts_at = wish.starts_at if wish.starts_at is not None and wish.starts_at > now else None
    return replace(wish, starts_at=starts_at, ends_at=end_after(wish, now))


def known(wish: Wish, field: str) -> Any:
    """Give what a request has in a field that can be edited."""
    return getattr(wish, EDITS[field].attribute)


def assumed(answer: Answer, change: Change) -> Answer:
    """Give what was known of a request, with the edit that its server said it made."""
    if EDITS[change.field] is ENDS:
        ends_at = None if change.value is None else number(change)
        return replace(answer, expires_at=ends_at, is_enabled=True)
    if EDITS[change.field] is UNITS and answer.remaining_units is not None:
        left = max(0, answer.remaining_units - number(change))
        return answer.with_left(left, answer.reserved_units)
    return answer


def is_made(
    change: Change, body: Mapping[str, Any], answer: Answer, told: Mapping[str, Any]
) -> bool:
    """Whether a request has what an edit's `body` asks for, by `answer` and what was `told`."""
    if EDITS[change.field] is not ENDS:
        return _has(told, body)
    if change.value is None or answer.expires_at is None:
        return change.value is answer.expires_at
    return abs(answer.expires_at - number(change)) <= APART


def _has(told: object, asked: object) -> bool:
    """Whether all that was asked for is there; what is cleared is left out, null or empty.

    The webhook is no part of it: it only goes along.
    """
    if isinstance(asked, dict):
        known = told if isinstance(told, dict) else {}
        return all(
            _has(known.get(name), value) for name, value in asked.items() if name != "webhook"
        )
    return (told or None) == asked


@dataclass(frozen=True, slots=True)
class Stock:
    """A drop's units by the word of its server: in all, not sold yet, and how often paid.

    `told` are the payments that our seller was told of.
    """

    total: int | None
    unsold: int | None
    paid: int | None
    told: int

    @classmethod
    def of(cls, answer: Answer, told: int) -> Stock:
        """Take it from an answer."""
        left = answer.remaining_units
        unsold = None if left is None else left + answer.reserved_units
        return cls(answer.total_units, unsold, answer.paid_count, told)

    def to_json(self) -> dict[str, Any]:
        """Give what makes it again."""
        return {name: getattr(self, name) for name in self.__slots__}

    def taken_out(self, later: Stock) -> int | None:
        """How many units were taken out until `later`; None where nobody can say.

        Where the server doesn't count its payments, those that nobody told of are among them.
        """
        if self.total is not None and later.total is not None and later.total < self.total:
            return self.total - later.total
        if self.unsold is None or later.unsold is None:
            return None
        sold = later.told - self.told
        if self.paid is not None and later.paid is not None:
            sold = later.paid - self.paid
        return self.unsold - later.unsold - sold

    @property
    def is_exact(self) -> bool:
        """Whether the server tells what was paid, so that nothing else can be taken for it."""
        return self.paid is not None
