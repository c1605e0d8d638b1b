"""Letters to payers after the receipt: it was sent, paid back, or what they waited for came.

They go where receipts go, under the same limits, and have what is true when they are sent.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bot.core.text import email_addresses
from bot.service.model.payment_reports import PaymentNotice, payment_facts
from bot.service.model.payout import SANDBOX
from bot.service.store import checkouts, deliveries
from bot.service.usecases.letters import payer_receipts

if TYPE_CHECKING:
    from bot.core.database.database import Transaction
    from bot.service.model.payment_reports import News
    from bot.service.model.request import Payment, PaymentRequest

MOST = 6
"""Letters about one payment, the receipt too: a mark can be set and taken back for ever."""


def queue(tx: Transaction, request: PaymentRequest, payment: Payment, news: News, now: int) -> bool:
    """Queue a letter with news of a payment; return False where its payer gets none.

    Call it only where emails are sent.
    """
    address = payment.user_data.get("email", "")
    if email_addresses.ascii_address(address) is None:
        return False
    checkout = checkouts.find(tx, payment.checkout_id)
    if checkout is None or checkout.language is None:
        return False
    if payer_receipts.has_stopped(tx, email_addresses.mailbox_digest(address)):
        return False
    if deliveries.count_to_payer(tx, payment.id) >= MOST:
        return False
    test_money = payment.rail == SANDBOX
    if test_money and not payer_receipts.has_room(tx, now):
        return False
    notice = PaymentNotice(
        address=address,
        language=checkout.language,
        news=news,
        noticed_at=now,
        test_money=test_money,
        **payment_facts(request.app_id, payment),
    )
    payer_receipts.put(tx, request, notice, now)
    return True
