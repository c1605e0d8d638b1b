"""Parsing of the payment request service's answers, in every form that servers send.

The interface does not specify whether dates are text or numbers, which fields are present, or where
custom parameters are echoed.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from bot.chat.model import payment, request_spec
from bot.core import errors
from bot.core.money import amounts

_MOST_RAISED = Decimal(10**18)  # far more than all payments of a request add up to
_MOST_COUNTED = 10**12


def read_giving(data: Mapping[str, Any], currency: str | None) -> dict[str, Any]:
    """Return the choice of amounts, goal, quantity and goods in the names of `RemoteRequest`.

    Amounts are in minor units of the price's `currency`, and left out if it is None. Only the
    embedded service sends these fields. Other servers may use the names for something else, so
    values of another form are ignored.
    """
    return {
        "choice": _choice(data.get("amountChoice"), currency),
        "goal": _amount(data.get("goal"), currency),
        "raised": _sum(data.get("amountRaised"), currency),
        "max_quantity": _count(data.get("maxQuantity")) or None,
        "delivers": data.get("delivers")
        if data.get("delivers") in request_spec.GOODS_KINDS
        else None,
        "codes": _codes(data.get("delivery")),
    }


def read_stored_giving(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return the stored fields that are objects, converted for `RemoteRequest`."""
    choice, codes = data.get("choice"), data.get("codes")
    return {
        "choice": choice
        and request_spec.AmountChoice(**{**choice, "suggested": (*choice["suggested"],)}),
        "codes": codes and request_spec.CodeCounts(**codes),
    }


def _choice(found: Any, currency: str | None) -> request_spec.AmountChoice[int] | None:
    suggested = found.get("suggested", []) if isinstance(found, dict) else None
    if not isinstance(suggested, list):
        return None
    minimum, maximum = _amount(found.get("minimum"), currency), found.get("maximum")
    amounts = [_amount(each, currency) for each in suggested]
    known = [amount for amount in amounts if amount is not None]
    most = None if maximum is None else _amount(maximum, currency)
    if minimum is None or len(known) < len(amounts) or (most is None) != (maximum is None):
        return None
    choice: request_spec.AmountChoice[int] = request_spec.AmountChoice(minimum, (*known,), most)
    return choice if choice.is_sound else None


def _amount(value: Any, currency: str | None) -> int | None:
    if currency is None or not _is_number(value):
        return None
    try:
        return amounts.to_minor(Decimal(value), currency)
    except errors.MoneyError:
        return None


def _sum(value: Any, currency: str | None) -> int | None:
    """Return a total, which may be 0 or larger than any single amount."""
    if currency is None or not _is_number(value) or not 0 <= value <= _MOST_RAISED:
        return None
    try:
        minor = Decimal(value).scaleb(amounts.exponent(currency))
    except errors.MoneyError:
        return None
    return int(minor) if minor == minor.to_integral_value() else None


def _codes(delivery: Any) -> request_spec.CodeCounts | None:
    codes = delivery.get("codes") if isinstance(delivery, dict) else None
    if not isinstance(codes, dict):
        return None
    counts = (_count(codes.get(name)) or 0 for name in ("total", "assigned", "waiting"))
    return request_spec.CodeCounts(*counts)


def _count(value: Any) -> int | None:
    if not _is_number(value) or not 0 <= value <= _MOST_COUNTED or value != int(value):
        return None
    return int(value)


def _is_number(value: Any) -> bool:
    is_finite = not isinstance(value, Decimal) or value.is_finite()
    return isinstance(value, int | Decimal) and not isinstance(value, bool) and is_finite


LONGEST_LINK = 64
"""Maximum characters of a link id; ours have ten, longer ones belong to other tools."""
LONGEST_TEXT = 2048
"""Maximum characters of an id or a URL; longer ones fit no QR code or button."""
LONGEST_ID = 200
"""Maximum characters of a payment id or checkout id."""
LONGEST_CODE = 16
"""Maximum characters of a currency code."""
NO_PAYOUT = "noPayoutAccount"
"""The status of a request that can't be paid because the seller has no matching account."""
MAX_QUANTITY = 1000
"""Maximum units of one payment, ten times what a payer may buy; larger numbers are rejected."""
MOST_UNITS = 10**12
"""Maximum units of a request, far more than any has; larger numbers are rejected."""
_LONGEST_QUOTE = 40  # characters of an amount quoted from a server
_NUMBER = re.compile(r"-?[0-9]{1,30}(\.[0-9]{1,30})?")


@dataclass(frozen=True, slots=True)
class ServerPrice:
    """The price of a request at its server."""

    amount: str
    """A decimal number in major units."""
    currency: str
    instrument: str | None = None
    """The currency in which the payer pays; None if the server does not name it."""


@dataclass(frozen=True, slots=True)
class RemoteRequest:
    """A payment request at its server (interface, section 2.2); times in epoch ms.

    Fields that the server does not send are None.
    """

    id: str
    url: str
    is_enabled: bool
    total_units: int | None
    remaining_units: int | None
    enabled_at: int | None
    expires_at: int | None
    link_id: str | None
    """The link id that the server echoes."""
    reserved_units: int = 0
    """Units held by open checkouts."""
    paid_count: int | None = None
    """Number of payments."""
    status: str | None = None
    email_state: str | None = None
    """State of the email address that is notified of payments."""
    email_confirmed_at: int | None = None
    price: ServerPrice | None = None
    is_embedded: bool = False
    """True if the embedded service sent the answer; only it sends the fields below."""
    choice: request_spec.AmountChoice[int] | None = None
    goal: int | None = None
    """In minor units of the price's currency, like `raised`."""
    raised: int | None = None
    max_quantity: int | None = None
    """The most units that a buyer may take at once."""
    delivers: str | None = None
    """The kind of goods that buyers receive."""
    codes: request_spec.CodeCounts | None = None

    @property
    def lacks_account(self) -> bool:
        """True if the only obstacle to payment is that the seller has no matching account."""
        return self.status == NO_PAYOUT

    def with_left(self, remaining_units: int, reserved_units: int) -> RemoteRequest:
        """Return the request with these numbers of units left and reserved."""
        return replace(self, remaining_units=remaining_units, reserved_units=reserved_units)

    def with_sold(self, quantity: int) -> RemoteRequest:
        """Return the request after `quantity` more units were sold, each with its code."""
        return self if self.codes is None else replace(self, codes=self.codes.after_sale(quantity))

    def serves_more(self, before: RemoteRequest | None) -> bool:
        """True if codes were added since an earlier answer, or replaced by other goods."""
        known = before.codes if before is not None else None
        if self.codes is None:
            return known is not None
        return known is None or self.codes.total > known.total

    def to_json(self) -> dict[str, Any]:
        """Return the request as JSON for `from_json`."""
        return asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> RemoteRequest:
        """Return the request that `to_json` wrote."""
        price = data.get("price")
        objects = {"price": price and ServerPrice(**price), **read_stored_giving(data)}
        return cls(**{**data, **objects})


@dataclass(frozen=True, slots=True)
class ServerPayment:
    """A payment as the server lists it."""

    transaction_id: str
    amount: Any
    """The total for all `quantity` units. Raw, like `currency`: see `amount_of_payment`."""
    currency: Any
    completed_at: int | None
    """Epoch ms."""
    oversold: bool = False
    payer: dict[str, Any] = field(default_factory=dict)
    underpaid: bool = False
    paid_by: payment.PaidBy | None = None
    checkout_id: str | None = None
    quantity: int = 1
    words: payment.PayerWords = payment.NO_WORDS
    is_hidden: bool = False
    """The payer's words must not be shown."""


@dataclass(frozen=True, slots=True)
class PaidAmount:
    """An amount in minor units of `currency`."""

    minor: int
    currency: str
    named: str | None = None
    """The server's own text if it is no possible amount."""


def read_request(data: Any, *, is_embedded: bool = False) -> RemoteRequest:
    """Parse a payment request. Raises BadAnswer."""
    try:
        price = _price(data)
        return RemoteRequest(
            id=_text(data["id"]),
            url=_text(data["paymentRequestUrl"]),
            is_enabled=data.get("isEnabled") is not False,
            total_units=_whole(data.get("totalUnits")),
            remaining_units=_whole(data.get("remainingUnits")),
            enabled_at=_time(data.get("enabledAt")),
            expires_at=_time(data.get("expiresAt")),
            link_id=link_id_of(data),
            reserved_units=_whole(data.get("reservedUnits")) or 0,
            paid_count=_whole(data.get("paymentsCount")),
            status=status if isinstance(status := data.get("status"), str) else None,
            **_email(data.get("notifications")),
            price=price,
            is_embedded=is_embedded,
            **read_giving(data, price.currency if price else None),
        )
    except (KeyError, TypeError, AttributeError, ValueError, ArithmeticError) as error:
        raise errors.BadAnswer("the answer is no payment request") from error


def _email(notifications: Any) -> dict[str, Any]:
    """Return the state of the email address; {} if the server does not send it."""
    known = notifications if isinstance(notifications, dict) else {}
    state = known.get("emailState")
    if not isinstance(state, str):
        return {}
    return {"email_state": state, "email_confirmed_at": any_time(known.get("emailConfirmedAt"))}


def read_payment(data: Any) -> ServerPayment:
    """Parse a payment. Raises BadAnswer."""
    try:
        payer = data.get("userData")
        return ServerPayment(
            transaction_id=_text(data["transactionId"]),
            amount=data.get("amount"),
            currency=data.get("currencyCode"),
            completed_at=any_time(data.get("completedAt")),
            oversold=data.get("settlement") == "oversold",
            payer=payer if isinstance(payer, dict) else {},
            **rail_facts(data),
        )
    except (KeyError, TypeError, AttributeError, ValueError, ArithmeticError) as error:
        raise errors.BadAnswer("the answer is no payment") from error


def rail_facts(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return the payment fields that only the embedded service sends, as named in ServerPayment.

    Missing or unreadable fields get their default.
    """
    paid_by, checkout = payment.read_paid_by(data.get("paidBy"), any_time), data.get("checkoutId")
    is_short = data.get("underpaid") is True or data.get("settlement") == "underpaid"
    return {
        "underpaid": is_short,
        "paid_by": paid_by,
        "checkout_id": checkout if is_id(checkout) else None,
        "quantity": _quantity(data.get("quantity")),
        "words": payment.read_words(data),
        "is_hidden": data.get("messageHidden") is True,
    }


def _quantity(value: Any) -> int:
    """Return the quantity of a payment; 1 if the server sends no valid number."""
    is_number = isinstance(value, int) and not isinstance(value, bool)
    return value if is_number and 1 <= value <= MAX_QUANTITY else 1


def is_id(value: Any) -> bool:
    """True if the value is an id that can be stored and displayed."""
    return isinstance(value, str) and 0 < len(value) <= LONGEST_ID and value.isprintable()


def read_checkout(data: Any) -> str:
    """Return the state of a checkout. Raises BadAnswer."""
    state = data.get("state") if isinstance(data, dict) else None
    if not isinstance(state, str):
        raise errors.BadAnswer("the answer is no checkout")
    return state


def amount_of_payment(
    raw: Any, currency: Any, spec: request_spec.RequestSpec, quantity: int = 1
) -> PaidAmount:
    """Return the amount of a payment, from the `amount` and `currencyCode` that its server sent.

    If the server sent no amount (HandCash never does) or an unreadable one, the result is the price
    of `quantity` units: a malformed amount must not hide the payment from its seller. If the amount
    is not positive, the result is 0. An amount without currency is in the price's currency.
    """
    price = spec.amount * quantity
    if raw is None:
        return PaidAmount(price, spec.currency)
    named = _quoted(raw, currency)
    amount = _number(raw)
    if amount is not None and amount <= 0:
        return PaidAmount(0, spec.currency, named)
    code = spec.currency if currency is None else currency
    if amount is None or not isinstance(code, str):
        return PaidAmount(price, spec.currency, named)
    try:
        return PaidAmount(amounts.to_minor(amount, code), code)
    except errors.MoneyError:
        return PaidAmount(price, spec.currency, named)


def _number(raw: Any) -> Decimal | None:
    """Parse a number or a numeric string; None for anything else."""
    if isinstance(raw, str) and _NUMBER.fullmatch(raw):
        return Decimal(raw)
    return None if isinstance(raw, bool) or not isinstance(raw, int | Decimal) else Decimal(raw)


def _quoted(raw: Any, currency: Any) -> str:
    sent = (str(part)[:_LONGEST_QUOTE] for part in (raw, currency) if part is not None)
    return " ".join(sent).strip()


def _text(value: Any) -> str:
    if not isinstance(value, str) or not 0 < len(value) <= LONGEST_TEXT or not value.isprintable():
        raise TypeError(value)
    return value


def _price(data: Mapping[str, Any]) -> ServerPrice | None:
    """Return the payment amount, or else the sum of the receivers' amounts, if there is either."""
    instrument, whole = _code(data.get("currencyCode")), data.get("paymentAmount")
    if isinstance(whole, dict) and (amount := _number(whole.get("amount"))) is not None:
        paid_in, currency = _code(whole.get("currencyCode")), _code(whole.get("denominatedIn"))
        if currency:
            return ServerPrice(str(amount), currency, instrument or paid_in)
        if paid_in:
            return ServerPrice(str(amount), paid_in, instrument)
    return _price_of_shares(data.get("receivers"), instrument)


def _price_of_shares(receivers: Any, instrument: str | None) -> ServerPrice | None:
    """Sum the receivers' amounts; None if they are in different currencies."""
    if not isinstance(receivers, list) or not all(isinstance(one, dict) for one in receivers):
        return None
    amounts = [_number(one.get("sendAmount")) for one in receivers]
    codes = {_code(one.get("currencyCode")) for one in receivers}
    known = [amount for amount in amounts if amount is not None]
    code = codes.pop() if len(codes) == 1 else None
    if code is None or len(known) < len(amounts):
        return None
    return ServerPrice(str(sum(known, Decimal())), code, instrument)


def _code(value: Any) -> str | None:
    return value.upper() if isinstance(value, str) and 0 < len(value) <= LONGEST_CODE else None


def _whole(value: Any) -> int | None:
    """Return a number of units; None if it is missing or not in 0 to MOST_UNITS."""
    units = Decimal(-1 if value is None else value)
    return int(units) if 0 <= units <= MOST_UNITS else None


def _time(value: Any) -> int | None:
    """Convert ISO 8601 text or Unix seconds (the interface shows both) to epoch ms."""
    if value is None or (isinstance(value, str) and not value.strip()):
        return None
    if isinstance(value, int | Decimal):
        return int(value * 1000)
    moment = datetime.fromisoformat(value)
    return int(moment.replace(tzinfo=moment.tzinfo or UTC).timestamp() * 1000)


def any_time(value: Any) -> int | None:
    """Convert a time to epoch ms; None if it is missing or can't be parsed."""
    try:
        return _time(value)
    except (TypeError, ValueError, ArithmeticError):
        return None


def created_at(data: Mapping[str, Any]) -> int:
    """Return when a request was created, in epoch ms; 0 if unknown."""
    return any_time(data.get("createdAt")) or 0


def reaches_before(page: Sequence[Any], moment: int) -> bool:
    """True if a page of requests, newest first, ends before `moment` (epoch ms).

    All further pages are then older. If the page is in any other order, the result is False.
    """
    times = [created_at(item) if isinstance(item, dict) else 0 for item in page]
    falls = times == sorted(times, reverse=True) and times[0] > times[-1]
    return falls and 0 < times[-1] < moment


def link_id_of(data: Mapping[str, Any]) -> str | None:
    """Return the link id of a request, from any place where servers echo it."""
    webhook = (data.get("notifications") or {}).get("webhook") or {}
    echoed = webhook.get("customParameters") or data.get("customParameters") or {}
    value = echoed.get("listing")
    text = "" if value is None else str(value)
    return text if 0 < len(text) <= LONGEST_LINK and text.isprintable() else None


def served_unit(answer: RemoteRequest | None) -> int:
    """Return the last unit that may have received its goods; too high if units were removed.

    Return MOST_UNITS if no unit is waiting, or if the answer doesn't say.
    """
    if answer is None or answer.codes is None or not answer.codes.waiting:
        return MOST_UNITS
    if answer.total_units is None or answer.remaining_units is None:
        return MOST_UNITS
    sold = answer.total_units - answer.remaining_units - answer.reserved_units
    return sold - answer.codes.waiting


def was_paid(answer: RemoteRequest, paid: Collection[str] = ()) -> bool:
    """True if a request was paid, according to its server's answer or the request ids in `paid`."""
    sold = None not in (answer.total_units, answer.remaining_units) and (
        answer.total_units != answer.remaining_units
    )
    is_closed = not (answer.is_enabled or answer.lacks_account)
    return bool(answer.id in paid or answer.paid_count or sold or is_closed)


RESERVATION_LAPSE = 16 * 60 * 1000
"""Milliseconds after which a reservation is checked: RESERVATION_SECONDS plus a minute."""


def next_change(answer: RemoteRequest, known: int | None, now: int) -> int | None:
    """Return the next start, end or reservation lapse after `now`, in epoch ms, or None.

    `known` is the previous result for this request.
    """
    moments = [at for at in (answer.enabled_at, answer.expires_at) if at is not None and at > now]
    if answer.reserved_units:
        lapse = now + RESERVATION_LAPSE
        is_near = known is not None and now < known <= lapse
        moments.append(known if known is not None and is_near else lapse)
    return min(moments, default=None)
