"""What the conversation is about: the seller, the form under way, the finished wish."""

from __future__ import annotations

import json
import re
from dataclasses import asdict, dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from bot.chat.conversation.records import (
    are_texts,
    are_texts_or_none,
    is_amount,
    is_whole,
    parsed,
    record_of,
)
from bot.chat.conversation.wish import KINDS, Wish
from bot.core.money import currencies

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bot.chat.replies import Action, Reply

STEPS = {
    "new": (
        "kind",
        "name",
        "description",
        "amount",
        "currency",
        "units",
        "destination",
        "review",
    ),
    "line": ("amount", "currency", "destination"),
    "settings": ("destination",),
}
FINEST = "BTC"  # no currency has more decimals: what it refuses, all refuse
_RESTS_ON: dict[str, tuple[str, ...]] = {
    "kind": (),
    "review": ("kind", "name", "description", "amount", "currency"),
}
_DRAFT_ID = re.compile(r"[a-z0-9]{6}", re.ASCII)
_MAX_DEPTH = 3  # settings over a refused request over a new one


@dataclass(frozen=True, slots=True)
class Seller:
    """Who is talking, as far as the conversation needs to know; `currency` is the last one used.

    `prices` are the last ones, minor units and currency. `zone` is an IANA name; `quiet` from which
    to which and `summary` at which minute of its day.
    """

    language: str
    destination: str | None = None
    currency: str | None = None
    prices: tuple[tuple[int, str], ...] = ()
    zone: str | None = None
    quiet: tuple[int, int] | None = None
    summary: int | None = None


@dataclass(frozen=True, slots=True)
class Said:
    """A text that the person sent; empty for a message without one."""

    text: str


@dataclass(frozen=True, slots=True)
class Pressed:
    """A button that the person pressed."""

    action: Action


Input = Said | Pressed


@dataclass(frozen=True, slots=True)
class Draft:
    """A form under way.

    None is a question still open; a description that was skipped is "". `amount` is in
    major units, for its currency may be asked after it. `asks_destination` keeps the count of
    the steps steady. `paused` is the /new form that this shorter one interrupts.
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

    def to_json(self) -> str:
        """Write it down for `from_json`."""
        return json.dumps(asdict(self), default=_decimal_to_text)

    @classmethod
    def from_json(cls, text: str) -> Draft | None:
        """Read what `to_json` wrote; None for anything else, as a form of an older version."""
        return _draft_of(parsed(text))


@dataclass(frozen=True, slots=True)
class Outcome:
    """What follows from an input.

    `draft` is what to store from now on, None to store none. `wish` is to be created,
    `destination` to be saved as the seller's: in the transaction that stores the draft.
    """

    draft: Draft | None
    replies: tuple[Reply, ...] = ()
    toast: str | None = None
    wish: Wish | None = None
    destination: str | None = None


def _decimal_to_text(amount: Decimal) -> str:
    return f"{amount:f}"


def _draft_of(found: object, depth: int = _MAX_DEPTH) -> Draft | None:
    record = record_of(found, Draft)
    if record is None or not depth or not _is_sound(record):
        return None
    paused = None if record["paused"] is None else _draft_of(record["paused"], depth - 1)
    if (paused is None) != (record["paused"] is None) or (paused and paused.form != "new"):
        return None
    amount = None if record["amount"] is None else Decimal(record["amount"])
    return Draft(**{**record, "amount": amount, "paused": paused})


def _is_sound(found: Mapping[str, Any]) -> bool:
    return (
        are_texts(found, "id", "form", "step")
        and _DRAFT_ID.fullmatch(found["id"]) is not None
        and found["step"] in STEPS.get(found["form"], ())
        and (found["kind"] is None or found["kind"] in KINDS)
        and are_texts_or_none(found, "name", "description", "amount", "currency")
        and (found["amount"] is None or is_amount(found["amount"], found["currency"] or FINEST))
        and (found["currency"] is None or found["currency"] in currencies())
        and (found["units"] is None or is_whole(found["units"]))
        and isinstance(found["asks_destination"], bool)
        and not _is_ahead(found)
    )


def _is_ahead(found: Mapping[str, Any]) -> bool:
    """Whether the step comes before an answer that it rests on."""
    needed: tuple[str, ...] = _RESTS_ON.get(found["step"], ("kind",))
    if found["form"] == "line":
        needed = ("kind", "name")
    if found["form"] == "settings":
        needed = ()
    return any(found[name] is None for name in needed)
