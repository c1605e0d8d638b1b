"""What the payment request service answers, read in every form that servers give it.

Dates are text or numbers, fields are left out, an echo stands here or there: the
interface leaves that open.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from bot.chat.model.paid_amount import read_number
from bot.core import errors

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

LONGEST_LISTING = 64
"""Characters; ours have ten, and what is longer is another tool's."""
LONGEST_TEXT = 2048
"""Characters of an id or a link; a longer one fits no QR code and no button."""
LONGEST_CODE = 16
"""Characters of a currency's code."""
MOST_UNITS = 10**12
"""Far more than any request has; what lies beyond can't even be written out."""


@dataclass(frozen=True, slots=True)
class ServerPrice:
    """What a payer of a request gives, as its server tells it: `amount` is a decimal number.

    `instrument` is the currency in which it is paid, None where that is not told.
    """

    amount: str
    currency: str
    instrument: str | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """A payment request as the server tells it (interface, section 2.2); times in epoch ms.

    `reserved_units` are being paid for, `paid_count` is how often money came, `status` how it
    stands and `price` what it costs, where the server tells; so do `email_state`, how the address
    stands that is told of payments, and `email_confirmed_at`.
    """

    id: str
    url: str
    is_enabled: bool
    total_units: int | None
    remaining_units: int | None
    enabled_at: int | None
    expires_at: int | None
    listing_id: str | None
    reserved_units: int = 0
    paid_count: int | None = None
    status: str | None = None
    email_state: str | None = None
    email_confirmed_at: int | None = None
    price: ServerPrice | None = None

    def with_left(self, remaining_units: int, reserved_units: int) -> Answer:
        """Give the same request with this many units left, and this many being paid for."""
        return replace(self, remaining_units=remaining_units, reserved_units=reserved_units)

    def to_json(self) -> dict[str, Any]:
        """Return what `from_json` reads."""
        return asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Answer:
        """Read what `to_json` gave."""
        price = data.get("price")
        return cls(**{**data, "price": price and ServerPrice(**price)})


@dataclass(frozen=True, slots=True)
class ServerPayment:
    """A payment as the server lists it; `completed_at` in epoch ms.

    `amount` and `currency` as the server names them: `amounts.counted` reads them.
    """

    transaction_id: str
    amount: Any
    currency: Any
    completed_at: int | None
    oversold: bool = False
    payer: dict[str, Any] = field(default_factory=dict)


def read_request(data: Any) -> Answer:
    """Read a payment request. Raises BadAnswer."""
    try:
        return Answer(
            id=_text(data["id"]),
            url=_text(data["paymentRequestUrl"]),
            is_enabled=data.get("isEnabled") is not False,
            total_units=_whole(data.get("totalUnits")),
            remaining_units=_whole(data.get("remainingUnits")),
            enabled_at=_time(data.get("enabledAt")),
            expires_at=_time(data.get("expiresAt")),
            listing_id=listing_id_of(data),
            reserved_units=_whole(data.get("reservedUnits")) or 0,
            paid_count=_whole(data.get("paymentsCount")),
            status=status if isinstance(status := data.get("status"), str) else None,
            **_email(data.get("notifications")),
            price=_price(data),
        )
    except (KeyError, TypeError, AttributeError, ValueError, ArithmeticError) as error:
        raise errors.BadAnswer("the answer is no payment request") from error


def _email(told: Any) -> dict[str, Any]:
    """Read how the address stands that is told of payments; {} where the server does not say."""
    state = told.get("emailState") if isinstance(told, dict) else None
    if not isinstance(state, str):
        return {}
    return {"email_state": state, "email_confirmed_at": _any_time(told.get("emailConfirmedAt"))}


def read_payment(data: Any) -> ServerPayment:
    """Read a payment. Raises BadAnswer."""
    try:
        payer = data.get("userData")
        return ServerPayment(
            transaction_id=_text(data["transactionId"]),
            amount=data.get("amount"),
            currency=data.get("currencyCode"),
            completed_at=_any_time(data.get("completedAt")),
            oversold=data.get("settlement") == "oversold",
            payer=payer if isinstance(payer, dict) else {},
        )
    except (KeyError, TypeError, AttributeError, ValueError, ArithmeticError) as error:
        raise errors.BadAnswer("the answer is no payment") from error


def _text(value: Any) -> str:
    if not isinstance(value, str) or not 0 < len(value) <= LONGEST_TEXT or not value.isprintable():
        raise TypeError(value)
    return value


def _price(data: Mapping[str, Any]) -> ServerPrice | None:
    """Read what a request costs: its payment amount, else what its receivers get together."""
    instrument, told = _code(data.get("currencyCode")), data.get("paymentAmount")
    if isinstance(told, dict) and (amount := read_number(told.get("amount"))) is not None:
        paid_in, currency = _code(told.get("currencyCode")), _code(told.get("denominatedIn"))
        if currency:
            return ServerPrice(str(amount), currency, instrument or paid_in)
        if paid_in:
            return ServerPrice(str(amount), paid_in, instrument)
    return _price_of_shares(data.get("receivers"), instrument)


def _price_of_shares(receivers: Any, instrument: str | None) -> ServerPrice | None:
    """Add up what receivers get, where each says how much in one and the same currency."""
    if not isinstance(receivers, list) or not all(isinstance(one, dict) for one in receivers):
        return None
    amounts = [read_number(one.get("sendAmount")) for one in receivers]
    codes = {_code(one.get("currencyCode")) for one in receivers}
    known = [amount for amount in amounts if amount is not None]
    code = codes.pop() if len(codes) == 1 else None
    if code is None or len(known) < len(amounts):
        return None
    return ServerPrice(str(sum(known, Decimal())), code, instrument)


def _code(value: Any) -> str | None:
    return value.upper() if isinstance(value, str) and 0 < len(value) <= LONGEST_CODE else None


def _whole(value: Any) -> int | None:
    """A number of units; None also for one that nobody can mean."""
    units = Decimal(-1 if value is None else value)
    return int(units) if 0 <= units <= MOST_UNITS else None


def _time(value: Any) -> int | None:
    """Epoch ms of an ISO 8601 text or of Unix seconds (the interface shows both); blank is none."""
    if value is None or (isinstance(value, str) and not value.strip()):
        return None
    if isinstance(value, int | Decimal):
        return int(value * 1000)
    moment = datetime.fromisoformat(value)
    return int(moment.replace(tzinfo=moment.tzinfo or UTC).timestamp() * 1000)


def _any_time(value: Any) -> int | None:
    """Read a time that may be left out; None also for one that nobody can read."""
    try:
        return _time(value)
    except (TypeError, ValueError, ArithmeticError):
        return None


def created_at(data: Mapping[str, Any]) -> int:
    """When a request was created, in epoch ms; 0 where that is not told or can't be read."""
    return _any_time(data.get("createdAt")) or 0


def reaches_before(page: Sequence[Any], moment: int) -> bool:
    """Whether a page of requests goes back in time to before `moment` (epoch ms).

    What follows it is older still; a page in another order says nothing of what follows.
    """
    times = [created_at(item) if isinstance(item, dict) else 0 for item in page]
    falls = times == sorted(times, reverse=True) and times[0] > times[-1]
    return falls and 0 < times[-1] < moment


def listing_id_of(data: Mapping[str, Any]) -> str | None:
    """Give the listing that a request was created for, wherever the server echoes it."""
    webhook = (data.get("notifications") or {}).get("webhook") or {}
    told = webhook.get("customParameters") or data.get("customParameters") or {}
    value = told.get("listing")
    text = "" if value is None else str(value)
    return text if 0 < len(text) <= LONGEST_LISTING and text.isprintable() else None


def was_paid(answer: Answer, paid: Collection[str] = ()) -> bool:
    """Whether money came for a request, as far as anybody tells."""
    sold = None not in (answer.total_units, answer.remaining_units) and (
        answer.total_units != answer.remaining_units
    )
    return bool(answer.id in paid or answer.paid_count or sold or not answer.is_enabled)
