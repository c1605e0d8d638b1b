"""Payments as their server reports them, by webhook or in its list, as the chat records them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bot.chat.model.answers import amount_of_payment
from bot.chat.store.received_payments import Payment

if TYPE_CHECKING:
    from bot.chat.model.answers import ServerPayment
    from bot.chat.store.listings import Listing


def payment_of(paid: ServerPayment, request_id: str, listing: Listing) -> Payment:
    """Return the payment to record; of an underpaid one the amount is what arrived."""
    price = amount_of_payment(paid.amount, paid.currency, listing.wish)
    amount, asked = (price.minor, price.currency), None
    if paid.underpaid and paid.paid_by is not None:
        amount, asked = (paid.paid_by.amount, paid.paid_by.currency), amount
        if (minor := paid.paid_by.asked(*asked)) is not None:
            asked = minor, paid.paid_by.currency
    return Payment(
        request_id=request_id,
        transaction_id=paid.transaction_id,
        amount=amount[0],
        currency=amount[1],
        payer=paid.payer,
        oversold=paid.oversold,
        named=price.named,
        underpaid=paid.underpaid,
        paid_by=paid.paid_by,
        checkout_id=paid.checkout_id,
        asked=asked,
    )
