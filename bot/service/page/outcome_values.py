"""The values of the pages after a form was sent: a checkout and a receipt."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bot.core.text.contacts import contact_text
from bot.service.model import payer_data as payers
from bot.service.model.checkout_states import CheckoutState
from bot.service.model.delivery import DeliveryState
from bot.service.page import page_times
from bot.service.page.page_times import PLACE
from bot.service.page.template_values import money_text, rated

if TYPE_CHECKING:
    from bot.service.model.checkout import Checkout
    from bot.service.model.delivery import ReceiptLetter
    from bot.service.model.request import Payment, PaymentRequest
    from bot.service.page.forms import Reader

SOON, LATER, LATE = 3, 10, 30
"""Seconds after which a checkout's page reloads: at first, after SOON_FOR, once it has lapsed."""

SOON_FOR, LATE_FOR = 60_000, 3_600_000
"""Milliseconds since the checkout was opened, and since it lapsed."""

LETTER_TEXTS = {
    DeliveryState.DELIVERED: "receipt-emailed",
    DeliveryState.WAITING: "receipt-emailing",
    DeliveryState.SENDING: "receipt-emailing",
}
"""What a receipt's page says of its letter; nothing where that was not sent."""

GIVEN_UP = frozenset({CheckoutState.LAPSED, CheckoutState.CANCELLED})
"""States of a checkout that holds no unit, though its money may still arrive."""


def checkout_page(
    reader: Reader, request: PaymentRequest, held: Checkout, payment: Payment | None, now: int
) -> dict[str, Any]:
    """Return the values of a checkout's page: waiting for money, given up or without a unit."""
    state, terms = held.state(now), request.terms
    title = reader.t(f"page-checkout-{state}")
    why = "why" if request.units else "free"  # without a limit, no unit is reserved
    given = money_text(held.quote.amount, held.quote.currency, reader.tag)
    until = page_times.moment(reader, held.lapses_at, "clock")
    is_open = state is CheckoutState.OPEN
    return {
        "name": terms.product.name,
        "amount": money_text(terms.amount, terms.currency, reader.tag),
        "paid": given if held.quote.rate else None,
        "title": title,
        "page": reader.t("page-title-state", title=title, name=terms.product.name),
        "why": page_times.timed(
            reader.t(f"page-checkout-{state}-{why}", amount=given, at=PLACE), until
        ),
        "ends": reader.t("page-held" if request.units else "page-awaited"),
        "until": held.lapses_at if is_open else None,
        "scripted": True,
        "watch": f"/pay/{held.request_id}/checkout/{held.id}",
        "now": now,
        "refresh": _refresh(state, now - held.created_at, now - held.lapses_at),
        "again": f"/pay/{held.request_id}" if state in GIVEN_UP else None,
        "cancel": is_open,
        "transaction_id": payment and payment.id,
    }


def _refresh(state: CheckoutState, open_for: int, lapsed_for: int) -> int | None:
    """Return the seconds after which a checkout's page reloads; None for never."""
    if state is CheckoutState.OPEN:
        return SOON if open_for < SOON_FOR else LATER
    return LATE if state in GIVEN_UP and lapsed_for < LATE_FOR else None


def receipt_page(
    reader: Reader, request: PaymentRequest, payment: Payment, url: str
) -> dict[str, Any]:
    """Return the values of a receipt, the payer's data masked: people share its address.

    `url` is the address of the payment link.
    """
    return {
        "name": request.terms.product.name,
        "link": url,
        "link_text": contact_text(url),
        "scripted": True,
        "paid": rated(reader, payment.currency, payment.paid, "page-receipt-exchanged"),
        "oversold": payment.oversold,
        "amount": money_text(payment.amount, payment.currency, reader.tag),
        "when": page_times.moment(reader, payment.completed_at),
        "payer": [
            (f"page-{field}", payers.masked(field, value))
            for field, value in payment.user_data.items()
        ],
        "transaction_id": payment.id,
    }


def emailed(reader: Reader, letter: ReceiptLetter | None) -> str | None:
    """Return where the receipt was emailed to, or is about to be; None where it is not."""
    if letter is None or letter.state not in LETTER_TEXTS:
        return None
    address = payers.masked("email", letter.address)
    return reader.t(LETTER_TEXTS[letter.state], address=address)
