"""Deliveries as their applications see them: schemas and answers."""

from collections.abc import Sequence
from typing import Annotated, TypeAlias

from pydantic import Field

from bot.service.model.delivery import Attempt, Channel, Delivery, DeliveryState
from bot.service.wire.answer_schemas import Answer, Id, Time
from bot.service.wire.field_types import iso, iso_or_none
from bot.service.wire.json_answers import Json, given

DeliveryId: TypeAlias = Annotated[str, Field(pattern="^(webhook|email)-[0-9a-f]{24}$")]


class DeliveryItem(Answer):
    """A report of a payment; `attempts` counts from the first, or from the last retry.

    `nextAt` is set while it waits, `settledAt` afterwards.
    """

    id: DeliveryId
    payment_request_id: Id
    transaction_id: Id
    channel: Channel
    address: str
    state: DeliveryState
    attempts: int
    created_at: Time
    next_at: Time | None = None
    settled_at: Time | None = None
    note: str | None = None


class AttemptAnswer(Answer):
    """One attempt: `status` and the first KiB of `answer`, or the `trouble` without an answer."""

    at: Time
    took_ms: int
    status: int | None = None
    answer: str | None = None
    trouble: str | None = None


class DeliveryAnswer(DeliveryItem):
    """A delivery with every attempt, also those before a retry."""

    log: list[AttemptAnswer]


class DeliveryList(Answer):
    """Deliveries of the application, newest first."""

    items: list[DeliveryItem]
    next_cursor: str | None = None


def item(it: Delivery) -> Json:
    """Write a DeliveryItem: an item of the list, and the answer of a retry."""
    return given(
        id=it.id,
        paymentRequestId=it.request_id,
        transactionId=it.transaction_id,
        channel=it.channel,
        address=it.address,
        state=it.state,
        attempts=it.attempts,
        createdAt=iso(it.created_at),
        nextAt=iso_or_none(it.next_at),
        settledAt=iso_or_none(it.settled_at),
        note=it.note,
    )


def delivery(it: Delivery, attempts: Sequence[Attempt]) -> Json:
    """Write a DeliveryAnswer, the answer of get."""
    return item(it) | {"log": [_attempt(one) for one in attempts]}


def _attempt(it: Attempt) -> Json:
    return given(
        at=iso(it.at),
        tookMs=it.took,
        status=it.status,
        answer=it.answer or None,
        trouble=it.trouble,
    )
