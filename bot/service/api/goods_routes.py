"""`/v3/files`, codes of payment requests, and receipts by their secret address."""

from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Request
from starlette.responses import Response

from bot.core import errors
from bot.core.net import request_body
from bot.service.goods import contents, files, fulfillment
from bot.service.http import call_inputs, callers, documented_failures, openapi, responses
from bot.service.payments import payment_rows
from bot.service.requests import changes, idempotency, request_commands, request_rows
from bot.service.requests.request import PaymentState
from bot.service.wire import body_parsing, goods_and_payouts

MAX_CODES_BODY = request_body.MIB
"""Bytes."""

files_router = APIRouter(prefix="/v3/files", tags=["files"])
router = APIRouter(prefix="/v3/paymentRequests", tags=["payment requests"])
public_router = APIRouter(prefix="/v3/paymentRequests/public", tags=["public"])

FILE_BODY: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "description": "The file itself; its Content-Type is the file's.",
        "content": {
            contents.UNKNOWN_TYPE: {
                "schema": {"type": "string", "format": "binary", "minLength": 1}
            }
        },
    }
}


@files_router.post(
    "",
    **openapi.operation(
        "uploadFile",
        "Upload a file",
        goods_and_payouts.FileAnswer,
        *(400, 401, 409, 413, 415, 429),
        extra=FILE_BODY | openapi.KEYED_AND_OWNED,
        overrides=documented_failures.UPLOAD_FAILURES,
        keyed=True,
    ),
)
@files_router.post("/", include_in_schema=False)
async def upload(
    request: Request,
    service: callers.ServiceDep,
    caller: callers.CallerDep,
    name: Annotated[
        str,
        Query(
            min_length=1,
            max_length=contents.LONGEST_NAME,
            description="Its name, without a path.",
            examples=["album.zip"],
        ),
    ],
) -> Response:
    """Store a file of up to 20 MiB, to be delivered by a payment request.

    It's deleted after 7 days unless a request delivers it by then.
    """
    media_type = request.headers.get("content-type", "")
    if media_type.lower().startswith("multipart/"):
        raise errors.UnsupportedMediaType("Send the file itself as the body, not a form.")
    owner = callers.owner_of(request)
    try:
        name = contents.check_name(name)
    except ValueError as error:
        raise changes.invalid_field("name", str(error)) from None
    file = files.NewFile(
        id=request_commands.new_id(caller.now),
        app_id=caller.app_id,
        owner=owner,
        name=name,
        media_type=contents.read_media_type(media_type),
        size=request_body.announced(request, files.MOST_BYTES),
    )
    key = call_inputs.call_key_of_value(request, caller, [file.name, file.media_type])
    with callers.state_of(request).uploads.taken(caller.app_id):
        parts = request_body.parts(request, files.PART, files.MOST_BYTES)
        stored = await files.store_upload(service.db, file, parts, service.now, key)
    return responses.json(goods_and_payouts.file_answer(stored))


@router.post(
    "/{id}/codes",
    **openapi.operation(
        "addCodes",
        "Add codes for buyers",
        goods_and_payouts.AddedCodesAnswer,
        *(400, 401, 404, 409, 413, 415, 429),
        extra=openapi.body("CodesBody"),
        overrides=documented_failures.CODES_FAILURES,
        keyed=True,
    ),
)
async def add_codes(
    request_id: call_inputs.RowId,
    request: Request,
    service: callers.ServiceDep,
    caller: callers.CallerDep,
) -> Response:
    """Add the codes that the request doesn't have yet, so that a repeat is safe.

    Buyers who wait for a code get theirs, in the order of their payments.
    """
    text = await call_inputs.read_text(request, call_inputs.JSON, MAX_CODES_BODY)
    listed, key = body_parsing.read_codes(text), call_inputs.call_key(request, caller, text)
    added = await service.db.bulk(
        lambda tx: idempotency.once(
            tx,
            key,
            lambda: request_commands.add_codes(tx, caller, request_id, listed, key),
            lambda made: request_commands.count_added(tx, caller, request_id, int(made)),
        )
    )
    return responses.json(goods_and_payouts.added_codes(added.counts, added.added))


@public_router.get(
    "/{id}/receipts/{transactionId}",
    **openapi.operation(
        "getReceipt",
        "The receipt of a payment, with what was delivered",
        goods_and_payouts.ReceiptAnswer,
        *(404, 429),
        extra=openapi.OPEN,
        overrides=documented_failures.RECEIPT_FAILURES,
    ),
)
async def receipt(
    request_id: call_inputs.RowId,
    transaction_id: Annotated[str, Path(alias="transactionId")],
    service: callers.ReceiptReaderDep,
) -> Response:
    """Return a receipt to anyone who has its address, which is the payer's secret."""
    payment = await payment_rows.read(service.db, request_id, transaction_id)
    found = await request_rows.read_ever(service.db, request_id, service.now())
    if payment is None or found is None or payment.state is PaymentState.UNDERPAID:
        raise errors.NoSuchAddress
    received = await fulfillment.read_received(service.db, payment)
    written = goods_and_payouts.receipt_answer(service.public_url, found, payment, received)
    return responses.json(written)
