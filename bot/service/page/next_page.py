"""The next page of a payer after a posted form."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bot.service.model import redirects

if TYPE_CHECKING:
    from bot.service.http.service import Service
    from bot.service.model.request import PaymentRequest
    from bot.service.usecases.paying import PaymentProgress


def after(
    service: Service, found: PaymentRequest | None, request_id: str, standing: PaymentProgress
) -> str:
    """Return the address: the redirect once paid, the checkout while money is awaited.

    The scheme of the redirect is checked again: the operator may have disallowed it since.
    """
    payment = standing.payment
    if payment is None or payment.oversold:
        return checkout(request_id, standing.checkout_id)
    url = found and found.terms.redirect_url
    if url and redirects.may_lead_to(url, service.policy.schemes):
        return redirects.with_transaction(url, payment.id)
    return f"/pay/{request_id}/receipt/{payment.id}"


def checkout(request_id: str, checkout_id: str) -> str:
    """Return the path of a payer's checkout."""
    return f"/pay/{request_id}/checkout/{checkout_id}"
