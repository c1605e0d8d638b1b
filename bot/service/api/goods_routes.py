"""`/v3/files`, codes of payment requests, and receipts by their secret address."""

from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Request
from starlette.responses import Response

from bot.core.errors import NoSuchAddress, UnsupportedMediaType
from bot.core.net import request_body
from bot.service.api.paging import RowId
from bot.service.goods import files, receiving, uploads
from bot.service.goods.files import NewFile
from bot.service.http import bodies, callers, responses
from bot.service.http.callers import Calling, Serving
from bot.service.http.documented_failures import OF_CODES, OF_FILES, OF_RECEIPTS
from bot.service.http.openapi import KEYED_AND_OWNED, OPEN, body, operation
from bot.service.model.changes import invalid_field
from bot.service.model.goods import file_names
from bot.service.model.request import PaymentState
from bot.service.store import idempotency, payments, requests
from bot.service.usecases import request_commands
from bot.service.wire import body_parsing, goods_answers
from bot.service.wire.goods_schemas import AddedCodesAnswer, FileAnswer, ReceiptAnswer

MOST_OF_CODES = request_body.MIB
"""Bytes of a body of codes."""

FORMS = "multipart/"

files_router = APIRouter(prefix="/v3/files", tags=["files"])
router = APIRouter(prefix="/v3/paymentRequests", tags=["payment requests"])
public_router = APIRouter(prefix="/v3/paymentRequests/public", tags=["public"])

A_FILE: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "description": "The file itself; its Content-Type is the file's.",
        "content": {
            file_names.UNKNOWN_TYPE: {
                "schema": {"type": "string", "format": "binary", "minLength": 1}
            }
        },
    }
}


@files_router.post(
    "",
    **operation(
        "uploadFile",
        "Upload a file",
        FileAnswer,
        *(400, 401, 409, 413, 415, 429),
        extra=A_FILE | KEYED_AND_OWNED,
        said=OF_FILES,
        keyed=True,
    ),
)
@files_router.post("/", include_in_schema=False)
async def upload(
    request: Request,
    service: Serving,
    caller: Calling,
    name: Annotated[
        str,
        Query(
            min_length=1,
            max_length=file_names.LONGEST_NAME,
            description="Its name, without a path.",
            examples=["album.zip"],
        ),
    ],
) -> Response:
    """Store a file of up to 20 MiB, to be delivered by a payment request.

    It's deleted after 7 days unless a request delivers it by then.
    """
    media_type = request.headers.get("content-type", "")
    if media_type.lower().startswith(FORMS):
        raise UnsupportedMediaType("Send the file itself as the body, not a form.")
    file = NewFile(
        id=request_commands.new_id(caller.now),
        app_id=caller.app_id,
        owner=callers.owner(request),
        name=_name(name),
        media_type=file_names.read_media_type(media_type),
        size=request_body.announced(request, uploads.MOST_BYTES),
    )
    key = bodies.key_about(request, caller, [file.name, file.media_type])
    with callers.state(request).uploads.taken(caller.app_id):
        parts = request_body.parts(request, files.PART, uploads.MOST_BYTES)
        stored = await uploads.store(service.db, file, parts, service.now, key)
    return responses.json(goods_answers.uploaded(stored))


def _name(name: str) -> str:
    try:
        return file_names.check_name(name)
    except ValueError as error:
        raise invalid_field("name", str(error)) from None


@router.post(
    "/{id}/codes",
    **operation(
        "addCodes",
        "Add codes for buyers",
        AddedCodesAnswer,
        *(400, 401, 404, 409, 413, 415, 429),
        extra=body("CodesBody"),
        said=OF_CODES,
        keyed=True,
    ),
)
async def add_codes(
    request_id: RowId, request: Request, service: Serving, caller: Calling
) -> Response:
    """Add the codes that the request doesn't have yet, so that a repeat is safe.

    Buyers who wait for a code get theirs, in the order of their payments.
    """
    text = await bodies.read_text(request, bodies.JSON, MOST_OF_CODES)
    listed, key = body_parsing.read_codes(text), bodies.call_key(request, caller, text)
    added = await service.db.bulk(
        lambda tx: idempotency.once(
            tx,
            key,
            lambda: request_commands.add_codes(tx, caller, request_id, listed, key),
            lambda made: request_commands.count_added(tx, caller, request_id, int(made)),
        )
    )
    return responses.json(goods_answers.added_codes(added.counts, added.added))


@public_router.get(
    "/{id}/receipts/{transactionId}",
    **operation(
        "getReceipt",
        "The receipt of a payment, with what was delivered",
        ReceiptAnswer,
        *(404, 429),
        extra=OPEN,
        said=OF_RECEIPTS,
    ),
)
async def receipt(
    request_id: RowId,
    transaction_id: Annotated[str, Path(alias="transactionId")],
    request: Request,
) -> Response:
    """Return a receipt to anyone who has its address, which is the payer's secret."""
    service = await callers.admit_holder(request)
    payment = await payments.read(service.db, request_id, transaction_id)
    found = await requests.read_ever(service.db, request_id, service.now())
    if payment is None or found is None or payment.state is PaymentState.UNDERPAID:
        raise NoSuchAddress
    received = await receiving.read(service.db, payment)
    written = goods_answers.receipt(service.public_url, found, payment, received)
    return responses.json(written)
