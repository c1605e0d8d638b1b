"""What the parts of the chat share: those of every replica, and those of the lead."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from bot.chat.alerts import alert_text
from bot.chat.dialogue.dialogue import Chat
from bot.chat.messages.queues import make_queues
from bot.chat.model.draft import PayoutService
from bot.chat.payments.recording import PaymentRecorder
from bot.chat.telegram.intake import WEBHOOK_PATH, Intake
from bot.core.errors import ConfigError
from bot.wiring.app.telegram_bots import TelegramBots

if TYPE_CHECKING:
    from collections.abc import Callable

    from bot.chat.messages.queues import Queues
    from bot.chat.provider.client import Client
    from bot.config import Settings
    from bot.core.database.database import Database
    from bot.wiring.app.foundation import Foundation


@dataclass(frozen=True, slots=True)
class TelegramParts:
    """The shared parts; those that change the chat's data are built for a database's view.

    `client` calls the payment service; `receiver` is the address, without a path, to which it sends
    webhooks. `secret` is what Telegram's calls of our webhook prove.
    """

    foundation: Foundation
    client: Client
    receiver: str
    secret: str = field(repr=False)
    token: str = field(repr=False)
    bots: TelegramBots
    queues: Queues

    @classmethod
    def of(
        cls, foundation: Foundation, client: Client, receiver: str, secret: str
    ) -> TelegramParts:
        """Build the shared parts from the settings. Raises ConfigError without a BOT_TOKEN."""
        settings = foundation.settings
        if settings.bot_token is None:
            raise ConfigError(["BOT_TOKEN: is needed to run: get one from BotFather on Telegram"])
        token = settings.bot_token.get_secret_value()
        queues = make_queues(
            settings.telegram_rate, settings.telegram_chat_rate, settings.telegram_group_rate,
            gather=alert_text.join_alerts,
        )  # fmt: skip
        bots = TelegramBots(settings.telegram_api_url, token)
        return cls(foundation, client, receiver, secret, token, bots, queues)

    @property
    def settings(self) -> Settings:
        return self.foundation.settings

    @property
    def now(self) -> Callable[[], int]:
        return self.foundation.now

    @property
    def rails(self) -> tuple[str, ...]:
        """Return the kinds of real money that the embedded service takes."""
        settings = self.settings
        return () if settings.payments_url or settings.test_money else settings.rails

    @property
    def update_url(self) -> str | None:
        """Return the address to which Telegram sends updates; None for polling."""
        is_polling = self.settings.telegram_mode == "polling"
        return None if is_polling else f"{self.settings.url}{WEBHOOK_PATH}"

    def chat(self, db: Database) -> Chat:
        settings = self.settings
        return Chat(
            db, self.queues, self.now, self.foundation.vault,
            bot_name=lambda: self.bots.messages.username or "",  # before it was reached
            allowed=frozenset(settings.allowed_sellers),
            operator_contact=settings.operator_contact,
            paid_at=PayoutService.at(settings.payments_url, self.rails),
        )  # fmt: skip

    def recorder(self, db: Database) -> PaymentRecorder:
        return PaymentRecorder(db, self.queues, self.now)

    def intake(self, db: Database, inline: Callable[[dict[str, Any]], None]) -> Intake:
        bot_id = int(self.token.partition(":")[0])
        return Intake(db, self.queues.updates, bot_id, self.now, inline)
