"""`/pay/{id}/checkout/{checkoutId}`: what to pay with, the payer's word, what became of it."""

import asyncio
from collections.abc import Sequence
from functools import partial

import structlog
from fastapi import APIRouter, Request
from starlette.responses import RedirectResponse, Response

from bot.core.errors import InvalidBody, NotFound, NotPayable, WrongState
from bot.service.http import callers
from bot.service.http.plain_route import PlainRoute
from bot.service.http.service import Service
from bot.service.model.checkout import Checkout
from bot.service.model.checkout_states import ENDED, CheckoutState
from bot.service.model.request import PaymentRequest
from bot.service.page import checkout_values, forms, outcomes, pay_with, render
from bot.service.store import checkouts, payments, requests
from bot.service.usecases import claiming, looking, paying
from bot.service.usecases.paying import PaymentProgress

WAITS = (0.05, 0.1, 0.15, 0.2, 0.5, 0.5, 0.5, 0.5)
"""Seconds between reads of a checkout whose invoice is being fetched: 2.5 together."""

LOOK_WAITS = (0.1, 0.15, 0.25, 0.5)
"""Seconds between reads for a page's script while the wallet is asked: 1 together."""

log = structlog.get_logger()
router = APIRouter(include_in_schema=False, route_class=PlainRoute)


@router.api_route("/pay/{id}/checkout/{checkout_id}", methods=["GET", "HEAD"])
async def show(request: Request) -> Response:
    """Show the state of a checkout; redirect once its money has arrived."""
    service, held = await _held(request)
    held = await _changed(service, held, CheckoutState.OPENING, WAITS)
    if held.state(service.now()) is CheckoutState.OPEN:
        is_asked = await looking.hint_for_page(service.db, held, service.now())
        if is_asked and "live" in request.query_params:
            held = await _changed(service, held, CheckoutState.OPEN, LOOK_WAITS)
    now = service.now()
    found = await requests.read_ever(service.db, held.request_id, now)
    if found is None:
        raise NotFound
    payment = await payments.read_of_checkout(service.db, held.id)
    if payment and payment.took_unit:
        return await _onward(service, held)
    reader = forms.reader(request)
    values = checkout_values.checkout_page(reader, found, held, payment, now)
    others = held.stored_state is CheckoutState.OPEN and await _has_other_ways(service, found)
    values |= {"others": others, "link": _link(service, held)}
    if values["then"] and not await _is_promised(request, service, found, held):
        values["then"] = checkout_values.unpromised(reader, found, held)
    return outcomes.page("checkout.html", service, reader, found, values)


async def _is_promised(
    request: Request, service: Service, found: PaymentRequest, held: Checkout
) -> bool:
    """Return whether the units would be held until the seller decides, if it were claimed now."""
    context, now = service.payment_context, service.now()
    if not found.units or not context.holds:
        return True
    holder = context.holder(callers.holder(request, found.id), found)
    room = await service.db.read(
        lambda tx: claiming.find_promise(tx, context, found, held, holder, now)
    )
    return room is not None


async def _changed(
    service: Service, held: Checkout, state: CheckoutState, waits: Sequence[float]
) -> Checkout:
    """Return the checkout once it has left a state, or as it is after so many seconds."""
    for seconds in waits:
        if held.state(service.now()) is not state:
            break
        await asyncio.sleep(seconds)
        held = await checkouts.read(service.db, held.request_id, held.id) or held
    return held


async def _has_other_ways(service: Service, found: PaymentRequest) -> bool:
    """Return whether the request can also be paid in another way."""
    return len(await paying.read_ways(service.db, service.payment_context, found)) > 1


@router.api_route("/pay/{id}/checkout/{checkout_id}/code.png", methods=["GET", "HEAD"])
async def code(request: Request) -> Response:
    """Return the QR picture of what is to be paid; it is gone once the checkout has ended."""
    service, held = await _held(request)
    text = pay_with.code_text(held)
    if text is None or held.state(service.now()) not in pay_with.SHOWN:
        raise NotFound
    from bot.service.banking.code_picture import code_picture  # noqa: PLC0415 - costs memory

    drawn = await asyncio.to_thread(code_picture, text, pay_with.way_name(held))
    return Response(drawn, headers=render.HEADERS, media_type="image/png")


@router.api_route("/pay/{id}/checkout/{checkout_id}", methods=["POST"])
async def act(request: Request) -> Response:
    """Take the payer's word that the money was sent, or cancel, which frees the unit at once.

    The unguessable address is the proof that the payer holds the checkout. Pressed twice, or after
    the seller has answered, both lead to what became of the checkout.
    """
    service, held = await _held(request)
    action = (await forms.read(request)).get("action")
    if action == "claim":
        return await _claim(request, service, held)
    if action != "cancel":
        raise InvalidBody("The form names no action that exists.")
    cancel = partial(
        claiming.cancel, request_id=held.request_id, checkout_id=held.id, now=service.now()
    )
    if await service.db.transaction(cancel):
        log.info("checkout cancelled", request=held.request_id)
    held = await checkouts.read(service.db, held.request_id, held.id) or held
    if request.query_params.get("then") == "pay" and held.state(service.now()) in ENDED:
        return RedirectResponse(f"/pay/{held.request_id}", 303, render.HEADERS)
    return await _onward(service, held)


async def _claim(request: Request, service: Service, held: Checkout) -> Response:
    """Claim the checkout, or answer with its page and why that can't be."""
    now, holder = service.now(), callers.holder(request, held.request_id)
    claim = partial(
        claiming.claim,
        context=service.payment_context, request_id=held.request_id, checkout_id=held.id,
        now=now, holder=holder,
    )  # fmt: skip
    try:
        await service.db.transaction(claim)
    except (NotFound, NotPayable, WrongState):
        # Another press or the seller may have been faster than this one.
        held = await checkouts.read(service.db, held.request_id, held.id) or held
        if held.stored_state.is_settled:
            return await _onward(service, held)
        return await _refused(request, service, held, now)
    log.info("payment claimed", request=held.request_id, checkout=held.id)
    return RedirectResponse(outcomes.checkout_path(held.request_id, held.id), 303, render.HEADERS)


async def _onward(service: Service, held: Checkout) -> Response:
    """Redirect to the receipt, or to the redirect, of a paid checkout, and else to its page."""
    found = await requests.read_ever(service.db, held.request_id, service.now())
    payment = await payments.read_of_checkout(service.db, held.id)
    progress = PaymentProgress(held.id, payment)
    onward = outcomes.next_page(service, found, held.request_id, progress)
    return RedirectResponse(onward, 303, render.HEADERS)


async def _refused(request: Request, service: Service, held: Checkout, now: int) -> Response:
    found = await requests.read_ever(service.db, held.request_id, now)
    if found is None:
        raise NotFound
    reader = forms.reader(request)
    payment = await payments.read_of_checkout(service.db, held.id)
    values = checkout_values.checkout_page(reader, found, held, payment, now)
    values |= {"others": False, "link": _link(service, held)}
    if held.state(now) is CheckoutState.LAPSED and not held.automatic:
        values |= checkout_values.unclaimed(reader, found, held)
    return outcomes.page("checkout.html", service, reader, found, values, status=409)


def _link(service: Service, held: Checkout) -> str:
    """Return the address of a checkout's page, for its payer to keep."""
    return service.public_url + outcomes.checkout_path(held.request_id, held.id)


async def _held(request: Request) -> tuple[Service, Checkout]:
    """Return the service and the checkout of the address. Raises NotFound and RateLimited."""
    service, checkout_id = callers.state(request).service, request.path_params["checkout_id"]
    held = await checkouts.read(service.db, request.path_params["id"], checkout_id)
    if held is None:
        callers.admit_payer(request)
        raise NotFound
    callers.admit_checkout(request, checkout_id)
    return service, held
