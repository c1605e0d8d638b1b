"""`/hints`: a wallet says that money has arrived, which only makes us look sooner."""

from functools import partial

from fastapi import APIRouter, Request
from starlette.responses import Response

from bot.core.errors import NoSuchAddress
from bot.core.net import request_body
from bot.service.http import callers, hint_addresses
from bot.service.http.plain_route import PlainRoute
from bot.service.usecases import looking

router = APIRouter(include_in_schema=False, route_class=PlainRoute)


@router.api_route(f"{hint_addresses.PATH}/{{id}}/{{token}}", methods=["POST"])
async def hear(request: Request) -> Response:
    """Queue a look at the checkout's wallet, whatever the body says: it proves nothing.

    Raises NoSuchAddress, RateLimited and BodyTooLarge.
    """
    service = callers.state(request).service
    checkout_id, token = request.path_params["id"], request.path_params["token"]
    if not hint_addresses.is_genuine(service.payer_key, checkout_id, token):
        callers.admit_payer(request)
        raise NoSuchAddress
    callers.admit_hint(request, checkout_id)
    await request_body.read(request)
    await service.db.transaction(partial(looking.hint, checkout_id=checkout_id, now=service.now()))
    return Response(status_code=204)
