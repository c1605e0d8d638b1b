"""What one replica does for the whole chat: updates, jobs, messages, the schedule."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING, Any

from bot.chat.cards.image_route import PATH as IMAGES_PATH
from bot.chat.messages.queues import (
    CLAIMED_AHEAD,
    FAILED_FOR,
    FILES_AT_ONCE,
    JOBS_AT_ONCE,
    SEEN_FOR,
    SENT_AT_ONCE,
)
from bot.chat.payments.reconciler import Reconciler
from bot.chat.payments.webhook import PATH as RECEIVER_PATH
from bot.chat.provider.addresses import Addresses
from bot.chat.requests.job_handler import JobHandler
from bot.chat.requests.request_bodies import SETTLING, PaymentServer
from bot.chat.schedule import Schedule
from bot.chat.store import seller_images, sent_alerts, shown_texts
from bot.chat.telegram import profile
from bot.chat.telegram.file_intake import FileIntake, FileRoute
from bot.chat.telegram.intake import Poller
from bot.chat.telegram.photo_intake import AT_ONCE as PHOTOS_AT_ONCE
from bot.chat.telegram.photo_intake import Downloads, PhotoIntake
from bot.chat.telegram.receipt_calls import ReceiptCalls
from bot.chat.telegram.sender import Sender
from bot.chat.times import zones
from bot.core.outbox import lanes, sweeps
from bot.core.outbox.worker import Job
from bot.core.text import translations
from bot.wiring.app.telegram_bots import CALLBACKS_AT_ONCE

if TYPE_CHECKING:
    from collections.abc import Callable

    from telegram import Bot

    from bot.core.database.database import Database
    from bot.wiring.app.running_parts import RunningParts
    from bot.wiring.app.telegram_parts import TelegramParts

MOST_SKEW = 1_500
"""Milliseconds by which the clocks of replicas may differ, and messages arrive late.

A lead whose clock is ahead of the former lead's takes the last messages for older than they are,
and would send the next ones too early.
"""

EVENTS = ("payment", "checkout.claimed")
"""What the receiver is told of by the embedded service; other servers may not know events."""


class TelegramLead:
    """The chat's work for as long as this process leads; made anew for each lead.

    `db` is the view of the database that the lead has: its transactions fail as soon as another
    replica leads. `inline` takes the inline queries among polled updates. `holds` returns whether
    this process still has the lead: no message is sent without it.
    """

    def __init__(
        self,
        parts: TelegramParts,
        db: Database,
        inline: Callable[[dict[str, Any]], None],
        holds: Callable[[], bool],
    ) -> None:
        settings, now = parts.settings, parts.now
        self._parts = parts
        self._db = db
        self._holds = holds
        self._reconciler = Reconciler(db, parts.client, parts.recorder(db), now)
        self._schedule = Schedule(db, parts.queues, now)
        intake = parts.intake(db, inline)
        self._poller = Poller(settings.telegram_api_url, parts.token, intake)
        self._downloads = Downloads(parts.bots.others, settings.telegram_api_url, now)

    def begin(self, running: RunningParts) -> None:
        """Start all of it, to be stopped with `running`."""
        running.closers += [self._poller.close, self._downloads.close]
        running.start(self._run(running))

    async def _run(self, running: RunningParts) -> None:
        parts = self._parts
        await parts.bots.choose_mode(parts.update_url, parts.secret)
        running.work(self._db, self._jobs())
        running.start(self._send(running))
        running.start(self._set_profile())
        running.start(self._reconciler.run())
        running.start(self._schedule.run())
        if parts.update_url is None:
            running.start(self._poller.run())

    async def _send(self, running: RunningParts) -> None:
        """Start sending, within Telegram's limits by the former lead's clock too."""
        messages = self._parts.queues.messages
        if self._db.engine == "postgresql":
            now = self._parts.now
            await self._db.transaction_until_stored(
                lambda tx: lanes.postpone(tx, messages, now(), MOST_SKEW)
            )
        sender = self._sender(self._parts.bots.messages)
        job = Job(messages, sender.send, SENT_AT_ONCE, sender.buried, ahead=CLAIMED_AHEAD)
        running.work(self._db, [job])

    def _sender(self, bot: Bot) -> Sender:
        parts, receipts = self._parts, ReceiptCalls(self._db, self._parts.client.receipt)
        return Sender(self._db, bot, parts.queues, parts.now, self._holds, receipts=receipts)

    def _jobs(self) -> list[Job]:
        parts, db = self._parts, self._db
        queues, bots, now, chat = parts.queues, parts.bots, parts.now, parts.chat(db)
        answers = self._sender(bots.others)
        photos = PhotoIntake(db, self._downloads, queues, now, chat)
        files = FileIntake(db, FileRoute(self._downloads, parts.client), queues, now, chat)
        requests = JobHandler(db, queues, now, self._server(), parts.foundation.vault)
        return [
            Job(queues.updates, chat.handle, buried=chat.buried),
            Job(queues.jobs, requests.perform, JOBS_AT_ONCE, requests.buried),
            Job(queues.answers, answers.answer, CALLBACKS_AT_ONCE),
            Job(queues.photos, photos.take, PHOTOS_AT_ONCE, photos.buried),
            Job(queues.files, files.take, FILES_AT_ONCE, files.buried),
        ]

    def _server(self) -> PaymentServer:
        parts, settings = self._parts, self._parts.settings
        page = parts.foundation.chat_page
        return PaymentServer(
            parts.client,
            Addresses(
                f"{parts.receiver}{RECEIVER_PATH}", f"{settings.url}{IMAGES_PATH}",
                events=() if settings.payments_url else EVENTS,
                bot_name=None if settings.payments_url else self._bot_name,
                chat_page=f"{settings.url}{page}" if page else None,
            ),
            instrument=settings.instrument_currency,
            settling=SETTLING if settings.payments_url else 0,
            url=settings.payments_url,
            rails=parts.rails,
        )  # fmt: skip

    def _bot_name(self) -> str:
        return self._parts.bots.messages.username or ""  # before it was reached

    async def _set_profile(self) -> None:
        """Set the bot's profile; its texts are read in a thread, apart from the event loop."""
        await asyncio.to_thread(translations.load)
        await asyncio.to_thread(zones.load)
        await profile.set_profile(self._parts.bots.others)

    async def sweep(self, moment: int) -> None:
        """Delete settled messages, lanes, pictures and texts that are too old at `moment`."""
        queues = self._parts.queues
        for queue in (
            queues.updates, queues.jobs, queues.messages, queues.answers, queues.photos,
            queues.files,
        ):  # fmt: skip
            kept = SEEN_FOR if queue is queues.updates else FAILED_FOR
            await sweeps.sweep_settled(self._db, queue, moment - kept)
            await sweeps.sweep_lanes(self._db, queue, moment)
        await self._db.bulk(
            partial(seller_images.sweep_images, before=moment - seller_images.UNUSED_FOR)
        )
        await self._db.bulk(partial(shown_texts.sweep_texts, before=moment - SEEN_FOR))
        await self._db.bulk(partial(sent_alerts.sweep, before=moment - sent_alerts.KEPT_FOR))
