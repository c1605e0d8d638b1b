"""A payment as its queued webhook and letter report it."""

from __future__ import annotations

from bot.service.model.payment_reports import LetterReport, WebhookReport

WEBHOOK_REPORT = WebhookReport(
    app_id="app",
    request_id="0123456789abcdef01234567",
    transaction_id="a1b2c3",
    url="https://shop.example/hook",
    amount=500,
    currency="USD",
    completed_at=1_790_000_000_123,
)
LETTER_REPORT = LetterReport(
    app_id="app",
    request_id="0123456789abcdef01234567",
    transaction_id="a1b2c3",
    recipient_id="recipient",
    address="seller@example.org",
    product="Coffee",
    amount=500,
    currency="USD",
    completed_at=1_790_000_000_123,
)
