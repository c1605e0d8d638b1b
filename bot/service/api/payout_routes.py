"""`/v3/payoutAccounts`: where the money of an application's sellers goes."""

from typing import Annotated

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from bot.service.api.paging import RowId
from bot.service.http import bodies, responses
from bot.service.http.callers import Calling, Serving, state
from bot.service.http.documented_failures import OF_PAYOUTS, OF_REMOVALS, failures
from bot.service.http.openapi import AUTHENTICATED, KEYED, body, operation
from bot.service.model.payout import BANK
from bot.service.wire import body_parsing, payout_answers
from bot.service.wire.payout_schemas import OWNER_PATTERN, PayoutAnswer, PayoutList

router = APIRouter(prefix="/v3/payoutAccounts", tags=["payout accounts"])


@router.get(
    "",
    **operation(
        "listPayoutAccounts",
        "List payout accounts",
        PayoutList,
        *(400, 401, 429),
        said=OF_PAYOUTS,
    ),
)
@router.get("/", include_in_schema=False)
async def list_(
    service: Serving,
    caller: Calling,
    owner: Annotated[str, Query(pattern=OWNER_PATTERN, description="Whose accounts.")],
) -> Response:
    """List an owner's accounts in the order in which payers are offered their ways."""
    found = await service.payouts.list(caller.app_id, owner)
    return responses.json({"items": [payout_answers.payout(one) for one in found]})


@router.post(
    "",
    **operation(
        "connectPayoutAccount",
        "Connect a payout account",
        PayoutAnswer,
        *(400, 401, 413, 415, 429),
        extra=body("PayoutBody"),
        said=OF_PAYOUTS,
        keyed=True,
    ),
)
@router.post("/", include_in_schema=False)
async def connect(request: Request, service: Serving, caller: Calling) -> Response:
    """Check the details, ask the wallet where there is one, and store the account.

    It takes the place of the owner's account of the same kind, for banks of the same scheme.
    Payment links that are out already are paid to it from now on. A dry run stores nothing.
    """
    service.payouts.check_real_money()
    text = await bodies.read_text(request, bodies.JSON)
    wanted, key = body_parsing.read_payout(text), bodies.call_key(request, caller, text)
    if wanted.kind != BANK:  # which asks nobody
        state(request).limits.count_probe(caller.app_id, wanted.owner)
    if wanted.dry_run:
        checked = await service.payouts.check(caller.app_id, wanted.kind, wanted.details)
        return responses.json(payout_answers.checked(wanted.owner, checked))
    account = await service.payouts.connect(
        caller.app_id, wanted.owner, wanted.kind, wanted.details, key
    )
    return responses.json(payout_answers.payout(account))


@router.delete(
    "/{id}",
    summary="Remove a payout account",
    operation_id="removePayoutAccount",
    response_class=Response,
    responses={
        200: {"description": "It is gone; the body is empty."},
        **failures(400, 401, 404, 429, said=OF_REMOVALS, keyed=True),
    },
    openapi_extra=AUTHENTICATED | KEYED,
)
async def remove(
    account_id: RowId, request: Request, service: Serving, caller: Calling
) -> Response:
    """Remove an account: no new payment goes to it."""
    key = bodies.call_key(request, caller)
    await service.payouts.remove(caller.app_id, account_id, key)
    return Response(status_code=200, headers=responses.HEADERS)
