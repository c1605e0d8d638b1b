"""A finished request as its seller wants it, before the service makes it."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass

from bot.chat.model.kinds import KINDS
from bot.chat.model.request_options import PAYER_FIELDS, RequestOptions
from bot.chat.model.stored_json import (
    fits,
    is_currency,
    list_of,
    one_of,
    parsed,
    shape_of,
    some_of,
)


@dataclass(frozen=True, slots=True)
class Share:
    """What one receiver gets of each payment; `amount` in minor units of the price's currency."""

    destination: str
    amount: int


@dataclass(frozen=True, slots=True)
class Wish(RequestOptions):
    """A finished request; `amount` in minor units, `units` for a drop only.

    All of the amount goes to `destination`, or to `receivers` where there are several, whose
    amounts add up to it.
    """

    kind: str
    name: str
    description: str | None
    amount: int
    currency: str
    units: int | None
    destination: str
    receivers: tuple[Share, ...] = ()

    @property
    def shares(self) -> tuple[Share, ...]:
        """Return what each receiver gets of each payment."""
        return self.receivers or (Share(self.destination, self.amount),)

    def to_json(self) -> str:
        """Return the wish as JSON for `from_json`."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Wish | None:
        """Return the wish that `to_json` wrote; None for any other text."""
        found = parsed(text)
        if not fits(found, _SHAPE) or (found["units"] is not None) != (found["kind"] == "drop"):
            return None
        shares = tuple(Share(**share) for share in found["receivers"])
        if shares and sum(share.amount for share in shares) != found["amount"]:
            return None
        return cls(**{**found, "receivers": shares, "payer_fields": tuple(found["payer_fields"])})


_SHAPE = shape_of(
    Wish,
    kind=one_of(KINDS),
    currency=is_currency,
    receivers=list_of(shape_of(Share)),
    payer_fields=some_of(PAYER_FIELDS),
)
