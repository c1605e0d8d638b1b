"""Updates from Telegram: stored without quoted messages, then confirmed.

An update is confirmed after its row is committed: by the offset of the next call in polling mode,
by the answer 200 in webhook mode. An update that arrives twice has the same key and is stored once.
Inline queries are answered at once or not at all, so they are never stored.
"""

from __future__ import annotations

import asyncio
import hmac
import time
from collections.abc import Awaitable, Callable, Iterable
from typing import Any

import structlog
from fastapi import APIRouter, Request, Response
from telegram import Bot
from telegram.error import RetryAfter, TelegramError

from bot.chat.store import sealed_updates
from bot.chat.telegram import transport
from bot.core import errors
from bot.core.database import database, vault
from bot.core.net import request_body
from bot.core.outbox import outbox, queue_policy

log = structlog.get_logger()

KINDS = ("message", "callback_query", "inline_query", "chosen_inline_result", "my_chat_member")
"""The kinds of updates, sent with each call; otherwise Telegram uses the previous call's kinds."""

POLL_SECONDS = 50
MIN_WAIT = 0.05
"""Seconds between polls if the server doesn't hold the call open."""

RETRIES = queue_policy.RetryTable((1_000, 2_000, 5_000, 15_000, 30_000), repeats=True)
"""Delays between attempts to reach Telegram, at the start and when polling."""

WEBHOOK_PATH = "/telegram/updates"
SECRET_HEADER = "X-Telegram-Bot-Api-Secret-Token"  # noqa: S105 - a header's name
MAX_UPDATE_BYTES = 1024 * 1024
NOBODY = "0"
"""The lane and account of updates without a chat and a person."""

QUOTED = ("reply_to_message", "quote", "pinned_message", "external_reply")
"""Fields of a message that repeat another message (Bot API, Message). They are not used here, and
may contain a receipt with delivered goods."""

PRESSED = ("message_id", "chat", "date", "photo")
"""The fields stored of a message whose button was pressed; its text and other buttons may show
delivered goods, or a payer's words."""

ALBUM_WAIT = 1_000
"""Milliseconds for which an album's first message waits for the others: Telegram sends each message
as a separate update, and only one of them has the caption."""


class Intake:
    """Stores updates, from polling and from the webhook; the vault seals keys in them."""

    def __init__(
        self,
        db: database.Database,
        queue: queue_policy.Queue,
        bot_id: int,
        now: Callable[[], int],
        vault: vault.Vault,
        inline: Callable[[dict[str, Any]], None],
    ) -> None:
        self._db = db
        self._queue = queue
        self._bot_id = bot_id
        self._now = now
        self._vault = vault
        self._inline = inline

    async def take(self, updates: Iterable[Any]) -> None:
        """Store updates durably; repeated updates change nothing."""
        valid = [update for update in updates if _is_update(update)]
        stored = [update for update in valid if "inline_query" not in update]
        if stored:
            await self._db.transaction(lambda tx: self._store(tx, stored))
        for update in valid:
            if "inline_query" in update:
                self._db.count("telegram_updates", "inline_query")
                self._inline(update)

    def _store(self, tx: database.Transaction, updates: Iterable[dict[str, Any]]) -> None:
        now = self._now()
        for update in updates:
            key = f"update-{self._bot_id}-{update['update_id']:012d}"
            lane, account = lane_of(update), account_of(update)
            kept = sealed_updates.seal(_without_quotes(update), self._vault)
            is_part = "media_group_id" in _object(update.get("message"))
            due_at = now + ALBUM_WAIT if is_part else None
            if outbox.put(
                tx, self._queue, lane, kept, now, key=key, account=account, due_at=due_at
            ):
                tx.count("telegram_updates", next(filter(update.__contains__, KINDS), "other"))


class Poller:
    """Polls Telegram for updates with long calls, one after the other."""

    def __init__(
        self,
        bot: Bot,
        intake: Intake,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._bot = bot
        self._intake = intake
        self._sleep = sleep
        self._offset: int | None = None

    async def run(self) -> None:
        """Poll until cancelled; after a failure, wait and poll again. Raises NoLongerLead."""
        failures = 0
        while True:
            failures += 1
            wait = RETRIES.delay_or_last(failures) / 1000
            try:
                await self._poll_once()
                failures = 0
                continue
            except TelegramError as error:
                if isinstance(error, RetryAfter):
                    wait = transport.retry_after_ms(error) / 1000
                reason = transport.describe_error(error)
                log.warning("no updates from telegram", reason=reason, again_in=wait)
            except errors.StorageError as error:  # the database logs the error
                wait, failures = RETRIES.delay_or_last(1) / 1000, 0
                log.debug("updates not stored, so not confirmed", reason=str(error))
            except errors.NoLongerLead:
                raise
            except Exception:
                log.exception("updates not stored, so not confirmed", again_in=wait)
            await self._sleep(wait)

    async def _poll_once(self) -> None:
        started = time.monotonic()
        args = {"timeout": POLL_SECONDS, "allowed_updates": KINDS, "offset": self._offset}
        seconds = POLL_SECONDS + transport.READ_SECONDS
        updates = await transport.call(self._bot, "getUpdates", args, seconds)
        if not isinstance(updates, list):
            raise TelegramError("the answer has no list of updates")
        if not updates and time.monotonic() - started < MIN_WAIT:
            await self._sleep(MIN_WAIT)
        await self._intake.take(updates)
        ids = [update["update_id"] for update in updates if _has_id(update)]
        if len(ids) < len(updates):
            log.warning("unreadable updates", number=len(updates) - len(ids))
        if ids:
            self._offset = max(ids) + 1
        elif updates:
            raise TelegramError("the updates have no update_id")


def webhook_router(intake: Intake, secret: str) -> APIRouter:
    """Return the route of webhook mode; calls without the secret header get a 401."""
    router = APIRouter(include_in_schema=False)

    @router.post(WEBHOOK_PATH)
    async def receive(request: Request) -> Response:
        header = request.headers.get(SECRET_HEADER, "")
        if not hmac.compare_digest(header.encode(), secret.encode()):
            return Response(status_code=401)
        try:
            update = request_body.parse(await request_body.read(request, MAX_UPDATE_BYTES))
            if not _is_update(update):
                raise errors.InvalidBody("The body is no update.")
        except errors.Refused as error:
            log.warning("update refused", reason=error.message)
            return Response(status_code=413 if isinstance(error, errors.BodyTooLarge) else 400)
        await intake.take([update])
        return Response()

    return router


def lane_of(update: dict[str, Any]) -> str:
    """Return the lane of an update: its chat's id, or else its person's id."""
    inner = _inner(update)
    message = _object(inner.get("message")) or inner
    return _id_of(_object(message.get("chat")) or _object(inner.get("from")))


def account_of(update: dict[str, Any]) -> str:
    """Return the account of an update: its person's id, or else its chat's id.

    Everybody who writes in the name of a chat has the chat's account, because Telegram names the
    same person for all of them.
    """
    inner = _inner(update)
    person = NOBODY if "sender_chat" in inner else _id_of(_object(inner.get("from")))
    return lane_of(update) if person == NOBODY else person


def _inner(update: dict[str, Any]) -> dict[str, Any]:
    return next((_object(update[kind]) for kind in KINDS if kind in update), {})


def _without_quotes(update: dict[str, Any]) -> dict[str, Any]:
    """Return an update without the messages that it quotes."""
    message, query = _object(update.get("message")), _object(update.get("callback_query"))
    if any(name in message for name in QUOTED):
        kept = {name: value for name, value in message.items() if name not in QUOTED}
        return {**update, "message": kept}
    if pressed := _object(query.get("message")):
        below = {name: pressed[name] for name in PRESSED if name in pressed}
        return {**update, "callback_query": {**query, "message": below}}
    return update


def _id_of(chat_or_person: dict[str, Any]) -> str:
    number = chat_or_person.get("id")
    return str(number) if isinstance(number, int) else NOBODY


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _has_id(update: Any) -> bool:
    return isinstance(update, dict) and isinstance(update.get("update_id"), int)


def _is_update(update: Any) -> bool:
    return _has_id(update) and all(isinstance(update.get(kind, {}), dict) for kind in KINDS)
