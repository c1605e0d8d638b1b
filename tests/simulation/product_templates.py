"""Database templates and settings from which the parts of a simulation start."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from pydantic import SecretStr

from bot.app.application import Application
from bot.config import Settings
from bot.core.database.opening import open_database
from bot.core.database.vault import Vault
from bot.service.requests import applications
from bot.service.requests.applications import Credentials
from tests.simulation.simulated_time import NOON
from tests.support.databases import copy_empty

KEY = "the key of the schedules"
ASKS_PAYERS = (
    "CREATE TRIGGER asks_payers AFTER INSERT ON payment_requests BEGIN UPDATE payment_requests"
    " SET requested_user_data = '[\"email\"]' WHERE id = NEW.id; END"
)
"""Each payer says who they are, so that every payment is known by name wherever it is told."""


@dataclass(slots=True)
class Life:
    """One run of a part, from its start to its death."""

    name: str
    application: Application
    dead: bool = False
    task: asyncio.Task[None] | None = None
    doors: AsyncExitStack = field(default_factory=AsyncExitStack)

    async def clean_up(self) -> None:
        """Take away what is left of it."""
        await self.doors.aclose()
        self.application.stop()
        assert self.task
        await asyncio.wait([self.task])


@dataclass(frozen=True, slots=True)
class Templates:
    """Database files to be copied: the service's with two applications in it, the bot's empty."""

    service: Path
    bot: Path
    credentials: Credentials
    shop: Credentials


def templates(folder: Path) -> Templates:
    """Make them, once for all schedules."""
    service, bot = copy_empty(folder / "service.db"), copy_empty(folder / "bot.db")
    database = open_database(f"sqlite:///{service}")
    made = database.run(lambda tx: applications.create(tx, Vault(KEY), "bot", NOON))
    shop = database.run(lambda tx: applications.create(tx, Vault(KEY), "shop", NOON))
    database.run(lambda tx: tx.execute(ASKS_PAYERS))
    database.close()
    return Templates(service, bot, made, shop)


@cache
def settings() -> Settings:
    """Read the settings of both parts, once."""
    return Settings(
        _env_file=None,
        secret_key=SecretStr(KEY),
        webhook_allow="127.0.0.1",
        api_rate=None,
        payer_rate=None,
    )
