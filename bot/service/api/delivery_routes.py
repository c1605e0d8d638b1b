"""`/v3/deliveries`: the webhooks and letters of payments, with their attempts (section 4)."""

from typing import Annotated

from fastapi import APIRouter, Query, Request
from pydantic import AfterValidator
from starlette.responses import Response

from bot.interface import answers, fields, vocabulary
from bot.service.api import callers, calls, openapi, to_answers
from bot.service.notifications import notification, notification_queues, notification_rows
from bot.service.requests import idempotency

MESSAGE_DIGITS = 28
"""Digits in the id of a queued message, after the channel."""

ID_LENGTHS = {len(channel) + 1 + MESSAGE_DIGITS for channel in notification.Channel}
router = APIRouter(prefix="/v3/deliveries", tags=["deliveries"], route_class=calls.ApplicationRoute)


@router.get(
    "",
    **openapi.operation("listDeliveries", "List deliveries", answers.DeliveryList, 400, 401, 429),
)
@router.get("/", include_in_schema=False)
async def list_(
    service: callers.ServiceDep,
    caller: callers.CallerDep,
    *,
    limit: calls.Limit = calls.MAX_PAGE,
    cursor: calls.Cursor = None,
    request_id: Annotated[
        Annotated[str, AfterValidator(fields.check_plain)] | None,
        Query(
            alias="paymentRequestId",
            max_length=100,
            description="Only those of this request.",
            json_schema_extra=fields.NO_CONTROLS,
        ),
    ] = None,
    state: Annotated[
        vocabulary.NotificationState | None, Query(description="Only deliveries in this state.")
    ] = None,
) -> Response:
    """List the application's deliveries, newest first.

    A page of one `state` may be short, even empty, and still have a `nextCursor`.
    """
    after = calls.read_cursor(cursor, ID_LENGTHS)
    wanted = notification_rows.NotificationFilter(caller.app_id, request_id, state, after)
    rows, end = await notification_rows.page(service.db, wanted, limit)
    items = [to_answers.delivery_item(row) for row in rows]
    return calls.page_answer(answers.DeliveryList, items, end)


@router.get(
    "/{id}",
    **openapi.operation(
        "getDelivery",
        "Get a delivery with its attempts",
        answers.DeliveryAnswer,
        *(401, 404, 429),
    ),
)
async def get(
    delivery_id: calls.DeliveryId, service: callers.ServiceDep, caller: callers.CallerDep
) -> Response:
    """Return one delivery of the application, with all its attempts."""
    found, attempts = await service.db.read(
        lambda tx: (
            notification_rows.find(tx, delivery_id, caller.app_id),
            notification_rows.attempts(tx, delivery_id),
        )
    )
    return calls.json(to_answers.delivery(found, attempts))


@router.post(
    "/{id}/retry",
    **openapi.operation(
        "retryDelivery",
        "Send a delivery again",
        answers.DeliveryItem,
        *(401, 404, 429),
        keyed=True,
    ),
)
async def retry(
    delivery_id: calls.DeliveryId,
    request: Request,
) -> Response:
    """Restart a delivery now, settled or waiting; one that is being sent stays as it is."""
    service, caller, key = calls.call_of(request)
    again = await service.db.transaction(
        lambda tx: idempotency.once(
            tx,
            key,
            lambda: notification_queues.retry(tx, delivery_id, caller.now, caller.app_id),
            lambda _: notification_rows.find(tx, delivery_id, caller.app_id),
        )
    )
    return calls.json(to_answers.delivery_item(again))
