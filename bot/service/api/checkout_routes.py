"""`/v3/checkouts`, `/v3/payoutAccounts` and `/hints`: attempts to pay, and where the money goes.

A seller confirms or rejects a checkout if its rail can't know whether the money arrived.
"""

from collections.abc import Callable
from functools import partial
from typing import Annotated, TypeAlias

from fastapi import APIRouter, Depends, Path, Query, Request
from starlette.responses import Response

from bot.core import errors
from bot.core.database import database
from bot.core.net import request_body
from bot.interface import answers, bodies, fields, refusals, vocabulary
from bot.service.api import callers, calls, openapi, to_answers
from bot.service.checkouts import checkout, claiming, wallet_calls
from bot.service.payments import payout_accounts
from bot.service.requests import idempotency

router = APIRouter(prefix="/v3/checkouts", tags=["checkouts"], route_class=calls.ApplicationRoute)

CHECKOUT_FAILURES = (
    refusals.Failure(
        "The application has no such checkout (`notFound`).", errors.NotFound(claiming.UNKNOWN)
    ),
    refusals.Failure(
        "The checkout is in a state that doesn't allow it (`wrongState`).",
        errors.WrongState("opening", "Confirm it once it's open."),
    ),
)


@router.get(
    "/{id}",
    **openapi.operation(
        "getCheckout",
        "Get a checkout",
        answers.CheckoutAnswer,
        *(401, 404, 429),
        but=CHECKOUT_FAILURES,
    ),
)
async def get(
    checkout_id: calls.RowId, service: callers.ServiceDep, caller: callers.CallerDep
) -> Response:
    """Return a checkout of one of the application's requests."""
    own = partial(claiming.find_own, app_id=caller.app_id, checkout_id=checkout_id, now=caller.now)
    found = await service.db.read(own)
    return calls.json(to_answers.opened(found, caller.now))


@router.post(
    "/{id}/confirm",
    **openapi.operation(
        "confirmCheckout",
        "Confirm that the money came",
        answers.CheckoutAnswer,
        *(401, 404, 409, 429),
        but=CHECKOUT_FAILURES,
        keyed=True,
    ),
)
async def confirm(checkout_id: calls.RowId, request: Request) -> Response:
    """Record the payment by the seller's word; safe to repeat."""
    return await _decide(claiming.confirm, checkout_id, request)


@router.post(
    "/{id}/reject",
    **openapi.operation(
        "rejectCheckout",
        "Say that the money didn't come",
        answers.CheckoutAnswer,
        *(401, 404, 409, 429),
        but=CHECKOUT_FAILURES,
        keyed=True,
    ),
)
async def reject(checkout_id: calls.RowId, request: Request) -> Response:
    """End a claimed checkout, whose unit is for sale again; safe to repeat."""
    return await _decide(claiming.reject, checkout_id, request)


async def _decide(
    decide: Callable[[database.Transaction, str, str, int], checkout.Checkout],
    checkout_id: str,
    request: Request,
) -> Response:
    service, caller, key = calls.call_of(request)
    own = (caller.app_id, checkout_id, caller.now)
    decided = await service.db.transaction(
        lambda tx: idempotency.once(
            tx, key, lambda: decide(tx, *own), lambda _: claiming.find_own(tx, *own)
        )
    )
    return calls.json(to_answers.opened(decided, caller.now))


# `/v3/payoutAccounts`.


payout_router = APIRouter(
    prefix="/v3/payoutAccounts",
    tags=["payout accounts"],
    route_class=calls.ApplicationRoute,
)

PAYOUT_FAILURES = (
    refusals.Failure(
        "A field is wrong, or the server takes test money, which goes to no account"
        " (`invalidBody`).",
        errors.InvalidBody.of_field("owner", "is required"),
    ),
    refusals.Failure(
        "The account that the key made is gone (`notFound`).",
        errors.NotFound(payout_accounts.UNKNOWN),
    ),
    refusals.Failure(
        "Too many calls, or too many accounts at once (`rateLimited`): see Retry-After.",
        errors.RateLimited(1),
    ),
)
REMOVAL_FAILURES = (
    refusals.Failure(
        "The server takes test money, which goes to no account (`invalidBody`).",
        errors.InvalidBody(payout_accounts.TEST_MONEY),
    ),
    refusals.Failure(
        "The application has no such payout account (`notFound`).",
        errors.NotFound(payout_accounts.UNKNOWN),
    ),
)


async def _payouts_of(service: callers.ServiceDep) -> payout_accounts.Payouts:
    """Return the accounts. Raises InvalidBody with test money, whatever is wrong with the body."""
    service.payouts.check_real_money()
    return service.payouts


PayoutsDep: TypeAlias = Annotated[payout_accounts.Payouts, Depends(_payouts_of)]


@payout_router.get(
    "",
    **openapi.operation(
        "listPayoutAccounts",
        "List payout accounts",
        answers.PayoutList,
        *(400, 401, 429),
        but=PAYOUT_FAILURES,
    ),
)
@payout_router.get("/", include_in_schema=False)
async def list_(
    service: callers.ServiceDep,
    caller: callers.CallerDep,
    owner: Annotated[fields.Owner, Query(description="Whose accounts.")],
) -> Response:
    """List an owner's accounts in the order in which payers are offered their ways."""
    found = await service.payouts.list(caller.app_id, owner)
    items = [to_answers.payout(one.owner, one) for one in found]
    return calls.json(answers.PayoutList(items=items))


@payout_router.post(
    "",
    **openapi.operation(
        "connectPayoutAccount",
        "Connect a payout account",
        answers.PayoutAnswer,
        *(400, 401, 413, 415, 429),
        but=PAYOUT_FAILURES,
        keyed=True,
    ),
)
@payout_router.post("/", include_in_schema=False)
async def connect(body: bodies.PayoutBody, request: Request, payouts: PayoutsDep) -> Response:
    """Check the details, ask the wallet where there is one, and store the account.

    It takes the place of the owner's account of the same kind, for banks of the same scheme.
    Payment links that are out already are paid to it from now on. A dry run stores nothing.
    """
    _, caller, key = calls.call_of(request)
    if body.kind != vocabulary.BANK:  # bank details are checked without asking a server
        callers.state_of(request).limits.count_probe(caller.app_id, body.owner)
    if body.dry_run:
        checked = await payouts.check(caller.app_id, body.kind, body.details)
        return calls.json(to_answers.payout(body.owner, checked))
    account = await payouts.connect(caller.app_id, body.owner, body.kind, body.details, key)
    return calls.json(to_answers.payout(account.owner, account))


@payout_router.delete(
    "/{id}",
    **openapi.operation(
        "removePayoutAccount",
        "Remove a payout account",
        None,
        *(400, 401, 404, 429),
        but=REMOVAL_FAILURES,
        keyed=True,
    ),
)
async def remove(account_id: calls.RowId, request: Request) -> Response:
    """Remove an account: no new payment goes to it."""
    service, caller, key = calls.call_of(request)
    await service.payouts.remove(caller.app_id, account_id, key)
    return calls.gone()


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

NO_HINT = refusals.Failure("No checkout has this address (`notFound`).", errors.NoSuchAddress())


@hint_router.post(
    f"{callers.HINT_PATH}/{{id}}/{{token}}",
    operation_id="hint",
    summary="Hint that money may have come",
    status_code=204,
    responses={
        204: {"description": "The wallet is asked at once."},
        **openapi.failures(404, 413, 429, but=(NO_HINT,)),
    },
    openapi_extra=openapi.OPEN,
)
async def hear(
    checkout_id: calls.RowId,
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
    await service.db.transaction(
        partial(wallet_calls.hint, checkout_id=checkout_id, now=service.now())
    )
    return Response(status_code=204)
