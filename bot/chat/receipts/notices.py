"""Notices to buyers who keep their receipt in Telegram: sent, paid back, a code arrived.

A notice holds no words of the seller and nothing that was delivered: what it shows is fetched when
it is sent, and nothing is sent of what the seller has taken back by then.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bot.chat.messages.payloads import BuyerNotice, ReceiptMessage
from bot.chat.receipts.delivered_file import telegram_file
from bot.chat.store import kept_receipts
from bot.core.outbox import outbox
from bot.core.outbox.queue_policy import NOTICE

if TYPE_CHECKING:
    from bot.chat.messages.queues import Queues
    from bot.chat.model.receipt import ReceiptKey
    from bot.chat.store.kept_receipts import Keeper
    from bot.core.database.database import Transaction

SENT, PAID_BACK, CODE = "sent", "paidBack", "code"
"""What a buyer hears of: the seller sent it, or paid it back; a code arrived."""


def notify_keeper(tx: Transaction, queues: Queues, key: ReceiptKey, event: str, now: int) -> bool:
    """Queue the notice of an event to the buyer; False where nobody keeps this receipt.

    Call it once the service has what the notice says.
    """
    keeper = kept_receipts.keeper_of(tx, *key)
    if keeper is None:
        return False
    _put(tx, queues, (key, keeper), event, now)
    return True


def notify_waiting(tx: Transaction, queues: Queues, request_id: str, served: int, now: int) -> None:
    """Queue notices to buyers who waited for a code; who still waits when it is sent gets none.

    Call it once codes were added to a request, or something else took their place, with the last
    unit that may have its own by now. Only the receipt says who is served. A buyer hears of it
    once, however often codes are added until the notice is sent; a file comes after the notice.
    """
    waited = kept_receipts.end_waits(tx, request_id, served)
    has_file = bool(waited) and telegram_file(tx, request_id) is not None
    for one in waited:
        _put(tx, queues, (one.key, one.keeper), CODE, now)
        if has_file:
            lane = str(one.keeper.account_id)
            file = ReceiptMessage(*one.key, one.keeper.language, is_file=True)
            outbox.put(tx, queues.messages, lane, file, now, priority=NOTICE)


def _put(
    tx: Transaction, queues: Queues, kept: tuple[ReceiptKey, Keeper], event: str, now: int
) -> None:
    key, keeper = kept
    notice = BuyerNotice(*key, keeper.language, event)
    lane = str(keeper.account_id)
    outbox.put(tx, queues.messages, lane, notice, now, priority=NOTICE)
