"""What the conversation is about: the seller, the form under way, the finished wish."""

from __future__ import annotations

import json
import re
from dataclasses import asdict, dataclass, fields
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from bot.core.errors import MoneyError
from bot.core.money import MAX_MINOR, currencies, to_minor

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bot.chat.replies import Action, Reply

KINDS = ("donation", "oneoff", "drop")
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
_NUMBER = re.compile(r"[0-9]{1,64}(\.[0-9]{1,64})?", re.ASCII)
_DRAFT_ID = re.compile(r"[a-z0-9]{6}", re.ASCII)
_MAX_STORED = 65_536  # characters; no form of ours comes near it
_MAX_DEPTH = 3  # settings over a refused request over a new one


@dataclass(frozen=True, slots=True)
class Seller:
    """Who is talking, as far as the conversation needs to know; `currency` is the last one used."""

    language: str
    destination: str | None = None
    currency: str | None = None


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
class Wish:
    """A finished request to create; `amount` in minor units, `units` for a drop only."""

    kind: str
    name: str
    description: str | None
    amount: int
    currency: str
    units: int | None
    destination: str

    def to_json(self) -> str:
        """Write it down for `from_json`."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Wish | None:
        """Read what `to_json` wrote; None for anything else."""
        found = _record_of(_parsed(text), cls)
        sound = (
            found is not None
            and _are_texts(found, "kind", "name", "currency", "destination")
            and _are_texts_or_none(found, "description")
            and found["kind"] in KINDS
            and found["currency"] in currencies()
            and _is_whole(found["amount"])
            and (_is_whole(found["units"]) if found["kind"] == "drop" else found["units"] is None)
        )
        return cls(**found) if found and sound else None


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
        return _draft_of(_parsed(text))


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


def _parsed(text: str) -> object:
    try:
        return json.loads(text) if len(text) <= _MAX_STORED else None
    except (ValueError, RecursionError):
        return None


def _record_of(found: object, cls: type[Draft | Wish]) -> dict[str, Any] | None:
    """Take an object that has exactly the fields of `cls`."""
    names = {field.name for field in fields(cls)}
    return found if isinstance(found, dict) and found.keys() == names else None


def _draft_of(found: object, depth: int = _MAX_DEPTH) -> Draft | None:
    record = _record_of(found, Draft)
    if record is None or not depth or not _is_sound(record):
        return None
    paused = None if record["paused"] is None else _draft_of(record["paused"], depth - 1)
    if (paused is None) != (record["paused"] is None) or (paused and paused.form != "new"):
        return None
    amount = None if record["amount"] is None else Decimal(record["amount"])
    return Draft(**{**record, "amount": amount, "paused": paused})


def _is_sound(found: Mapping[str, Any]) -> bool:
    return (
        _are_texts(found, "id", "form", "step")
        and _DRAFT_ID.fullmatch(found["id"]) is not None
        and found["step"] in STEPS.get(found["form"], ())
        and (found["kind"] is None or found["kind"] in KINDS)
        and _are_texts_or_none(found, "name", "description", "amount", "currency")
        and (found["amount"] is None or _is_amount(found["amount"], found["currency"] or FINEST))
        and (found["currency"] is None or found["currency"] in currencies())
        and (found["units"] is None or _is_whole(found["units"]))
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


def _are_texts(found: Mapping[str, Any], *names: str) -> bool:
    return all(isinstance(found[name], str) for name in names)


def _are_texts_or_none(found: Mapping[str, Any], *names: str) -> bool:
    return all(found[name] is None or isinstance(found[name], str) for name in names)


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 < value <= MAX_MINOR


def _is_amount(written: str, currency: str) -> bool:
    """Whether so much can be asked for in that currency."""
    try:
        return bool(_NUMBER.fullmatch(written) and to_minor(Decimal(written), currency))
    except MoneyError:
        return False
