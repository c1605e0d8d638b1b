"""The whole product in one process, on the loop that skips waiting, with Telegram's limits.

people ── world (Bot API, limits on) ◀── bot with its own service ◀── payers
"""

from __future__ import annotations

import asyncio
import shutil
import sqlite3
from collections.abc import AsyncIterator, Coroutine
from contextlib import AsyncExitStack, asynccontextmanager, closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import SecretStr

from bot.app.application import Application
from bot.core.database.database import Row
from bot.sandbox.web.server import create_app
from bot.sandbox.world.world import TOKEN, World
from tests.simulation import error_log
from tests.simulation.faults.faulty_product import OWED
from tests.simulation.product_templates import ASKS_PAYERS, settings
from tests.simulation.simulated_time import Clock
from tests.support.asgi_server import serve_asgi
from tests.support.free_ports import free_port

REST_SECONDS = 6 * 3600.0
"""Seconds of the loop after which everything has come to rest, retries included."""

LOOK_SECONDS = 5.0


@dataclass
class SimulatedProduct:
    """The product, its Telegram, and what went on: `acts` with their seconds, for who reads it.

    `shut` are the chats that somebody shut before the bot, with the times (epoch seconds) at which
    it may not know it yet: when that was done, and when they spoke to it all the same.
    """

    clock: Clock
    world: World
    view: sqlite3.Connection
    url: str
    errors: list[str] = field(default_factory=list)
    acts: list[str] = field(default_factory=list)
    shut: dict[int, list[float]] = field(default_factory=dict)
    _begun: list[asyncio.Task[None]] = field(default_factory=list)

    def begin(self, work: Coroutine[Any, Any, None]) -> None:
        """Start a task beside the rest; its error is reported at the end."""
        self._begun.append(asyncio.create_task(work))

    def shuts(self, chat_id: int) -> None:
        """Note that a chat is shut before the bot, which may be about to say something there."""
        self.shut.setdefault(chat_id, []).append(self.world.now())

    def note(self, text: str) -> None:
        self.acts.append(f"{asyncio.get_running_loop().time():9.3f} {text}")

    def rows(self, sql: str, **params: object) -> list[Row]:
        """Look into the database from outside."""
        return [dict(row) for row in self.view.execute(sql, params)]

    @property
    def owed(self) -> list[Row]:
        """Return what waits or is under way, but for messages to people who blocked the bot."""
        queues = ", ".join(f"'{name}'" for name in OWED)
        return self.rows(
            "SELECT one.queue, one.lane, state, attempts, note, substr(body, 1, 300) AS body FROM"
            " outbox AS one LEFT JOIN lanes ON lanes.queue = one.queue AND lanes.lane = one.lane"
            f" WHERE one.queue IN ({queues}) AND state IN ('waiting', 'leased')"
            " AND paused IS NULL"
        )

    async def rest(self) -> None:
        """Wait until nothing is under way any more. Raises AssertionError where it never ends."""
        await asyncio.gather(*self._begun)
        loop = asyncio.get_running_loop()
        until = loop.time() + REST_SECONDS
        while self.owed or self.world.updates.pending:
            assert loop.time() < until, f"something waits for ever: {self.owed[:5]}"
            await asyncio.sleep(LOOK_SECONDS)


@asynccontextmanager
async def opened(folder: Path, empty: Path, mode: str) -> AsyncIterator[SimulatedProduct]:
    """Run the product on a copy of the database `empty`; `mode` is how it takes updates."""
    path = shutil.copy(empty, folder / "bot.db")
    with closing(sqlite3.connect(path)) as made:
        made.execute(ASKS_PAYERS)
    clock = Clock(asyncio.get_running_loop())
    world = World(now=clock.seconds, inline_feedback=True)
    async with AsyncExitStack() as stack:
        view = stack.enter_context(closing(sqlite3.connect(path)))
        view.row_factory = sqlite3.Row
        root = await stack.enter_async_context(serve_asgi(create_app(world)))
        stack.push_async_callback(world.close)
        port = int(free_port())
        product = SimulatedProduct(clock, world, view, f"http://127.0.0.1:{port}")
        stack.enter_context(error_log.listening(product.errors))
        chosen = settings().model_copy(
            update={
                "database_url": f"sqlite:///{path}",
                "bot_token": SecretStr(TOKEN),
                "telegram_api_url": root,
                "telegram_mode": mode,
                "port": port,
                "public_url": product.url,
            }
        )
        application = Application(chosen, now=clock)
        serving = asyncio.create_task(application.serve())
        try:
            yield product
        finally:
            application.stop()
            await serving
