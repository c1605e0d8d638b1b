"""`/pay/{id}`, its receipts and pictures."""

import asyncio
import re
from functools import lru_cache

import structlog
from fastapi import APIRouter, Request
from starlette.responses import RedirectResponse, Response

from bot.core.errors import InvalidBody, NotFound, NotPayable
from bot.core.images import qr
from bot.service.http import callers
from bot.service.http.compression import Text, TextResponse
from bot.service.http.plain_route import PlainRoute
from bot.service.http.service import Service
from bot.service.model import payer_data, payout
from bot.service.model.delivery import ReceiptLetter
from bot.service.model.rail_answers import Manner
from bot.service.model.request import Payment, PaymentRequest, PaymentState
from bot.service.page import forms, outcomes, page_cache, receipt_values, render
from bot.service.page.template_values import PayerForm
from bot.service.store import checkouts, deliveries, payments, requests
from bot.service.usecases import paying
from bot.service.usecases.paying import PaymentForm
from bot.service.wire import json_answers

PICTURE = {
    "Cache-Control": "public, max-age=3600",
    "X-Content-Type-Options": "nosniff",
    "X-Robots-Tag": "noindex",
}
SVG = "image/svg+xml"
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
    form = await forms.read(request)
    now = service.now()
    found = await requests.read(service.db, request_id, now)
    data, wrong = payer_data.check_payer_data(
        found.terms.requested_user_data if found else (), form
    )
    token = form.get("token", "")
    if found and (wrong or not _TOKEN.fullmatch(token)):
        status = 409 if found.hindrance(now) else 400
        return await _page(
            request, found, now, status=status, form=PayerForm(form, wrong, stale=not wrong)
        )
    holder = callers.holder(request, request_id)
    mails = service.policy.mails and "email" in data
    language = forms.reader(request).language if mails else None
    order = PaymentForm(
        request_id, token, data, _manner(service, form), holder, language, form.get("way")
    )
    try:
        # The time is that of the transaction, so that payments sort by it in their order.
        standing = await service.db.transaction(
            lambda tx: paying.pay(tx, service.payment_context, order, service.now()),
            about=found.id if found else "",
        )
    except NotPayable as refusal:
        return await _refused(request, service, request_id, refusal.state)
    if standing.fresh and standing.payment:
        made = standing.payment
        log.info("payment recorded", request=request_id, payment=made.id, settlement="paid")
    return RedirectResponse(
        outcomes.next_page(service, found, request_id, standing), 303, render.HEADERS
    )


def _manner(service: Service, form: dict[str, str]) -> Manner:
    """Return how test money arrives, as the payer chose; real money offers no choice."""
    chosen = form.get("manner", Manner.AT_ONCE)
    known = {str(manner): manner for manner in service.payment_context.rails.manners}
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
    return await _page(request, found, now, status=409, form=PayerForm({}, refused=state))


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


@router.api_route("/pay/{id}/receipt/{transaction_id}", methods=["GET", "HEAD"])
async def receipt(request: Request) -> Response:
    """Show the receipt of a payment, also after its request was deleted."""
    service = callers.admit_payer(request)
    reader = forms.reader(request)
    request_id, transaction_id = (request.path_params[name] for name in ("id", "transaction_id"))
    payment = await payments.read(service.db, request_id, transaction_id)
    found = await requests.read_ever(service.db, request_id, service.now())
    if payment is None or found is None:
        raise NotFound
    if payment.state is PaymentState.UNDERPAID:  # nothing was sold: the checkout's page says so
        checkout = outcomes.checkout_path(request_id, payment.checkout_id)
        return RedirectResponse(checkout, 303, render.HEADERS)
    url = json_answers.pay_url(service.public_url, request_id)
    values = receipt_values.receipt_page(reader, found, payment, url)
    held = None
    if payment.rail != payout.SANDBOX:
        held = await checkouts.read(service.db, request_id, payment.checkout_id)
    values |= receipt_values.paid_by(reader, held) if held else {"paid_by": None}
    values |= {"emailed": receipt_values.emailed(reader, await _letter(service, payment))}
    return outcomes.page("receipt.html", service, reader, found, values)


async def _letter(service: Service, payment: Payment) -> ReceiptLetter | None:
    """Return the receipt that is emailed to the payer, None where none is."""
    if not service.policy.mails or "email" not in payment.user_data:
        return None
    return await deliveries.read_receipt(service.db, payment.id)


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


_png = lru_cache(maxsize=1024)(qr.png)


@lru_cache(maxsize=256)
def _svg(url: str) -> Text:
    return Text.of(qr.svg(url))
