"""The Telegram side put together: the parts of the chat, what runs them, in which order."""

from __future__ import annotations

import asyncio
import itertools
from functools import partial
from typing import TYPE_CHECKING

import httpx
import structlog
from telegram import Bot
from telegram.error import InvalidToken, TelegramError

from bot.chat.alerts import alert_text
from bot.chat.cards.image_route import PATH as IMAGES_PATH
from bot.chat.cards.image_route import image_router
from bot.chat.dialogue.dialogue import Chat
from bot.chat.messages.queues import FAILED_FOR, SEEN_FOR, SENT_AT_ONCE, make_queues
from bot.chat.payments.reconciler import Reconciler
from bot.chat.payments.recording import PaymentRecorder
from bot.chat.payments.webhook import PATH as RECEIVER_PATH
from bot.chat.payments.webhook import Proof, Receiver
from bot.chat.requests.create import SETTLING
from bot.chat.requests.jobs import Calls
from bot.chat.schedule import Schedule
from bot.chat.store import seller_images, shown_texts
from bot.chat.telegram import profile
from bot.chat.telegram.downloads import Downloads
from bot.chat.telegram.errors import told
from bot.chat.telegram.inline import Inline
from bot.chat.telegram.inline_queue import AT_ONCE as SEARCHED_AT_ONCE
from bot.chat.telegram.inline_queue import Searching
from bot.chat.telegram.intake import KINDS, WEBHOOK_PATH, Intake, Poller, receive_updates
from bot.chat.telegram.photos import AT_ONCE as PHOTOS_AT_ONCE
from bot.chat.telegram.photos import Photos
from bot.chat.telegram.sender import Sender
from bot.chat.telegram.transport import Transport
from bot.chat.times import zones
from bot.core.database import vault
from bot.core.errors import ConfigError
from bot.core.net import http_client
from bot.core.outbox import lanes, outbox
from bot.core.outbox.worker import Job
from bot.core.text import translations

if TYPE_CHECKING:
    from collections.abc import Callable

    from fastapi import APIRouter

    from bot.chat.provider.client import Client
    from bot.config import Settings
    from bot.core.database.database import Database
    from bot.core.database.vault import Vault
    from bot.core.ops.readiness import Check

log = structlog.get_logger()

HELLO_AGAIN = (1.0, 2.0, 5.0, 15.0, 30.0)
"""Seconds between attempts to reach Telegram at the start."""

ANSWERS_AT_ONCE = 4
"""Presses answered at a time."""

READ_SECONDS = 20.0

ASIDE = ANSWERS_AT_ONCE + PHOTOS_AT_ONCE + 2
"""Connections for all that is neither a message nor an inline query, the profile and health
checks included: none of it waits for a message, and no message for it."""


class TelegramSide:
    """The chat with everything it needs; `proof` and `service` say how the service is reached."""

    def __init__(
        self,
        settings: Settings,
        db: Database,
        keys: Vault,
        now: Callable[[], int],
        *,
        client: Client,
        proof: Proof,
        receiver: str,
    ) -> None:
        if settings.bot_token is None:
            raise ConfigError(["BOT_TOKEN: is needed; BotFather gives it to you on Telegram"])
        token = settings.bot_token.get_secret_value()
        self._settings = settings
        self._db = db
        self._now = now
        self._client = client
        self._problem: str | None = "not reached yet"
        self._queues = make_queues(
            settings.telegram_rate, settings.telegram_chat_rate, settings.telegram_group_rate,
            gather=alert_text.gather,
        )  # fmt: skip
        root = settings.telegram_api_url
        self._bot = _make_bot(root, token, SENT_AT_ONCE)
        self._aside = _make_bot(root, token, ASIDE)
        self._searched = _make_bot(root, token, SEARCHED_AT_ONCE)
        self._secret = db.run(
            lambda tx: vault.load_or_create(tx, keys, "telegram-webhook", vault.random_password)
        )
        chat = Chat(
            db, self._queues, now,
            bot_name=lambda: self._bot.username or "",
            allowed=frozenset(settings.allowed_sellers),
        )  # fmt: skip
        recorder = PaymentRecorder(db, self._queues, now)
        self._receiver = Receiver(db, recorder, proof, now)
        self._reconciler = Reconciler(db, client, recorder, now)
        self._schedule = Schedule(db, self._queues, now)
        inline = Inline(self._searched, chat, settings.url)
        self._searching = Searching(inline.answer, db.count, self._queues.messages.pace)
        bot_id = int(token.partition(":")[0])
        self._intake = Intake(db, self._queues.updates, bot_id, now, self._searching.take)
        self._poller = Poller(root, token, self._intake)
        sender = Sender(db, self._bot, self._queues, now)
        answers = Sender(db, self._aside, self._queues, now)
        self._downloads = Downloads(self._aside, root, now)
        photos = Photos(db, self._downloads, self._queues, now)
        calls = self._make_calls(receiver)
        self.jobs = [
            Job(self._queues.updates, chat.take, buried=chat.buried),
            Job(self._queues.calls, calls.perform, buried=calls.buried),
            Job(self._queues.messages, sender.send, SENT_AT_ONCE, sender.buried),
            Job(self._queues.answers, answers.answer, ANSWERS_AT_ONCE),
            Job(self._queues.photos, photos.take, PHOTOS_AT_ONCE, photos.buried),
        ]

    def _make_calls(self, receiver: str) -> Calls:
        settings = self._settings
        return Calls(
            self._db, self._client, self._queues, self._now,
            receiver=f"{receiver}{RECEIVER_PATH}",
            images=f"{settings.url}{IMAGES_PATH}",
            instrument=settings.instrument_currency,
            settling=SETTLING if settings.payments_url else 0,
            server=settings.payments_url,
        )  # fmt: skip

    def routers(self) -> list[APIRouter]:
        """Give the routes of webhooks and sellers' pictures, in webhook mode of updates too."""
        webhook = self._settings.telegram_mode == "webhook"
        updates = [receive_updates(self._intake, self._secret)] if webhook else []
        return [self._receiver.router(), image_router(self._db), *updates]

    async def trouble(self) -> str | None:
        """Say why Telegram was not reached yet; None once it was, for then messages can wait."""
        return self._problem

    def checks(self) -> dict[str, Check]:
        """Give what asks Telegram and, where that is another server, the payment service."""
        elsewhere = {"payments": self._ask_payments} if self._settings.payments_url else {}
        return {"telegram": self._telegram, **elsewhere}

    async def _telegram(self) -> str | None:
        if self._problem is None:
            await self._aside.get_me()
        return self._problem

    async def _ask_payments(self) -> str | None:
        await self._client.check_access()
        return None

    async def hello(self) -> None:
        """Introduce ourselves to Telegram, as often as it takes.

        Raises ConfigError where Telegram refuses the token.
        """
        for wait in itertools.chain(HELLO_AGAIN, itertools.repeat(HELLO_AGAIN[-1])):
            try:
                await self._introduce()
                await self._choose_mode()
            except TelegramError as error:
                self._problem = type(error).__name__
                log.warning("telegram not reached", reason=told(error), again_in=wait)
                await asyncio.sleep(wait)
            else:
                self._problem = None
                log.info("telegram reached", bot=self._bot.username)
                return

    async def _introduce(self) -> None:
        try:
            await self._bot.initialize()
        except InvalidToken:
            raise ConfigError(["BOT_TOKEN: Telegram does not know it: copy it again"]) from None
        except (TypeError, ValueError, AttributeError):
            raise TelegramError("getMe's answer can't be read") from None

    async def listen(self) -> None:
        """Take updates until cancelled; in webhook mode they come by themselves.

        The profile is set meanwhile, payments are looked for that no webhook told, and what time
        alone changes is shown: nobody waits for an answer because of it.
        """
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._present())
            tasks.create_task(self._reconciler.run())
            tasks.create_task(self._schedule.run())
            if self._settings.telegram_mode == "polling":
                await self._poller.run()

    async def _present(self) -> None:
        """Set the profile; texts are read in a thread, or nobody would be served meanwhile."""
        await asyncio.to_thread(translations.load)
        await asyncio.to_thread(zones.load)
        await profile.present(self._aside)

    async def sweep(self, moment: int) -> None:
        """Drop what is remembered of messages and lanes for longer than it is of use."""
        queues = self._queues
        for queue in (
            queues.updates, queues.calls, queues.messages, queues.answers, queues.photos,
        ):  # fmt: skip
            kept = SEEN_FOR if queue is queues.updates else FAILED_FOR
            await self._db.transaction(partial(outbox.forget, queue=queue, before=moment - kept))
            await self._db.transaction(partial(lanes.sweep, queue=queue, now=moment))
        await self._db.transaction(
            partial(seller_images.sweep_images, before=moment - seller_images.UNUSED_FOR)
        )
        await self._db.transaction(partial(shown_texts.sweep_texts, before=moment - SEEN_FOR))

    async def close(self) -> None:
        """Close the connections."""
        await self._searching.close()
        await self._poller.close()
        await self._downloads.close()
        await self._client.close()
        for bot in (self._bot, self._aside, self._searched):
            await bot.request.shutdown()

    async def _choose_mode(self) -> None:
        if self._settings.telegram_mode == "webhook":
            await self._bot.set_webhook(
                url=f"{self._settings.url}{WEBHOOK_PATH}",
                secret_token=self._secret,
                allowed_updates=list(KINDS),
                drop_pending_updates=False,
            )
            return
        try:
            await self._bot.delete_webhook(drop_pending_updates=False)
        except InvalidToken:
            log.warning("this bot api server knows no webhooks")


def _make_bot(root: str, token: str, connections: int) -> Bot:
    """Make a client with so many connections of its own, and no more."""
    limits = httpx.Limits(max_connections=connections, max_keepalive_connections=connections)
    request = Transport(
        connection_pool_size=connections,
        read_timeout=READ_SECONDS,
        pool_timeout=READ_SECONDS,
        httpx_kwargs={
            "limits": limits,
            "verify": http_client.context(),
            "trust_env": http_client.leaves_network(root),
        },
    )
    return Bot(
        token, base_url=f"{root}/bot", base_file_url=f"{root}/file/bot",
        request=request, get_updates_request=request,
    )  # fmt: skip
