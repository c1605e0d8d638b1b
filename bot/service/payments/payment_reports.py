"""Payloads of queued webhooks and letters, and the bodies of webhooks.

A report shows a payment as it was when it was recorded.

Queues store them, so their types must be importable at run time. Times are epoch ms.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal
from enum import StrEnum
from typing import Any, Self

from bot.core import exact_json
from bot.core.money import amounts
from bot.interface import answers, bodies, fields
from bot.service.checkouts import checkout
from bot.service.requests import request


@dataclass(frozen=True, slots=True, kw_only=True)
class PaymentReport:
    """Facts about a payment that webhooks and letters report."""

    app_id: str
    request_id: str
    transaction_id: str

    amount: int
    """The sum of all units, in minor units of `currency`."""

    currency: str
    completed_at: int
    user_data: dict[str, str] = field(default_factory=dict)

    remaining_units: int | None = None
    """Set only for a limited drop, like the reserved units."""

    reserved_units: int | None = None
    oversold: bool = False
    quantity: int = 1


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
    """Return the paid amount as fields of a letter; {} if it equals the price."""
    if (paid.amount, paid.currency) == (amount, currency):
        return {}
    return {"paid_amount": paid.amount, "paid_currency": paid.currency}


@dataclass(frozen=True, slots=True)
class PaidBy:
    """How a payment was made."""

    kind: str

    amount: int
    """In minor units of `currency`."""

    currency: str

    reference: str
    """Id of the invoice, or reference of the transfer."""

    rate: str | None = None
    rate_source: str | None = None
    rated_at: int | None = None

    @classmethod
    def of(cls, payment: request.Payment) -> Self:
        """Return how a payment was made."""
        paid, rate = payment.paid, payment.paid.rate
        known = (str(rate.rate), rate.source, rate.at) if rate else ()
        return cls(payment.rail, paid.amount, paid.currency, payment.external_id, *known)


@dataclass(frozen=True, slots=True, kw_only=True)
class SellerReport(PaymentReport):
    """A report to the seller, or to the application that the seller uses."""

    underpaid: bool = False
    """True if less than the price arrived, so that nothing was sold."""

    # The payer's words.
    name: str | None = None
    message: str | None = None

    codes_waiting: int = 0
    """The number of sold units that are waiting for a code."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookReport(SellerReport):
    """A webhook about a payment."""

    url: str

    custom_parameters: str | None = None
    """JSON text that is sent along."""

    # For applications that know of real money.
    checkout_id: str | None = None
    paid_by: PaidBy | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LetterReport(SellerReport):
    """A letter to the seller about a payment."""

    address: str
    recipient_id: str
    product: str

    paid_amount: int | None = None
    """The amount that the payer paid, None if it is the price."""

    paid_currency: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckoutReport:
    """Facts about a checkout without a payment that webhooks and letters report."""

    app_id: str
    request_id: str
    checkout_id: str

    amount: int
    """The price, in minor units of `currency`."""

    currency: str

    reference: str | None
    """What the payer wrote on the transfer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimReport(CheckoutReport):
    """A webhook about a claim: a payer reports that the money of a checkout was sent.

    Its amount is what the payer pays.
    """

    rail: str
    claimed_at: int
    url: str
    custom_parameters: str | None = None

    unproven: int = 1
    """Unconfirmed claims of this request by the payer's network, including this claim."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimLetter(CheckoutReport):
    """A letter to the seller about a claim."""

    address: str
    recipient_id: str
    product: str
    claimed_at: int

    lapses_at: int
    """The seller may answer until then."""

    paid_amount: int | None = None
    """The amount that the payer pays, None if it is the price."""

    paid_currency: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RejectionNotice(CheckoutReport):
    """A letter to the payer of a rejected claim, without any text from the seller."""

    address: str

    language: str
    """Language of the payer's form."""

    rejected_at: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ReceiptReport(PaymentReport):
    """A receipt for the payer, without any text from the seller.

    The address is the only data of the payer in the report.
    """

    address: str

    language: str
    """Language of the payer's form."""

    paid_amount: int | None = None
    """The amount that the payer paid, None if it is the price."""

    paid_currency: str | None = None
    test_money: bool = False


class News(StrEnum):
    """What letters tell a payer after the receipt."""

    SENT = "sent"
    PAID_BACK = "paidBack"
    CODES = "codes"
    GOODS = "goods"


@dataclass(frozen=True, slots=True, kw_only=True)
class PaymentNotice(PaymentReport):
    """A letter to the payer with news of a payment.

    It has no codes or words of the seller, which are read when the letter is sent.
    """

    address: str
    language: str
    news: News
    noticed_at: int
    test_money: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfirmationQuestion:
    """A letter that asks the holder of `address` to confirm it."""

    app_id: str
    request_id: str
    recipient_id: str
    address: str
    asked_at: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ErasedLetter:
    """The remains of a letter after its recipient was erased."""

    recipient_id: str = ""


# The bodies of webhooks.


def event(report: WebhookReport | ClaimReport) -> bodies.WebhookEvent | bodies.ClaimEvent:
    """Return the body of a webhook."""
    if isinstance(report, ClaimReport):
        return _claim(report)
    return bodies.WebhookEvent(
        payment_request_id=report.request_id,
        transaction_id=report.transaction_id,
        custom_parameters=_parameters(report),
        user_data=report.user_data,
        amount=amounts.from_minor(report.amount, report.currency),
        currency_code=report.currency,
        remaining_units=report.remaining_units,
        reserved_units=report.reserved_units,
        oversold=report.oversold or None,
        completed_at=fields.iso(report.completed_at),
        underpaid=report.underpaid or None,
        checkout_id=report.checkout_id,
        paid_by=report.paid_by and paid_by(report.paid_by),
        quantity=report.quantity if report.quantity > 1 else None,
        name=report.name,
        message=report.message,
        codes_waiting=report.codes_waiting or None,
    )


def _claim(report: ClaimReport) -> bodies.ClaimEvent:
    return bodies.ClaimEvent(
        event="checkout.claimed",
        checkout_id=report.checkout_id,
        payment_request_id=report.request_id,
        kind=report.rail,
        amount=amounts.from_minor(report.amount, report.currency),
        currency_code=report.currency,
        reference=report.reference,
        custom_parameters=_parameters(report),
        claimed_at=fields.iso(report.claimed_at),
        unproven_claims=report.unproven if report.unproven > 1 else None,
    )


def _parameters(report: WebhookReport | ClaimReport) -> dict[str, Any]:
    found: dict[str, Any] = exact_json.loads(report.custom_parameters or "{}")
    return found


def paid_by(paid_by: PaidBy) -> answers.PaidByAnswer:
    """Return how real money was paid."""
    return answers.PaidByAnswer(
        kind=paid_by.kind,
        amount=amounts.from_minor(paid_by.amount, paid_by.currency),
        currency_code=paid_by.currency,
        reference=paid_by.reference,
        rate=None if paid_by.rate is None else Decimal(paid_by.rate),
        rate_source=paid_by.rate_source,
        rated_at=fields.iso_or_none(paid_by.rated_at),
    )
