"""The whole product in one process; what its chat and its service say to each other may fail too.

sellers, buyers ── world (Bot API) ◀─telegram─ bot with its service ◀─page─ payers, Telegram
                                                │ ▲
                                                └─service─ its own calls and webhooks
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import AsyncExitStack, closing
from functools import partial
from pathlib import Path
from typing import ClassVar

from pydantic import SecretStr

from bot.app.application import Application
from bot.config import Settings
from bot.core.net.http_client import HttpClient
from bot.sandbox.world.world import TOKEN
from tests.simulation.faults.fault_proxy import Proxy
from tests.simulation.faults.faulty_product import SimulatedProduct
from tests.simulation.faults.rerouted_calls import ReroutedCalls
from tests.simulation.product_templates import ASKS_PAYERS, Life
from tests.support.free_ports import free_port


class _Whole(Application):
    """Calls itself by the port `inside`, though it needs no socket."""

    def __init__(self, settings: Settings, inside: int, now: Callable[[], int]) -> None:
        self._port = inside
        super().__init__(settings, now=now)

    def _make_inside(self) -> HttpClient:
        return HttpClient(partial(ReroutedCalls, self._port))


class WholeProduct(SimulatedProduct):
    """One part with one database, which is chat and service at once."""

    parts: ClassVar[tuple[str, ...]] = ("bot",)

    def path(self, part: str) -> Path:
        del part
        return self.folder / "bot.db"

    def _ways_into(self, part: str) -> tuple[Proxy, ...]:
        del part
        return self.page, self.service_link

    async def _bot(self) -> Life:
        port, doors = int(free_port()), AsyncExitStack()
        telegram = await doors.enter_async_context(self.telegram.door())
        inside = await doors.enter_async_context(self.service_link.door())
        if not self.crashes["bot"]:
            with closing(sqlite3.connect(self.path("bot"))) as made:
                made.execute(ASKS_PAYERS)
        self.shop_port = self.page_port
        chosen = self._settings(
            "bot",
            port=port,
            bot_token=SecretStr(TOKEN),
            telegram_api_url=f"http://127.0.0.1:{telegram}",
            telegram_mode=self.mode,
            public_url=f"http://127.0.0.1:{self.page_port}",
        )
        application = _Whole(chosen, inside, self.clock)
        self.page.target, self.service_link.target = port, port
        return Life("bot", application, doors=doors)
