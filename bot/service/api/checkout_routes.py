"""`/v3/checkouts`: attempts to pay, which their seller confirms or rejects where no rail can."""

from collections.abc import Callable

from fastapi import APIRouter, Request
from starlette.responses import Response

from bot.core.database.database import Transaction
from bot.core.errors import NotFound
from bot.service.api.paging import RowId
from bot.service.http import bodies, responses
from bot.service.http.callers import Calling, Serving
from bot.service.http.documented_failures import OF_CHECKOUTS
from bot.service.http.openapi import operation
from bot.service.http.service import Service
from bot.service.model.checkout import Checkout
from bot.service.store import checkouts, idempotency
from bot.service.usecases import claiming
from bot.service.usecases.claiming import UNKNOWN
from bot.service.usecases.request_commands import Caller
from bot.service.wire import payout_answers
from bot.service.wire.payout_schemas import CheckoutAnswer

router = APIRouter(prefix="/v3/checkouts", tags=["checkouts"])


@router.get(
    "/{id}",
    **operation(
        "getCheckout", "Get a checkout", CheckoutAnswer, *(401, 404, 429), said=OF_CHECKOUTS
    ),
)
async def get(checkout_id: RowId, service: Serving, caller: Calling) -> Response:
    """Return a checkout of one of the application's requests."""
    found = await checkouts.read_of_app(service.db, caller.app_id, checkout_id)
    if found is None:
        raise NotFound(UNKNOWN)
    return responses.json(payout_answers.checkout(found, caller.now))


@router.post(
    "/{id}/confirm",
    **operation(
        "confirmCheckout",
        "Confirm that the money came",
        CheckoutAnswer,
        *(401, 404, 409, 429),
        said=OF_CHECKOUTS,
        keyed=True,
    ),
)
async def confirm(
    checkout_id: RowId, request: Request, service: Serving, caller: Calling
) -> Response:
    """Record the payment by the seller's word; safe to repeat."""
    return await _decide(claiming.confirm, checkout_id, request, service, caller)


@router.post(
    "/{id}/reject",
    **operation(
        "rejectCheckout",
        "Say that the money didn't come",
        CheckoutAnswer,
        *(401, 404, 409, 429),
        said=OF_CHECKOUTS,
        keyed=True,
    ),
)
async def reject(
    checkout_id: RowId, request: Request, service: Serving, caller: Calling
) -> Response:
    """End a claimed checkout, whose unit is for sale again; safe to repeat."""
    return await _decide(claiming.reject, checkout_id, request, service, caller)


async def _decide(
    decide: Callable[[Transaction, str, str, int], Checkout],
    checkout_id: str,
    request: Request,
    service: Service,
    caller: Caller,
) -> Response:
    key, own = bodies.call_key(request, caller), (caller.app_id, checkout_id, caller.now)
    found = await service.db.transaction(
        lambda tx: idempotency.once(
            tx, key, lambda: decide(tx, *own), lambda _: claiming.find_own(tx, *own)
        )
    )
    return responses.json(payout_answers.checkout(found, caller.now))
