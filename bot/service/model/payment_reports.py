"""Payloads of queued webhooks and letters: a payment as it was when it was booked.

A queue stores them, so their fields have types that exist at run time, and times in epoch ms.
"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class PaymentReport:
    """What a webhook and a letter both report; `amount` in minor units of `currency`.

    The units are those of a limited drop, None for other kinds.
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


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookReport(PaymentReport):
    """A webhook to `url`; `custom_parameters` is the JSON text that goes along."""

    url: str
    custom_parameters: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LetterReport(PaymentReport):
    """A payment to report by letter; `paid_amount` where the payer gave another currency."""

    address: str
    recipient_id: str
    product: str
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
