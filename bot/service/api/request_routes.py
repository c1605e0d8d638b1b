"""`/v3/paymentRequests` and `/v3/deliveries`: calls of applications, and public ones.

They are section 4 of the interface.
"""

from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace
from functools import partial
from typing import Annotated, TypeVar

from fastapi import APIRouter, Query, Request
from pydantic import AfterValidator
from starlette.responses import Response, StreamingResponse

from bot.core import errors
from bot.core.database import database
from bot.interface import answers, bodies, fields, parts, refusals, vocabulary
from bot.service.api import callers, calls, from_bodies, openapi, to_answers
from bot.service.goods import contents, files, fulfillment
from bot.service.notifications import notification, notification_queues, notification_rows
from bot.service.payments import payment_marks, payment_rows
from bot.service.requests import changes, idempotency, request_commands, request_rows
from bot.service.requests.request import Payment, PaymentRequest

router = APIRouter(
    prefix="/v3/paymentRequests",
    tags=["payment requests"],
    route_class=calls.ApplicationRoute,
)
public_router = APIRouter(prefix="/v3/paymentRequests/public", tags=["public"])
"""Calls without credentials."""

# Goods and payments in bodies and answers.


T = TypeVar("T", changes.Creation, changes.Edit)

CODES_FILE = "delivery.codesFileId"


async def with_codes(db: database.Database, app_id: str, change: T) -> T:
    """Return the change with the codes of the file that its goods name, if any.

    The file is read before the transaction, because payments wait for the transaction. Raises
    InvalidBody.
    """
    goods = change.goods
    if not isinstance(goods, contents.Goods) or goods.codes_file is None:
        return change
    file = await files.read_of_app(db, app_id, goods.codes_file)
    if file is None:
        raise errors.InvalidBody.of_field(CODES_FILE, "is no file of this application")
    try:
        goods = replace(goods, codes=await files.read_codes(db, file))
    except parts.CodesProblem as problem:
        raise errors.InvalidBody.of_field(CODES_FILE, str(problem)) from None
    return replace(change, goods=goods)


async def request_answer(service: callers.Service, request: PaymentRequest, now: int) -> Response:
    """Answer with a request and the file that it delivers."""
    delivered = await _files(service.db, [request])
    answer = to_answers.whole(service.public_url, request, now, delivered.get(request.id))
    return calls.json(answer)


async def request_items(
    service: callers.Service, requests: list[PaymentRequest], *, now: int
) -> list[answers.RequestItem]:
    """Return the items of a list of requests."""
    delivered = await _files(service.db, requests)
    return [
        to_answers.item(service.public_url, request, now, delivered.get(request.id))
        for request in requests
    ]


async def _files(
    db: database.Database, requests: list[PaymentRequest]
) -> dict[str, contents.StoredFile]:
    ids = [one.id for one in requests if one.delivers is vocabulary.DeliveryKind.FILE]
    return await files.read_of_requests(db, ids) if ids else {}


async def payment_items(
    db: database.Database, request_id: str, payments: list[Payment]
) -> list[answers.PaymentAnswer]:
    """Return payments of a request, each with its delivery progress."""
    progress = await fulfillment.read_progress(db, request_id, payments)
    return [to_answers.payment(*pair) for pair in zip(payments, progress, strict=True)]


# Calls of applications.


WRITE_STATUSES = (400, 401, 404, 409, 413, 415, 429)


@router.post("/", include_in_schema=False)
@router.post(
    "",
    **openapi.operation(
        "createPaymentRequest",
        "Create a payment request",
        answers.RequestAnswer,
        *WRITE_STATUSES,
        keyed=True,
        owned=True,
    ),
)
async def create(body: bodies.CreateBody, request: Request) -> Response:
    """Create a request with its pay page and QR code."""
    service, caller, key = calls.owned_call_of(request)
    creation = from_bodies.creation(body, caller.now)
    creation = await with_codes(service.db, caller.app_id, creation)
    store = service.db.bulk if creation.goods else service.db.transaction
    made = await store(lambda tx: request_commands.create(tx, caller, creation, key))
    return await request_answer(service, made, caller.now)


@router.get("/", include_in_schema=False)
@router.get(
    "",
    **openapi.operation(
        "listPaymentRequests", "List payment requests", answers.RequestList, 400, 401, 429
    ),
)
async def list_(
    service: callers.ServiceDep,
    caller: callers.CallerDep,
    limit: Annotated[
        int | None,
        Query(ge=1, le=calls.MAX_PAGE, description="How many to a page; without it, all."),
    ] = None,
    cursor: calls.Cursor = None,
    status: calls.StatusFilter = None,
) -> Response:
    """List the application's requests, newest first."""
    after = calls.read_cursor(cursor)
    now = (
        await request_rows.refresh_status(service.db, caller.app_id, service.now)
        if status
        else caller.now
    )
    read = partial(request_rows.page, service.db, caller.app_id, now, status=status)
    write = partial(request_items, service, now=now)
    if limit is None:
        first = await read(limit=calls.MAX_PAGE, after=after)  # may fail: before the answer
        chunks = _everything(first, read, write)
        return StreamingResponse(chunks, 200, calls.HEADERS, "application/json")
    rows, end = calls.cut_page(await read(limit=limit + 1, after=after), limit, _place)
    return calls.page_answer(answers.RequestList, await write(rows), end)


async def _everything(
    rows: list[PaymentRequest],
    read: Callable[..., Awaitable[list[PaymentRequest]]],
    write: Callable[[list[PaymentRequest]], Awaitable[list[answers.RequestItem]]],
) -> AsyncIterator[str]:
    """Yield the whole list page by page, which takes little memory."""
    opening = '{"items":['
    while rows:
        yield opening + ",".join(item.json_text() for item in await write(rows))
        opening = ","
        if len(rows) < calls.MAX_PAGE:
            break
        rows = await read(limit=calls.MAX_PAGE, after=_place(rows[-1]))
    yield "]}" if opening == "," else opening + "]}"


def _place(row: PaymentRequest) -> request_rows.Place:
    return request_rows.Place(row.created_at, row.id)


@router.get(
    "/{id}",
    **openapi.operation(
        "getPaymentRequest", "Get a payment request", answers.RequestAnswer, 401, 404, 429
    ),
)
async def get(
    request_id: calls.RowId, service: callers.ServiceDep, caller: callers.CallerDep
) -> Response:
    """Return one request of the application."""
    found = await _read_own(service, caller, request_id)
    return await request_answer(service, found, caller.now)


@router.put(
    "/{id}",
    **openapi.operation(
        "editPaymentRequest",
        "Edit a payment request",
        answers.RequestAnswer,
        *WRITE_STATUSES,
        keyed=True,
    ),
)
async def edit(request_id: calls.RowId, body: bodies.EditBody, request: Request) -> Response:
    """Change the fields that the body names, and keep the others.

    A text or a file that takes the place of another is what earlier payers get too. Codes that were
    given stay, and payers who wait for a code get what takes its place.
    """
    service, caller, key = calls.call_of(request)
    change = await with_codes(service.db, caller.app_id, from_bodies.edit(body, caller.now))
    edited = await service.db.bulk(
        lambda tx: idempotency.once(
            tx,
            key,
            lambda: request_commands.edit(tx, caller, request_id, change),
            lambda _: request_commands.find_own(tx, caller, request_id),
        )
    )
    return await request_answer(service, edited, caller.now)


@router.delete(
    "/{id}",
    **openapi.operation(
        "deletePaymentRequest", "Delete a payment request", None, 401, 404, 429, keyed=True
    ),
)
async def delete(request_id: calls.RowId, request: Request) -> Response:
    """Delete the request and its pay page for good."""
    service, caller, key = calls.call_of(request)
    await service.db.transaction(
        lambda tx: idempotency.once(
            tx, key, lambda: request_commands.delete(tx, caller, request_id), lambda _: None
        )
    )
    return calls.gone()


@router.get(
    "/{id}/payments",
    **openapi.operation(
        "listPayments",
        "List the payments of a request",
        answers.PaymentList,
        *(400, 401, 404, 429),
    ),
)
async def payments(
    request_id: calls.RowId,
    service: callers.ServiceDep,
    caller: callers.CallerDep,
    limit: calls.Limit = calls.MAX_PAGE,
    cursor: calls.Cursor = None,
) -> Response:
    """List the payments of a request, newest first."""
    after = calls.read_cursor(cursor)
    await _read_own(service, caller, request_id)
    found = await payment_rows.page(
        service.db, caller.app_id, request_id, limit=limit + 1, after=after
    )
    rows, end = calls.cut_page(
        found, limit, lambda row: request_rows.Place(row.completed_at, row.id)
    )
    items = await payment_items(service.db, request_id, rows)
    return calls.page_answer(answers.PaymentList, items, end)


@router.get(
    "/{id}/payments/{transactionId}",
    **openapi.operation("getPayment", "Verify one payment", answers.PaymentAnswer, 401, 404, 429),
)
async def payment(
    request_id: calls.RowId,
    transaction_id: calls.TransactionId,
    service: callers.ServiceDep,
    caller: callers.CallerDep,
) -> Response:
    """Verify that the `transactionId` of a redirect is a payment of this request."""
    found = await payment_rows.read_of_app(service.db, caller.app_id, request_id, transaction_id)
    if found is None:
        raise errors.NotFound(payment_marks.UNKNOWN)
    (written,) = await payment_items(service.db, request_id, [found])
    return calls.json(written)


MARK_FAILURES = (
    refusals.Failure(
        "A field is wrong (`invalidBody`).",
        errors.InvalidBody.of_field("sent.note", f"has more than {fields.MAX_NOTE} characters"),
    ),
    refusals.Failure(
        "The application has no such payment of such a request (`notFound`).",
        errors.NotFound(payment_marks.UNKNOWN),
    ),
)


@router.put(
    "/{id}/payments/{transactionId}",
    **openapi.operation(
        "markPayment",
        "Mark a payment as sent or paid back, or hide its message",
        answers.MarkedPaymentAnswer,
        *(400, 401, 404, 413, 415, 429),
        but=MARK_FAILURES,
        keyed=True,
    ),
)
async def mark(
    request_id: calls.RowId,
    transaction_id: calls.TransactionId,
    body: bodies.MarksBody,
    request: Request,
) -> Response:
    """Change the marks that the body names; safe to repeat."""
    service, caller, key = calls.call_of(request)
    change, ids = from_bodies.marks(body), (request_id, transaction_id)
    marked, notified = await service.db.transaction(
        lambda tx: idempotency.once(
            tx,
            key,
            lambda: payment_marks.mark(tx, caller, *ids, change, key),
            lambda made: (payment_marks.find_own(tx, caller, *ids), bool(made)),
        )
    )
    (progress,) = await fulfillment.read_progress(service.db, request_id, [marked])
    return calls.json(to_answers.marked_payment(marked, progress, notified=notified))


async def _read_own(
    service: callers.Service, caller: request_commands.Caller, request_id: str
) -> PaymentRequest:
    found = await request_rows.read_of_app(service.db, caller.app_id, request_id, caller.now)
    if found is None:
        raise errors.NotFound
    return found


# `/v3/deliveries`: the webhooks and letters of payments, with their attempts (section 4).


MESSAGE_DIGITS = 28
"""Digits in the id of a queued message, after the channel."""

ID_LENGTHS = {len(channel) + 1 + MESSAGE_DIGITS for channel in notification.Channel}
delivery_router = APIRouter(
    prefix="/v3/deliveries", tags=["deliveries"], route_class=calls.ApplicationRoute
)


@delivery_router.get(
    "",
    **openapi.operation("listDeliveries", "List deliveries", answers.DeliveryList, 400, 401, 429),
)
@delivery_router.get("/", include_in_schema=False)
async def list_deliveries(
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


@delivery_router.get(
    "/{id}",
    **openapi.operation(
        "getDelivery",
        "Get a delivery with its attempts",
        answers.DeliveryAnswer,
        *(401, 404, 429),
    ),
)
async def get_delivery(
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


@delivery_router.post(
    "/{id}/retry",
    **openapi.operation(
        "retryDelivery",
        "Send a delivery again",
        answers.DeliveryItem,
        *(401, 404, 429),
        keyed=True,
    ),
)
async def retry(delivery_id: calls.DeliveryId, request: Request) -> Response:
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


# Calls without credentials.


@public_router.get(
    "/{id}",
    **openapi.operation(
        "getPublicPaymentRequest",
        "What the pay page shows",
        answers.PublicAnswer,
        *(404, 429),
        extra=openapi.OPEN,
    ),
)
async def public(request_id: calls.RowId, service: callers.PayerDep) -> Response:
    """Return the public view of a request."""
    now = service.now()
    found = await request_rows.read(service.db, request_id, now)
    if found is None:
        raise errors.NotFound
    return _readable_anywhere(to_answers.public(service.public_url, found, now))


@public_router.get(
    "/stats/{id}",
    **openapi.operation(
        "getPublicStats",
        "Figures of a request",
        answers.StatsAnswer,
        *(404, 429),
        extra=openapi.OPEN,
    ),
)
async def stats(request_id: calls.RowId, service: callers.PayerDep) -> Response:
    """Return how much the request brought in, and from how many payers."""
    found = await request_rows.read(service.db, request_id, service.now())
    if found is None:
        raise errors.NotFound
    return _readable_anywhere(
        to_answers.stats(found, await payment_rows.count_payers(service.db, found.id))
    )


def _readable_anywhere(answer: answers.Answer) -> Response:
    """Allow scripts of any website to read the answer."""
    response = calls.json(answer)
    response.headers["Access-Control-Allow-Origin"] = "*"
    return response
