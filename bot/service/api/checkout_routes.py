"""`/v3/checkouts`: attempts to pay, which their seller confirms or rejects where no rail can."""

from fastapi import APIRouter
from starlette.responses import Response

from bot.core.errors import NotFound
from bot.service.api.paging import RowId
from bot.service.http import responses
from bot.service.http.callers import Calling, Serving
from bot.service.http.documented_failures import OF_CHECKOUTS
from bot.service.http.openapi import operation
from bot.service.store import checkouts
from bot.service.usecases import claiming
from bot.service.usecases.claiming import UNKNOWN
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
    ),
)
async def confirm(checkout_id: RowId, service: Serving, caller: Calling) -> Response:
    """Record the payment by the seller's word; safe to repeat."""
    found = await service.db.transaction(
        lambda tx: claiming.confirm(tx, caller.app_id, checkout_id, caller.now)
    )
    return responses.json(payout_answers.checkout(found, caller.now))


@router.post(
    "/{id}/reject",
    **operation(
        "rejectCheckout",
        "Say that the money didn't come",
        CheckoutAnswer,
        *(401, 404, 409, 429),
        said=OF_CHECKOUTS,
    ),
)
async def reject(checkout_id: RowId, service: Serving, caller: Calling) -> Response:
    """End a claimed checkout, whose unit is for sale again; safe to repeat."""
    found = await service.db.transaction(
        lambda tx: claiming.reject(tx, caller.app_id, checkout_id, caller.now)
    )
    return responses.json(payout_answers.checkout(found, caller.now))
