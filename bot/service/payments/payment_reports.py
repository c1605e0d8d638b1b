"""Payloads of queued webhooks and letters: a payment as it was when it was booked.

A queue stores them, so their fields have types that exist at run time, and times in epoch ms.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, Self

from bot.service.checkouts import checkout
from bot.service.requests import request


@dataclass(frozen=True, slots=True, kw_only=True)
class PaymentReport:
    """What a webhook and a letter both report; `amount` in minor units of `currency`.

    The amount is the sum of `quantity` units. The units are those of a limited drop, None for
    other kinds.
    """

    app_id: str
    request_id: str
    transaction_id: str
    amount: int
    currency: str
    completed_at: int
    user_data: dict[str, str] = field(default_factory=dict)
    remaining_units: int | None = None
    reserved_units: int | None = None
    oversold: bool = False
    quantity: int = 1

    def without_payer(self) -> Self:
        """Return the report without what its payer entered."""
        return replace(self, user_data={})


def payment_facts(app_id: str, payment: request.Payment) -> dict[str, Any]:
    """Return the fields that every report of a payment has."""
    return {
        "app_id": app_id,
        "request_id": payment.request_id,
        "transaction_id": payment.id,
        "amount": payment.amount,
        "currency": payment.currency,
        "completed_at": payment.completed_at,
        "oversold": payment.oversold,
        "quantity": payment.quantity,
    }


def checkout_facts(request: request.PaymentRequest, checkout: checkout.Checkout) -> dict[str, Any]:
    """Return the fields that letters about a checkout without a payment share."""
    return {
        "app_id": request.app_id,
        "request_id": request.id,
        "checkout_id": checkout.id,
        "amount": checkout.order.amount(request.terms),
        "currency": request.terms.currency,
        "reference": checkout.reference,
    }


def converted_facts(amount: int, currency: str, paid: request.Quote) -> dict[str, Any]:
    """Return what the payer gave, as fields of a letter; none where it is the price."""
    if (paid.amount, paid.currency) == (amount, currency):
        return {}
    return {"paid_amount": paid.amount, "paid_currency": paid.currency}


@dataclass(frozen=True, slots=True)
class PaidBy:
    """How a payment came: `amount` in minor units of `currency`, converted at `rate`.

    `reference` is that of the transfer, or the invoice.
    """

    kind: str
    amount: int
    currency: str
    reference: str
    rate: str | None = None
    rate_source: str | None = None
    rated_at: int | None = None

    @classmethod
    def of(cls, payment: request.Payment) -> Self:
        """Return how a payment came."""
        paid, rate = payment.paid, payment.paid.rate
        known = (str(rate.rate), rate.source, rate.at) if rate else ()
        return cls(payment.rail, paid.amount, paid.currency, payment.external_id, *known)


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookReport(PaymentReport):
    """A webhook to `url`; `custom_parameters` is the JSON text that goes along.

    `paid_by`, `checkout_id` and `underpaid` are for applications that know of real money. `name`
    and `message` are the payer's words; `codes_waiting` counts the units sold that wait for a code.
    """

    url: str
    custom_parameters: str | None = None
    checkout_id: str | None = None
    paid_by: PaidBy | None = None
    underpaid: bool = False
    name: str | None = None
    message: str | None = None
    codes_waiting: int = 0

    def without_payer(self) -> Self:
        """Return the report without what its payer entered, the words too."""
        return replace(self, user_data={}, name=None, message=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimReport:
    """A webhook to `url`: a payer says that the money of a checkout was sent.

    `amount` in minor units of `currency`, the payer's. The payer's network has claimed `unproven`
    payments of the request, this one among them, that their seller has not confirmed.
    """

    app_id: str
    request_id: str
    checkout_id: str
    rail: str
    amount: int
    currency: str
    reference: str | None
    claimed_at: int
    url: str
    custom_parameters: str | None = None
    unproven: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class LetterReport(PaymentReport):
    """A payment to report by letter; `paid_amount` where the payer gave another one.

    `underpaid`: it is less than the price, so that nothing was sold. `name`, `message` and
    `codes_waiting` are as in a webhook.
    """

    address: str
    recipient_id: str
    product: str
    paid_amount: int | None = None
    paid_currency: str | None = None
    underpaid: bool = False
    name: str | None = None
    message: str | None = None
    codes_waiting: int = 0

    def without_payer(self) -> Self:
        """Return the report without what its payer entered, the words too."""
        return replace(self, user_data={}, name=None, message=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimLetter:
    """A claim to tell its seller by letter: a payer says that the money of a checkout was sent.

    `amount` is the price in minor units of `currency`, `paid_amount` what the payer gives where
    that is another one. The seller may answer until `lapses_at`.
    """

    app_id: str
    request_id: str
    checkout_id: str
    address: str
    recipient_id: str
    product: str
    amount: int
    currency: str
    reference: str | None
    claimed_at: int
    lapses_at: int
    paid_amount: int | None = None
    paid_currency: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReceiptReport(PaymentReport):
    """A payment to confirm to its payer at `address`, with nothing that its seller wrote.

    `language` is that of the payer's form; the payer's data is the address alone.
    """

    address: str
    language: str
    paid_amount: int | None = None
    paid_currency: str | None = None
    test_money: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class RejectionNotice:
    """A claimed payment that its seller has not found, to tell its payer at `address`.

    `amount` is the price in minor units of `currency`, `reference` what the payer wrote on the
    transfer. It has nothing that the seller wrote, and `language` is that of the payer's form.
    """

    app_id: str
    request_id: str
    checkout_id: str
    address: str
    language: str
    amount: int
    currency: str
    reference: str | None
    rejected_at: int


class News(StrEnum):
    """What a payer hears of after the receipt."""

    SENT = "sent"
    PAID_BACK = "paidBack"
    CODES = "codes"
    GOODS = "goods"


@dataclass(frozen=True, slots=True, kw_only=True)
class PaymentNotice(PaymentReport):
    """News of a payment for its payer at `address`, of `noticed_at`.

    It has neither codes nor what the seller wrote: they are read when the letter is sent.
    """

    address: str
    language: str
    news: News
    noticed_at: int
    test_money: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfirmationQuestion:
    """A letter that asks the holder of `address` to confirm it, queued at `asked_at`."""

    app_id: str
    request_id: str
    recipient_id: str
    address: str
    asked_at: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ErasedLetter:
    """What is left of a letter once its recipient is erased."""

    recipient_id: str = ""
