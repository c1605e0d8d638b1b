"""`/pay/{id}`, its receipt and pictures."""

import asyncio
import re
from functools import lru_cache

import structlog
from fastapi import APIRouter, Request
from starlette.responses import RedirectResponse, Response

from bot.core.errors import InvalidBody, NotFound, NotPayable
from bot.core.images import qr
from bot.service.http import callers
from bot.service.http.plain_route import PlainRoute
from bot.service.http.service import Service
from bot.service.model import payer_data
from bot.service.model.request import PaymentRequest
from bot.service.page import forms, next_page, page_cache, render, template_values
from bot.service.page.template_values import PayerForm
from bot.service.rails.rail import Manner
from bot.service.store import payments, requests
from bot.service.usecases import paying
from bot.service.usecases.paying import PaymentForm
from bot.service.wire import json_answers

FOREVER = "public, max-age=31536000, immutable"
PICTURE = {"Cache-Control": "public, max-age=3600", "X-Content-Type-Options": "nosniff"}
ASSETS = {"pay.css": "text/css", "docs.css": "text/css", "pay.js": "text/javascript"}
_TOKEN = re.compile(r"[A-Za-z0-9_-]{16,64}")

log = structlog.get_logger()
router = APIRouter(include_in_schema=False, route_class=PlainRoute)


@router.api_route("/pay/{id}", methods=["GET", "HEAD"])
async def show(request: Request) -> Response:
    """Show the request in any state, which changes nothing.

    If it can be paid now, set the payer's cookie.
    """
    service = callers.admit_viewer(request)
    now = service.now()
    found = await requests.read(service.db, forms.request_id(request), now)
    if found is None:
        callers.admit_payer(request)
        raise NotFound
    reader, kept = forms.reader(request), request.app.state.page_cache
    answer = render.page(kept.text(reader, found, now), reader, found)
    if found.is_enabled(now):
        callers.set_payer_cookie(request, answer)
    return answer


@router.api_route("/pay/{id}", methods=["POST"])
async def pay(request: Request) -> Response:
    """Accept the payer's form: pay, or answer what is wrong."""
    service, request_id = callers.admit_payer(request), forms.request_id(request)
    form = await forms.read(request)
    now = service.now()
    found = await requests.read(service.db, request_id, now)
    data, wrong = payer_data.check_payer_data(
        found.terms.requested_user_data if found else (), form
    )
    token = form.get("token", "")
    if found and (wrong or not _TOKEN.fullmatch(token)):
        status = 409 if found.hindrance(now) else 400
        return _page(
            request,
            found,
            now,
            status=status,
            form=PayerForm(form, wrong, stale=not wrong),
        )
    holder = callers.holder(request, request_id)
    order = PaymentForm(request_id, token, data, _manner(service, form), holder)
    try:
        # The time is that of the transaction, so that payments sort by it in their order.
        standing = await service.db.transaction(
            lambda tx: paying.pay(tx, service.payment_context, order, service.now())
        )
    except NotPayable as refusal:
        return await _refused(request, service, request_id, refusal.state)
    if standing.fresh and standing.payment:
        made = standing.payment
        log.info("payment recorded", request=request_id, payment=made.id, settlement="paid")
    return RedirectResponse(
        next_page.after(service, found, request_id, standing), 303, render.HEADERS
    )


def _manner(service: Service, form: dict[str, str]) -> Manner:
    """Return how test money arrives, as the payer chose; real money offers no choice."""
    chosen = form.get("manner", Manner.AT_ONCE)
    known = {str(manner): manner for manner in service.payment_context.rail.manners}
    if chosen != Manner.AT_ONCE and chosen not in known:
        raise InvalidBody("The form names no way in which test money arrives.")
    return known.get(chosen, Manner.AT_ONCE)


async def _refused(request: Request, service: Service, request_id: str, state: str) -> Response:
    now = service.now()
    found = await requests.read(service.db, request_id, now)
    if found is None:
        raise NotFound
    # Units may be free again by now; the page still says why the payment was refused.
    state = found.hindrance(now) or state
    return _page(request, found, now, status=409, form=PayerForm({}, refused=state))


def _page(
    request: Request, found: PaymentRequest, now: int, *, status: int, form: PayerForm
) -> Response:
    """Answer with the page as the payer left it, and the problem."""
    service = callers.state(request).service
    reader = forms.reader(request)
    return render.page(page_cache.write(service, reader, found, now, form), reader, found, status)


@router.api_route("/pay/{id}/live", methods=["GET", "HEAD"])
async def watch(request: Request) -> Response:
    """Return the part of the page that changes, for its script."""
    service, reader = callers.admit_open_page(request), forms.reader(request)
    text = await request.app.state.live.part(service, reader, forms.request_id(request))
    if text is None:
        callers.admit_payer(request)
        raise NotFound
    return render.alone(reader, text)


@router.api_route("/pay/{id}/card.png", methods=["GET", "HEAD"])
async def picture(request: Request) -> Response:
    """Return the picture that chats show for a link to the page."""
    from bot.service.page.preview_picture import content, draw  # noqa: PLC0415 - rarely asked for, and its font takes memory

    service = callers.admit_payer(request)
    found = await requests.read(service.db, forms.request_id(request), service.now())
    if found is None:
        raise NotFound
    shown = content(
        forms.reader(request), found, json_answers.pay_url(service.public_url, found.id)
    )
    drawn = await asyncio.to_thread(draw, shown)
    headers = PICTURE | {"Vary": "Accept-Language"}
    return Response(drawn, headers=headers, media_type="image/png")


@router.api_route("/pay/{id}/receipt/{transaction_id}", methods=["GET", "HEAD"])
async def receipt(request: Request) -> Response:
    """Show the receipt of a payment, also after its request was deleted."""
    service = callers.admit_payer(request)
    reader = forms.reader(request)
    payment = await payments.read(
        service.db, forms.request_id(request), request.path_params["transaction_id"]
    )
    name = await payments.read_product(service.db, forms.request_id(request))
    if payment is None or name is None:
        raise NotFound
    values = template_values.receipt_page(reader, name, payment)
    return render.html(
        "receipt.html", reader, values, test_money=service.payment_context.rail.test_money
    )


@router.api_route("/qr/{id}.png", methods=["GET", "HEAD"])
async def png(request: Request) -> Response:
    """Return the QR code of the pay page as a PNG."""
    picture = _png(await _pay_url(request))
    return Response(picture, headers=PICTURE, media_type="image/png")


@router.api_route("/qr/{id}.svg", methods=["GET", "HEAD"])
async def svg(request: Request) -> Response:
    """Return the QR code of the pay page as an SVG."""
    drawing = _svg(await _pay_url(request))
    headers = PICTURE | {"Content-Security-Policy": "default-src 'none'"}
    return Response(drawing, headers=headers, media_type="image/svg+xml")


async def _pay_url(request: Request) -> str:
    service = callers.admit_payer(request)
    found = await requests.read(service.db, forms.request_id(request), service.now())
    if found is None:
        raise NotFound
    return json_answers.pay_url(service.public_url, found.id)


_png = lru_cache(maxsize=1024)(qr.png)
_svg = lru_cache(maxsize=256)(qr.svg)


@router.api_route("/assets/{name}.{digest}.{kind}", methods=["GET", "HEAD"])
async def asset(request: Request) -> Response:
    """Return a stylesheet or script at the address of its present content."""
    name, digest, kind = (request.path_params[part] for part in ("name", "digest", "kind"))
    media_type = ASSETS.get(f"{name}.{kind}")
    if media_type is None:
        raise NotFound
    content, address = render.asset(f"{name}.{kind}")
    if address != f"/assets/{name}.{digest}.{kind}":
        raise NotFound
    headers = PICTURE | {"Cache-Control": FOREVER}
    return Response(content, headers=headers, media_type=media_type)


@router.api_route("/favicon.ico", methods=["GET", "HEAD"])
async def icon(_request: Request) -> Response:
    """Return the icon that browsers request by themselves."""
    return Response(render.ICON, headers=PICTURE, media_type="image/svg+xml")
