"""The specification of a request, before the service creates it."""

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
"""The service has the same limit."""


@dataclass(frozen=True, slots=True)
class AmountChoice(Generic[N]):
    """The minimum and maximum amount, and the suggested amounts in the seller's order.

    Amounts are in minor units in a spec, but in major units (Decimal) in a draft, because its
    currency may be asked later.
    """

    minimum: N
    suggested: tuple[N, ...] = ()
    maximum: N | None = None
    """None if only the currency's own limit applies."""

    @property
    def first(self) -> N:
        """Return the amount used as the price: the first suggestion, or else the minimum."""
        return self.suggested[0] if self.suggested else self.minimum

    @property
    def amounts(self) -> tuple[N, ...]:
        """Return all amounts of the choice."""
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
    """Convert a draft's choice to minor units of the currency, for a spec."""
    return (
        None if choice is None else _each(choice, lambda amount: amounts.to_minor(amount, currency))
    )


def in_major(choice: AmountChoice[int] | None, currency: str) -> AmountChoice[Decimal] | None:
    """Convert a spec's choice to major units, for a draft."""
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
"""Limits of the service, in characters and codes."""

MAX_FILE = 20 * 1024 * 1024
"""Bytes; the limit for bot downloads from Telegram, and the service's limit."""


@dataclass(frozen=True, slots=True)
class Goods:
    """The goods that each buyer gets."""

    kind: str
    text: str | None = None
    """The text that all buyers get, or codes, one per line."""
    file_id: str | None = None
    """The service's id of a file, which may contain codes."""
    name: str | None = None
    size: int | None = None
    telegram_id: str | None = None
    """Telegram's file_id of the file."""
    sent_as: str | None = None
    """The message field that held the file: `document`, `photo` and so on."""
    count: int | None = None
    """Number of codes."""
    first: str | None = None
    """The first code; `first` and `last` are shown to the seller."""
    last: str | None = None

    @property
    def codes(self) -> tuple[str, ...]:
        """Return the typed codes; () if they are in a file."""
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
    """True if a JSON value is an object of goods, or null."""
    return found is None or stored_json.fits(found, _GOODS_SHAPE)


def are_all_goods(found: object) -> bool:
    """True if a JSON value is a list of goods."""
    return isinstance(found, list) and all(stored_json.fits(each, _GOODS_SHAPE) for each in found)


def goods_of(found: Iterable[Mapping[str, Any]]) -> tuple[Goods, ...]:
    """Return the goods of a list that `are_all_goods` accepted."""
    return tuple(Goods(**each) for each in found)


@dataclass(frozen=True, slots=True)
class CodeCounts:
    """A request's codes at the service: total, given to buyers, and missing for waiting buyers."""

    total: int
    assigned: int
    waiting: int

    @property
    def left(self) -> int:
        return max(0, self.total - self.assigned)

    def after_sale(self, quantity: int) -> CodeCounts:
        """Return the counts after `quantity` more units were sold; units without a code wait."""
        given = min(quantity, self.left)
        return CodeCounts(self.total, self.assigned + given, self.waiting + quantity - given)


KINDS = ("donation", "oneoff", "drop")
"""The kinds of requests."""

PAYER_FIELDS = ("email", "phoneNumber", "paymail")
"""The data that payers can be asked for (interface, section 4: `requestedUserData`)."""

REST = "rest"
"""The measure of a receiver who gets the remainder."""

_MEASURE = re.compile(rf"|{REST}|[0-9]{{1,16}}(\.[0-9]{{1,16}})?%?", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestOptions:
    """The optional fields of drafts and specs; None if not set."""

    instrument: str | None = None
    """The currency in which payers pay, if it is not the price's currency."""
    image: str | None = None
    """Id of the picture."""
    starts_at: int | None = None
    """Epoch ms, like `ends_at`."""
    ends_at: int | None = None
    payer_fields: tuple[str, ...] = ()
    """The requested payer data, from PAYER_FIELDS."""
    redirect_url: str | None = None
    email: str | None = None
    goal: int | None = None
    """The goal of a donation, in minor units of the price's currency."""
    max_quantity: int | None = None
    """The most units of a drop that a buyer may take at once."""
    thanks: str | None = None
    """The seller's message to payers after a payment."""
    goods: Goods | None = None
    """The goods for each buyer."""

    @property
    def has_receipt_first(self) -> bool:
        """True if payers see their receipt before they continue to the web address."""
        return self.redirect_url is not None and (self.goods or self.thanks) is not None


def options_of(request: RequestOptions) -> dict[str, Any]:
    """Return the options of a draft as keyword arguments for a spec, or the reverse."""
    return {field.name: getattr(request, field.name) for field in fields(RequestOptions)}


def seconds_until(moment: int, now: int) -> int:
    """Return the seconds from `now` to `moment` (epoch ms); the interface requires at least 1."""
    return max(1, -((now - moment) // 1000))


@dataclass(frozen=True, slots=True)
class Share:
    """One receiver's share of each payment."""

    destination: str
    amount: int
    """In minor units of the price's currency."""
    measure: str
    """The share as the seller typed it (`60%`), so that a duplicate can divide another price."""


@dataclass(frozen=True, slots=True)
class RequestSpec(RequestOptions):
    """The complete specification of a request."""

    kind: str
    name: str
    description: str | None
    amount: int
    """In minor units; the first amount of the `choice` if there is one."""
    currency: str
    units: int | None
    """Set for drops only."""
    destination: str
    """Receives the whole amount if there are no `receivers`."""
    receivers: tuple[Share, ...] = ()
    """Their amounts add up to `amount`."""
    choice: AmountChoice[int] | None = None
    """The amounts that payers can choose from."""

    @property
    def shares(self) -> tuple[Share, ...]:
        """Return each receiver's share of a payment."""
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
