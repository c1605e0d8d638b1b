"""`/v3/files`, codes of payment requests, and receipts by their secret address."""

from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from bot.core import errors
from bot.core.net import request_body
from bot.interface import answers, bodies, fields, refusals
from bot.service.api import callers, calls, openapi, to_answers
from bot.service.goods import contents, files, fulfillment
from bot.service.payments import payment_rows
from bot.service.requests import idempotency, request_commands, request_rows
from bot.service.requests.request import PaymentState

files_router = APIRouter(prefix="/v3/files", tags=["files"])
router = APIRouter(
    prefix="/v3/paymentRequests",
    tags=["payment requests"],
    route_class=calls.ApplicationRoute,
)
public_router = APIRouter(prefix="/v3/paymentRequests/public", tags=["public"])

# Files.


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
NO_FORM = errors.UnsupportedMediaType("Send the file itself as the body, not a form.")
UPLOAD_FAILURES = (
    refusals.Failure(
        "The name is wrong, or the body is empty or broke off (`invalidBody`).",
        errors.InvalidBody.of_field("name", "must be a name without a path"),
    ),
    refusals.Failure(
        "The file that the key made is gone (`notFound`).", errors.NotFound(files.GONE)
    ),
    refusals.Failure(
        "Files that no payment request delivers use up their room (`tooManyFiles`).",
        errors.TooManyFiles(),
    ),
    refusals.Failure("The body is a form (`unsupportedMediaType`).", NO_FORM),
    refusals.Failure(
        "The file is larger than 20 MiB (`bodyTooLarge`).",
        errors.BodyTooLarge("The body is larger than 20 MiB."),
    ),
    refusals.Failure(
        "Too many calls, or more than 4 uploads at once (`rateLimited`): see Retry-After.",
        errors.RateLimited(1),
    ),
)


@files_router.post(
    "",
    **openapi.operation(
        "uploadFile",
        "Upload a file",
        answers.FileAnswer,
        *(400, 401, 409, 413, 415, 429),
        but=UPLOAD_FAILURES,
        keyed=True,
        owned=True,
        extra=openapi.AUTHENTICATED | FILE_BODY,
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
            max_length=fields.MAX_FILE_NAME,
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
        raise errors.UnsupportedMediaType(NO_FORM.message)
    try:
        name = contents.check_name(name)
    except ValueError as error:
        raise errors.InvalidBody.of_field("name", str(error)) from None
    file = files.NewFile(
        id=request_rows.new_id(caller.now),
        app_id=caller.app_id,
        owner=openapi.OWNER.read(request) or "",
        name=name,
        media_type=contents.read_media_type(media_type),
        size=request_body.announced(request, files.MOST_BYTES),
    )
    call = calls.call_key(request, caller, [file.name, file.media_type])
    with callers.state_of(request).uploads.taken(caller.app_id):
        parts = request_body.parts(request, files.PART, files.MOST_BYTES)
        stored = await files.store_upload(service.db, file, parts, service.now, call)
    return calls.json(to_answers.file(stored))


# Codes.


CODES_FAILURES = (
    refusals.Failure(
        "A code is wrong, or repeated (`invalidBody`).",
        errors.InvalidBody.of_field("codes", "1 code is repeated: number 2"),
    ),
    refusals.Failure("There is nothing of this id (`notFound`).", errors.NotFound()),
    refusals.Failure("The request delivers no codes (`noCodes`).", errors.NoCodes()),
    refusals.Failure(
        "The body is larger than 1 MiB (`bodyTooLarge`).",
        errors.BodyTooLarge("The body is larger than 1 MiB."),
    ),
)


@router.post(
    "/{id}/codes",
    **openapi.operation(
        "addCodes",
        "Add codes for buyers",
        answers.AddedCodesAnswer,
        *(400, 401, 404, 409, 413, 415, 429),
        but=CODES_FAILURES,
        keyed=True,
    ),
)
async def add_codes(request_id: calls.RowId, body: bodies.CodesBody, request: Request) -> Response:
    """Add the codes that the request doesn't have yet, so that a repeat is safe.

    Buyers who wait for a code get theirs, in the order of their payments.
    """
    service, caller, key = calls.call_of(request)
    listed = tuple(body.codes)
    added = await service.db.bulk(
        lambda tx: idempotency.once(
            tx,
            key,
            lambda: request_commands.add_codes(tx, caller, request_id, listed, key),
            lambda made: request_commands.count_added(tx, caller, request_id, int(made)),
        )
    )
    return calls.json(to_answers.added_codes(added.counts, added.added))


# Receipts.


NO_RECEIPT = refusals.Failure("No payment has this address (`notFound`).", errors.NoSuchAddress())


@public_router.get(
    "/{id}/receipts/{transactionId}",
    **openapi.operation(
        "getReceipt",
        "The receipt of a payment, with what was delivered",
        answers.ReceiptAnswer,
        *(404, 429),
        but=(NO_RECEIPT,),
        extra=openapi.OPEN,
    ),
)
async def receipt(
    request_id: calls.RowId,
    transaction_id: calls.TransactionId,
    service: callers.ReceiptReaderDep,
) -> Response:
    """Return a receipt to anyone who has its address, which is the payer's secret."""
    payment = await payment_rows.read(service.db, request_id, transaction_id)
    found = await request_rows.read_ever(service.db, request_id, service.now())
    if payment is None or found is None or payment.state is PaymentState.UNDERPAID:
        raise errors.NoSuchAddress
    received = await fulfillment.read_received(service.db, payment)
    return calls.json(to_answers.receipt(service.public_url, found, payment, received))
