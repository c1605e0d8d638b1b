"""A delivery: a payment or a claim reported by webhook or email, in one or more attempts."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Channel(StrEnum):
    """How a payment is reported; RECEIPT: by email to its payer."""

    WEBHOOK = "webhook"
    EMAIL = "email"
    RECEIPT = "receipt"


class DeliveryState(StrEnum):
    """State of a delivery. DEAD: given up; JOINED: sent in another delivery's letter.

    ENDED: not sent, because the recipient wants or may get no letters.
    """

    WAITING = "waiting"
    SENDING = "sending"
    DELIVERED = "delivered"
    DEAD = "dead"
    JOINED = "joined"
    ENDED = "ended"


@dataclass(frozen=True, slots=True)
class Delivery:
    """A report of one payment, or of one claimed checkout, by one channel; times in UTC epoch ms.

    `attempts` counts from the first one, or from the last retry of the operator. `next_at` is set
    while it waits, `settled_at` afterwards.
    """

    id: str
    app_id: str
    request_id: str
    transaction_id: str | None
    channel: Channel
    address: str
    state: DeliveryState
    attempts: int
    created_at: int
    next_at: int | None
    settled_at: int | None
    note: str | None
    checkout_id: str | None = None


@dataclass(frozen=True, slots=True)
class ReceiptLetter:
    """A payment's receipt by email, as the payer's page may show it."""

    address: str
    state: DeliveryState


@dataclass(frozen=True, slots=True)
class Attempt:
    """One attempt: begun at `at` (epoch ms), ended after `took` ms.

    `status` and the beginning of the `answer` are those of HTTP or SMTP; without an answer,
    `trouble` has the reason.
    """

    at: int
    took: int
    status: int | None = None
    answer: str | None = None
    trouble: str | None = None
