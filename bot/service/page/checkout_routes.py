"""`/pay/{id}/checkout/{checkoutId}`: the page on which a payer waits for the money, or cancels."""

from functools import partial

import structlog
from fastapi import APIRouter, Request
from starlette.responses import RedirectResponse, Response

from bot.core.errors import InvalidBody, NotFound
from bot.service.http import callers
from bot.service.http.plain_route import PlainRoute
from bot.service.http.service import Service
from bot.service.model.checkout import Checkout
from bot.service.page import forms, next_page, render, template_values
from bot.service.store import checkouts, payments, requests
from bot.service.usecases.paying import PaymentProgress

CANCEL = "cancel"

log = structlog.get_logger()
router = APIRouter(include_in_schema=False, route_class=PlainRoute)


@router.api_route("/pay/{id}/checkout/{checkout_id}", methods=["GET", "HEAD"])
async def show(request: Request) -> Response:
    """Show the state of a checkout; redirect once its money has arrived."""
    service, held = await _held(request)
    now = service.now()
    found = await requests.read_ever(service.db, held.request_id, now)
    if found is None:
        raise NotFound
    payment = await payments.read_of_checkout(service.db, held.id)
    if payment and not payment.oversold:
        onward = next_page.after(service, found, found.id, PaymentProgress(held.id, payment))
        return RedirectResponse(onward, 303, render.HEADERS)
    reader = forms.reader(request)
    values = template_values.checkout_page(reader, found, held, payment, now)
    money, target = service.payment_context.rail.test_money, found.terms.redirect_url
    return render.html("checkout.html", reader, values, test_money=money, target=target)


@router.api_route("/pay/{id}/checkout/{checkout_id}", methods=["POST"])
async def act(request: Request) -> Response:
    """Cancel a checkout, which frees its unit at once; a paid or lapsed one stays as it is.

    The unguessable address is the proof that the payer holds it.
    """
    service, held = await _held(request)
    form = await forms.read(request)
    if form.get("action") != CANCEL:
        raise InvalidBody("The form names no action that exists.")
    cancel = partial(
        checkouts.cancel, request_id=held.request_id, checkout_id=held.id, now=service.now()
    )
    if await service.db.transaction(cancel):
        log.info("checkout cancelled", request=held.request_id)
    return RedirectResponse(next_page.checkout(held.request_id, held.id), 303, render.HEADERS)


async def _held(request: Request) -> tuple[Service, Checkout]:
    """Return the service and the checkout of the address. Raises NotFound and RateLimited."""
    service, checkout_id = callers.state(request).service, request.path_params["checkout_id"]
    held = await checkouts.read(service.db, forms.request_id(request), checkout_id)
    if held is None:
        callers.admit_payer(request)
        raise NotFound
    callers.admit_checkout(request, checkout_id)
    return service, held
