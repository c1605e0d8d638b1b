"""Payout accounts and checkouts as the interface's JSON (see `payout_schemas`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bot.core.money import amounts
from bot.service.wire.field_types import iso
from bot.service.wire.json_answers import given

if TYPE_CHECKING:
    from bot.service.model.checkout import Checkout
    from bot.service.model.payout import PayoutAccount
    from bot.service.model.rail_answers import Connected, PayWith
    from bot.service.wire.json_answers import Json


def checked(owner: str, it: Connected) -> Json:
    """Write a PayoutAnswer of an account that was checked and not stored."""
    return {"owner": owner, **_account(it)}


def payout(it: PayoutAccount) -> Json:
    """Write a PayoutAnswer."""
    return {"id": it.id, "owner": it.owner, **_account(it), "createdAt": iso(it.created_at)}


def _account(it: Connected | PayoutAccount) -> Json:
    return given(
        kind=it.kind,
        scheme=it.scheme or None,
        automatic=it.automatic,
        currency=it.currencies[0],
        currencies=it.currencies,
        label=it.label,
    )


def checkout(it: Checkout, now: int) -> Json:
    """Write a CheckoutAnswer."""
    fields = given(
        id=it.id,
        paymentRequestId=it.request_id,
        kind=it.kind,
        state=it.state(now),
        amount=amounts.from_minor(it.quote.amount, it.quote.currency),
        currencyCode=it.quote.currency,
        expiresAt=iso(it.ends_at),
        reference=it.reference,
    )
    return fields | {"payWith": it.pay_with and _pay_with(it.pay_with)}


def _pay_with(it: PayWith) -> Json:
    return given(lightningInvoice=it.lightning_invoice, qrText=it.qr_text)
