"""`/pay/{id}`, its receipts and pictures."""

import asyncio
import re
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache, partial

import structlog
from fastapi import APIRouter, Request
from starlette.responses import RedirectResponse, Response

from bot.core import errors
from bot.service.checkouts import checkout, checkout_rows, claiming, paying, polling
from bot.service.checkouts.order import check_payer_data
from bot.service.http import callers, responses, routes
from bot.service.pages import checkout_values, page_cache, page_values, payer_form, render
from bot.service.payments import payment_rows, settling
from bot.service.rails import rail
from bot.service.requests import request, request_rows
from bot.service.wire import json_answers

# `/pay/{id}/checkout/{checkoutId}`: what to pay with, the payer's word, what became of it.


WAITS = (0.05, 0.1, 0.15, 0.2, 0.5, 0.5, 0.5, 0.5)
"""Seconds between reads of a checkout whose invoice is being fetched: 2.5 together."""

POLL_WAITS = (0.1, 0.15, 0.25, 0.5)
"""Seconds between reads for a page's script while the wallet is asked: 1 together."""

log = structlog.get_logger()
checkout_router = APIRouter(include_in_schema=False, route_class=routes.PlainRoute)


@checkout_router.api_route("/pay/{id}/checkout/{checkout_id}", methods=["GET", "HEAD"])
async def show_checkout(request: Request) -> Response:
    """Show the state of a checkout; redirect once its money has arrived."""
    service, held = await _held(request)
    held = await _changed(service, held, checkout.CheckoutState.OPENING, WAITS)
    if held.state(service.now()) is checkout.CheckoutState.OPEN:
        is_asked = await polling.hint_for_page(service.db, held, service.now())
        if is_asked and "live" in request.query_params:
            held = await _changed(service, held, checkout.CheckoutState.OPEN, POLL_WAITS)
    now = service.now()
    found = await request_rows.read_ever(service.db, held.request_id, now)
    if found is None:
        raise errors.NotFound
    payment = await payment_rows.read_of_checkout(service.db, held.id)
    if payment and payment.took_unit:
        return await _onward(service, held)
    reader = payer_form.reader(request)
    values = checkout_values.checkout_page(reader, found, held, payment, now)
    others = held.stored_state is checkout.CheckoutState.OPEN and await _has_other_ways(
        service, found
    )
    values |= {"others": others, "link": _link(service, held)}
    if values["then"] and not await _is_promised(request, service, found, held):
        values["then"] = checkout_values.unpromised(reader, found, held)
    return checkout_values.outcome_page("checkout.html", service, reader, found, values)


async def _is_promised(
    request: Request,
    service: callers.Service,
    found: request.PaymentRequest,
    held: checkout.Checkout,
) -> bool:
    """Return whether the units would be held until the seller decides, if it were claimed now."""
    context, now = service.payment_context, service.now()
    if not found.units or not context.holds:
        return True
    holder = context.holder(callers.holder_of(request, found.id), found)
    room = await service.db.read(
        lambda tx: claiming.find_promise(tx, context, found, held, holder, now)
    )
    return room is not None


async def _changed(
    service: callers.Service,
    held: checkout.Checkout,
    state: checkout.CheckoutState,
    waits: Sequence[float],
) -> checkout.Checkout:
    """Return the checkout once it has left a state, or as it is after so many seconds."""
    for seconds in waits:
        if held.state(service.now()) is not state:
            break
        await asyncio.sleep(seconds)
        held = await checkout_rows.read(service.db, held.request_id, held.id) or held
    return held


async def _has_other_ways(service: callers.Service, found: request.PaymentRequest) -> bool:
    """Return whether the request can also be paid in another way."""
    return len(await paying.read_ways(service.db, service.payment_context, found)) > 1


@checkout_router.api_route("/pay/{id}/checkout/{checkout_id}/code.png", methods=["GET", "HEAD"])
async def show_code(request: Request) -> Response:
    """Return the QR picture of what is to be paid; it is gone once the checkout has ended."""
    service, held = await _held(request)
    text = checkout_values.code_text(held)
    if text is None or held.state(service.now()) not in checkout_values.SHOWN:
        raise errors.NotFound
    from bot.service.rails import bank_picture  # noqa: PLC0415 - costs memory

    drawn = await asyncio.to_thread(bank_picture.code_picture, text, checkout_values.way_name(held))
    return Response(drawn, headers=render.HEADERS, media_type="image/png")


@checkout_router.api_route("/pay/{id}/checkout/{checkout_id}", methods=["POST"])
async def act(request: Request) -> Response:
    """Take the payer's word that the money was sent, or cancel, which frees the unit at once.

    The unguessable address is the proof that the payer holds the checkout. Pressed twice, or after
    the seller has answered, both lead to what became of the checkout.
    """
    service, held = await _held(request)
    action = (await payer_form.read(request)).get("action")
    if action == "claim":
        return await _claim(request, service, held)
    if action != "cancel":
        raise errors.InvalidBody("The form names no action that exists.")
    cancel = partial(
        claiming.cancel, request_id=held.request_id, checkout_id=held.id, now=service.now()
    )
    if await service.db.transaction(cancel):
        log.info("checkout cancelled", request=held.request_id)
    held = await checkout_rows.read(service.db, held.request_id, held.id) or held
    if request.query_params.get("then") == "pay" and held.state(service.now()) in checkout.ENDED:
        return RedirectResponse(f"/pay/{held.request_id}", 303, render.HEADERS)
    return await _onward(service, held)


async def _claim(request: Request, service: callers.Service, held: checkout.Checkout) -> Response:
    """Claim the checkout, or answer with its page and why that can't be."""
    now, holder = service.now(), callers.holder_of(request, held.request_id)
    claim = partial(
        claiming.claim,
        context=service.payment_context, request_id=held.request_id, checkout_id=held.id,
        now=now, holder=holder,
    )  # fmt: skip
    try:
        await service.db.transaction(claim)
    except (errors.NotFound, errors.NotPayable, errors.WrongState):
        # Another press or the seller may have been faster than this one.
        held = await checkout_rows.read(service.db, held.request_id, held.id) or held
        if held.stored_state.is_settled:
            return await _onward(service, held)
        return await _refused_checkout(request, service, held, now)
    log.info("payment claimed", request=held.request_id, checkout=held.id)
    return RedirectResponse(
        checkout_values.checkout_path(held.request_id, held.id), 303, render.HEADERS
    )


async def _onward(service: callers.Service, held: checkout.Checkout) -> Response:
    """Redirect to the receipt, or to the redirect, of a paid checkout, and else to its page."""
    found = await request_rows.read_ever(service.db, held.request_id, service.now())
    payment = await payment_rows.read_of_checkout(service.db, held.id)
    progress = paying.PaymentProgress(held.id, payment)
    onward = checkout_values.next_page(service, found, held.request_id, progress)
    return RedirectResponse(onward, 303, render.HEADERS)


async def _refused_checkout(
    request: Request, service: callers.Service, held: checkout.Checkout, now: int
) -> Response:
    found = await request_rows.read_ever(service.db, held.request_id, now)
    if found is None:
        raise errors.NotFound
    reader = payer_form.reader(request)
    payment = await payment_rows.read_of_checkout(service.db, held.id)
    values = checkout_values.checkout_page(reader, found, held, payment, now)
    values |= {"others": False, "link": _link(service, held)}
    if held.state(now) is checkout.CheckoutState.LAPSED and not held.automatic:
        values |= checkout_values.unclaimed(reader, found, held)
    return checkout_values.outcome_page("checkout.html", service, reader, found, values, status=409)


def _link(service: callers.Service, held: checkout.Checkout) -> str:
    """Return the address of a checkout's page, for its payer to keep."""
    return service.public_url + checkout_values.checkout_path(held.request_id, held.id)


async def _held(request: Request) -> tuple[callers.Service, checkout.Checkout]:
    """Return the service and the checkout of the address. Raises NotFound and RateLimited."""
    service, checkout_id = callers.state_of(request).service, request.path_params["checkout_id"]
    held = await checkout_rows.read(service.db, request.path_params["id"], checkout_id)
    if held is None:
        callers.admit_payer(request)
        raise errors.NotFound
    callers.admit_checkout(request, checkout_id)
    return service, held


PICTURE = {
    "Cache-Control": "public, max-age=3600",
    "X-Content-Type-Options": "nosniff",
    "X-Robots-Tag": "noindex",
}
SVG = "image/svg+xml"
_TOKEN = re.compile(r"[A-Za-z0-9_-]{16,64}")

router = APIRouter(include_in_schema=False, route_class=routes.PlainRoute)


@router.api_route("/pay/{id}", methods=["GET", "HEAD"])
async def show(request: Request) -> Response:
    """Show the request in any state, which changes nothing.

    If it can be paid now, set the payer's cookie.
    """
    service = callers.admit_viewer(request)
    now = service.now()
    found = await request_rows.read(service.db, request.path_params["id"], now)
    if found is None:
        callers.admit_payer(request)
        raise errors.NotFound
    reader, kept = payer_form.reader(request), request.app.state.page_cache
    answer = render.page(await kept.text(reader, found, now), reader, found)
    if found.is_enabled(now):
        callers.set_payer_cookie(request, answer)
    return answer


@router.api_route("/pay/{id}", methods=["POST"])
async def pay(request: Request) -> Response:
    """Accept the payer's form: pay, or answer what is wrong."""
    service, request_id = callers.admit_payer(request), request.path_params["id"]
    posted = await payer_form.read_all(request)
    amounts, form = posted.pop("amount", []), payer_form.single(posted)
    now = service.now()
    found = await request_rows.read(service.db, request_id, now)
    sound = _TOKEN.fullmatch(form.get("token", ""))
    if found is None:  # a form posted before leads to its receipt, though the request is deleted
        if not sound:
            raise errors.NotFound
        return await _pay(
            request,
            _payment_form(request, form, {}, payer_form.NO_ORDER),
            None,
            page_values.PayerForm(form),
        )
    data, wrong = check_payer_data(found.terms.requested_user_data, form)
    order = payer_form.read_order(found.terms, amounts, form)
    kept = page_values.PayerForm(form, wrong, order=order)
    if wrong or not order.is_sound or not sound:
        status = 409 if found.hindrance(now) else 400
        kept = replace(kept, stale=order.is_sound and not wrong)
        return await _page(request, found, now, status=status, form=kept)
    try:
        return await _pay(request, _payment_form(request, form, data, order), found, kept)
    except errors.NotPayable as refusal:
        return await _refused(request, request_id, refusal, kept)
    except errors.InvalidBody as refusal:
        misfit = payer_form.misfit_of(order, refusal)
        if misfit is None:
            raise
        return await _page(request, found, now, status=400, form=replace(kept, order=misfit))


def _payment_form(
    request: Request,
    form: dict[str, str],
    data: dict[request.PayerField, str],
    order: payer_form.PayerOrder,
) -> paying.PaymentForm:
    service, request_id = callers.state_of(request).service, request.path_params["id"]
    mails = service.policy.mails and "email" in data
    return paying.PaymentForm(
        request_id,
        form.get("token", ""),
        data,
        _scenario(service, form),
        callers.holder_of(request, request_id),
        payer_form.reader(request).language if mails else None,
        form.get("way"),
        price=order.chosen.amount,
        quantity=order.quantity or 1,
        payer_name=order.words.name,
        message=order.words.message,
        another=form.get("another") == "yes",
    )


async def _pay(
    request: Request,
    form: paying.PaymentForm,
    found: request.PaymentRequest | None,
    kept: page_values.PayerForm,
) -> Response:
    """Store what the form pays or opens, and redirect to what follows.

    A payer whose claim waits for the seller is told, and may look at it or buy another.
    """
    service = callers.state_of(request).service
    # The time is that of the transaction, so that payments sort by it in their order.
    standing = await service.db.transaction(
        lambda tx: paying.pay(tx, service.payment_context, form, service.now()),
        about=form.request_id if found else "",
    )
    if standing.fresh and standing.payment:
        settling.log_payment(standing.payment)
    if standing.is_claimed and found:
        claimed = checkout_values.checkout_path(form.request_id, standing.checkout_id)
        now = service.now()
        found = await request_rows.read(service.db, form.request_id, now) or found
        return await _page(request, found, now, status=409, form=replace(kept, claimed=claimed))
    onward = checkout_values.next_page(service, found, form.request_id, standing)
    return RedirectResponse(onward, 303, render.HEADERS)


def _scenario(service: callers.Service, form: dict[str, str]) -> rail.SandboxScenario:
    """Return how test money arrives, as the payer chose; real money offers no choice."""
    chosen = form.get("manner", rail.SandboxScenario.AT_ONCE)
    known = {str(scenario): scenario for scenario in service.payment_context.rails.scenarios}
    if chosen != rail.SandboxScenario.AT_ONCE and chosen not in known:
        raise errors.InvalidBody("The form names no way in which test money arrives.")
    return known.get(chosen, rail.SandboxScenario.AT_ONCE)


async def _refused(
    request: Request, request_id: str, refusal: errors.NotPayable, kept: page_values.PayerForm
) -> Response:
    service = callers.state_of(request).service
    now = service.now()
    found = await request_rows.read(service.db, request_id, now)
    if found is None:
        raise errors.NotFound
    state = found.hindrance(now)
    if refusal.left and state is None:  # the form offers what is left
        form = replace(kept, left=refusal.left)
    else:  # units may be free again by now; the page still says why the payment was refused
        form = page_values.PayerForm(kept.typed, refused=state or refusal.state, order=kept.order)
    return await _page(request, found, now, status=409, form=form)


async def _page(
    request: Request,
    found: request.PaymentRequest,
    now: int,
    *,
    status: int,
    form: page_values.PayerForm,
) -> Response:
    """Answer with the page as the payer left it, and the problem."""
    service = callers.state_of(request).service
    reader = payer_form.reader(request)
    written = await page_cache.write(service, reader, found, now, form)
    return render.page(written, reader, found, status)


@router.api_route("/pay/{id}/live", methods=["GET", "HEAD"])
async def watch(request: Request) -> Response:
    """Return the part of the page that changes, for its script."""
    service, reader = callers.admit_open_page(request), payer_form.reader(request)
    text = await request.app.state.live.part(service, reader, request.path_params["id"])
    if text is None:
        callers.admit_payer(request)
        raise errors.NotFound
    return render.alone(reader, responses.Text.of(text))


@router.api_route("/pay/{id}/card.png", methods=["GET", "HEAD"])
async def picture(request: Request) -> Response:
    """Return the picture that chats show for a link to the page."""
    from bot.service.pages import preview_picture  # noqa: PLC0415 - rarely asked for, and its font takes memory

    found, url = await _found(request)
    drawn = await asyncio.to_thread(
        preview_picture.draw, preview_picture.content(payer_form.reader(request), found, url)
    )
    headers = PICTURE | {"Vary": "Accept-Language"}
    return Response(drawn, headers=headers, media_type="image/png")


@router.api_route("/qr/{id}.png", methods=["GET", "HEAD"])
async def png(request: Request) -> Response:
    _, url = await _found(request)
    return Response(_png(url), headers=PICTURE, media_type="image/png")


@router.api_route("/qr/{id}.svg", methods=["GET", "HEAD"])
async def svg(request: Request) -> Response:
    _, url = await _found(request)
    headers = PICTURE | {"Content-Security-Policy": "default-src 'none'"}
    return responses.TextResponse(_svg(url), 200, headers, SVG)


async def _found(request: Request) -> tuple[request.PaymentRequest, str]:
    """Return the request and the address of its page. Raises NotFound and RateLimited."""
    service = callers.admit_payer(request)
    found = await request_rows.read(service.db, request.path_params["id"], service.now())
    if found is None:
        raise errors.NotFound
    return found, json_answers.pay_url(service.public_url, found.id)


@lru_cache(maxsize=1024)
def _png(url: str) -> bytes:
    from bot.core.images import qr  # noqa: PLC0415 - costs memory

    return qr.png(url)


@lru_cache(maxsize=256)
def _svg(url: str) -> responses.Text:
    from bot.core.images import qr  # noqa: PLC0415 - as above

    return responses.Text.of(qr.svg(url))
