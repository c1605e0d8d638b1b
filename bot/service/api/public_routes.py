"""`/v3/paymentRequests/public`: calls without credentials."""

from fastapi import APIRouter, Request
from starlette.responses import Response

from bot.core.errors import NotFound
from bot.service.api.paging import RowId
from bot.service.http import callers, responses
from bot.service.http.openapi import OPEN, operation
from bot.service.store import payments, requests
from bot.service.wire import json_answers
from bot.service.wire.answer_schemas import PublicAnswer, StatsAnswer
from bot.service.wire.json_answers import Json

router = APIRouter(prefix="/v3/paymentRequests/public", tags=["public"])


@router.get(
    "/{id}",
    **operation(
        "getPublicPaymentRequest", "What the pay page shows", PublicAnswer, 404, 429, extra=OPEN
    ),
)
async def public(request_id: RowId, request: Request) -> Response:
    """Return the public view of a request."""
    service = callers.admit_payer(request)
    now = service.now()
    found = await requests.read(service.db, request_id, now)
    if found is None:
        raise NotFound
    return _open(json_answers.public(service.public_url, found, now))


@router.get(
    "/stats/{id}",
    **operation("getPublicStats", "Figures of a request", StatsAnswer, 404, 429, extra=OPEN),
)
async def stats(request_id: RowId, request: Request) -> Response:
    """Return how much the request brought in, and from how many payers."""
    service = callers.admit_payer(request)
    found = await requests.read(service.db, request_id, service.now())
    if found is None:
        raise NotFound
    return _open(json_answers.stats(found, await payments.count_payers(service.db, found.id)))


def _open(answer: Json) -> Response:
    """Answer so that any website may read it in a visitor's browser."""
    response = responses.json(answer)
    response.headers["Access-Control-Allow-Origin"] = "*"
    return response
