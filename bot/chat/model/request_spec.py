"""A finished request as its seller wants it, before the service makes it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, fields
from decimal import Decimal
from typing import Any, Generic, TypeVar

from bot.chat.model import stored_json
from bot.core.money import amounts

N = TypeVar("N", int, Decimal)

MOST_SUGGESTIONS = 4
"""As the service has it."""


@dataclass(frozen=True, slots=True)
class AmountChoice(Generic[N]):
    """The least and the largest amount, and what is suggested, in the order of the seller.

    Amounts are in minor units in a spec, in major units (Decimal) in a draft, whose currency may be
    asked after them.
    """

    minimum: N
    suggested: tuple[N, ...] = ()
    maximum: N | None = None
    """None if only the bounds of the currency apply."""

    @property
    def first(self) -> N:
        """Return the amount that stands for the price: the first suggestion, else the minimum."""
        return self.suggested[0] if self.suggested else self.minimum

    @property
    def amounts(self) -> tuple[N, ...]:
        """Return every amount in it."""
        return (self.minimum, *self.suggested, *(() if self.maximum is None else (self.maximum,)))

    @property
    def is_sound(self) -> bool:
        """True if the suggestions differ and lie between the bounds."""
        highest = max(self.amounts) if self.maximum is None else self.maximum
        return (
            len({*self.suggested}) == len(self.suggested) <= MOST_SUGGESTIONS
            and all(self.minimum <= amount <= highest for amount in self.amounts)
            and self.minimum > 0
        )


def spelled(choice: AmountChoice[Decimal]) -> str:
    """Return a draft's choice as a seller can type it: `3+ 5/10`, `3-500`."""
    least, most = f"{choice.minimum:f}", choice.maximum
    bounds = f"{least}+" if most is None else f"{least}-{most:f}"
    return " ".join(filter(None, [bounds, "/".join(f"{each:f}" for each in choice.suggested)]))


def in_minor(choice: AmountChoice[Decimal] | None, currency: str) -> AmountChoice[int] | None:
    """Return a draft's choice as a spec has it, in minor units of the currency."""
    return (
        None if choice is None else _each(choice, lambda amount: amounts.to_minor(amount, currency))
    )


def in_major(choice: AmountChoice[int] | None, currency: str) -> AmountChoice[Decimal] | None:
    """Return a spec's choice as a draft has it, in major units."""
    return (
        None if choice is None else _each(choice, lambda minor: amounts.from_minor(minor, currency))
    )


def _each(choice: AmountChoice[Any], convert: Callable[[Any], Any]) -> AmountChoice[Any]:
    maximum = None if choice.maximum is None else convert(choice.maximum)
    return AmountChoice(
        convert(choice.minimum), tuple(convert(each) for each in choice.suggested), maximum
    )


def read_spec_choice(found: Any) -> AmountChoice[int] | None:
    """Return the choice of a stored spec, in minor units; None for anything else."""
    if not stored_json.fits(found, _CHOICE_SHAPE) or not all(
        stored_json.is_whole(each) for each in _amounts(found)
    ):
        return None
    choice: AmountChoice[int] = AmountChoice(
        found["minimum"], (*found["suggested"],), found["maximum"]
    )
    return choice if choice.is_sound else None


def read_draft_choice(found: Any, currency: str) -> AmountChoice[Decimal] | None:
    """Return the choice of a stored draft, in major units; None for anything else."""
    if not stored_json.fits(found, _CHOICE_SHAPE) or not all(
        stored_json.is_amount(each, currency) for each in _amounts(found)
    ):
        return None
    maximum = found["maximum"]
    choice: AmountChoice[Decimal] = AmountChoice(
        Decimal(found["minimum"]),
        tuple(Decimal(each) for each in found["suggested"]),
        None if maximum is None else Decimal(maximum),
    )
    return choice if choice.is_sound else None


def _amounts(found: Mapping[str, Any]) -> list[Any]:
    maximum = found["maximum"]
    return [found["minimum"], *found["suggested"], *([] if maximum is None else [maximum])]


_CHOICE_SHAPE = {
    "minimum": lambda _found: True,  # checked with the currency
    "suggested": lambda found: isinstance(found, list),
    "maximum": lambda _found: True,
}


TEXT, FILE, CODES = GOODS_KINDS = ("text", "file", "codes")

MAX_TEXT = 4000
MAX_CODE = 500
MAX_CODES = 10_000
"""Bounds of the service, in characters and codes."""

MAX_FILE = 20 * 1024 * 1024
"""Bytes: what bots may download from Telegram, and the service's bound."""


@dataclass(frozen=True, slots=True)
class Goods:
    """What each buyer gets."""

    kind: str
    text: str | None = None
    """The same for everybody; of codes, one a line."""
    file_id: str | None = None
    """The service's id of a file, also of one with codes."""
    name: str | None = None
    size: int | None = None
    telegram_id: str | None = None
    """Telegram's file_id of the message that it came in."""
    sent_as: str | None = None
    """The field of that message: `document`, `photo` and the like."""
    count: int | None = None
    """Number of codes."""
    first: str | None = None
    """The first code, which is shown to the seller, as is `last`."""
    last: str | None = None

    @property
    def codes(self) -> tuple[str, ...]:
        """Return the codes that were typed; none where they are in a file."""
        return tuple(self.text.split("\n")) if self.kind == CODES and self.text else ()

    def to_json(self) -> str:
        """Return the goods as JSON for `from_json`."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: object) -> Goods | None:
        """Return the goods that `to_json` wrote; None for anything else."""
        return cls.of(stored_json.parsed(text)) if isinstance(text, str) else None

    @classmethod
    def of(cls, found: object) -> Goods | None:
        """Return the goods of a JSON object; None for anything else."""
        return cls(**found) if stored_json.fits(found, _GOODS_SHAPE) else None


_GOODS_SHAPE = stored_json.shape_of(Goods, kind=lambda value: value in GOODS_KINDS)


def are_goods(found: object) -> bool:
    """True if a JSON value is that of goods, or of none."""
    return found is None or stored_json.fits(found, _GOODS_SHAPE)


def are_all_goods(found: object) -> bool:
    """True if a JSON value is a list of goods."""
    return isinstance(found, list) and all(stored_json.fits(each, _GOODS_SHAPE) for each in found)


def goods_of(found: Iterable[Mapping[str, Any]]) -> tuple[Goods, ...]:
    """Return the goods of a list that `are_all_goods` accepted."""
    return tuple(Goods(**each) for each in found)


@dataclass(frozen=True, slots=True)
class CodeCounts:
    """A request's codes by its service: in all, given to buyers, and buyers who wait for one."""

    total: int
    assigned: int
    waiting: int

    @property
    def left(self) -> int:
        return max(0, self.total - self.assigned)

    def after_sale(self, quantity: int) -> CodeCounts:
        """Count the codes after `quantity` more units were sold: those without one wait."""
        given = min(quantity, self.left)
        return CodeCounts(self.total, self.assigned + given, self.waiting + quantity - given)


KINDS = ("donation", "oneoff", "drop")
"""The kinds of requests."""

PAYER_FIELDS = ("email", "phoneNumber", "paymail")
"""What payers can be asked for (interface, section 4: `requestedUserData`)."""

REST = "rest"
"""The measure of a receiver who gets what the others leave."""

_MEASURE = re.compile(rf"|{REST}|[0-9]{{1,16}}(\.[0-9]{{1,16}})?%?", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestOptions:
    """The optional fields, which a draft and a spec share; None if a request has none."""

    instrument: str | None = None
    """The currency in which it is paid, if the price is in another."""
    image: str | None = None
    """Id of the picture."""
    starts_at: int | None = None
    """Epoch ms, like `ends_at`."""
    ends_at: int | None = None
    payer_fields: tuple[str, ...] = ()
    """Of PAYER_FIELDS."""
    redirect_url: str | None = None
    email: str | None = None
    goal: int | None = None
    """Of a donation, in minor units of the price's currency."""
    max_quantity: int | None = None
    """The most units of a drop that a buyer may take at once."""
    thanks: str | None = None
    """The seller's words after a payment."""
    goods: Goods | None = None
    """What each buyer gets."""

    @property
    def has_receipt_first(self) -> bool:
        """True if payers see their receipt before they go on to the web address."""
        return self.redirect_url is not None and (self.goods or self.thanks) is not None


def options_of(request: RequestOptions) -> dict[str, Any]:
    """Return the options of a draft or a spec, as keyword arguments of the other."""
    return {field.name: getattr(request, field.name) for field in fields(RequestOptions)}


def seconds_until(moment: int, now: int) -> int:
    """Count the seconds until a moment, both in epoch ms, at least 1 as the interface needs."""
    return max(1, -((now - moment) // 1000))


@dataclass(frozen=True, slots=True)
class Share:
    """What one receiver gets of each payment."""

    destination: str
    amount: int
    """In minor units of the price's currency."""
    measure: str
    """What the seller typed (`60%`), so that a duplicate divides another price alike."""


@dataclass(frozen=True, slots=True)
class RequestSpec(RequestOptions):
    """A finished request, as its seller wants it."""

    kind: str
    name: str
    description: str | None
    amount: int
    """In minor units; with a `choice`, its first amount."""
    currency: str
    units: int | None
    """Of a drop only."""
    destination: str
    """Gets all of the amount, if there are no `receivers`."""
    receivers: tuple[Share, ...] = ()
    """Their amounts add up to `amount`."""
    choice: AmountChoice[int] | None = None
    """The amounts that payers choose from."""

    @property
    def shares(self) -> tuple[Share, ...]:
        """Return what each receiver gets of each payment."""
        return self.receivers or (Share(self.destination, self.amount, REST),)

    def to_json(self) -> str:
        """Return the spec as JSON for `from_json`."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> RequestSpec | None:
        """Return the spec that `to_json` wrote; None for any other text."""
        found = stored_json.parsed(text)
        if not stored_json.fits(found, _SPEC_SHAPE) or (found["units"] is not None) != (
            found["kind"] == "drop"
        ):
            return None
        shares = tuple(Share(**share) for share in found["receivers"])
        if shares and sum(share.amount for share in shares) != found["amount"]:
            return None
        choice = read_spec_choice(found["choice"])
        if (choice and choice.first) != (found["choice"] and found["amount"]):
            return None
        parsed_parts = {
            "receivers": shares, "payer_fields": tuple(found["payer_fields"]), "choice": choice,
            "goods": Goods.of(found["goods"]),
        }  # fmt: skip
        return cls(**{**found, **parsed_parts})


def is_measure(value: object) -> bool:
    """True if a value is a Portion's measure: an amount, a percentage, REST or empty."""
    return isinstance(value, str) and _MEASURE.fullmatch(value) is not None


_SPEC_SHAPE = stored_json.shape_of(
    RequestSpec,
    kind=lambda value: value in KINDS,
    currency=stored_json.is_currency,
    receivers=stored_json.list_of(stored_json.shape_of(Share, measure=is_measure)),
    payer_fields=stored_json.some_of(PAYER_FIELDS),
    choice=lambda _found: True,  # checked with the amount
    goods=are_goods,
)
