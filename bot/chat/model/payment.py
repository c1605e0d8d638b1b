"""Payments: the payer's words, the seller's marks, references, and how the money was paid."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal
from typing import Annotated, TypeAlias

from pydantic import PlainValidator

from bot.chat.model import lenient
from bot.core import errors
from bot.core.money import amounts
from bot.core.text import sanitize
from bot.interface import fields, vocabulary

# The payer's name and message to the seller, as the server reports them.

_BLANK = frozenset("\u115f\u1160\u2800\u3164\uffa0")
"""Letters and symbols that look like a space."""


def kept_text(value: object, most: int) -> str | None:
    """Return a payer's text, cut if it is too long; invisible texts and other types become None."""
    if not isinstance(value, str):
        return None
    text = sanitize.lines(value)[:most]
    # databases reject these characters, and terminals interpret them
    harmful = {char for char in text if unicodedata.category(char) in ("Cc", "Cs")} - {"\n"}
    kept = "".join(" " if char in harmful else char for char in text).strip()
    shown = (char for char in kept if char not in _BLANK)
    return kept if any(unicodedata.category(char)[0] in "LNPS" for char in shown) else None


NameOrNone: TypeAlias = Annotated[
    str | None, PlainValidator(lambda value: kept_text(value, fields.MAX_PAYER_NAME))
]
MessageOrNone: TypeAlias = Annotated[
    str | None, PlainValidator(lambda value: kept_text(value, fields.MAX_PAYER_MESSAGE))
]


# The key of a payment in callback data: ids of other servers would be too long.


@dataclass(frozen=True, slots=True)
class PaymentKey:
    """Identifies a payment by link, record time (epoch ms) and a digest of its transaction id."""

    link_id: str
    at: int
    digest: str

    @classmethod
    def of(cls, link_id: str, at: int, transaction_id: str) -> PaymentKey:
        """Return the key of a payment."""
        digest = hashlib.blake2b(transaction_id.encode("utf-8", "replace"), digest_size=4)
        return cls(link_id, at, digest.hexdigest())

    @property
    def words(self) -> tuple[str, str, str]:
        """Return the key as words for a button's action."""
        return self.link_id, str(self.at), self.digest


# A seller's marks on a payment: sent, paid back, words hidden.

SENT, PAID_BACK, HIDDEN = "sent", "paid-back", "hide"
"""The marks, as the words of their buttons."""

NOTED = (SENT, PAID_BACK)
"""The marks with a time and a note, which the buyer is notified of."""


UNDO = {SENT: "sent-undo", PAID_BACK: "paid-back-undo"}
"""The words of the buttons that remove these marks."""


@dataclass(frozen=True, slots=True)
class PaymentMarks:
    """The marks of a payment; times in epoch ms."""

    sent_at: int | None = None
    sent_note: str | None = None
    paid_back_at: int | None = None
    paid_back_note: str | None = None
    is_hidden: bool = False

    def noted(self, mark: str) -> tuple[int | None, str | None]:
        """Return the time and note of a mark of NOTED, each None if not set."""
        if mark == SENT:
            return self.sent_at, self.sent_note
        return self.paid_back_at, self.paid_back_note


NO_MARKS = PaymentMarks()


# Bank transfer references, as people copy them from a statement.

_ALIKE = str.maketrans("OILBGSZ", "0118652")
"""Letters that are mistaken for digits."""


def fold_reference(text: str) -> str:
    """Normalize a reference: case, spaces, hyphens, and letters that look like digits."""
    plain = sanitize.typed(text, digits=True).upper()
    return "".join(char for char in plain if char.isascii() and char.isalnum()).translate(_ALIKE)


# Transaction numbers as people quote them.

_NOISE = re.compile(r"[\s#…]+")
"""Separators around a number or between its digits, and the ellipsis of a shortened one."""


def fold_number(text: str) -> str:
    """Normalize a transaction number, so that all its spellings are equal."""
    plain = sanitize.typed(_NOISE.sub("", text)).replace(" ", "").casefold()
    return "".join(char for char in plain if unicodedata.category(char) not in ("Cc", "Cs"))


BANK, *_LIGHTNING = vocabulary.PAYOUT_KINDS
LIGHTNING_KINDS = frozenset(_LIGHTNING)
TEST_MONEY = "sandbox"


@dataclass(frozen=True, slots=True)
class PaidBy:
    """How the payer paid: the rail, the amount received and the exchange rate."""

    kind: str
    amount: int
    """The amount received, in minor units of `currency`."""
    currency: str
    reference: str | None = None
    """The reference of the bank transfer, or the invoice."""
    rate: str | None = None
    """Units of `currency` per unit of the price's currency; None if they are the same."""
    source: str | None = None
    """The source of the rate; None if there is no rate."""
    rated_at: int | None = None
    """Epoch ms."""

    def asked(self, price: int, currency: str) -> int | None:
        """Return the amount asked for a price, in minor units, or None if it can't be computed."""
        if currency == self.currency:
            return price
        if self.rate is None:
            return None
        try:
            shift = amounts.exponent(self.currency) - amounts.exponent(currency)
            exact = (Decimal(self.rate) * price).scaleb(shift)
            return int(exact.to_integral_value(ROUND_HALF_UP))
        except (errors.MoneyError, ArithmeticError, ValueError):
            return None

    def surplus(self, price: int, currency: str) -> int:
        """Return the amount received minus the amount asked for a price, in minor units.

        Return 0 if the amount asked is unknown.
        """
        asked = self.asked(price, currency)
        return 0 if asked is None else self.amount - asked


class SentPaidBy(lenient.Sent):
    """How a payment was paid, as the embedded service sends it."""

    kind: lenient.Id
    amount: lenient.Amount
    currency_code: str
    reference: lenient.IdOrNone = None
    rate: lenient.Amount | None = None
    rate_source: lenient.IdOrNone = None
    rated_at: lenient.TimeOrNone = None


def read_paid_by(raw: object) -> PaidBy | None:
    """Parse `paidBy` of a payment; None if it is missing or can't be read."""
    sent = lenient.read_or_none(SentPaidBy, raw)
    if sent is None:
        return None
    try:
        minor = amounts.to_minor(sent.amount, sent.currency_code)
    except errors.MoneyError:
        return None
    rate = None if sent.rate is None else f"{sent.rate:f}"
    rate = rate if lenient.is_id(rate) else None
    return PaidBy(
        kind=sent.kind,
        amount=minor,
        currency=sent.currency_code,
        reference=sent.reference,
        rate=rate,
        source=sent.rate_source if rate else None,
        rated_at=sent.rated_at if rate else None,
    )
