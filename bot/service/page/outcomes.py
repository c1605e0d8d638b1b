"""Where a payer's form leads, and the pages there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bot.service.model import redirects
from bot.service.page import page_frame, render
from bot.service.wire import json_answers

if TYPE_CHECKING:
    from starlette.responses import Response

    from bot.service.http.service import Service
    from bot.service.model.request import Payment, PaymentRequest
    from bot.service.page.forms import Reader
    from bot.service.usecases.paying import PaymentProgress


def next_page(
    service: Service, found: PaymentRequest | None, request_id: str, standing: PaymentProgress
) -> str:
    """Return where a form leads: the checkout while money is awaited, the redirect once paid.

    What was bought and words of thanks come first: their receipt leads on to the redirect.
    """
    payment = standing.payment
    if payment is None or not payment.took_unit:
        return checkout_path(request_id, standing.checkout_id)
    onward = found and found.leads_away and redirect(service, found, payment)
    return onward or receipt_path(payment)


def redirect(service: Service, found: PaymentRequest, payment: Payment) -> str | None:
    """Return the address that a payment leads on to, None where there is none.

    Its scheme is checked again: the operator may have disallowed it since.
    """
    url = found.terms.redirect_url
    if url is None or not redirects.may_lead_to(url, service.policy.schemes):
        return None
    return redirects.with_transaction(url, payment.id)


def receipt_path(payment: Payment) -> str:
    """Return the path of a payment's receipt."""
    return f"/pay/{payment.request_id}/receipt/{payment.id}"


def checkout_path(request_id: str, checkout_id: str) -> str:
    """Return the path of a checkout's page."""
    return f"/pay/{request_id}/checkout/{checkout_id}"


def page(
    template: str,
    service: Service,
    reader: Reader,
    found: PaymentRequest,
    values: dict[str, Any],
    *,
    status: int = 200,
) -> Response:
    """Answer with a page after the form: a form of its own may lead to the redirect.

    Also where the receipt comes first: its goods may be removed while the page is open.
    """
    url = json_answers.pay_url(service.public_url, found.id)
    framed = values | page_frame.frame(reader, found, url, service.operator_contact)
    rules = render.policy(render.pictures(found), found.terms.redirect_url, scripted=True)
    money = service.payment_context.rails.test_money
    return render.html(template, reader, framed, rules=rules, status=status, test_money=money)
