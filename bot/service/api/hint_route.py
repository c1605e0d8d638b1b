"""`/hints`: a wallet says that money has arrived, which only makes us look sooner."""

from functools import partial

from fastapi import APIRouter, Request
from starlette.responses import Response

from bot.core.errors import NoSuchAddress
from bot.core.net import request_body
from bot.service.http import callers, hint_addresses
from bot.service.http.documented_failures import OF_HINTS, failures
from bot.service.http.openapi import OPEN
from bot.service.http.plain_route import PlainRoute
from bot.service.usecases import looking

router = APIRouter(tags=["wallets"], route_class=PlainRoute)
PARAMETERS = [
    {"name": "id", "in": "path", "required": True, "schema": {"type": "string"}},
    {
        "name": "token",
        "in": "path",
        "required": True,
        "description": "Only the wallet that made the invoice knows it.",
        "schema": {"type": "string", "pattern": "^[0-9a-f]{32}$"},
    },
]


@router.api_route(
    f"{hint_addresses.PATH}/{{id}}/{{token}}",
    methods=["POST"],
    operation_id="hint",
    summary="Hint that money may have come",
    status_code=204,
    responses={
        204: {"description": "The wallet is asked at once."},
        **failures(404, 413, 429, said=OF_HINTS),
    },
    openapi_extra=OPEN | {"parameters": PARAMETERS},
)
async def hear(request: Request) -> Response:
    """Queue a look at the checkout's wallet, whatever the body says: it proves nothing."""
    service = callers.state(request).service
    checkout_id, token = request.path_params["id"], request.path_params["token"]
    if not hint_addresses.is_genuine(service.payer_key, checkout_id, token):
        callers.admit_payer(request)
        raise NoSuchAddress
    callers.admit_hint(request, checkout_id)
    await request_body.read(request)
    await service.db.transaction(partial(looking.hint, checkout_id=checkout_id, now=service.now()))
    return Response(status_code=204)
