"""The Telegram side: the chat's parts on every replica, and the parts that only the lead runs."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Awaitable, Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import structlog
from telegram import Bot
from telegram.error import InvalidToken, TelegramError

from bot.app import resources, running_parts
from bot.chat.cards import alert_text, image_route, schedule
from bot.chat.conversation import conversation
from bot.chat.model import drafts, zones
from bot.chat.model.queues import (
    CLAIMED_AHEAD,
    FILES_AT_ONCE,
    JOBS_AT_ONCE,
    SEEN_FOR,
    SENT_AT_ONCE,
    WRITE_SCOPE,
    make_queues,
)
from bot.chat.payments import (
    job_context,
    job_handler,
    reconciler,
    recording,
    request_bodies,
    webhook,
)
from bot.chat.payments.client import Client
from bot.chat.store import message_rows, seller_rows
from bot.chat.telegram import downloads, inline_queries, receipt_calls, sender, transport
from bot.chat.telegram.intake import KINDS, RETRIES, WEBHOOK_PATH, Intake, Poller, webhook_router
from bot.core import errors
from bot.core.database import database, vault
from bot.core.ops import metrics, readiness
from bot.core.outbox import lanes, worker
from bot.core.text import translations
from bot.interface import vocabulary

if TYPE_CHECKING:
    from fastapi import APIRouter


log = structlog.get_logger()

CALLBACKS_AT_ONCE = 4
"""The most callback queries answered at the same time."""

OTHERS_AT_ONCE = CALLBACKS_AT_ONCE + downloads.PHOTOS_AT_ONCE + FILES_AT_ONCE + 3
"""Connections for everything except messages and inline queries: callbacks, photos, files, the
profile, health checks and the poll for updates, which don't wait for each other."""

ANSWER_SECONDS = 3.0
"""Seconds that a start waits for Telegram's first answer, which may refuse the token."""

COUNTERS = (
    metrics.Family(
        "telegram_updates",
        "Updates received from Telegram, each once, by kind.",
        ("kind",),
        (KINDS,),
    ),
    metrics.Family(
        "telegram_updates_handled",
        "Updates handled, updates that could not be handled, and inline queries replaced by newer"
        " ones.",
        ("outcome",),
        (("done", "set_aside", "dropped"),),
    ),
    metrics.Family(
        "telegram_messages",
        "Calls that send to a chat, by outcome: sent, sent when it may have been sent before,"
        " throttled (429), blocked (403), refused for good, failed, answer lost (unclear), no"
        " longer needed, chat moved.",
        ("method", "class", "outcome"),
        (
            ("sendMessage",),
            tuple(sender.CLASS_LABELS.values()),
            ("sent", "repeated", *transport.FAILURE_LABELS.values()),
        ),
    ),
    metrics.Family(
        "payments_told",
        "Payments that the chat recorded, by a webhook or by the reconciler.",
        ("way",),
        (("webhook", "found"),),
    ),
)
"""By the names in the code; a test compares names and numbers of labels."""


class TelegramBots:
    """The clients of one bot, each with its own connections."""

    problem: str | None
    """The reason why Telegram was not reached yet; None after the first contact."""

    asked: asyncio.Event
    """Set when the first call has ended, or takes so long that payers are served without it."""

    def __init__(self, root: str, token: str) -> None:
        self.messages = transport.make_bot(root, token, SENT_AT_ONCE)
        self.others = transport.make_bot(root, token, OTHERS_AT_ONCE)
        self.searches = transport.make_bot(root, token, inline_queries.AT_ONCE)
        self.problem = "not reached yet"
        self.asked = asyncio.Event()
        self._reached = asyncio.Event()
        self._chosen = asyncio.Event()
        self._chosen.set()

    async def reach(self) -> None:
        """Ask Telegram for the bot's name until it answers; wait for a pending choice of mode.

        Raises ConfigError if Telegram refuses the token.
        """
        asyncio.get_running_loop().call_later(ANSWER_SECONDS, self.asked.set)
        await self._until_done(self._initialize)
        log.info("telegram reached", bot=self.messages.username)
        self._reached.set()
        await self._chosen.wait()
        self.problem = None

    async def choose_mode(self, url: str | None, secret: str) -> None:
        """After Telegram is reached, ask it to send updates to `url`; None for polling.

        Retries until it agrees. Only the lead calls this, because the bot has one mode.
        """
        self._chosen.clear()
        try:
            await self._reached.wait()
            await self._until_done(partial(self._set_mode, url, secret))
        finally:
            self._chosen.set()
            self.problem = None if self._reached.is_set() else self.problem

    async def _until_done(self, step: Callable[[], Awaitable[None]]) -> None:
        for failed in itertools.count(1):
            try:
                await step()
            except TelegramError as error:
                self.problem = type(error).__name__
                self.asked.set()
                wait = RETRIES.delay_or_last(failed) / 1000
                log.warning(
                    "telegram not reached", reason=transport.describe_error(error), again_in=wait
                )
                await asyncio.sleep(wait)
            else:
                return

    async def _initialize(self) -> None:
        try:
            await self.messages.initialize()
        except InvalidToken:
            raise errors.ConfigError(["BOT_TOKEN: Telegram rejects it: copy it again"]) from None
        except transport.UNREADABLE:
            raise TelegramError("getMe's answer can't be read") from None

    async def _set_mode(self, url: str | None, secret: str) -> None:
        if url is not None:
            await self.messages.set_webhook(
                url=url,
                secret_token=secret,
                allowed_updates=list(KINDS),
                drop_pending_updates=False,
            )
            return
        try:
            await self.messages.delete_webhook(drop_pending_updates=False)
        except InvalidToken:
            log.warning("the bot api server has no deleteWebhook: polling all the same")

    async def check(self) -> None:
        """Check that Telegram answers. Raises TelegramError."""
        await self.others.get_me()

    async def close(self) -> None:
        for bot in (self.messages, self.others, self.searches):
            await bot.request.shutdown()


class TelegramParts:
    """Parts of the chat that every replica and the lead share.

    Parts that change the chat's data are built for one view of the database.
    """

    def __init__(
        self, shared: resources.SharedResources, client: Client, receiver: str, secret: str
    ) -> None:
        """Build the parts; `client` calls the payment service, which sends webhooks to `receiver`.

        `secret` is the header of Telegram's calls to our webhook. Raises ConfigError without a
        BOT_TOKEN.
        """
        self.settings = settings = shared.settings
        if settings.bot_token is None:
            raise errors.ConfigError(
                ["BOT_TOKEN: is needed to run: get one from BotFather on Telegram"]
            )
        self.shared, self.now = shared, shared.now
        self.client, self.receiver, self.secret = client, receiver, secret
        token = settings.bot_token.get_secret_value()
        self.bot_id = int(token.partition(":")[0])
        self.bots = TelegramBots(settings.telegram_api_url, token)
        self.queues = make_queues(
            settings.telegram_rate, settings.telegram_chat_rate, settings.telegram_group_rate,
            gather=alert_text.join_alerts,
        )  # fmt: skip
        self.rails = () if settings.payments_url or settings.test_money else settings.rails
        """The kinds of real money that the embedded service accepts."""
        is_polling = settings.telegram_mode == "polling"
        self.update_url = None if is_polling else f"{settings.url}{WEBHOOK_PATH}"
        """The address to which Telegram sends updates; None for polling."""

    def bot_name(self) -> str:
        return self.bots.messages.username or ""  # before it was reached

    def chat(self, db: database.Database) -> conversation.Chat:
        settings = self.settings
        return conversation.Chat(
            db, self.queues, self.now, self.shared.vault,
            bot_name=self.bot_name,
            allowed=frozenset(settings.allowed_sellers),
            operator_contact=settings.operator_contact,
            paid_at=drafts.PayoutService.at(settings.payments_url, self.rails),
        )  # fmt: skip

    def recorder(self) -> recording.PaymentRecorder:
        return recording.PaymentRecorder(self.queues, self.now)

    def intake(self, db: database.Database, inline: Callable[[dict[str, Any]], None]) -> Intake:
        return Intake(db, self.queues.updates, self.bot_id, self.now, self.shared.vault, inline)


MOST_SKEW = 1_500
"""Milliseconds for the difference between replicas' clocks and for late messages.

If a new lead's clock is ahead of the former lead's, the last messages seem older than they are, and
the next messages would be sent too early.
"""

EVENTS = tuple(vocabulary.WebhookEvent)
"""Events that the embedded service reports to the receiver; other servers may not know events."""


class TelegramLead:
    """The chat's work while this process leads; created for each lead.

    `db` is the lead's view of the database: its transactions fail as soon as another replica leads.
    `inline` takes the inline queries among polled updates. `holds` returns True while this process
    has the lead; otherwise no message is sent.
    """

    def __init__(
        self,
        parts: TelegramParts,
        db: database.Database,
        inline: Callable[[dict[str, Any]], None],
        holds: Callable[[], bool],
    ) -> None:
        settings, now = parts.settings, parts.now
        self._parts = parts
        self._db = db
        self._holds = holds
        self._reconciler = reconciler.Reconciler(db, parts.client, parts.recorder(), now)
        self._schedule = schedule.Schedule(db, parts.queues, now)
        self._poller = Poller(parts.bots.others, parts.intake(db, inline))
        self._downloads = downloads.Downloads(parts.bots.others, settings.telegram_api_url, now)

    def begin(self, running: running_parts.RunningParts) -> None:
        """Start all parts; they stop with `running`."""
        running.closers.append(self._downloads.close)
        running.start(self._run(running))

    async def _run(self, running: running_parts.RunningParts) -> None:
        parts = self._parts
        await parts.bots.choose_mode(parts.update_url, parts.secret)
        running.work(self._db, self._queue_handlers())
        running.start(self._send(running))
        running.start(self._set_profile())
        running.start(self._reconciler.run())
        running.start(self._schedule.run())
        if parts.update_url is None:
            running.start(self._poller.run())

    async def _send(self, running: running_parts.RunningParts) -> None:
        """Start sending, within Telegram's limits even by the former lead's clock."""
        messages = self._parts.queues.messages
        if self._db.engine == "postgresql":
            now = self._parts.now
            await self._db.transaction_until_stored(
                lambda tx: lanes.postpone(tx, messages, now(), MOST_SKEW)
            )
        sender = self._sender(self._parts.bots.messages)
        queue_handler = worker.QueueHandler(
            messages, sender.send, SENT_AT_ONCE, sender.on_dead_letter, ahead=CLAIMED_AHEAD
        )
        running.work(self._db, [queue_handler])

    def _sender(self, bot: Bot) -> sender.Sender:
        parts = self._parts
        receipts = receipt_calls.ReceiptCalls(self._db, parts.client.receipt)
        return sender.Sender(self._db, bot, parts.queues, parts.now, self._holds, receipts=receipts)

    def _queue_handlers(self) -> list[worker.QueueHandler]:
        parts, db = self._parts, self._db
        queues, bots, now, chat = parts.queues, parts.bots, parts.now, parts.chat(db)
        answers = self._sender(bots.others)
        photos = downloads.PhotoIntake(db, self._downloads, queues, now, chat)
        files = downloads.FileIntake(
            db, downloads.FileRoute(self._downloads, parts.client), queues, now, chat
        )
        context = job_context.Context(db, queues, now, self._server(), parts.shared.vault)
        requests = job_handler.JobHandler(context)
        return [
            worker.QueueHandler(queues.updates, chat.handle, on_dead_letter=chat.on_dead_letter),
            worker.QueueHandler(
                queues.jobs, requests.perform, JOBS_AT_ONCE, requests.on_dead_letter
            ),
            worker.QueueHandler(queues.answers, answers.answer, CALLBACKS_AT_ONCE),
            worker.QueueHandler(
                queues.photos, photos.take, downloads.PHOTOS_AT_ONCE, photos.on_dead_letter
            ),
            worker.QueueHandler(queues.files, files.take, FILES_AT_ONCE, files.on_dead_letter),
        ]

    def _server(self) -> request_bodies.PaymentServer:
        parts, settings = self._parts, self._parts.settings
        page = parts.shared.chat_page
        return request_bodies.PaymentServer(
            parts.client,
            request_bodies.Addresses(
                f"{parts.receiver}{webhook.PATH}", f"{settings.url}{image_route.PATH}",
                events=() if settings.payments_url else EVENTS,
                bot_name=None if settings.payments_url else parts.bot_name,
                chat_page=f"{settings.url}{page}" if page else None,
            ),
            instrument=settings.instrument_currency,
            settling=request_bodies.SETTLING if settings.payments_url else 0,
            url=settings.payments_url,
            rails=parts.rails,
        )  # fmt: skip

    async def _set_profile(self) -> None:
        """Set the bot's profile; the texts are loaded in a thread, outside the event loop."""
        await asyncio.to_thread(translations.load)
        await asyncio.to_thread(zones.load)
        await transport.set_profile(self._parts.bots.others)

    async def sweep(self, moment: int) -> None:
        """Delete expired messages, lanes, pictures and texts at `moment`."""
        for queue in self._parts.queues:
            await worker.sweep(self._db, queue, moment)
        for forget, kept in (
            (seller_rows.sweep_images, seller_rows.IMAGES_KEPT),
            (message_rows.sweep_texts, SEEN_FOR),
            (message_rows.sweep_alerts, message_rows.KEPT_FOR),
        ):
            await self._db.bulk(partial(forget, before=moment - kept))


class TelegramSide:
    """The chat's routes and its connections to Telegram, which every replica has.

    `receiver` is the address, without a path, to which the payment service sends webhooks. `proof`
    holds the secrets that authenticate webhooks. Raises ConfigError without a BOT_TOKEN.
    """

    def __init__(
        self,
        shared: resources.SharedResources,
        client: Client,
        proof: webhook.Proof,
        receiver: str,
    ) -> None:
        settings, now = shared.settings, shared.now
        self._whole_db = shared.db
        secret = shared.db.run(
            lambda tx: vault.load_or_create(
                tx, shared.vault, "telegram-webhook", vault.random_password
            )
        )
        self._parts = parts = TelegramParts(shared, client, receiver, secret)
        self._db = db = shared.db.in_write_scope(WRITE_SCOPE)
        held = settings.claim_hours * 3600 * 1000
        self._receiver = webhook.Receiver(db, parts.recorder(), held, proof, now)
        inline = inline_queries.InlineResults(parts.bots.searches, parts.chat(db), settings.url)
        self._searching = inline_queries.InlineQueue(
            inline.answer, db.count, parts.queues.messages.pace
        )
        self._intake = parts.intake(db, self._searching.take)

    def routers(self) -> list[APIRouter]:
        """Return the routes of webhooks, sellers' pictures and, in webhook mode, updates."""
        parts = self._parts
        updates = [webhook_router(self._intake, parts.secret)] if parts.update_url else []
        return [self._receiver.router(), image_route.image_router(self._db), *updates]

    @property
    def bot_name(self) -> str | None:
        """Return the bot's username; None until Telegram is reached."""
        bots = self._parts.bots
        return None if bots.problem else bots.messages.username

    def watch(self, readiness: readiness.Readiness) -> None:
        """Add the checks of Telegram and of an external payment service.

        Later, messages can wait for Telegram. But its first answer is awaited, so that a deployment
        with a wrong token is never ready and doesn't end the former process.
        """
        bots, client = self._parts.bots, self._parts.client

        async def asked() -> str | None:
            return None if bots.asked.is_set() else bots.problem

        readiness.at_first["telegram"] = asked
        readiness.watch("telegram", bots.check, lambda: bots.problem)
        if self._parts.settings.payments_url is not None:
            readiness.watch("payments", client.check_access)

    async def reach(self) -> None:
        """Connect to Telegram, retrying forever. Raises ConfigError if it refuses the token."""
        await self._parts.bots.reach()

    def lead(self, lead: database.WriteLease, holds: Callable[[], bool]) -> TelegramLead:
        """Return the work that this replica does for all while `holds` returns True."""
        view = self._whole_db.in_write_scope(WRITE_SCOPE, lead)
        return TelegramLead(self._parts, view, self._searching.take, holds)

    async def close(self) -> None:
        await self._searching.close()
        await self._parts.client.close()
        await self._parts.bots.close()
