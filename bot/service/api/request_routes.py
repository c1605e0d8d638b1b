"""`/v3/paymentRequests`: calls of applications (interface section 4), and public ones."""

from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace
from functools import partial
from typing import Annotated

from fastapi import APIRouter, Path, Query, Request
from starlette.responses import Response, StreamingResponse

from bot.core import exact_json
from bot.core.errors import NotFound
from bot.service.api import delivery_fields, paging
from bot.service.api.paging import MAX_PAGE, Cursor, InState, Limit, RowId
from bot.service.http import bodies, callers, responses
from bot.service.http.callers import Calling, Serving
from bot.service.http.documented_failures import OF_MARKS, failures
from bot.service.http.openapi import (
    AUTHENTICATED,
    KEYED,
    KEYED_AND_OWNED,
    OF_WRITING,
    OPEN,
    body,
    operation,
)
from bot.service.http.plain_route import PlainRoute
from bot.service.http.service import Service
from bot.service.model.request import PaymentRequest
from bot.service.store import idempotency, status_index
from bot.service.store import payments as payment_store
from bot.service.store import requests as request_store
from bot.service.store.requests import Place
from bot.service.usecases import payment_marks, request_commands
from bot.service.usecases.request_commands import Caller
from bot.service.wire import body_parsing, json_answers, mark_bodies
from bot.service.wire.answer_schemas import (
    MarkedPaymentAnswer,
    PaymentAnswer,
    PaymentList,
    PublicAnswer,
    RequestAnswer,
    RequestList,
    StatsAnswer,
)
from bot.service.wire.json_answers import Json

router = APIRouter(prefix="/v3/paymentRequests", tags=["payment requests"])
quick = APIRouter(prefix="/v3/paymentRequests", tags=["payment requests"], route_class=PlainRoute)
public_router = APIRouter(prefix="/v3/paymentRequests/public", tags=["public"])
"""Calls without credentials."""


@quick.post(
    "",
    **operation(
        "createPaymentRequest",
        "Create a payment request",
        RequestAnswer,
        *OF_WRITING,
        extra=body("CreateBody") | KEYED_AND_OWNED,
        keyed=True,
    ),
)
@quick.post("/", include_in_schema=False)
async def create(request: Request) -> Response:
    """Create a request with its pay page and QR code."""
    caller, service = await callers.caller(request), await callers.service(request)
    text = await bodies.read_text(request, bodies.JSON)
    creation = body_parsing.read_create(text, caller.now)
    creation = replace(
        creation, goods=await delivery_fields.with_codes(service.db, caller.app_id, creation.goods)
    )
    key = bodies.call_key(request, caller, text)
    caller = replace(caller, owner=callers.owner(request))
    store = service.db.bulk if creation.goods else service.db.transaction
    made = await store(lambda tx: request_commands.create(tx, caller, creation, key))
    return await delivery_fields.answer(service, made, caller.now)


@router.get(
    "", **operation("listPaymentRequests", "List payment requests", RequestList, 400, 401, 429)
)
@router.get("/", include_in_schema=False)
async def list_(
    service: Serving,
    caller: Calling,
    limit: Annotated[
        int | None, Query(ge=1, le=MAX_PAGE, description="How many to a page; without it, all.")
    ] = None,
    cursor: Cursor = None,
    status: InState = None,
) -> Response:
    """List the application's requests, newest first."""
    after = paging.read_cursor(cursor)
    now = (
        await status_index.refresh(service.db, caller.app_id, service.now) if status else caller.now
    )
    read = partial(request_store.page, service.db, caller.app_id, now, status=status)
    write = partial(delivery_fields.items, service, now=now)
    if limit is None:
        # Before the answer begins, because it may fail.
        first = await read(limit=MAX_PAGE, after=after)
        chunks = _everything(first, read, write)
        return StreamingResponse(chunks, 200, responses.HEADERS, "application/json")
    rows, end = paging.cut(await read(limit=limit + 1, after=after), limit, _place)
    return paging.answer(await write(rows), end)


async def _everything(
    rows: list[PaymentRequest],
    read: Callable[..., Awaitable[list[PaymentRequest]]],
    write: Callable[[list[PaymentRequest]], Awaitable[list[Json]]],
) -> AsyncIterator[str]:
    """Yield the whole list page by page, so that it never fills the memory."""
    opening = '{"items":['
    while rows:
        yield opening + ",".join(exact_json.dumps(item) for item in await write(rows))
        opening = ","
        if len(rows) < MAX_PAGE:
            break
        rows = await read(limit=MAX_PAGE, after=_place(rows[-1]))
    yield "]}" if opening == "," else opening + "]}"


def _place(row: PaymentRequest) -> Place:
    return Place(row.created_at, row.id)


@router.get(
    "/{id}", **operation("getPaymentRequest", "Get a payment request", RequestAnswer, 401, 404, 429)
)
async def get(request_id: RowId, service: Serving, caller: Calling) -> Response:
    """Return one request of the application."""
    found = await _own(service, caller, request_id)
    return await delivery_fields.answer(service, found, caller.now)


@router.put(
    "/{id}",
    **operation(
        "editPaymentRequest",
        "Edit a payment request",
        RequestAnswer,
        *OF_WRITING,
        extra=body("EditBody"),
        keyed=True,
    ),
)
async def edit(request_id: RowId, request: Request, service: Serving, caller: Calling) -> Response:
    """Change the fields that the body names, and keep the others.

    A text or a file that takes the place of another is what earlier payers get too. Codes that were
    given stay, and payers who wait for a code get what takes its place.
    """
    text = await bodies.read_text(request, bodies.JSON)
    change, key = body_parsing.read_edit(text, caller.now), bodies.call_key(request, caller, text)
    change = replace(
        change, goods=await delivery_fields.with_codes(service.db, caller.app_id, change.goods)
    )
    edited = await service.db.bulk(
        lambda tx: idempotency.once(
            tx,
            key,
            lambda: request_commands.edit(tx, caller, request_id, change),
            lambda _: request_commands.find_own(tx, caller, request_id),
        )
    )
    return await delivery_fields.answer(service, edited, caller.now)


@router.delete(
    "/{id}",
    summary="Delete a payment request",
    operation_id="deletePaymentRequest",
    response_class=Response,
    responses={
        200: {"description": "It is gone; the body is empty."},
        **failures(401, 404, 429, keyed=True),
    },
    openapi_extra=AUTHENTICATED | KEYED,
)
async def delete(
    request_id: RowId, request: Request, service: Serving, caller: Calling
) -> Response:
    """Delete the request and its pay page for good."""
    key = bodies.call_key(request, caller)
    await service.db.transaction(
        lambda tx: idempotency.once(
            tx, key, lambda: request_commands.delete(tx, caller, request_id), lambda _: None
        )
    )
    return Response(status_code=200, headers=responses.HEADERS)


@router.get(
    "/{id}/payments",
    **operation("listPayments", "List the payments of a request", PaymentList, 400, 401, 404, 429),
)
async def payments(
    request_id: RowId,
    service: Serving,
    caller: Calling,
    limit: Limit = MAX_PAGE,
    cursor: Cursor = None,
) -> Response:
    """List the payments of a request, newest first."""
    after = paging.read_cursor(cursor)
    await _own(service, caller, request_id)
    found = await payment_store.page(
        service.db, caller.app_id, request_id, limit=limit + 1, after=after
    )
    rows, end = paging.cut(found, limit, lambda row: Place(row.completed_at, row.id))
    return paging.answer(await delivery_fields.payments(service.db, request_id, rows), end)


@router.get(
    "/{id}/payments/{transactionId}",
    **operation("getPayment", "Verify one payment", PaymentAnswer, 401, 404, 429),
)
async def payment(
    request_id: RowId,
    transaction_id: Annotated[str, Path(alias="transactionId")],
    service: Serving,
    caller: Calling,
) -> Response:
    """Verify that the `transactionId` of a redirect is a payment of this request."""
    found = await payment_store.read_of_app(service.db, caller.app_id, request_id, transaction_id)
    if found is None:
        raise NotFound(payment_marks.UNKNOWN)
    (written,) = await delivery_fields.payments(service.db, request_id, [found])
    return responses.json(written)


@router.put(
    "/{id}/payments/{transactionId}",
    **operation(
        "markPayment",
        "Mark a payment as sent or paid back, or hide its message",
        MarkedPaymentAnswer,
        *(400, 401, 404, 413, 415, 429),
        extra=body("MarksBody"),
        keyed=True,
        said=OF_MARKS,
    ),
)
async def mark(
    request_id: RowId,
    transaction_id: Annotated[str, Path(alias="transactionId")],
    request: Request,
    service: Serving,
    caller: Calling,
) -> Response:
    """Change the marks that the body names; safe to repeat."""
    text = await bodies.read_text(request, bodies.JSON)
    change, key = mark_bodies.read_marks(text), bodies.call_key(request, caller, text)
    ids = request_id, transaction_id
    marked, notified = await service.db.transaction(
        lambda tx: idempotency.once(
            tx,
            key,
            lambda: payment_marks.mark(tx, caller, *ids, change, key),
            lambda made: (payment_marks.find_own(tx, caller, *ids), bool(made)),
        )
    )
    told = {"payerNotified": "email"} if notified else {}
    (written,) = await delivery_fields.payments(service.db, request_id, [marked])
    return responses.json(written | told)


async def _own(service: Service, caller: Caller, request_id: str) -> PaymentRequest:
    found = await request_store.read_of_app(service.db, caller.app_id, request_id, caller.now)
    if found is None:
        raise NotFound
    return found


@public_router.get(
    "/{id}",
    **operation(
        "getPublicPaymentRequest", "What the pay page shows", PublicAnswer, 404, 429, extra=OPEN
    ),
)
async def public(request_id: RowId, request: Request) -> Response:
    """Return the public view of a request."""
    service = callers.admit_payer(request)
    now = service.now()
    found = await request_store.read(service.db, request_id, now)
    if found is None:
        raise NotFound
    return _open(json_answers.public(service.public_url, found, now))


@public_router.get(
    "/stats/{id}",
    **operation("getPublicStats", "Figures of a request", StatsAnswer, 404, 429, extra=OPEN),
)
async def stats(request_id: RowId, request: Request) -> Response:
    """Return how much the request brought in, and from how many payers."""
    service = callers.admit_payer(request)
    found = await request_store.read(service.db, request_id, service.now())
    if found is None:
        raise NotFound
    return _open(json_answers.stats(found, await payment_store.count_payers(service.db, found.id)))


def _open(answer: Json) -> Response:
    """Answer so that any website may read it in a visitor's browser."""
    response = responses.json(answer)
    response.headers["Access-Control-Allow-Origin"] = "*"
    return response
