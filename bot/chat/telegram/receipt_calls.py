"""Kept receipts and notices about them, fetched from the service just before they are sent.

So the queue never contains delivered goods, and a notice is correct when it is sent.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

import structlog

from bot.chat.cards import message_calls, receipts
from bot.chat.model import payloads, replies
from bot.chat.store import receipt_rows, seller_rows
from bot.chat.store.receipt_rows import Receipt, ReceiptKey
from bot.chat.telegram import transport
from bot.core import errors
from bot.core.database import database
from bot.core.outbox import outbox
from bot.core.text import translations

if TYPE_CHECKING:
    Fetch = Callable[[ReceiptKey], Awaitable[Receipt]]

log = structlog.get_logger()

TRIED_FOR = 24 * 3600 * 1000
"""Milliseconds for which fetching a receipt is retried; other messages wait behind it."""

GONE = (errors.NotFound, errors.MethodNotAllowed, errors.Unauthorized)
"""Refusals by a service that doesn't have the receipt, or by another server in its place."""

WAITS = "waits for the payment service"
"""The note on a message whose receipt could not be fetched yet."""


class ReceiptCalls:
    """Builds the messages of kept receipts; `fetch` gets a receipt from the service."""

    def __init__(self, db: database.Database, fetch: Fetch) -> None:
        self._db = db
        self._fetch = fetch

    async def build(
        self,
        payload: payloads.ReceiptMessage | payloads.BuyerNotice,
        message: outbox.Message,
        now: int,
    ) -> (
        payloads.TextMessage
        | payloads.CardMessage
        | message_calls.Call
        | message_calls.NotYet
        | None
    ):
        """Return the call that shows the current receipt, or sends its file.

        Return None if the account no longer keeps the receipt. The fetch is retried for a day after
        the first failure, not from when the message was queued: the message may have waited in a
        closed chat. Raises StorageError.
        """
        account_id = int(message.lane)
        key = ReceiptKey(payload.request_id, payload.transaction_id)
        kept = await self._db.read(lambda tx: receipt_rows.by_key(tx, key, account_id))
        if kept is None:
            return None
        try:
            receipt = await self._fetch(key)
        except GONE:
            return _failed(payload, "receipt-kept-gone", kept)
        except (errors.PeerError, errors.Refused) as error:
            log_not_fetched(error)
            if payload.tried_since is not None and now - payload.tried_since >= TRIED_FOR:
                return _failed(payload, "receipt-given-up", kept)
            return message_calls.NotYet(
                transport.RETRIES.delay_or_last(message.attempts, errors.requested_wait(error)),
                WAITS,
            )
        if isinstance(payload, payloads.ReceiptMessage) and payload.is_file:
            bought = receipt.delivery.file if receipt.delivery else None
            if bought is None:
                return None
            found = await self._db.read(
                lambda tx: receipts.telegram_file(tx, key.request_id, bought)
            )
            return found and message_calls.Call(found[0], {"chat_id": account_id}, found[1])
        return await self._db.transaction(lambda tx: _render(tx, payload, kept, receipt))


def log_not_fetched(error: Exception) -> None:
    """Log that the service didn't return a receipt, without the receipt's address."""
    log.warning("receipt not fetched", error=type(error).__name__, reason=str(error))


def _failed(
    payload: payloads.ReceiptMessage | payloads.BuyerNotice,
    key: str,
    kept: receipt_rows.KeptReceipt,
) -> payloads.TextMessage | None:
    """Return a reason why a receipt can't be shown; None if it is a file or a notice."""
    if isinstance(payload, payloads.BuyerNotice) or payload.is_file:
        return None
    text = translations.t(payload.language, key, name=replies.escaped(kept.name, receipts.NAME))
    return payloads.TextMessage(text, payload.language)


def _render(
    tx: database.Transaction,
    payload: payloads.ReceiptMessage | payloads.BuyerNotice,
    kept: receipt_rows.KeptReceipt,
    receipt: Receipt,
) -> payloads.TextMessage | payloads.CardMessage | None:
    """Store the current receipt, and return the message that shows it.

    The message is in the account's current language, because a notice may come long after the
    receipt.
    """
    receipt_rows.update(tx, kept.key, receipt)
    account = seller_rows.find_seller(tx, kept.owner.account_id)
    zone, language = (account.zone, account.language) if account else (None, payload.language)
    if isinstance(payload, payloads.ReceiptMessage):
        return payloads.new_message(
            receipts.receipt_reply(receipt, language, zone, kept.id), language
        )
    reply = receipts.notice_reply(receipt, payload.event, language, zone, kept.id)
    return payloads.new_message(reply, language) if reply else None
