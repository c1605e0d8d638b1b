"""`/v3/checkouts`, `/v3/payoutAccounts` and `/hints`: attempts to pay, and where the money goes.

A seller confirms or rejects a checkout if its rail can't know whether the money arrived.
"""

from collections.abc import Callable
from functools import partial
from typing import Annotated, TypeAlias

from fastapi import APIRouter, Path, Query, Request
from starlette.responses import Response

from bot.core import errors
from bot.core.database import database
from bot.core.net import request_body
from bot.service.checkouts import checkout, checkout_rows, claiming, polling
from bot.service.http import call_inputs, callers, documented_failures, openapi, responses
from bot.service.payouts import payout_account
from bot.service.requests import idempotency, request_commands
from bot.service.wire import body_parsing, goods_and_payouts

router = APIRouter(prefix="/v3/checkouts", tags=["checkouts"])


@router.get(
    "/{id}",
    **openapi.operation(
        "getCheckout",
        "Get a checkout",
        goods_and_payouts.CheckoutAnswer,
        *(401, 404, 429),
        overrides=documented_failures.CHECKOUT_FAILURES,
    ),
)
async def get(
    checkout_id: call_inputs.RowId, service: callers.ServiceDep, caller: callers.CallerDep
) -> Response:
    """Return a checkout of one of the application's requests."""
    found = await checkout_rows.read_of_app(service.db, caller.app_id, checkout_id)
    if found is None:
        raise errors.NotFound(claiming.UNKNOWN)
    return responses.json(goods_and_payouts.checkout_answer(found, caller.now))


@router.post(
    "/{id}/confirm",
    **openapi.operation(
        "confirmCheckout",
        "Confirm that the money came",
        goods_and_payouts.CheckoutAnswer,
        *(401, 404, 409, 429),
        overrides=documented_failures.CHECKOUT_FAILURES,
        keyed=True,
    ),
)
async def confirm(
    checkout_id: call_inputs.RowId,
    request: Request,
    service: callers.ServiceDep,
    caller: callers.CallerDep,
) -> Response:
    """Record the payment by the seller's word; safe to repeat."""
    return await _decide(claiming.confirm, checkout_id, request, service, caller)


@router.post(
    "/{id}/reject",
    **openapi.operation(
        "rejectCheckout",
        "Say that the money didn't come",
        goods_and_payouts.CheckoutAnswer,
        *(401, 404, 409, 429),
        overrides=documented_failures.CHECKOUT_FAILURES,
        keyed=True,
    ),
)
async def reject(
    checkout_id: call_inputs.RowId,
    request: Request,
    service: callers.ServiceDep,
    caller: callers.CallerDep,
) -> Response:
    """End a claimed checkout, whose unit is for sale again; safe to repeat."""
    return await _decide(claiming.reject, checkout_id, request, service, caller)


async def _decide(
    decide: Callable[[database.Transaction, str, str, int], checkout.Checkout],
    checkout_id: str,
    request: Request,
    service: callers.Service,
    caller: request_commands.Caller,
) -> Response:
    key, own = call_inputs.call_key(request, caller), (caller.app_id, checkout_id, caller.now)
    decided = await service.db.transaction(
        lambda tx: idempotency.once(
            tx, key, lambda: decide(tx, *own), lambda _: claiming.find_own(tx, *own)
        )
    )
    return responses.json(goods_and_payouts.checkout_answer(decided, caller.now))


# `/v3/payoutAccounts`.


payout_router = APIRouter(prefix="/v3/payoutAccounts", tags=["payout accounts"])


@payout_router.get(
    "",
    **openapi.operation(
        "listPayoutAccounts",
        "List payout accounts",
        goods_and_payouts.PayoutList,
        *(400, 401, 429),
        overrides=documented_failures.PAYOUT_FAILURES,
    ),
)
@payout_router.get("/", include_in_schema=False)
async def list_(
    service: callers.ServiceDep,
    caller: callers.CallerDep,
    owner: Annotated[
        str, Query(pattern=goods_and_payouts.OWNER_PATTERN, description="Whose accounts.")
    ],
) -> Response:
    """List an owner's accounts in the order in which payers are offered their ways."""
    found = await service.payouts.list(caller.app_id, owner)
    return responses.json({"items": [goods_and_payouts.payout_answer(one) for one in found]})


@payout_router.post(
    "",
    **openapi.operation(
        "connectPayoutAccount",
        "Connect a payout account",
        goods_and_payouts.PayoutAnswer,
        *(400, 401, 413, 415, 429),
        extra=openapi.body("PayoutBody"),
        overrides=documented_failures.PAYOUT_FAILURES,
        keyed=True,
    ),
)
@payout_router.post("/", include_in_schema=False)
async def connect(
    request: Request, service: callers.ServiceDep, caller: callers.CallerDep
) -> Response:
    """Check the details, ask the wallet where there is one, and store the account.

    It takes the place of the owner's account of the same kind, for banks of the same scheme.
    Payment links that are out already are paid to it from now on. A dry run stores nothing.
    """
    service.payouts.check_real_money()
    text = await call_inputs.read_text(request, call_inputs.JSON)
    body, key = body_parsing.read_payout(text), call_inputs.call_key(request, caller, text)
    if body.kind != payout_account.BANK:  # bank details are checked without asking a server
        callers.state_of(request).limits.count_probe(caller.app_id, body.owner)
    if body.dry_run:
        checked = await service.payouts.check(caller.app_id, body.kind, body.details)
        return responses.json(goods_and_payouts.checked_answer(body.owner, checked))
    account = await service.payouts.connect(caller.app_id, body.owner, body.kind, body.details, key)
    return responses.json(goods_and_payouts.payout_answer(account))


@payout_router.delete(
    "/{id}",
    summary="Remove a payout account",
    operation_id="removePayoutAccount",
    response_class=Response,
    responses={
        200: {"description": "It is gone; the body is empty."},
        **documented_failures.failures(
            400, 401, 404, 429, overrides=documented_failures.REMOVAL_FAILURES, keyed=True
        ),
    },
    openapi_extra=openapi.AUTHENTICATED | openapi.KEYED,
)
async def remove(
    account_id: call_inputs.RowId,
    request: Request,
    service: callers.ServiceDep,
    caller: callers.CallerDep,
) -> Response:
    """Remove an account: no new payment goes to it."""
    key = call_inputs.call_key(request, caller)
    await service.payouts.remove(caller.app_id, account_id, key)
    return Response(status_code=200, headers=responses.HEADERS)


# `/hints`: a wallet says that money has arrived, so that it is polled sooner.


hint_router = APIRouter(tags=["wallets"])

HintToken: TypeAlias = Annotated[
    str,
    Path(
        description="Only the wallet that made the invoice knows it.",
        json_schema_extra={"pattern": "^[0-9a-f]{32}$"},
    ),
]
"""The pattern is only documented: any other token is unknown (404), not malformed (400)."""


@hint_router.post(
    f"{callers.HINT_PATH}/{{id}}/{{token}}",
    operation_id="hint",
    summary="Hint that money may have come",
    status_code=204,
    responses={
        204: {"description": "The wallet is asked at once."},
        **documented_failures.failures(404, 413, 429, overrides=documented_failures.HINT_FAILURES),
    },
    openapi_extra=openapi.OPEN,
)
async def hear(
    checkout_id: call_inputs.RowId,
    token: HintToken,
    request: Request,
    service: callers.ServiceDep,
) -> Response:
    """Queue a look at the checkout's wallet, whatever the body says: it proves nothing."""
    if not callers.is_genuine_hint(service.payer_key, checkout_id, token):
        await callers.admit_payer(request)
        raise errors.NoSuchAddress
    callers.admit_hint(request, checkout_id)
    await request_body.read(request)
    await service.db.transaction(partial(polling.hint, checkout_id=checkout_id, now=service.now()))
    return Response(status_code=204)
