"""The download of what was bought: for who has the receipt's address, and never a page of ours."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fastapi import APIRouter, Request
from starlette.responses import Response, StreamingResponse

from bot.core.errors import NotFound
from bot.service.goods import files, receiving
from bot.service.http import callers
from bot.service.http.plain_route import PlainRoute
from bot.service.model.goods import file_names
from bot.service.model.goods.byte_ranges import Unsatisfiable, read_range
from bot.service.store import payments

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from bot.core.database.database import Database
    from bot.service.model.goods.delivered import StoredFile

HEADERS = {
    "Accept-Ranges": "bytes",
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'; sandbox",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Robots-Tag": "noindex",
}
"""A stranger's file is saved, never shown as a page of ours; nobody stores or lists it."""

router = APIRouter(include_in_schema=False, route_class=PlainRoute)


@router.api_route("/pay/{id}/receipt/{transaction_id}/file", methods=["GET", "HEAD"])
async def download(request: Request) -> Response:
    """Return the file that a payment bought, or the part of it that is asked for."""
    service = callers.admit_payer(request)
    request_id, payment_id = (request.path_params[name] for name in ("id", "transaction_id"))
    file = await _bought(service.db, request_id, payment_id)
    callers.state(request).limits.downloads.hit(payment_id)
    whole = request.method == "GET"
    # Only GET has parts (RFC 9110, 14.2); without validators no condition of If-Range can hold.
    has_parts = whole and "if-range" not in request.headers
    asked = request.headers.get("range") if has_parts else None
    try:
        part = read_range(asked, file.size)
    except Unsatisfiable:
        return Response(
            status_code=416, headers=HEADERS | {"Content-Range": f"bytes */{file.size}"}
        )
    return _answer(service.db, file, part, whole=whole)


async def _bought(db: Database, request_id: str, payment_id: str) -> StoredFile:
    """Return the file that a payment bought; the error never says why there is none."""
    payment = await payments.read(db, request_id, payment_id)
    received = await receiving.read(db, payment) if payment else None
    if received is None or received.file is None:
        raise NotFound
    return received.file


def _answer(db: Database, file: StoredFile, part: range | None, *, whole: bool) -> Response:
    """Answer with a file or a part of it; with its headers alone unless `whole`."""
    sent = range(file.size) if part is None else part
    headers = HEADERS | {
        "Content-Disposition": file_names.disposition(file.name),
        "Content-Length": str(len(sent)),
    }
    if part is not None:
        headers["Content-Range"] = f"bytes {sent.start}-{sent.stop - 1}/{file.size}"
    # A charset that Starlette would add to texts is not ours to know.
    headers["Content-Type"] = file.media_type
    status = 200 if part is None else 206
    if not whole:
        return Response(status_code=status, headers=headers)
    return StreamingResponse(_slices(db, file.id, sent), status, headers)


async def _slices(db: Database, file_id: str, sent: range) -> AsyncIterator[bytes]:
    """Yield bytes as the client takes them: a slow one keeps one slice in memory."""
    at = sent.start
    while at < sent.stop:
        data = await files.read_slice(db, file_id, at, sent.stop)
        yield data
        at += len(data)
