"""The email about a payment, as it is written and as it is read."""

from __future__ import annotations

import email
import email.policy
from dataclasses import replace
from email.message import EmailMessage
from typing import Any

from bot.service.notifications.letter_texts import LetterOrigin, LetterTarget, payment_letter
from bot.service.requests.request import SellerProfile
from tests.support.payment_reports import LETTER_REPORT

PAY = "https://pay.example.org"
SENDER = "Our shop <shop@example.org>"


def seller_letter(seller: SellerProfile | None) -> EmailMessage:
    """Return the letter of a payment to this seller."""
    target = LetterTarget("mail-7", LETTER_REPORT.address, "stop-7")
    composed = payment_letter([LETTER_REPORT], target, LetterOrigin(SENDER, PAY), seller)
    return parse_letter(composed.as_bytes(policy=email.policy.SMTP))


def letter(sender: str = SENDER, url: str = PAY, **changes: Any) -> EmailMessage:
    """Return the letter of a payment as it arrives: written, sent over the wire, read."""
    return parse_letter(composed_letter(sender, url, **changes).as_bytes(policy=email.policy.SMTP))


def composed_letter(
    sender: str = SENDER, url: str = PAY, letter_id: str = "mail-7", **changes: Any
) -> EmailMessage:
    """Compose the letter of a payment as the mail server receives it."""
    report = replace(LETTER_REPORT, **changes)
    target = LetterTarget(letter_id, report.address, "stop-7")
    return payment_letter([report], target, LetterOrigin(sender, url))


def parse_letter(content: bytes) -> EmailMessage:
    """Parse a letter as its reader's program does."""
    message: Any = email.message_from_bytes(content, policy=email.policy.default)
    return message  # type: ignore[no-any-return]
