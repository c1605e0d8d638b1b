"""A finished request as its seller wants it, before the service makes it."""

from __future__ import annotations

import json
import re
from dataclasses import asdict, dataclass, fields
from typing import Any

from bot.chat.model.amount_choice import AmountChoice, read_wish_choice
from bot.chat.model.goods import Goods, are_goods
from bot.chat.model.stored_json import (
    fits,
    is_currency,
    list_of,
    parsed,
    shape_of,
    some_of,
)

KINDS = ("donation", "oneoff", "drop")
"""The kinds of requests."""

PAYER_FIELDS = ("email", "phoneNumber", "paymail")
"""What payers can be asked for (interface, section 4: `requestedUserData`)."""

REST = "rest"
"""The measure of a receiver who gets what the others leave."""

_MEASURE = re.compile(rf"|{REST}|[0-9]{{1,16}}(\.[0-9]{{1,16}})?%?", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestOptions:
    """The optional fields, which a draft and a wish share; None where a request has none.

    `instrument` is the currency in which it is paid where the price is in another. `image` is the
    id of the picture, times are in epoch ms, `payer_fields` are of PAYER_FIELDS. A donation's
    `goal` is in minor units of the price's currency. A buyer of a drop may take up to
    `max_quantity` at once. `thanks` are the seller's words after a payment. `goods`
    are what each buyer gets.
    """

    instrument: str | None = None
    image: str | None = None
    starts_at: int | None = None
    ends_at: int | None = None
    payer_fields: tuple[str, ...] = ()
    redirect_url: str | None = None
    email: str | None = None
    goal: int | None = None
    max_quantity: int | None = None
    thanks: str | None = None
    goods: Goods | None = None

    @property
    def has_receipt_first(self) -> bool:
        """Return whether payers see their receipt before they go on to the web address."""
        return self.redirect_url is not None and (self.goods or self.thanks) is not None


def options_of(request: RequestOptions) -> dict[str, Any]:
    """Return the options of a draft or a wish, as keyword arguments of the other."""
    return {field.name: getattr(request, field.name) for field in fields(RequestOptions)}


def seconds_until(moment: int, now: int) -> int:
    """Count the seconds until a moment, both in epoch ms, at least 1 as the interface needs."""
    return max(1, -((now - moment) // 1000))


@dataclass(frozen=True, slots=True)
class Share:
    """What one receiver gets of each payment; `amount` in minor units of the price's currency.

    `measure` is what the seller typed (`60%`), so that a duplicate divides another price alike.
    """

    destination: str
    amount: int
    measure: str


@dataclass(frozen=True, slots=True)
class Wish(RequestOptions):
    """A finished request; `amount` in minor units, `units` for a drop only.

    All of the amount goes to `destination`, or to `receivers` where there are several, whose
    amounts add up to it. With a `choice`, payers choose the amount, and `amount` is its first.
    """

    kind: str
    name: str
    description: str | None
    amount: int
    currency: str
    units: int | None
    destination: str
    receivers: tuple[Share, ...] = ()
    choice: AmountChoice[int] | None = None

    @property
    def shares(self) -> tuple[Share, ...]:
        """Return what each receiver gets of each payment."""
        return self.receivers or (Share(self.destination, self.amount, REST),)

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
        choice = read_wish_choice(found["choice"])
        if (choice and choice.first) != (found["choice"] and found["amount"]):
            return None
        parsed_parts = {
            "receivers": shares, "payer_fields": tuple(found["payer_fields"]), "choice": choice,
            "goods": Goods.of(found["goods"]),
        }  # fmt: skip
        return cls(**{**found, **parsed_parts})


def is_measure(value: object) -> bool:
    """Return whether a value is a Portion's measure: an amount, a percentage, REST or empty."""
    return isinstance(value, str) and _MEASURE.fullmatch(value) is not None


_SHAPE = shape_of(
    Wish,
    kind=lambda value: value in KINDS,
    currency=is_currency,
    receivers=list_of(shape_of(Share, measure=is_measure)),
    payer_fields=some_of(PAYER_FIELDS),
    choice=lambda _found: True,  # checked with the amount
    goods=are_goods,
)
