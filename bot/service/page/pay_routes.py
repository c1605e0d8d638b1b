"""`/pay/{id}`, its receipts and pictures."""

import asyncio
import re
from dataclasses import replace
from functools import lru_cache

from fastapi import APIRouter, Request
from starlette.responses import RedirectResponse, Response

from bot.core.errors import InvalidBody, NotFound, NotPayable
from bot.service.http import callers
from bot.service.http.compression import Text, TextResponse
from bot.service.http.plain_route import PlainRoute
from bot.service.http.service import Service
from bot.service.model import payer_data
from bot.service.model.rail_answers import Manner
from bot.service.model.request import PayerField, PaymentRequest
from bot.service.page import forms, outcomes, page_cache, render
from bot.service.page.order.order_form import NO_ORDER, PayerOrder, misfit_of, read_order
from bot.service.page.template_values import PayerForm
from bot.service.store import requests
from bot.service.usecases import paying, settling
from bot.service.usecases.paying import PaymentForm
from bot.service.wire import json_answers

PICTURE = {
    "Cache-Control": "public, max-age=3600",
    "X-Content-Type-Options": "nosniff",
    "X-Robots-Tag": "noindex",
}
SVG = "image/svg+xml"
_TOKEN = re.compile(r"[A-Za-z0-9_-]{16,64}")

router = APIRouter(include_in_schema=False, route_class=PlainRoute)


@router.api_route("/pay/{id}", methods=["GET", "HEAD"])
async def show(request: Request) -> Response:
    """Show the request in any state, which changes nothing.

    If it can be paid now, set the payer's cookie.
    """
    service = callers.admit_viewer(request)
    now = service.now()
    found = await requests.read(service.db, request.path_params["id"], now)
    if found is None:
        callers.admit_payer(request)
        raise NotFound
    reader, kept = forms.reader(request), request.app.state.page_cache
    answer = render.page(await kept.text(reader, found, now), reader, found)
    if found.is_enabled(now):
        callers.set_payer_cookie(request, answer)
    return answer


@router.api_route("/pay/{id}", methods=["POST"])
async def pay(request: Request) -> Response:
    """Accept the payer's form: pay, or answer what is wrong."""
    service, request_id = callers.admit_payer(request), request.path_params["id"]
    posted = await forms.read_all(request)
    amounts, form = posted.pop("amount", []), forms.single(posted)
    now = service.now()
    found = await requests.read(service.db, request_id, now)
    sound = _TOKEN.fullmatch(form.get("token", ""))
    if found is None:  # a form posted before leads to its receipt, though the request is deleted
        if not sound:
            raise NotFound
        return await _pay(
            request, _payment_form(request, form, {}, NO_ORDER), None, PayerForm(form)
        )
    data, wrong = payer_data.check_payer_data(found.terms.requested_user_data, form)
    order = read_order(found.terms, amounts, form)
    kept = PayerForm(form, wrong, order=order)
    if wrong or not order.is_sound or not sound:
        status = 409 if found.hindrance(now) else 400
        kept = replace(kept, stale=order.is_sound and not wrong)
        return await _page(request, found, now, status=status, form=kept)
    try:
        return await _pay(request, _payment_form(request, form, data, order), found, kept)
    except NotPayable as refusal:
        return await _refused(request, request_id, refusal, kept)
    except InvalidBody as refusal:
        misfit = misfit_of(order, refusal)
        if misfit is None:
            raise
        return await _page(request, found, now, status=400, form=replace(kept, order=misfit))


def _payment_form(
    request: Request, form: dict[str, str], data: dict[PayerField, str], order: PayerOrder
) -> PaymentForm:
    service, request_id = callers.state(request).service, request.path_params["id"]
    mails = service.policy.mails and "email" in data
    return PaymentForm(
        request_id,
        form.get("token", ""),
        data,
        _manner(service, form),
        callers.holder(request, request_id),
        forms.reader(request).language if mails else None,
        form.get("way"),
        price=order.chosen.amount,
        quantity=order.quantity or 1,
        payer_name=order.words.name,
        message=order.words.message,
        another=form.get("another") == "yes",
    )


async def _pay(
    request: Request, form: PaymentForm, found: PaymentRequest | None, kept: PayerForm
) -> Response:
    """Store what the form pays or opens, and redirect to what follows.

    A payer whose claim waits for the seller is told, and may look at it or buy another.
    """
    service = callers.state(request).service
    # The time is that of the transaction, so that payments sort by it in their order.
    standing = await service.db.transaction(
        lambda tx: paying.pay(tx, service.payment_context, form, service.now()),
        about=form.request_id if found else "",
    )
    if standing.fresh and standing.payment:
        settling.log_payment(standing.payment)
    if standing.is_claimed and found:
        claimed = outcomes.checkout_path(form.request_id, standing.checkout_id)
        now = service.now()
        found = await requests.read(service.db, form.request_id, now) or found
        return await _page(request, found, now, status=409, form=replace(kept, claimed=claimed))
    onward = outcomes.next_page(service, found, form.request_id, standing)
    return RedirectResponse(onward, 303, render.HEADERS)


def _manner(service: Service, form: dict[str, str]) -> Manner:
    """Return how test money arrives, as the payer chose; real money offers no choice."""
    chosen = form.get("manner", Manner.AT_ONCE)
    known = {str(manner): manner for manner in service.payment_context.rails.manners}
    if chosen != Manner.AT_ONCE and chosen not in known:
        raise InvalidBody("The form names no way in which test money arrives.")
    return known.get(chosen, Manner.AT_ONCE)


async def _refused(
    request: Request, request_id: str, refusal: NotPayable, kept: PayerForm
) -> Response:
    service = callers.state(request).service
    now = service.now()
    found = await requests.read(service.db, request_id, now)
    if found is None:
        raise NotFound
    state = found.hindrance(now)
    if refusal.left and state is None:  # the form offers what is left
        form = replace(kept, left=refusal.left)
    else:  # units may be free again by now; the page still says why the payment was refused
        form = PayerForm(kept.typed, refused=state or refusal.state, order=kept.order)
    return await _page(request, found, now, status=409, form=form)


async def _page(
    request: Request, found: PaymentRequest, now: int, *, status: int, form: PayerForm
) -> Response:
    """Answer with the page as the payer left it, and the problem."""
    service = callers.state(request).service
    reader = forms.reader(request)
    written = await page_cache.write(service, reader, found, now, form)
    return render.page(written, reader, found, status)


@router.api_route("/pay/{id}/live", methods=["GET", "HEAD"])
async def watch(request: Request) -> Response:
    """Return the part of the page that changes, for its script."""
    service, reader = callers.admit_open_page(request), forms.reader(request)
    text = await request.app.state.live.part(service, reader, request.path_params["id"])
    if text is None:
        callers.admit_payer(request)
        raise NotFound
    return render.alone(reader, Text.of(text))


@router.api_route("/pay/{id}/card.png", methods=["GET", "HEAD"])
async def picture(request: Request) -> Response:
    """Return the picture that chats show for a link to the page."""
    from bot.service.page.preview_picture import content, draw  # noqa: PLC0415 - rarely asked for, and its font takes memory

    found, url = await _found(request)
    drawn = await asyncio.to_thread(draw, content(forms.reader(request), found, url))
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
    return TextResponse(_svg(url), 200, headers, SVG)


async def _found(request: Request) -> tuple[PaymentRequest, str]:
    """Return the request and the address of its page. Raises NotFound and RateLimited."""
    service = callers.admit_payer(request)
    found = await requests.read(service.db, request.path_params["id"], service.now())
    if found is None:
        raise NotFound
    return found, json_answers.pay_url(service.public_url, found.id)


@lru_cache(maxsize=1024)
def _png(url: str) -> bytes:
    from bot.core.images import qr  # noqa: PLC0415 - costs memory

    return qr.png(url)


@lru_cache(maxsize=256)
def _svg(url: str) -> Text:
    from bot.core.images import qr  # noqa: PLC0415 - as above

    return Text.of(qr.svg(url))
