"""Payment requests and payments as their server sends them, in every form that servers send.

Only the embedded service sends the choice of amounts, the goal, quantities and goods. Other servers
may use the names for something else, so values of another form are ignored.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, PlainValidator, ValidationInfo, field_validator

from bot.chat.model import lenient, payment, request_spec
from bot.core import errors
from bot.core.money import amounts
from bot.interface import answers, parts, vocabulary

_MOST_RAISED = Decimal(10**18)  # far more than all payments of a request add up to

LONGEST_LINK = 64
"""Maximum characters of a link id; ours have ten, longer ones belong to other tools."""
_LONGEST_QUOTE = 40  # characters of an amount quoted from a server


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
    choice: parts.AmountChoice[int] | None = None
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
        return self.status == vocabulary.NO_PAYOUT

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


@dataclass(frozen=True, slots=True)
class PaidAmount:
    """An amount in minor units of `currency`."""

    minor: int
    currency: str
    named: str | None = None
    """The server's own text if it is no possible amount."""


# Requests as servers send them.


class SentWebhook(lenient.Sent):
    """The webhook of a request."""

    custom_parameters: lenient.JsonObject = Field(default_factory=dict)


class SentNotifications(lenient.Sent):
    """The notifications of a request."""

    webhook: Annotated[SentWebhook, BeforeValidator(lambda value: value or {})] = SentWebhook()
    email_state: lenient.TextOrNone = None
    email_confirmed_at: lenient.TimeOrNone = None


class SentItem(lenient.Sent):
    """A request in a list, as far as it has to be read to find it."""

    created_at: lenient.TimeOrNone = None
    notifications: Annotated[SentNotifications | None, lenient.IfReadable] = None
    custom_parameters: Annotated[lenient.JsonObject | None, lenient.IfReadable] = None

    @property
    def link_id(self) -> str | None:
        """Return the link id, from any place where servers echo it."""
        echoed = self.notifications and self.notifications.webhook.custom_parameters
        value = (echoed or self.custom_parameters or {}).get("listing")
        text = "" if value is None else str(value)
        return text if 0 < len(text) <= LONGEST_LINK and text.isprintable() else None


class SentAmount(lenient.Sent):
    """The amount that a payer pays."""

    amount: lenient.Amount
    currency_code: lenient.CodeOrNone = None
    denominated_in: lenient.CodeOrNone = None


class SentReceiver(lenient.Sent):
    """A receiver's share."""

    send_amount: lenient.Amount
    currency_code: lenient.CodeOrNone = None


class SentDelivery(lenient.Sent):
    """What payers get."""

    codes: Annotated[answers.CodesAnswer | None, lenient.IfReadable] = None


class SentRequest(SentItem):
    """A payment request (interface, section 2.2)."""

    id: lenient.Text
    payment_request_url: lenient.Text
    is_enabled: lenient.NotFalse = True
    status: lenient.TextOrNone = None
    total_units: lenient.Units = None
    remaining_units: lenient.Units = None
    reserved_units: lenient.Units = None
    payments_count: lenient.Units = None
    enabled_at: lenient.Time = None
    expires_at: lenient.Time = None
    notifications: Annotated[SentNotifications, BeforeValidator(lambda value: value or {})] = (
        SentNotifications()
    )
    currency_code: lenient.CodeOrNone = None
    payment_amount: Annotated[SentAmount | None, lenient.IfReadable] = None
    receivers: Annotated[list[SentReceiver] | None, lenient.IfReadable] = None
    amount_choice: Annotated[answers.AmountChoiceAnswer | None, lenient.IfReadable] = None
    goal: Annotated[answers.Number | None, lenient.IfReadable] = None
    amount_raised: Annotated[answers.Number | None, lenient.IfReadable] = None
    max_quantity: lenient.Count = None
    delivers: Annotated[vocabulary.DeliveryKind | None, lenient.IfReadable] = None
    delivery: Annotated[SentDelivery | None, lenient.IfReadable] = None

    @property
    def price(self) -> ServerPrice | None:
        """Return the payment amount, or else the sum of the shares, if there is either.

        Shares in different currencies have no sum.
        """
        whole, instrument = self.payment_amount, self.currency_code
        if whole and whole.denominated_in:
            paid_in = instrument or whole.currency_code
            return ServerPrice(str(whole.amount), whole.denominated_in, paid_in)
        if whole and whole.currency_code:
            return ServerPrice(str(whole.amount), whole.currency_code, instrument)
        codes = {share.currency_code for share in self.receivers or ()}
        code = codes.pop() if len(codes) == 1 else None
        if code is None:
            return None
        shares = (share.send_amount for share in self.receivers or ())
        return ServerPrice(str(sum(shares, Decimal())), code, instrument)


def read_item(data: object) -> SentItem:
    """Parse an item of a list; one that is no object has no fields."""
    return lenient.read_or_none(SentItem, data) or SentItem()


def read_request(data: object, *, is_embedded: bool = False) -> RemoteRequest:
    """Parse a payment request. Raises BadAnswer."""
    sent = lenient.read(SentRequest, data, "payment request")
    price = sent.price
    currency = price.currency if price else None
    return RemoteRequest(
        id=sent.id,
        url=sent.payment_request_url,
        is_enabled=sent.is_enabled,
        total_units=sent.total_units,
        remaining_units=sent.remaining_units,
        enabled_at=sent.enabled_at,
        expires_at=sent.expires_at,
        link_id=sent.link_id,
        reserved_units=sent.reserved_units or 0,
        paid_count=sent.payments_count,
        status=sent.status,
        email_state=sent.notifications.email_state,
        email_confirmed_at=sent.notifications.email_confirmed_at,
        price=price,
        is_embedded=is_embedded,
        choice=_choice(sent.amount_choice, currency),
        goal=_minor(sent.goal, currency),
        raised=_minor_sum(sent.amount_raised, currency),
        max_quantity=sent.max_quantity or None,
        delivers=sent.delivers and sent.delivers.value,
        codes=_codes(sent.delivery),
    )


def _choice(
    sent: answers.AmountChoiceAnswer | None, currency: str | None
) -> parts.AmountChoice[int] | None:
    """Return a choice in minor units of the price's currency; None if it isn't sound."""
    if sent is None or currency is None:
        return None
    try:
        choice = request_spec.in_minor(
            parts.AmountChoice(sent.minimum, tuple(sent.suggested), sent.maximum), currency
        )
    except errors.MoneyError:
        return None
    return choice if choice and choice.is_sound else None


def _minor(amount: Decimal | None, currency: str | None) -> int | None:
    if amount is None or currency is None:
        return None
    try:
        return amounts.to_minor(amount, currency)
    except errors.MoneyError:
        return None


def _minor_sum(total: Decimal | None, currency: str | None) -> int | None:
    """Return a total, which may be 0 or larger than any single amount."""
    if total is None or currency is None or not 0 <= total <= _MOST_RAISED:
        return None
    try:
        minor = total.scaleb(amounts.exponent(currency))
    except errors.MoneyError:
        return None
    return int(minor) if minor == minor.to_integral_value() else None


def _codes(sent: SentDelivery | None) -> request_spec.CodeCounts | None:
    """Return the counts of codes; impossible ones are 0."""
    if sent is None or sent.codes is None:
        return None
    codes = sent.codes
    counts = (lenient.count(each) or 0 for each in (codes.total, codes.assigned, codes.waiting))
    return request_spec.CodeCounts(*counts)


def reaches_before(page: Sequence[SentItem], moment: int) -> bool:
    """True if a page of requests, newest first, ends before `moment` (epoch ms).

    All further pages are then older. If the page is in any other order, the result is False.
    """
    times = [item.created_at or 0 for item in page]
    falls = times == sorted(times, reverse=True) and times[0] > times[-1]
    return falls and 0 < times[-1] < moment


# Payments as servers send them, in lists and in webhooks.


def _object(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


class SentPayment(lenient.Sent):
    """A payment; only the embedded service sends what follows `payer`."""

    transaction_id: lenient.Id
    amount: Any = None
    """The total for all `quantity` units. Raw, like `currency`: see `amount_of_payment`."""
    currency: Any = Field(default=None, alias="currencyCode")
    completed_at: lenient.TimeOrNone = None
    settlement: Any = None
    oversold: lenient.IsTrue = Field(default=False, validate_default=True)
    payer: Annotated[dict[str, Any], PlainValidator(_object)] = Field({}, alias="userData")
    underpaid: lenient.IsTrue = Field(default=False, validate_default=True)
    paid_by: Annotated[payment.PaidBy | None, PlainValidator(payment.read_paid_by)] = None
    checkout_id: lenient.IdOrNone = None
    quantity: lenient.Quantity = 1
    name: payment.NameOrNone = None
    message: payment.MessageOrNone = None
    is_hidden: lenient.IsTrue = Field(default=False, alias="messageHidden")
    """The payer's words must not be shown."""

    @field_validator("oversold", "underpaid")
    @classmethod
    def _or_settled_so(cls, value: Any, info: ValidationInfo) -> bool:
        return value is True or info.data.get("settlement") == info.field_name

    @property
    def words(self) -> parts.PayerWords:
        """Return the payer's name and message."""
        return parts.PayerWords(self.name, self.message)


def read_payment(data: object) -> SentPayment:
    """Parse a payment of a list. Raises BadAnswer."""
    return lenient.read(SentPayment, data, "payment")


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
    quoted = (str(part)[:_LONGEST_QUOTE] for part in (raw, currency) if part is not None)
    named = " ".join(quoted).strip()
    amount = lenient.number(raw)
    if amount is not None and amount <= 0:
        return PaidAmount(0, spec.currency, named)
    code = spec.currency if currency is None else currency
    if amount is None or not isinstance(code, str):
        return PaidAmount(price, spec.currency, named)
    try:
        return PaidAmount(amounts.to_minor(amount, code), code)
    except errors.MoneyError:
        return PaidAmount(price, spec.currency, named)


def served_unit(answer: RemoteRequest | None) -> int:
    """Return the last unit that may have received its goods; too high if units were removed.

    Return MOST_UNITS if no unit is waiting, or if the answer doesn't say.
    """
    if answer is None or answer.codes is None or not answer.codes.waiting:
        return lenient.MOST_UNITS
    if answer.total_units is None or answer.remaining_units is None:
        return lenient.MOST_UNITS
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
