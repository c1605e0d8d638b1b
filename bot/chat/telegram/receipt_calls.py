"""Kept receipts and notices about them, fetched from the service when their turn comes.

So what was delivered is nowhere in the queue, and a notice says what is true when it is sent.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import structlog

from bot.chat.cards.message_calls import Call, NotYet
from bot.chat.messages.payloads import BuyerNotice, ReceiptMessage, TextMessage, new_message
from bot.chat.messages.reply import escaped
from bot.chat.model.receipt import ReceiptKey
from bot.chat.receipts.delivered_file import telegram_file
from bot.chat.receipts.receipt_text import NAME, notice_reply, receipt_reply
from bot.chat.store import kept_receipts, sellers
from bot.chat.telegram.failures import RETRIES
from bot.core.errors import (
    MethodNotAllowed,
    NotFound,
    PeerError,
    Refused,
    Unauthorized,
    requested_wait,
)
from bot.core.text.translations import t

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from bot.chat.messages.payloads import CardMessage
    from bot.chat.model.receipt import Receipt
    from bot.chat.store.kept_receipts import KeptReceipt
    from bot.core.database.database import Database, Transaction
    from bot.core.outbox.outbox import Message

    Fetch = Callable[[ReceiptKey], Awaitable[Receipt]]

log = structlog.get_logger()

TRIED_FOR = 24 * 3600 * 1000
"""Milliseconds for which a receipt is fetched: other messages wait behind it."""

GONE = (NotFound, MethodNotAllowed, Unauthorized)
"""Answers of a service that has no such receipt, or that is another server by now."""

WAITS = "waits for the payment service"
"""The note of a message that could not be fetched yet."""


class ReceiptCalls:
    """Builds the messages of kept receipts; `fetch` asks the service for one."""

    def __init__(self, db: Database, fetch: Fetch) -> None:
        self._db = db
        self._fetch = fetch

    async def build(
        self, payload: ReceiptMessage | BuyerNotice, message: Message, now: int
    ) -> TextMessage | CardMessage | Call | NotYet | None:
        """Return the call that shows the receipt as it stands, or sends its file; None for nothing.

        Nothing is sent to an account that doesn't keep it any more. The service is asked for a day
        from its first failure: the message may have waited in a closed chat. Raises StorageError.
        """
        account_id = int(message.lane)
        key = ReceiptKey(payload.request_id, payload.transaction_id)
        kept = await self._db.read(lambda tx: kept_receipts.by_key(tx, key, account_id))
        if kept is None:
            return None
        try:
            receipt = await self._fetch(key)
        except GONE:
            return _failed(payload, "receipt-kept-gone", kept)
        except (PeerError, Refused) as error:
            log_not_fetched(error)
            if payload.tried_since is not None and now - payload.tried_since >= TRIED_FOR:
                return _failed(payload, "receipt-given-up", kept)
            return NotYet(RETRIES.delay_or_last(message.attempts, requested_wait(error)), WAITS)
        if isinstance(payload, ReceiptMessage) and payload.is_file:
            return await self._db.read(lambda tx: _file(tx, receipt, kept))
        return await self._db.transaction(lambda tx: _render(tx, payload, kept, receipt))


def log_not_fetched(error: Exception) -> None:
    """Log a receipt that the service did not answer, without its address."""
    log.warning("receipt not fetched", error=type(error).__name__, reason=str(error))


def _failed(
    payload: ReceiptMessage | BuyerNotice, key: str, kept: KeptReceipt
) -> TextMessage | None:
    """Reply to a buyer why a receipt can't be shown; None for its file, and for a notice."""
    if isinstance(payload, BuyerNotice) or payload.is_file:
        return None
    text = t(payload.language, key, name=escaped(kept.name, NAME))
    return TextMessage(text, payload.language)


def _file(tx: Transaction, receipt: Receipt, kept: KeptReceipt) -> Call | None:
    """Return the call that sends the delivered file; None where nothing is delivered any more."""
    bought = receipt.delivery.file if receipt.delivery else None
    found = telegram_file(tx, kept.key.request_id, bought) if bought else None
    if found is None:
        return None
    method, file_id = found
    return Call(method, {"chat_id": kept.keeper.account_id}, file_id)


def _render(
    tx: Transaction, payload: ReceiptMessage | BuyerNotice, kept: KeptReceipt, receipt: Receipt
) -> TextMessage | CardMessage | None:
    """Store a receipt as it is now, and return the message that shows it.

    It is in the language that the account has now: a notice may come long after the receipt.
    """
    kept_receipts.update(tx, kept.key, receipt)
    account = sellers.find_seller(tx, kept.keeper.account_id)
    zone, language = (account.zone, account.language) if account else (None, payload.language)
    if isinstance(payload, ReceiptMessage):
        return new_message(receipt_reply(receipt, language, zone, kept.id), language)
    reply = notice_reply(receipt, payload.event, language, zone, kept.id)
    return new_message(reply, language) if reply else None
