"""What requests deliver, in the bodies and answers of their calls."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from bot.service.goods import files, receiving, uploads
from bot.service.http import responses
from bot.service.model.changes import Keep, invalid_field
from bot.service.model.goods.code_lists import CodesProblem
from bot.service.model.request import DeliveryKind
from bot.service.wire import json_answers

if TYPE_CHECKING:
    from starlette.responses import Response

    from bot.core.database.database import Database
    from bot.service.http.service import Service
    from bot.service.model.goods.delivered import Goods, StoredFile
    from bot.service.model.request import Payment, PaymentRequest
    from bot.service.wire.json_answers import Json

T = TypeVar("T", "Goods | None", "Goods | Keep | None")

CODES_FILE = "delivery.codesFileId"


async def with_codes(db: Database, app_id: str, goods: T) -> T:
    """Return the goods with the codes that a file of the application lists, if one is named.

    They are read before the transaction, which payments wait for. Raises InvalidBody.
    """
    if goods is None or isinstance(goods, Keep) or goods.codes_file is None:
        return goods
    file = await files.read_of_app(db, app_id, goods.codes_file)
    if file is None:
        raise invalid_field(CODES_FILE, "is no file of this application")
    try:
        return replace(goods, codes=await uploads.read_codes(db, file))
    except CodesProblem as problem:
        raise invalid_field(CODES_FILE, str(problem)) from None


async def answer(service: Service, request: PaymentRequest, now: int) -> Response:
    """Answer with a request, and the file that it delivers."""
    found = await _files(service.db, [request])
    written = json_answers.request(service.public_url, request, now, found.get(request.id))
    return responses.json(written)


async def items(service: Service, requests: list[PaymentRequest], *, now: int) -> list[Json]:
    """Write the items of a list of requests."""
    found = await _files(service.db, requests)
    return [json_answers.item(service.public_url, one, now, found.get(one.id)) for one in requests]


async def payments(db: Database, request_id: str, found: list[Payment]) -> list[Json]:
    """Write payments of a request, each with whether its payer has what was bought."""
    states = await receiving.read_progress(db, request_id, found)
    return [json_answers.payment(*pair) for pair in zip(found, states, strict=True)]


async def _files(db: Database, requests: list[PaymentRequest]) -> dict[str, StoredFile]:
    ids = [one.id for one in requests if one.delivers is DeliveryKind.FILE]
    return await files.read_of_requests(db, ids) if ids else {}
