"""`/pay/{id}`, its checkouts, receipts and pictures."""

import asyncio
import re
from functools import lru_cache, partial
from typing import Any

import structlog
from fastapi import APIRouter, Request
from starlette.responses import RedirectResponse, Response

from bot.core.errors import InvalidBody, NotFound, NotPayable
from bot.core.images import qr
from bot.service.http import callers
from bot.service.http.compression import Text, TextResponse
from bot.service.http.plain_route import PlainRoute
from bot.service.http.service import Service
from bot.service.model import payer_data, redirects
from bot.service.model.checkout import Checkout
from bot.service.model.delivery import ReceiptLetter
from bot.service.model.rail_answers import Manner
from bot.service.model.request import Payment, PaymentRequest
from bot.service.page import forms, outcome_values, page_cache, page_frame, render
from bot.service.page.forms import Reader
from bot.service.page.template_values import PayerForm
from bot.service.store import checkouts, deliveries, payments, requests
from bot.service.usecases import claiming, paying
from bot.service.usecases.paying import PaymentForm, PaymentProgress
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
    answer = render.page(kept.text(reader, found, now), reader, found)
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
        return _page(
            request, found, now, status=status, form=PayerForm(form, wrong, stale=not wrong)
        )
    holder = callers.holder(request, request_id)
    mails = service.policy.mails and "email" in data
    language = forms.reader(request).language if mails else None
    order = PaymentForm(request_id, token, data, _manner(service, form), holder, language)
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
    return RedirectResponse(_next_page(service, found, request_id, standing), 303, render.HEADERS)


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
    return _page(request, found, now, status=409, form=PayerForm({}, refused=state))


def _page(
    request: Request, found: PaymentRequest, now: int, *, status: int, form: PayerForm
) -> Response:
    """Answer with the page as the payer left it, and the problem."""
    service = callers.state(request).service
    reader = forms.reader(request)
    return render.page(page_cache.write(service, reader, found, now, form), reader, found, status)


def _next_page(
    service: Service, found: PaymentRequest | None, request_id: str, standing: PaymentProgress
) -> str:
    """Return where a form leads: the redirect once paid, the checkout while money is awaited.

    The scheme of the redirect is checked again: the operator may have disallowed it since.
    """
    payment = standing.payment
    if payment is None or not payment.took_unit:
        return _checkout_path(request_id, standing.checkout_id)
    url = found and found.terms.redirect_url
    if url and redirects.may_lead_to(url, service.policy.schemes):
        return redirects.with_transaction(url, payment.id)
    return f"/pay/{request_id}/receipt/{payment.id}"


def _checkout_path(request_id: str, checkout_id: str) -> str:
    return f"/pay/{request_id}/checkout/{checkout_id}"


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


@router.api_route("/pay/{id}/checkout/{checkout_id}", methods=["GET", "HEAD"])
async def show_checkout(request: Request) -> Response:
    """Show the state of a checkout; redirect once its money has arrived."""
    service, held = await _held(request)
    now = service.now()
    found = await requests.read_ever(service.db, held.request_id, now)
    if found is None:
        raise NotFound
    payment = await payments.read_of_checkout(service.db, held.id)
    if payment and payment.took_unit:
        onward = _next_page(service, found, found.id, PaymentProgress(held.id, payment))
        return RedirectResponse(onward, 303, render.HEADERS)
    reader = forms.reader(request)
    values = outcome_values.checkout_page(reader, found, held, payment, now)
    return _outcome("checkout.html", service, reader, found, values)


@router.api_route("/pay/{id}/checkout/{checkout_id}", methods=["POST"])
async def cancel(request: Request) -> Response:
    """Cancel a checkout, which frees its unit at once; a paid or lapsed one stays as it is.

    The unguessable address is the proof that the payer holds it.
    """
    service, held = await _held(request)
    form = await forms.read(request)
    if form.get("action") != "cancel":
        raise InvalidBody("The form names no action that exists.")
    cancel = partial(
        claiming.cancel, request_id=held.request_id, checkout_id=held.id, now=service.now()
    )
    if await service.db.transaction(cancel):
        log.info("checkout cancelled", request=held.request_id)
    return RedirectResponse(_checkout_path(held.request_id, held.id), 303, render.HEADERS)


async def _held(request: Request) -> tuple[Service, Checkout]:
    """Return the service and the checkout of the address. Raises NotFound and RateLimited."""
    service, checkout_id = callers.state(request).service, request.path_params["checkout_id"]
    held = await checkouts.read(service.db, request.path_params["id"], checkout_id)
    if held is None:
        callers.admit_payer(request)
        raise NotFound
    callers.admit_checkout(request, checkout_id)
    return service, held


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
    url = json_answers.pay_url(service.public_url, request_id)
    values = outcome_values.receipt_page(reader, found, payment, url)
    values |= {"emailed": outcome_values.emailed(reader, await _letter(service, payment))}
    return _outcome("receipt.html", service, reader, found, values)


def _outcome(
    template: str, service: Service, reader: Reader, found: PaymentRequest, values: dict[str, Any]
) -> Response:
    """Answer with a page after the form: a form of its own may lead to the redirect."""
    url = json_answers.pay_url(service.public_url, found.id)
    framed = values | page_frame.frame(reader, found, url, service.operator_contact)
    rules = render.policy(render.pictures(found), found.terms.redirect_url, scripted=True)
    money = service.payment_context.rails.test_money
    return render.html(template, reader, framed, rules=rules, test_money=money)


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
