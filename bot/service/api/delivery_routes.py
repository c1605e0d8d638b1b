"""`/v3/deliveries`: the webhooks and letters of payments, with their attempts (section 4)."""

from typing import Annotated

from fastapi import APIRouter, Query, Request
from pydantic import AfterValidator
from starlette.responses import Response

from bot.core.errors import NotFound
from bot.service.api import paging
from bot.service.api.paging import Cursor, Limit, RowId
from bot.service.http import bodies, responses
from bot.service.http.callers import Calling, Serving
from bot.service.http.openapi import operation
from bot.service.model.delivery import Channel, DeliveryState
from bot.service.store import deliveries as store
from bot.service.store import idempotency
from bot.service.usecases import delivery_queues
from bot.service.wire import json_answers
from bot.service.wire.answer_schemas import DeliveryAnswer, DeliveryItem, DeliveryList
from bot.service.wire.field_types import NO_CONTROLS, check_plain

MESSAGE_DIGITS = 28
"""Digits in the ids of queued messages, which follow the channel."""

ID_LENGTHS = {len(channel) + 1 + MESSAGE_DIGITS for channel in Channel}
router = APIRouter(prefix="/v3/deliveries", tags=["deliveries"])


@router.get("", **operation("listDeliveries", "List deliveries", DeliveryList, 400, 401, 429))
@router.get("/", include_in_schema=False)
async def list_(
    service: Serving,
    caller: Calling,
    *,
    limit: Limit = paging.MAX_PAGE,
    cursor: Cursor = None,
    request_id: Annotated[
        Annotated[str, AfterValidator(check_plain)] | None,
        Query(
            alias="paymentRequestId",
            max_length=100,
            description="Only those of this request.",
            json_schema_extra=NO_CONTROLS,
        ),
    ] = None,
    state: Annotated[
        DeliveryState | None, Query(description="Only deliveries in this state.")
    ] = None,
) -> Response:
    """List the application's deliveries, newest first.

    A page of one `state` may be short, even empty, and still have a `nextCursor`.
    """
    after = paging.read_cursor(cursor, ID_LENGTHS)
    wanted = store.DeliveryFilter(caller.app_id, request_id, state, after)
    rows, end = await store.page(service.db, wanted, limit)
    return paging.answer([json_answers.delivery_item(row) for row in rows], end)


@router.get(
    "/{id}",
    **operation("getDelivery", "Get a delivery with its attempts", DeliveryAnswer, 401, 404, 429),
)
async def get(delivery_id: RowId, service: Serving, caller: Calling) -> Response:
    """Return one delivery of the application, with all its attempts."""
    found = await store.read(service.db, caller.app_id, delivery_id)
    if found is None:
        raise NotFound(f"There is no delivery {delivery_id}.")
    attempts = await store.read_attempts(service.db, delivery_id)
    return responses.json(json_answers.delivery(found, attempts))


@router.post(
    "/{id}/retry",
    **operation(
        "retryDelivery",
        "Send a delivery again",
        DeliveryItem,
        *(401, 404, 429),
        keyed=True,
    ),
)
async def retry(
    delivery_id: RowId, request: Request, service: Serving, caller: Calling
) -> Response:
    """Restart a delivery now, settled or waiting; one that is being sent stays as it is."""
    key, own = bodies.call_key(request, caller), (caller.app_id, delivery_id)
    again = await service.db.transaction(
        lambda tx: idempotency.once(
            tx,
            key,
            lambda: delivery_queues.retry_own(tx, *own, caller.now),
            lambda _: delivery_queues.find_own(tx, *own),
        )
    )
    return responses.json(json_answers.delivery_item(again))
