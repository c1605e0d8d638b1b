"""The specification of a request, before the service creates it."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from decimal import Decimal
from typing import Annotated, Any, TypeAlias, TypeVar

from pydantic import AfterValidator, Field

from bot.core import errors, stored_json
from bot.core.money import amounts
from bot.interface import parts, vocabulary

H = TypeVar("H", bound=Hashable)


def spelled(choice: parts.AmountChoice[Decimal]) -> str:
    """Return a draft's choice as a seller can type it: `3+ 5/10`, `3-500`."""
    least, most = f"{choice.minimum:f}", choice.maximum
    bounds = f"{least}+" if most is None else f"{least}-{most:f}"
    return " ".join(filter(None, [bounds, "/".join(f"{each:f}" for each in choice.suggested)]))


def in_minor(
    choice: parts.AmountChoice[Decimal] | None, currency: str
) -> parts.AmountChoice[int] | None:
    """Convert a draft's choice to minor units of the currency, for a spec."""
    return _each(choice, lambda amount: amounts.to_minor(amount, currency))


def in_major(
    choice: parts.AmountChoice[int] | None, currency: str
) -> parts.AmountChoice[Decimal] | None:
    """Convert a spec's choice to major units, for a draft."""
    return _each(choice, lambda minor: amounts.from_minor(minor, currency))


def _each(
    choice: parts.AmountChoice[Any] | None, convert: Callable[[Any], Any]
) -> parts.AmountChoice[Any] | None:
    if choice is None:
        return None
    maximum = None if choice.maximum is None else convert(choice.maximum)
    return parts.AmountChoice(
        convert(choice.minimum), tuple(convert(each) for each in choice.suggested), maximum
    )


TEXT, FILE, CODES = GOODS_KINDS = tuple(kind.value for kind in vocabulary.DeliveryKind)
GoodsKind: TypeAlias = Annotated[str, Field(pattern=f"^({'|'.join(GOODS_KINDS)})$")]

MAX_FILE = 20 * 1024 * 1024
"""Bytes; the limit for bot downloads from Telegram, and the service's limit."""


@dataclass(frozen=True, slots=True)
class Goods:
    """The goods that each buyer gets."""

    kind: GoodsKind
    text: str | None = None
    """The text that all buyers get, or codes, one per line."""
    file_id: str | None = None
    """The service's id of a file, which may contain codes."""
    name: str | None = None
    size: stored_json.Whole | None = None
    telegram_id: str | None = None
    """Telegram's file_id of the file."""
    sent_as: str | None = None
    """The message field that held the file: `document`, `photo` and so on."""
    count: stored_json.Whole | None = None
    """Number of codes."""
    first: str | None = None
    """The first code; `first` and `last` are shown to the seller."""
    last: str | None = None

    @property
    def codes(self) -> tuple[str, ...]:
        """Return the typed codes; () if they are in a file."""
        return tuple(self.text.split("\n")) if self.kind == CODES and self.text else ()


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

PAYER_FIELDS: tuple[vocabulary.PayerField, ...] = ("email", "phoneNumber", "paymail")
"""The data that payers can be asked for, in the order of their buttons."""

REST = "rest"
"""The measure of a receiver who gets the remainder."""

Measure: TypeAlias = Annotated[
    str, Field(pattern=rf"^(|{REST}|[0-9]{{1,16}}(\.[0-9]{{1,16}})?%?)$")
]
"""A share as its seller typed it: an amount, a percentage, REST, or empty for an equal share."""

Kind: TypeAlias = Annotated[str, Field(pattern=f"^({'|'.join(KINDS)})$")]


def _distinct(listed: tuple[H, ...]) -> tuple[H, ...]:
    if len(set(listed)) < len(listed):
        raise ValueError("names one twice")
    return listed


PayerFields: TypeAlias = Annotated[tuple[vocabulary.PayerField, ...], AfterValidator(_distinct)]


@dataclass(frozen=True, kw_only=True)
class RequestOptions:
    """The optional fields of drafts and specs; None if not set."""

    __slots__ = ()  # so that a draft can have two bases; drafts and specs have the slots

    instrument: str | None = None
    """The currency in which payers pay, if it is not the price's currency."""
    image: str | None = None
    """Id of the picture."""
    starts_at: stored_json.Whole | None = None
    """Epoch ms, like `ends_at`."""
    ends_at: stored_json.Whole | None = None
    payer_fields: PayerFields = ()
    """The requested payer data, from PAYER_FIELDS."""
    redirect_url: str | None = None
    email: str | None = None
    goal: stored_json.Whole | None = None
    """The goal of a donation, in minor units of the price's currency."""
    max_quantity: stored_json.Whole | None = None
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
    return {
        field.name: getattr(request, field.name) for field in dataclasses.fields(RequestOptions)
    }


def seconds_until(moment: int, now: int) -> int:
    """Return the seconds from `now` to `moment` (epoch ms); the interface requires at least 1."""
    return max(1, -((now - moment) // 1000))


@dataclass(frozen=True, slots=True)
class Share:
    """One receiver's share of each payment."""

    destination: str
    amount: stored_json.Whole
    """In minor units of the price's currency."""
    measure: Measure
    """The share as the seller typed it (`60%`), so that a duplicate can divide another price."""


@dataclass(frozen=True, slots=True)
class RequestSpec(RequestOptions):
    """The complete specification of a request."""

    kind: Kind
    name: str
    description: str | None
    amount: stored_json.Whole
    """In minor units; the first amount of the `choice` if there is one."""
    currency: str
    units: stored_json.Whole | None
    """Set for drops only."""
    destination: str
    """Receives the whole amount if there are no `receivers`."""
    receivers: tuple[Share, ...] = ()
    """Their amounts add up to `amount`."""
    choice: parts.AmountChoice[stored_json.Whole] | None = None
    """The amounts that payers can choose from."""

    @property
    def shares(self) -> tuple[Share, ...]:
        """Return each receiver's share of a payment."""
        return self.receivers or (Share(self.destination, self.amount, REST),)

    @property
    def is_sound(self) -> bool:
        """True if the values fit together."""
        shared = sum(share.amount for share in self.receivers)
        return (
            self.currency in amounts.currencies()
            and (self.units is not None) == (self.kind == "drop")
            and (not self.receivers or shared == self.amount)
            and (self.choice is None or (self.choice.is_sound and self.choice.first == self.amount))
        )

    def to_json(self) -> str:
        """Return the spec as JSON for `from_json`."""
        return stored_json.write(RequestSpec, self)

    @classmethod
    def from_json(cls, text: str) -> RequestSpec | None:
        """Return the spec that `to_json` wrote; None for any other text."""
        try:
            spec = stored_json.read(cls, text)
        except errors.Unreadable:
            return None
        return spec if spec.is_sound else None
