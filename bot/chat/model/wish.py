"""A finished request, as the seller wishes for it."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from bot.chat.model.kinds import KINDS
from bot.chat.model.stored_json import (
    are_asks,
    are_texts,
    are_texts_or_none,
    are_times_or_none,
    is_whole,
    parsed,
    record_of,
)
from bot.core.money.amounts import currencies

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True)
class Share:
    """What one receiver gets of each payment; `amount` in minor units of the price's currency."""

    destination: str
    amount: int


@dataclass(frozen=True, slots=True)
class Wish:
    """A finished request; `amount` in minor units, `units` for a drop only, times in epoch ms.

    All of the amount goes to `destination`, or to `receivers` where there are several, whose
    amounts add up to it. `instrument` is the currency in which it is paid where the price is in
    another, None for the usual. `image` is the id of the picture, `asks` are of ASKS.
    """

    kind: str
    name: str
    description: str | None
    amount: int
    currency: str
    units: int | None
    destination: str
    receivers: tuple[Share, ...] = ()
    instrument: str | None = None
    image: str | None = None
    starts_at: int | None = None
    ends_at: int | None = None
    asks: tuple[str, ...] = ()
    redirect_url: str | None = None
    email: str | None = None

    @property
    def shares(self) -> tuple[Share, ...]:
        """Who gets how much of each payment."""
        return self.receivers or (Share(self.destination, self.amount),)

    def to_json(self) -> str:
        """Write it down for `from_json`."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Wish | None:
        """Read what `to_json` wrote, also in a version that knew less; None for anything else."""
        found = record_of(parsed(text), cls)
        if found is None or not _is_sound(found):
            return None
        shares = tuple(Share(*share) for share in _pairs(found["receivers"]) or ())
        return cls(**{**found, "receivers": shares, "asks": tuple(found["asks"])})


def _is_sound(found: Mapping[str, Any]) -> bool:
    return (
        are_texts(found, "kind", "name", "currency", "destination")
        and are_texts_or_none(found, "description", "instrument", "image", "redirect_url", "email")
        and are_times_or_none(found, "starts_at", "ends_at")
        and found["kind"] in KINDS
        and found["currency"] in currencies()
        and is_whole(found["amount"])
        and (is_whole(found["units"]) if found["kind"] == "drop" else found["units"] is None)
        and are_asks(found["asks"])
        and _add_up(found["receivers"], found["amount"])
    )


def _add_up(told: object, amount: int) -> bool:
    """Whether there is one receiver only, or several that share just this amount."""
    shares = _pairs(told)
    return shares is not None and (not shares or sum(share for _, share in shares) == amount)


def _pairs(told: object) -> list[tuple[str, int]] | None:
    """Read destinations with amounts; None for anything else."""
    if not isinstance(told, list | tuple):
        return None
    pairs = [
        (each.get("destination"), each.get("amount")) if isinstance(each, dict) else (None, None)
        for each in told
    ]
    sound = all(isinstance(who, str) and is_whole(amount) for who, amount in pairs)
    return [(str(who), int(amount or 0)) for who, amount in pairs] if sound else None
