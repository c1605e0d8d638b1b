"""`/pay/{id}/receipt/{transactionId}`: the receipt, for who has its address."""

from fastapi import APIRouter, Request
from starlette.responses import RedirectResponse, Response

from bot.core.errors import NotFound
from bot.service.goods import receiving
from bot.service.http import callers
from bot.service.http.plain_route import PlainRoute
from bot.service.http.service import Service
from bot.service.model import payout
from bot.service.model.delivery import ReceiptLetter
from bot.service.model.request import Payment, PaymentRequest, PaymentState
from bot.service.page import forms, outcomes, render
from bot.service.page.receipt import receipt_values
from bot.service.store import checkouts, deliveries, payments, requests
from bot.service.wire import json_answers

router = APIRouter(include_in_schema=False, route_class=PlainRoute)


@router.api_route("/pay/{id}/receipt/{transaction_id}", methods=["GET", "HEAD"])
async def receipt(request: Request) -> Response:
    """Show the receipt of a payment, also after its request was deleted."""
    service, found, payment = await _paid(request)
    if payment.state is PaymentState.UNDERPAID:  # nothing was sold: the checkout's page says so
        checkout = outcomes.checkout_path(found.id, payment.checkout_id)
        return RedirectResponse(checkout, 303, render.HEADERS)
    reader = forms.reader(request)
    url = json_answers.pay_url(service.public_url, found.id)
    received = await receiving.read(service.db, payment)
    values = receipt_values.receipt_page(reader, found, payment, url, received)
    held = None
    if payment.rail != payout.SANDBOX:
        held = await checkouts.read(service.db, found.id, payment.checkout_id)
    values |= receipt_values.paid_by(reader, held) if held else {"paid_by": None}
    letter = receipt_values.emailed(reader, await _letter(service, payment))
    values |= {"emailed": letter, "now": service.now()}
    onward = outcomes.redirect(service, found, payment)
    values["onward"] = onward and receipt_values.onward(reader, found, payment, onward)
    return outcomes.page("receipt.html", service, reader, found, values)


async def _paid(request: Request) -> tuple[Service, PaymentRequest, Payment]:
    """Return the request and the payment of a receipt's address. Raises NotFound, RateLimited.

    A page that asks again by itself, for a code to come, counts as an open page.
    """
    is_open = "live" in request.query_params
    service = callers.admit_open_page(request) if is_open else callers.admit_payer(request)
    request_id, transaction_id = (request.path_params[name] for name in ("id", "transaction_id"))
    payment = await payments.read(service.db, request_id, transaction_id)
    found = await requests.read_ever(service.db, request_id, service.now())
    if payment is None or found is None:
        if is_open:
            callers.admit_payer(request)
        raise NotFound
    return service, found, payment


async def _letter(service: Service, payment: Payment) -> ReceiptLetter | None:
    """Return the receipt that is emailed to the payer, None where none is."""
    if not service.policy.mails or "email" not in payment.user_data:
        return None
    return await deliveries.read_receipt(service.db, payment)
