"""Payments as their server reports them, by webhook or in its list, as the chat records them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bot.chat.model.answers import amount_of_payment
from bot.chat.store.received_payments import Payment

if TYPE_CHECKING:
    from bot.chat.model.answers import ServerPayment
    from bot.chat.store.listings import Listing


def payment_of(paid: ServerPayment, request_id: str, listing: Listing) -> Payment:
    """Return the payment to record.

    Its amount is the price. Of money that isn't a sale it is what arrived: that is owed, no more
    and no less.
    """
    price = amount_of_payment(paid.amount, paid.currency, listing.wish, paid.quantity)
    amount, asked = (price.minor, price.currency), None
    arrived = paid.paid_by
    if arrived and (paid.underpaid or (paid.oversold and arrived.surplus(*amount))):
        amount, asked = (arrived.amount, arrived.currency), amount
        if (minor := arrived.asked(*asked)) is not None:
            asked = minor, arrived.currency
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
        quantity=paid.quantity,
        words=paid.words,
        is_hidden=paid.is_hidden,
    )
