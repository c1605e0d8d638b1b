"""A payment as its queued webhook, letter and receipt report it."""

from __future__ import annotations

from typing import Any

from bot.service.payments.payment_reports import (
    LetterReport,
    ReceiptReport,
    RejectionNotice,
    WebhookReport,
)

PAYMENT: dict[str, Any] = {
    "app_id": "app",
    "request_id": "0123456789abcdef01234567",
    "transaction_id": "a1b2c3",
    "amount": 500,
    "currency": "USD",
    "completed_at": 1_790_000_000_123,
}
WEBHOOK_REPORT = WebhookReport(url="https://shop.example/hook", **PAYMENT)
LETTER_REPORT = LetterReport(
    recipient_id="recipient", address="seller@example.org", product="Coffee", **PAYMENT
)
RECEIPT_REPORT = ReceiptReport(address="pat@payer.example", language="en", **PAYMENT)
REJECTION_NOTICE = RejectionNotice(
    app_id="app",
    request_id=PAYMENT["request_id"],
    checkout_id="c0ffee",
    address="pat@payer.example",
    language="en",
    amount=500,
    currency="USD",
    reference="K7M2-Q9TX",
    rejected_at=PAYMENT["completed_at"],
)
