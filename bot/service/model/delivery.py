"""What is owed of a payment: told by webhook or e-mail, attempt by attempt."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Channel(StrEnum):
    """How a payment is told."""

    WEBHOOK = "webhook"
    EMAIL = "email"


class DeliveryState(StrEnum):
    """How a delivery stands: to be tried, being tried, taken, given up.

    `JOINED`: waiting to go in another's letter; `ENDED`: the recipient wants none.
    """

    WAITING = "waiting"
    SENDING = "sending"
    DELIVERED = "delivered"
    DEAD = "dead"
    JOINED = "joined"
    ENDED = "ended"


@dataclass(frozen=True, slots=True)
class Delivery:
    """What is owed of one payment by one channel; times in UTC epoch ms.

    `attempts` counts since it was put, or sent anew at the last time; `next_at` only while it
    waits, `settled_at` once it no longer does.
    """

    id: str
    app_id: str
    request_id: str
    transaction_id: str
    channel: Channel
    address: str
    state: DeliveryState
    attempts: int
    created_at: int
    next_at: int | None
    settled_at: int | None
    note: str | None


@dataclass(frozen=True, slots=True)
class Attempt:
    """One try: begun at `at` (epoch ms), over after `took` ms.

    `status` and the beginning of the `answer` as the other side gave them: of HTTP, or SMTP's
    reply. `trouble` says why there was none.
    """

    at: int
    took: int
    status: int | None = None
    answer: str | None = None
    trouble: str | None = None
