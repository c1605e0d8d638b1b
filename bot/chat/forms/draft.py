"""What the conversation is about: the seller, and the form under way."""

from __future__ import annotations

import json
import re
from dataclasses import asdict, dataclass, field, replace
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from bot.chat.model.kinds import KINDS
from bot.chat.model.stored_json import (
    are_asks,
    are_texts,
    are_texts_or_none,
    are_times_or_none,
    is_amount,
    is_whole,
    parsed,
    record_of,
)
from bot.core.money.amounts import currencies

if TYPE_CHECKING:
    from collections.abc import Mapping

PATH = ("kind", "name", "amount", "currency", "units", "destination", "review")
"""The steps of a new request that everybody goes."""

OPTIONS = (
    *("description", "picture", "instrument", "receivers", "starts", "ends"),
    *("asks", "redirect", "email"),
)
"""What may be said of a request beside that, behind "More options"."""

STEPS = {
    "new": (*PATH, "options", *OPTIONS, "zone"),
    "line": ("amount", "currency", "destination"),
    "settings": ("destination", "zone", "quiet", "summary"),
    "edit": (
        *("name", "description", "picture", "redirect", "email"),
        *("end", "units", "postertext", "zone"),
    ),
}
FINEST = "BTC"  # no currency has more decimals: what it refuses, all refuse
REST = "rest"
_PRICED = ("kind", "name", "amount", "currency")
_RESTS_ON: dict[str, tuple[str, ...]] = {
    "kind": (),
    **dict.fromkeys(("review", "options", *OPTIONS, "zone"), _PRICED),
    "description": ("kind",),  # where earlier versions asked for it
}
_DRAFT_ID = re.compile(r"[a-z0-9]{6}", re.ASCII)
_LISTING_ID = re.compile(r"[a-z0-9]{10}", re.ASCII)
_MEASURE = re.compile(rf"|{REST}|[0-9]{{1,16}}(\.[0-9]{{1,16}})?%?", re.ASCII)
_MAX_DEPTH = 3  # settings over a refused request over a new one


@dataclass(frozen=True, slots=True)
class Portion:
    """What one of several receivers is to get, as the seller means it.

    `measure` is `60%` of the price, `2.50` of its currency's major units, REST for what the others
    leave, or empty for as much as the others.
    """

    destination: str
    measure: str


@dataclass(frozen=True, slots=True)
class Draft:
    """A form under way.

    None is a question still open, or an option not taken. `amount` is in major units, for its
    currency may be asked after it; times in epoch ms. `asks_destination` keeps the count of the
    steps steady. `paused` is the /new form that this shorter one interrupts, `listing` the request
    that an edit is about, with `poster_text` on its poster. `in_menu` goes back to "More options"
    after an answer, `wanted` is the step to go on at once the time zone is known. An `asleep` one
    waits to be taken up again, and `touched_at` is known of one that was stored.
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
    instrument: str | None = None
    image: str | None = None
    starts_at: int | None = None
    ends_at: int | None = None
    asks: tuple[str, ...] = ()
    redirect_url: str | None = None
    email: str | None = None
    listing: str | None = None
    poster_text: str | None = None
    in_menu: bool = False
    wanted: str | None = None
    asleep: bool = False
    touched_at: int | None = field(default=None, compare=False)

    def to_json(self) -> str:
        """Write it down for `from_json`."""
        return json.dumps(asdict(replace(self, touched_at=None)), default=_decimal_to_text)

    @classmethod
    def from_json(cls, text: str) -> Draft | None:
        """Read what `to_json` wrote; None for anything else, as a form of a later version."""
        return _draft_of(parsed(text))


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
    portions = _portions(record["receivers"]) or ()
    known = {"amount": amount, "paused": paused, "receivers": portions}
    return Draft(**{**record, **known, "asks": tuple(record["asks"])})


def _is_sound(found: Mapping[str, Any]) -> bool:
    return (
        are_texts(found, "id", "form", "step")
        and _DRAFT_ID.fullmatch(found["id"]) is not None
        and found["step"] in STEPS.get(found["form"], ())
        and (found["kind"] is None or found["kind"] in KINDS)
        and are_texts_or_none(found, "name", "description", "amount", "currency")
        and (found["amount"] is None or is_amount(found["amount"], found["currency"] or FINEST))
        and _is_currency_or_none(found["currency"])
        and (found["units"] is None or is_whole(found["units"]))
        and all(isinstance(found[flag], bool) for flag in ("asks_destination", "in_menu", "asleep"))
        and _are_options_sound(found)
        and not _is_ahead(found)
    )


def _are_options_sound(found: Mapping[str, Any]) -> bool:
    return (
        are_texts_or_none(found, "instrument", "image", "redirect_url", "email")
        and are_texts_or_none(found, "poster_text", "wanted")
        and _is_currency_or_none(found["instrument"])
        and are_times_or_none(found, "starts_at", "ends_at", "touched_at")
        and are_asks(found["asks"])
        and _portions(found["receivers"]) is not None
        and (found["wanted"] is None or found["wanted"] in STEPS[found["form"]])
        and (found["listing"] is not None) == (found["form"] == "edit")
        and _LISTING_ID.fullmatch(str(found["listing"] or "a" * 10)) is not None
    )


def _is_currency_or_none(code: object) -> bool:
    return code is None or (isinstance(code, str) and code in currencies())


def _portions(told: object) -> tuple[Portion, ...] | None:
    """Read who is to get what; None for anything else."""
    if not isinstance(told, list | tuple):
        return None
    records = [record_of(each, Portion) for each in told]
    portions = tuple(Portion(**record) for record in records if record is not None)
    sound = len(portions) == len(records) and all(map(_is_portion_sound, portions))
    return portions if sound else None


def _is_portion_sound(portion: Portion) -> bool:
    texts = isinstance(portion.destination, str) and isinstance(portion.measure, str)
    return texts and _MEASURE.fullmatch(portion.measure) is not None


def _is_ahead(found: Mapping[str, Any]) -> bool:
    """Whether the step comes before an answer that it rests on."""
    needed: tuple[str, ...] = _RESTS_ON.get(found["step"], ("kind",))
    if found["form"] == "line":
        needed = ("kind", "name")
    if found["form"] in ("settings", "edit"):
        needed = ()
    return any(found[name] is None for name in needed)
