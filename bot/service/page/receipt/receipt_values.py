"""The values of a receipt's page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bot.core.text import links
from bot.core.text.contacts import contact_text
from bot.service.model import payer_data as payers
from bot.service.model import payout
from bot.service.model.delivery import DeliveryState
from bot.service.page import page_times, pay_with
from bot.service.page.money_texts import money_text, pieces_text
from bot.service.page.page_times import PLACE
from bot.service.page.receipt.delivered_values import delivered_values
from bot.service.page.receipt.linked_text import linked
from bot.service.page.template_values import rate_text

if TYPE_CHECKING:
    from bot.service.model.checkout import Checkout
    from bot.service.model.delivery import ReceiptLetter
    from bot.service.model.goods.delivered import Received
    from bot.service.model.request import Payment, PaymentRequest
    from bot.service.page.forms import Reader

LETTER_TEXTS = {
    DeliveryState.DELIVERED: "receipt-emailed",
    DeliveryState.WAITING: "receipt-emailing",
    DeliveryState.SENDING: "receipt-emailing",
}
"""What a receipt's page says of its letter; nothing where that was not sent."""


APPS = {"tg": "Telegram", "whatsapp": "WhatsApp"}
"""Names of applications that people know, by their schemes."""

SHORT = 8
"""Characters that are shown of both ends of a payment hash."""


def receipt_page(
    reader: Reader,
    request: PaymentRequest,
    payment: Payment,
    url: str,
    received: Received | None = None,
) -> dict[str, Any]:
    """Return the values of a receipt, the payer's data masked: people share its address.

    `url` is the address of the payment link. The payer's message is not shown.
    """
    goods = delivered_values(reader, request, payment, received)
    is_kept = payment.took_unit and not goods["paid_back"]
    return {
        "name": request.terms.product.name,
        "link": url,
        "link_text": contact_text(url),
        "scripted": True,
        **_paid(reader, payment),
        "oversold": payment.oversold,
        "thanks": linked(request.terms.thanks or "") if is_kept else (),
        "goods": goods,
        **{name: goods[name] for name in ("watch", "again", "slowest", "refresh")},
        "pieces": pieces_text(reader, payment.amount, payment.currency, payment.quantity),
        "payer_name": payers.masked_name(payment.words.name),
        "has_message": payment.words.message is not None,
        "amount": money_text(payment.amount, payment.currency, reader.tag),
        "when": page_times.moment(reader, payment.completed_at),
        "payer": [
            (f"page-{field}", payers.masked(field, value))
            for field, value in payment.user_data.items()
        ],
        "transaction_id": payment.id,
    }


def _paid(reader: Reader, payment: Payment) -> dict[str, Any]:
    """Return what was paid and its rate, None where it is just the price."""
    paid = payment.paid
    differs = paid.rate is not None or paid.amount != payment.amount
    return {
        "paid": money_text(paid.amount, paid.currency, reader.tag) if differs else None,
        "rate": rate_text(reader, payment.currency, paid, "moment"),
    }


def onward(
    reader: Reader, request: PaymentRequest, payment: Payment, url: str
) -> dict[str, Any] | None:
    """Return the link to the seller's site or app, for who has what was paid for."""
    if not payment.took_unit or payment.marks.paid_back_at:
        return None
    target = request.terms.redirect_url or url
    host = links.shown_host(target)
    if host is None:
        scheme = target.partition(":")[0].lower()
        key = "page-continue-in" if scheme in APPS else "page-continue-app"
        text = reader.t(key, app=APPS.get(scheme, scheme))
        return {"url": url, "text": [text, ""], "place": ""}
    parts = reader.t("page-continue", host=PLACE).split(PLACE)
    return {"url": url, "text": parts, "place": host}


def paid_by(reader: Reader, held: Checkout) -> dict[str, Any]:
    """Return how real money came: by which way, its reference at the bank, its payment hash."""
    number = held.external_id or ""
    short = f"{number[:SHORT]}…{number[-SHORT:]}" if len(number) > 2 * SHORT else number
    return {
        "paid_by": reader.t(f"page-way-{pay_with.way_name(held)}"),
        "reference": held.reference,
        "hash": None if held.kind == payout.BANK else short,
    }


def emailed(reader: Reader, letter: ReceiptLetter | None) -> str | None:
    """Return where the receipt was emailed to, or is about to be; None where it is not."""
    if letter is None or letter.state not in LETTER_TEXTS:
        return None
    address = payers.masked("email", letter.address)
    return reader.t(LETTER_TEXTS[letter.state], address=address)
