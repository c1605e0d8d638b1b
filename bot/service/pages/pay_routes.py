"""`/pay/{id}`: the pay page, the pages of its checkouts, and its pictures."""

import asyncio
import re
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache, partial
from typing import Annotated, TypeAlias

import structlog
from fastapi import APIRouter, Depends, Request
from starlette.responses import RedirectResponse, Response

from bot.core import errors
from bot.interface import vocabulary
from bot.service.api import callers, calls, to_answers
from bot.service.checkouts import checkout_rows, claiming, paying, wallet_calls
from bot.service.checkouts.checkout import ENDED, SETTLED, Checkout
from bot.service.checkouts.order import check_payer_data
from bot.service.pages import (
    checkout_values,
    page_cache,
    page_texts,
    page_values,
    payer_form,
    render,
)
from bot.service.payments import payment_rows, settling
from bot.service.rails import rail
from bot.service.requests import request_rows
from bot.service.requests.request import PaymentRequest, checkout_path

log = structlog.get_logger()
_TOKEN = re.compile(r"[A-Za-z0-9_-]{16,64}")

page_router = APIRouter(include_in_schema=False)
"""The page and its form alone, which are tried before all other routes."""

router = APIRouter(include_in_schema=False)


@page_router.api_route("/pay/{id}", methods=["GET", "HEAD"])
async def show(request: Request, request_id: calls.RowId, service: callers.ViewerDep) -> Response:
    """Show the request in any state; set the payer's cookie if it can be paid now."""
    now = service.now()
    found = await request_rows.read(service.db, request_id, now)
    if found is None:
        await callers.admit_payer(request)
        raise errors.NotFound
    locale = page_texts.locale_of(request)
    written = await request.app.state.page_cache.text(locale, found, now)
    answer = render.page(written, locale, found)
    if found.is_enabled(now):
        callers.set_payer_cookie(request, answer)
    return answer


@page_router.post("/pay/{id}")
async def pay(request: Request, request_id: calls.RowId, service: callers.PayerDep) -> Response:
    """Accept the payer's form: pay, or answer with the page and the problems."""
    payer_form.refuse_other_sites(request)
    posted = await payer_form.read_all(request)
    amounts, form = posted.pop("amount", []), payer_form.single(posted)
    now = service.now()
    found = await request_rows.read(service.db, request_id, now)
    has_token = _TOKEN.fullmatch(form.get("token", ""))
    if found is None:  # a form that was posted before still leads to its receipt
        if not has_token:
            raise errors.NotFound
        payment_form = _payment_form(request, request_id, form, {}, payer_form.NO_ORDER)
        return await _pay(request, payment_form, None, page_values.PayerForm(form))
    data, wrong = check_payer_data(found.terms.requested_user_data, form)
    order = payer_form.read_order(found.terms, amounts, form)
    shown = page_values.PayerForm(form, wrong, order=order)
    if wrong or not order.is_sound or not has_token:
        status = 409 if found.hindrance(now) else 400
        shown = replace(shown, stale=order.is_sound and not wrong)
        return await _page(request, found, now, status=status, form=shown)
    payment_form = _payment_form(request, request_id, form, data, order)
    try:
        return await _pay(request, payment_form, found, shown)
    except errors.NotPayable as refusal:
        return await _refused(request, request_id, refusal, shown)
    except errors.InvalidBody as refusal:
        corrected = payer_form.with_amount_problem(order, refusal)
        if corrected is None:
            raise
        return await _page(request, found, now, status=400, form=replace(shown, order=corrected))


def _payment_form(
    request: Request,
    request_id: str,
    form: dict[str, str],
    data: dict[vocabulary.PayerField, str],
    order: payer_form.PayerOrder,
) -> paying.PaymentForm:
    service = callers.state_of(request).service
    mails = service.policy.mails and "email" in data
    # How test money arrives.
    chosen = form.get("manner", rail.SandboxScenario.AT_ONCE)
    known = {str(scenario): scenario for scenario in service.payment_context.rails.scenarios}
    if chosen != rail.SandboxScenario.AT_ONCE and chosen not in known:
        raise errors.InvalidBody("The form names no way in which test money arrives.")
    return paying.PaymentForm(
        request_id,
        form.get("token", ""),
        data,
        known.get(chosen, rail.SandboxScenario.AT_ONCE),
        callers.holder_of(request, request_id),
        page_texts.locale_of(request).language if mails else None,
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
    found: PaymentRequest | None,
    shown: page_values.PayerForm,
) -> Response:
    """Store the payment or the checkout, and redirect to the next page.

    A payer with a pending claim gets the page again, with a link to the claim and an option to buy
    another.
    """
    service = callers.state_of(request).service
    # The time is read in the transaction, so that times sort payments in the order of storage.
    progress = await service.db.transaction(
        lambda tx: paying.pay(tx, service.payment_context, form, service.now()),
        about=form.request_id if found else "",
    )
    if progress.fresh and progress.payment:
        settling.log_payment(progress.payment)
    if progress.is_claimed and found:
        claimed = checkout_path(form.request_id, progress.checkout_id)
        now = service.now()
        found = await request_rows.read(service.db, form.request_id, now) or found
        return await _page(request, found, now, status=409, form=replace(shown, claimed=claimed))
    onward = checkout_values.next_page(service, found, form.request_id, progress)
    return RedirectResponse(onward, 303, render.HEADERS)


async def _refused(
    request: Request, request_id: str, refusal: errors.NotPayable, shown: page_values.PayerForm
) -> Response:
    service = callers.state_of(request).service
    now = service.now()
    found = await request_rows.read(service.db, request_id, now)
    if found is None:
        raise errors.NotFound
    state = found.hindrance(now)
    if refusal.left and state is None:  # the form offers the remaining units
        form = replace(shown, left=refusal.left)
    else:  # units may be available again; the page still says why the payment was refused
        form = page_values.PayerForm(shown.typed, refused=state or refusal.state, order=shown.order)
    return await _page(request, found, now, status=409, form=form)


async def _page(
    request: Request,
    found: PaymentRequest,
    now: int,
    *,
    status: int,
    form: page_values.PayerForm,
) -> Response:
    """Answer with the page, the payer's input and the problem."""
    service = callers.state_of(request).service
    locale = page_texts.locale_of(request)
    written = await page_cache.write(service, locale, found, now, form)
    return render.page(written, locale, found, status)


@router.api_route("/pay/{id}/live", methods=["GET", "HEAD"])
async def watch(
    request: Request, request_id: calls.RowId, service: callers.OpenPageDep
) -> Response:
    """Return the live part of the page for its script."""
    locale = page_texts.locale_of(request)
    text = await request.app.state.live.part(service, locale, request_id)
    if text is None:
        await callers.admit_payer(request)
        raise errors.NotFound
    return render.static_page(locale, text)


# `/pay/{id}/checkout/{checkoutId}`: what to pay with, the payer's claim, and the outcome.


OPENING_WAITS = (0.05, 0.1, 0.15, 0.2, 0.5, 0.5, 0.5, 0.5)
"""Seconds between reads of a checkout whose invoice is being fetched: 2.5 in total."""

POLL_WAITS = (0.1, 0.15, 0.25, 0.5)
"""Seconds between reads for a page's script while the wallet is polled: 1 in total."""


async def read_checkout(
    request: Request,
    request_id: calls.RowId,
    checkout_id: str,
    service: callers.ServiceDep,
) -> Checkout:
    """Return the checkout at the address. Raises NotFound and RateLimited."""
    checkout = await checkout_rows.read(service.db, request_id, checkout_id)
    if checkout is None:
        await callers.admit_payer(request)
        raise errors.NotFound
    callers.admit_checkout(request, checkout_id)
    return checkout


CheckoutDep: TypeAlias = Annotated[Checkout, Depends(read_checkout)]


@router.api_route("/pay/{id}/checkout/{checkout_id}", methods=["GET", "HEAD"])
async def show_checkout(
    request: Request,
    service: callers.ServiceDep,
    checkout: CheckoutDep,
    live: str | None = None,
) -> Response:
    """Show the state of a checkout; redirect once its money has arrived.

    The page's script asks with `live`, and waits for the wallet's answer.
    """
    checkout = await _changed(service, checkout, vocabulary.CheckoutState.OPENING, OPENING_WAITS)
    if checkout.state(service.now()) is vocabulary.CheckoutState.OPEN:
        is_asked = await wallet_calls.hint_for_page(service.db, checkout, service.now())
        if is_asked and live is not None:
            checkout = await _changed(service, checkout, vocabulary.CheckoutState.OPEN, POLL_WAITS)
    now = service.now()
    found = await request_rows.read_ever(service.db, checkout.request_id, now)
    if found is None:
        raise errors.NotFound
    payment = await payment_rows.read_of_checkout(service.db, checkout.id)
    if payment and payment.took_unit:
        return await _onward(service, checkout)
    locale = page_texts.locale_of(request)
    values = checkout_values.checkout_page(locale, found, checkout, payment, now)
    has_other_ways = False
    if checkout.stored_state is vocabulary.CheckoutState.OPEN:
        ways = await paying.read_ways(service.db, service.payment_context, found)
        has_other_ways = len(ways) > 1
    values |= {"others": has_other_ways, "link": _link(service, checkout)}
    if values["then"] and not await _is_promised(request, service, found, checkout):
        values["then"] = page_texts.seller_text(
            locale, found, "page-sent-unheld", count=checkout.quantity
        )
    return checkout_values.outcome_page("checkout.html", service, locale, found, values)


async def _is_promised(
    request: Request,
    service: callers.Service,
    found: PaymentRequest,
    checkout: Checkout,
) -> bool:
    """True if a claim made now would hold the units until the seller decides."""
    context, now = service.payment_context, service.now()
    if not found.units or not context.holds:
        return True
    holder = context.holder(callers.holder_of(request, found.id), found)
    promise = await service.db.read(
        lambda tx: claiming.find_promise(tx, context, found, checkout, holder, now)
    )
    return promise is not None


async def _changed(
    service: callers.Service,
    checkout: Checkout,
    state: vocabulary.CheckoutState,
    waits: Sequence[float],
) -> Checkout:
    """Return the checkout when it has left a state, or unchanged after all waits."""
    for seconds in waits:
        if checkout.state(service.now()) is not state:
            break
        await asyncio.sleep(seconds)
        checkout = await _reread(service, checkout)
    return checkout


async def _reread(service: callers.Service, checkout: Checkout) -> Checkout:
    return await checkout_rows.read(service.db, checkout.request_id, checkout.id) or checkout


@router.api_route("/pay/{id}/checkout/{checkout_id}/code.png", methods=["GET", "HEAD"])
async def show_code(service: callers.ServiceDep, checkout: CheckoutDep) -> Response:
    """Return the QR picture of what to pay, until the checkout ends."""
    text = checkout_values.code_text(checkout)
    if text is None or checkout.state(service.now()) not in checkout_values.PAYABLE:
        raise errors.NotFound
    if checkout_values.way_name(checkout) == "swiss":
        from bot.service.rails import bank  # noqa: PLC0415 - costs memory

        draw = bank.swiss_picture
    else:
        from bot.core.images import qr  # noqa: PLC0415 - costs memory

        draw = qr.png
    drawn = await asyncio.to_thread(draw, text)
    return Response(drawn, headers=render.HEADERS, media_type="image/png")


@router.post("/pay/{id}/checkout/{checkout_id}")
async def act(
    request: Request,
    service: callers.ServiceDep,
    checkout: CheckoutDep,
    then: str | None = None,
) -> Response:
    """Claim that the money was sent, or cancel, which releases the units immediately.

    The unguessable address proves that the payer owns the checkout. If a button is pressed twice,
    or after the seller's answer, the page shows the outcome.
    """
    payer_form.refuse_other_sites(request)
    action = (await payer_form.read(request)).get("action")
    if action == "claim":
        return await _claim(request, service, checkout)
    if action != "cancel":
        raise errors.InvalidBody("The form names no action that exists.")
    cancel = partial(
        claiming.cancel, request_id=checkout.request_id, checkout_id=checkout.id, now=service.now()
    )
    if await service.db.transaction(cancel):
        log.info("checkout cancelled", request=checkout.request_id)
    checkout = await _reread(service, checkout)
    if then == "pay" and checkout.state(service.now()) in ENDED:
        return RedirectResponse(f"/pay/{checkout.request_id}", 303, render.HEADERS)
    return await _onward(service, checkout)


async def _claim(request: Request, service: callers.Service, checkout: Checkout) -> Response:
    """Claim the checkout, or answer with its page and the reason why it can't be claimed."""
    now, holder = service.now(), callers.holder_of(request, checkout.request_id)
    claim = partial(
        claiming.claim,
        context=service.payment_context, request_id=checkout.request_id, checkout_id=checkout.id,
        now=now, holder=holder,
    )  # fmt: skip
    try:
        await service.db.transaction(claim)
    except (errors.NotFound, errors.NotPayable, errors.WrongState):
        # Another press or the seller may have been faster.
        checkout = await _reread(service, checkout)
        if checkout.stored_state in SETTLED:
            return await _onward(service, checkout)
        return await _unclaimable(request, service, checkout, now)
    log.info("payment claimed", request=checkout.request_id, checkout=checkout.id)
    return RedirectResponse(checkout_path(checkout.request_id, checkout.id), 303, render.HEADERS)


async def _onward(service: callers.Service, checkout: Checkout) -> Response:
    """Redirect a paid checkout to its receipt or redirect address, any other to its page."""
    found = await request_rows.read_ever(service.db, checkout.request_id, service.now())
    payment = await payment_rows.read_of_checkout(service.db, checkout.id)
    progress = paying.PaymentProgress(checkout.id, payment)
    onward = checkout_values.next_page(service, found, checkout.request_id, progress)
    return RedirectResponse(onward, 303, render.HEADERS)


async def _unclaimable(
    request: Request, service: callers.Service, checkout: Checkout, now: int
) -> Response:
    found = await request_rows.read_ever(service.db, checkout.request_id, now)
    if found is None:
        raise errors.NotFound
    locale = page_texts.locale_of(request)
    payment = await payment_rows.read_of_checkout(service.db, checkout.id)
    values = checkout_values.checkout_page(locale, found, checkout, payment, now)
    values |= {"others": False, "link": _link(service, checkout)}
    if checkout.state(now) is vocabulary.CheckoutState.LAPSED and not checkout.automatic:
        values |= checkout_values.unclaimable_values(locale, found, checkout)
    return checkout_values.outcome_page("checkout.html", service, locale, found, values, status=409)


def _link(service: callers.Service, checkout: Checkout) -> str:
    """Return the full address of a checkout's page, which its payer may save."""
    return service.public_url + checkout_path(checkout.request_id, checkout.id)


# Pictures.


PICTURE_HEADERS = {
    "Cache-Control": "public, max-age=3600",
    "X-Content-Type-Options": "nosniff",
    "X-Robots-Tag": "noindex",
}


async def read_shown_request(request_id: calls.RowId, service: callers.PayerDep) -> PaymentRequest:
    """Return the request of a picture. Raises NotFound and RateLimited."""
    found = await request_rows.read(service.db, request_id, service.now())
    if found is None:
        raise errors.NotFound
    return found


ShownRequestDep: TypeAlias = Annotated[PaymentRequest, Depends(read_shown_request)]


@router.api_route("/pay/{id}/card.png", methods=["GET", "HEAD"])
async def picture(
    request: Request, service: callers.ServiceDep, found: ShownRequestDep
) -> Response:
    """Return the picture that chats show for a link to the page."""
    from bot.service.pages import preview_picture  # noqa: PLC0415 - rarely asked for, and its font takes memory

    locale, url = page_texts.locale_of(request), to_answers.pay_url(service.public_url, found.id)
    shown = preview_picture.content(locale, found, url)
    drawn = await asyncio.to_thread(preview_picture.draw, shown)
    headers = PICTURE_HEADERS | {"Vary": "Accept-Language"}
    return Response(drawn, headers=headers, media_type="image/png")


@router.api_route("/qr/{id}.png", methods=["GET", "HEAD"])
async def png(service: callers.ServiceDep, found: ShownRequestDep) -> Response:
    drawn = _png(to_answers.pay_url(service.public_url, found.id))
    return Response(drawn, headers=PICTURE_HEADERS, media_type="image/png")


@router.api_route("/qr/{id}.svg", methods=["GET", "HEAD"])
async def svg(service: callers.ServiceDep, found: ShownRequestDep) -> Response:
    drawn = _svg(to_answers.pay_url(service.public_url, found.id))
    headers = PICTURE_HEADERS | {"Content-Security-Policy": "default-src 'none'"}
    return Response(drawn, headers=headers, media_type="image/svg+xml")


@lru_cache(maxsize=1024)
def _png(url: str) -> bytes:
    from bot.core.images import qr  # noqa: PLC0415 - costs memory

    return qr.png(url)


@lru_cache(maxsize=256)
def _svg(url: str) -> str:
    from bot.core.images import qr  # noqa: PLC0415 - as above

    return qr.svg(url)
