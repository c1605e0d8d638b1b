"""Deliveries as their applications see them: shapes for the schema, written from the model."""

from collections.abc import Sequence
from typing import Annotated, TypeAlias

from pydantic import Field

from bot.service.model.delivery import Attempt, Channel, Delivery, DeliveryState
from bot.service.wire.answer_schemas import Answer, Id, Time
from bot.service.wire.field_types import iso
from bot.service.wire.json_answers import Json, given

DeliveryId: TypeAlias = Annotated[str, Field(pattern="^(webhook|email)-[0-9a-f]{24}$")]


class DeliveryItem(Answer):
    """What is owed of a payment: `attempts` counts since it was put, or last sent anew.

    `nextAt` is there while it waits, `settledAt` once it no longer does.
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
    """One try: `status` and the first KiB of `answer` as they came, or the `trouble` instead."""

    at: Time
    took_ms: int
    status: int | None = None
    answer: str | None = None
    trouble: str | None = None


class DeliveryAnswer(DeliveryItem):
    """A delivery with every try, those before it was sent anew too."""

    log: list[AttemptAnswer]


class DeliveryList(Answer):
    """Deliveries of the application, newest first."""

    items: list[DeliveryItem]
    next_cursor: str | None = None


def item(it: Delivery) -> Json:
    """Give a DeliveryItem, as the list has them and a retry answers with."""
    return given(
        id=it.id,
        paymentRequestId=it.request_id,
        transactionId=it.transaction_id,
        channel=it.channel,
        address=it.address,
        state=it.state,
        attempts=it.attempts,
        createdAt=iso(it.created_at),
        nextAt=None if it.next_at is None else iso(it.next_at),
        settledAt=None if it.settled_at is None else iso(it.settled_at),
        note=it.note,
    )


def delivery(it: Delivery, attempts: Sequence[Attempt]) -> Json:
    """Answer of get: a DeliveryAnswer."""
    return item(it) | {"log": [_attempt(one) for one in attempts]}


def _attempt(it: Attempt) -> Json:
    return given(
        at=iso(it.at),
        tookMs=it.took,
        status=it.status,
        answer=it.answer or None,
        trouble=it.trouble,
    )
