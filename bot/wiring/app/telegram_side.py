"""The Telegram side: what every replica has of the chat, and what the lead runs of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bot.chat.cards.image_route import image_router
from bot.chat.messages.queues import SLICE
from bot.chat.payments.claim_recording import ClaimRecorder
from bot.chat.payments.webhook import Receiver
from bot.chat.telegram.inline_queries import InlineQueue, InlineResults
from bot.chat.telegram.intake import webhook_router
from bot.core.database import vault
from bot.wiring.app.telegram_lead import TelegramLead
from bot.wiring.app.telegram_parts import TelegramParts

if TYPE_CHECKING:
    from collections.abc import Callable

    from fastapi import APIRouter

    from bot.chat.payments.webhook import Proof
    from bot.chat.provider.client import Client
    from bot.core.database.slices import Lead
    from bot.core.ops.readiness import Readiness
    from bot.wiring.app.foundation import Foundation


class TelegramSide:
    """The chat's routes and its connections to Telegram, which every replica has.

    `receiver` is the address, without a path, to which the payment service sends webhooks, and
    `proof` what a webhook must prove. Raises ConfigError without a BOT_TOKEN.
    """

    def __init__(self, foundation: Foundation, client: Client, proof: Proof, receiver: str) -> None:
        settings, now = foundation.settings, foundation.now
        self._whole_db = foundation.db
        secret = foundation.db.run(
            lambda tx: vault.load_or_create(
                tx, foundation.vault, "telegram-webhook", vault.random_password
            )
        )
        self._parts = parts = TelegramParts.of(foundation, client, receiver, secret)
        self._db = db = foundation.db.alone(SLICE)
        claims = ClaimRecorder(db, parts.queues, settings.claim_hours * 3600 * 1000, now)
        self._receiver = Receiver(db, parts.recorder(db), claims, proof, now)
        inline = InlineResults(parts.bots.searches, parts.chat(db), settings.url)
        self._searching = InlineQueue(inline.answer, db.count, parts.queues.messages.pace)
        self._intake = parts.intake(db, self._searching.take)

    def routers(self) -> list[APIRouter]:
        """Return the routes of webhooks, sellers' pictures and, in webhook mode, updates."""
        parts = self._parts
        updates = [webhook_router(self._intake, parts.secret)] if parts.update_url else []
        return [self._receiver.router(), image_router(self._db), *updates]

    @property
    def bot_name(self) -> str | None:
        """Return the bot's username, None until Telegram was reached."""
        bots = self._parts.bots
        return None if bots.problem else bots.messages.username

    def watch(self, readiness: Readiness) -> None:
        """Add the checks of Telegram and of a payment service that is another server.

        Messages can wait for Telegram. Its first answer is awaited, so that a deployment with a
        wrong token is never ready, and doesn't end the process before it.
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

    def lead(self, lead: Lead, holds: Callable[[], bool]) -> TelegramLead:
        """Return what this replica does for all while it has this lead, as `holds` says."""
        view = self._whole_db.alone(SLICE, lead)
        return TelegramLead(self._parts, view, self._searching.take, holds)

    async def close(self) -> None:
        await self._searching.close()
        await self._parts.client.close()
        await self._parts.bots.close()
