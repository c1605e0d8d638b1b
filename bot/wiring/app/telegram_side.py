"""The Telegram side: the parts of the chat, their queues and what runs beside them."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING

from bot.chat.alerts import alert_text
from bot.chat.cards.image_route import PATH as IMAGES_PATH
from bot.chat.cards.image_route import image_router
from bot.chat.dialogue.dialogue import Chat
from bot.chat.messages.queues import (
    FAILED_FOR,
    JOBS_AT_ONCE,
    SEEN_FOR,
    SENT_AT_ONCE,
    make_queues,
)
from bot.chat.model.draft import PayoutService
from bot.chat.payments.claim_recording import ClaimRecorder
from bot.chat.payments.reconciler import Reconciler
from bot.chat.payments.recording import PaymentRecorder
from bot.chat.payments.webhook import PATH as RECEIVER_PATH
from bot.chat.payments.webhook import Receiver
from bot.chat.requests.job_handler import JobHandler
from bot.chat.requests.request_bodies import SETTLING, Addresses, PaymentServer
from bot.chat.schedule import Schedule
from bot.chat.store import seller_images, shown_texts
from bot.chat.telegram import profile
from bot.chat.telegram.inline_queries import InlineQueue, InlineResults
from bot.chat.telegram.intake import WEBHOOK_PATH, Intake, Poller, webhook_router
from bot.chat.telegram.photo_intake import AT_ONCE as PHOTOS_AT_ONCE
from bot.chat.telegram.photo_intake import Downloads, PhotoIntake
from bot.chat.telegram.sender import Sender
from bot.chat.times import zones
from bot.core.database import vault
from bot.core.errors import ConfigError
from bot.core.outbox import lanes, outbox
from bot.core.outbox.worker import Job
from bot.core.text import translations
from bot.wiring.app.telegram_bots import CALLBACKS_AT_ONCE, TelegramBots

if TYPE_CHECKING:
    from fastapi import APIRouter

    from bot.chat.payments.webhook import Proof
    from bot.chat.provider.client import Client
    from bot.config import Settings
    from bot.core.ops.readiness import Check
    from bot.wiring.app.foundation import Foundation

EVENTS = ("payment", "checkout.claimed")
"""What the receiver is told of by a service that takes real money."""


class TelegramSide:
    """The chat with everything it needs.

    `receiver` is the address, without a path, to which the payment service sends webhooks, and
    `proof` what a webhook must prove. Raises ConfigError without a BOT_TOKEN.
    """

    def __init__(self, foundation: Foundation, client: Client, proof: Proof, receiver: str) -> None:
        settings, db, now = foundation.settings, foundation.db, foundation.now
        if settings.bot_token is None:
            raise ConfigError(["BOT_TOKEN: is needed to run: get one from BotFather on Telegram"])
        token, root = settings.bot_token.get_secret_value(), settings.telegram_api_url
        self._settings = settings
        self._db = db
        self._client = client
        self._bots = TelegramBots(root, token)
        self._queues = make_queues(
            settings.telegram_rate, settings.telegram_chat_rate, settings.telegram_group_rate,
            gather=alert_text.join_alerts,
        )  # fmt: skip
        is_polling = settings.telegram_mode == "polling"
        self._update_url = None if is_polling else f"{settings.url}{WEBHOOK_PATH}"
        self._secret = db.run(
            lambda tx: vault.load_or_create(
                tx, foundation.vault, "telegram-webhook", vault.random_password
            )
        )
        rails = _rails(settings)
        chat = Chat(
            db, self._queues, now, foundation.vault,
            bot_name=lambda: self._bots.messages.username or "",  # before it was reached
            allowed=frozenset(settings.allowed_sellers),
            operator_contact=settings.operator_contact,
            paid_at=PayoutService.at(settings.payments_url, rails),
        )  # fmt: skip
        recorder = PaymentRecorder(db, self._queues, now)
        claims = ClaimRecorder(db, self._queues, settings.claim_hours * 3600 * 1000, now)
        self._receiver = Receiver(db, recorder, claims, proof, now)
        self._reconciler = Reconciler(db, client, recorder, now)
        self._schedule = Schedule(db, self._queues, now)
        inline = InlineResults(self._bots.searches, chat, settings.url)
        self._searching = InlineQueue(inline.answer, db.count, self._queues.messages.pace)
        bot_id = int(token.partition(":")[0])
        self._intake = Intake(db, self._queues.updates, bot_id, now, self._searching.take)
        self._poller = Poller(root, token, self._intake)
        self._downloads = Downloads(self._bots.others, root, now)
        self.jobs = self._make_jobs(foundation, receiver, chat)

    def _make_jobs(self, foundation: Foundation, receiver: str, chat: Chat) -> list[Job]:
        db, queues, now = foundation.db, self._queues, foundation.now
        sender = Sender(db, self._bots.messages, queues, now)
        answers = Sender(db, self._bots.others, queues, now)
        photos = PhotoIntake(db, self._downloads, queues, now, chat)
        settings = foundation.settings
        server = PaymentServer(
            self._client,
            Addresses(
                f"{receiver}{RECEIVER_PATH}", f"{settings.url}{IMAGES_PATH}",
                events=EVENTS if _rails(settings) else (),
            ),
            instrument=settings.instrument_currency,
            settling=SETTLING if settings.payments_url else 0,
            url=settings.payments_url,
            rails=_rails(settings),
        )  # fmt: skip
        requests = JobHandler(db, queues, now, server, foundation.vault)
        return [
            Job(queues.updates, chat.handle, buried=chat.buried),
            Job(queues.jobs, requests.perform, JOBS_AT_ONCE, requests.buried),
            Job(queues.messages, sender.send, SENT_AT_ONCE, sender.buried),
            Job(queues.answers, answers.answer, CALLBACKS_AT_ONCE),
            Job(queues.photos, photos.take, PHOTOS_AT_ONCE, photos.buried),
        ]

    def routers(self) -> list[APIRouter]:
        """Return the routes of webhooks, sellers' pictures and, in webhook mode, updates."""
        updates = [webhook_router(self._intake, self._secret)] if self._update_url else []
        return [self._receiver.router(), image_router(self._db), *updates]

    @property
    def bot_name(self) -> str | None:
        """Return the bot's username, None until Telegram was reached."""
        return None if self._bots.problem else self._bots.messages.username

    async def problem(self) -> str | None:
        """Return why Telegram was not reached yet; None once it was: messages can wait then."""
        return self._bots.problem

    def checks(self) -> dict[str, Check]:
        """Return the checks of Telegram and of a payment service that is another server."""
        if self._settings.payments_url is None:
            return {"telegram": self._bots.check}
        return {"telegram": self._bots.check, "payments": self._client.check_access}

    async def introduce(self) -> None:
        """Connect to Telegram, retrying forever. Raises ConfigError if it refuses the token."""
        await self._bots.introduce(self._update_url, self._secret)

    async def listen(self) -> None:
        """Run until cancelled: take updates by polling, and do what depends on time alone."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._set_profile())
            tasks.create_task(self._reconciler.run())
            tasks.create_task(self._schedule.run())
            if self._update_url is None:
                await self._poller.run()

    async def _set_profile(self) -> None:
        """Set the bot's profile; its texts are read in a thread, apart from the event loop."""
        await asyncio.to_thread(translations.load)
        await asyncio.to_thread(zones.load)
        await profile.set_profile(self._bots.others)

    async def sweep(self, moment: int) -> None:
        """Delete settled messages, lanes, pictures and texts that are too old at `moment`."""
        queues = self._queues
        for queue in (
            queues.updates, queues.jobs, queues.messages, queues.answers, queues.photos,
        ):  # fmt: skip
            kept = SEEN_FOR if queue is queues.updates else FAILED_FOR
            await self._db.transaction(partial(outbox.sweep, queue=queue, before=moment - kept))
            await self._db.transaction(partial(lanes.sweep, queue=queue, now=moment))
        await self._db.transaction(
            partial(seller_images.sweep_images, before=moment - seller_images.UNUSED_FOR)
        )
        await self._db.transaction(partial(shown_texts.sweep_texts, before=moment - SEEN_FOR))

    async def close(self) -> None:
        await self._searching.close()
        await self._poller.close()
        await self._downloads.close()
        await self._client.close()
        await self._bots.close()


def _rails(settings: Settings) -> tuple[str, ...]:
    """Return the kinds of real money that the embedded service takes."""
    return () if settings.payments_url or settings.test_money else settings.rails
