"""The parts of a schedule and the links between them; any part can be killed and restarted.

sellers ── world (Bot API) ◀─telegram─ bot ─service─▶ service ◀─page─ payers
                └──────────receiver──▶  ▲              │ ▲
                                        └───receiver───┤ └─shop─ shop
                                                       └─hooks─▶ ┘
"""

from __future__ import annotations

import asyncio
import contextvars
import shutil
import sqlite3
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar, Self

from pydantic import SecretStr

from bot.app.application import Application
from bot.config import Settings
from bot.core.database.database import Row
from bot.sandbox.web.server import create_app
from bot.sandbox.world.world import TOKEN, World
from bot.service.requests.applications import Credentials
from tests.simulation import error_log
from tests.simulation.error_log import life_of
from tests.simulation.faults import request_kinds
from tests.simulation.faults.fault_proxy import AFTER, Point, Proxy
from tests.simulation.faults.fault_weights import Fault
from tests.simulation.product_templates import Life, Templates, settings
from tests.simulation.simulated_time import Clock, Loop
from tests.support.asgi_server import serve_asgi
from tests.support.free_ports import free_port
from tests.support.http_peers import open_receiver

COMMIT = "commit"
OWED = (
    "updates",
    "jobs",
    "photos",
    "messages",
    "answers",
    "webhooks",
    "own_webhooks",
    "mails",
    "looks",
    "openings",
)
"""The queues that are empty when nothing is owed to anybody."""


@dataclass(frozen=True, slots=True)
class Conditions:
    """How many of the exchanges fail, as a share, and how the bot takes Telegram's updates."""

    severity: float
    mode: str


@dataclass
class SimulatedProduct:
    """Everything that takes part; `story` is what went on, for who has to understand a failure."""

    parts: ClassVar[tuple[str, ...]] = ("service", "bot")

    clock: Clock
    world: World
    folder: Path
    credentials: Credentials
    mode: str
    telegram: Proxy
    service_link: Proxy
    page: Proxy
    receiver: Proxy
    shop_link: Proxy
    hooks: Proxy
    shop_keys: Credentials
    shop_port: int = 0
    hook_url: str = ""
    receiver_port: int = 0
    page_port: int = 0
    lives: dict[str, Life] = field(default_factory=dict)
    crashes: dict[str, int] = field(default_factory=lambda: {"bot": 0, "service": 0})
    calm: bool = False
    errors: list[str] = field(default_factory=list)
    acts: list[tuple[float, str]] = field(default_factory=list)
    _burials: list[asyncio.Task[None]] = field(default_factory=list)
    _views: dict[str, sqlite3.Connection] = field(default_factory=dict)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        """Close what `rows` looked through."""
        for view in self._views.values():
            view.close()

    @property
    def links(self) -> tuple[Proxy, ...]:
        own = (self.telegram, self.service_link, self.page, self.receiver)
        return *own, self.shop_link, self.hooks

    @property
    def story(self) -> list[str]:
        """Return all acts and faults in order of time."""
        told = [(at, f"{at:8.3f} {text}") for at, text in self.acts]
        told += [(one.at, str(one)) for link in self.links for one in link.exchanges]
        return [line for _, line in sorted(told)]

    def watch(self, witness: Callable[[Point], None]) -> None:
        """Call `witness` after every answer and every commit that changed something."""
        loop = asyncio.get_running_loop()
        assert isinstance(loop, Loop)
        commits: Counter[str] = Counter()
        versions: dict[str, int] = {}

        def committed() -> None:
            for part in tuple(self.lives):
                (now,) = self.rows(part, "PRAGMA data_version")
                before, versions[part] = versions.get(part), now["data_version"]
                if before not in {None, now["data_version"]}:
                    commits[part] += 1
                    witness((part, COMMIT, commits[part], AFTER))

        loop.witness = committed
        for link in self.links:
            link.witness = witness

    def note(self, text: str) -> None:
        self.acts.append((asyncio.get_running_loop().time(), text))

    def path(self, part: str) -> Path:
        return self.folder / f"{part}.db"

    def rows(self, part: str, sql: str, **params: object) -> list[Row]:
        """Look into a part's database from outside."""
        if part not in self._views:
            self._views[part] = sqlite3.connect(self.path(part))
            self._views[part].row_factory = sqlite3.Row
        return [dict(row) for row in self._views[part].execute(sql, params)]

    async def start(self, part: str) -> None:
        """Start the bot or the service, on the database that it left."""
        self.note(f"{part} starts")
        life = await (self._bot() if part == "bot" else self._service())
        self.lives[part] = life
        context = contextvars.copy_context()
        context.run(life_of.set, life)
        life.task = asyncio.create_task(self._live(life), context=context)

    def kill(self, part: str) -> None:
        """End a part without a goodbye: what it says or writes from now on comes nowhere."""
        self.note(f"{part} dies")
        self.crashes[part] += 1
        self._end(part)

    def _end(self, part: str) -> None:
        life = self.lives.pop(part)
        life.dead = True
        life.application._db.close()
        for link in self._ways_into(part):
            link.target = None
            link.cut_all()
        self._burials.append(asyncio.create_task(life.clean_up()))

    def _ways_into(self, part: str) -> tuple[Proxy, ...]:
        """Return the links to a part."""
        return (self.receiver,) if part == "bot" else (self.page, self.service_link, self.shop_link)

    async def close(self) -> None:
        for part in tuple(self.lives):
            self._end(part)
        await asyncio.gather(*self._burials)

    async def _live(self, life: Life) -> None:
        """Run a part; its own end is a bug, after it was killed anything is allowed."""
        try:
            await life.application.serve()
        except Exception as error:  # noqa: BLE001 - it is told at the schedule's end
            if not life.dead:
                self.errors.append(f"{life.name} ended: {error!r}")

    async def _service(self) -> Life:
        port = int(free_port())
        public = f"http://127.0.0.1:{self.page_port}"
        chosen = self._settings("service", port=port, public_url=public)
        application = Application(chosen, chat=False, now=self.clock)
        for link in self._ways_into("service"):
            link.target = port
        return Life("service", application)

    async def _bot(self) -> Life:
        port, doors = int(free_port()), AsyncExitStack()
        telegram = await doors.enter_async_context(self.telegram.door())
        service = await doors.enter_async_context(self.service_link.door())
        chosen = self._settings(
            "bot",
            port=port,
            bot_token=SecretStr(TOKEN),
            telegram_api_url=f"http://127.0.0.1:{telegram}",
            telegram_mode=self.mode,
            public_url=f"http://127.0.0.1:{self.receiver_port}",
            payments_url=f"http://127.0.0.1:{service}",
            app_id=self.credentials.app_id,
            app_secret=SecretStr(self.credentials.app_secret),
            webhook_secret=SecretStr(self.credentials.webhook_secret),
        )
        application = Application(chosen, now=self.clock)
        self.receiver.target = port
        return Life("bot", application, doors=doors)

    def _settings(self, part: str, **more: object) -> Settings:
        own = {"database_url": f"sqlite:///{self.path(part)}", **more}
        return settings().model_copy(update=own)

    # -- until nothing is owed any more

    @property
    def quiet(self) -> bool:
        """Return whether nothing is under way, so that only time can cause something."""
        return (
            not any(link.busy for link in self.links)
            and not self.world.updates.pending
            and len(self.lives) == len(self.parts)
            and not any(self._leased(part) for part in self.lives)
        )

    def stop_faults(self) -> None:
        """Stop all faults."""
        self.note("the faults cease")
        self.calm = True
        for link in self.links:
            link.always = Fault.PASS

    async def pass_time(self, most: int) -> bool:
        """Pass a moment; where all is quiet, leap to the next due time, at most `most` ms ahead.

        False where nothing is owed any more.
        """
        await asyncio.sleep(0.2)
        if not self.quiet:
            return True
        due = self._next_due()
        if due is None:
            return any(self._waiting(part) for part in self.lives)
        if self.clock() < due <= self.clock() + most:
            self.note(f"the clock leaps {(due - self.clock()) / 1000:.1f} s")
            self.clock.leap(due)
        for life in self.lives.values():
            for queue in OWED:
                life.application._db.wake(queue)
        return True

    @property
    def owed(self) -> list[Row]:
        """Return what waits or is under way anywhere."""
        return [row for part in self.lives for row in self.unsettled(part)]

    def unsettled(self, part: str) -> list[Row]:
        """Return what a part has not finished, or has given up."""
        what = "queue, lane, state, attempts, note, substr(body, 1, 200) AS body"
        return self._outbox(part, what, "state <> 'done'")

    def _leased(self, part: str) -> bool:
        return bool(self._outbox(part, "1", "state = 'leased'"))

    def _waiting(self, part: str) -> bool:
        return bool(self._outbox(part, "1", "state = 'waiting'"))

    def _outbox(self, part: str, what: str, where: str) -> list[Row]:
        names = ", ".join(f"'{name}'" for name in OWED)
        sql = f"SELECT {what} FROM outbox WHERE queue IN ({names}) AND {where}"
        return self.rows(part, sql)

    def _next_due(self) -> int | None:
        names = ", ".join(f"'{name}'" for name in OWED)
        sql = (
            f"SELECT MIN(open_at) AS at FROM lanes WHERE queue IN ({names})"
            " AND open_at IS NOT NULL AND paused IS NULL AND waits_for IS NULL"
        )
        found = [row["at"] for part in self.lives for row in self.rows(part, sql)]
        return min((at for at in found if at is not None), default=None)


@asynccontextmanager
async def opened(
    seed: int,
    folder: Path,
    made: Templates,
    conditions: Conditions,
    kind: type[SimulatedProduct],
) -> AsyncIterator[SimulatedProduct]:
    """Build the links of a product, of this kind; the schedule starts its parts."""
    shutil.copy(made.service, folder / "service.db")
    shutil.copy(made.bot, folder / "bot.db")
    clock = Clock(asyncio.get_running_loop())
    world = World(now=clock.seconds)
    polls = frozenset({"getUpdates"})
    product = kind(
        clock, world, folder, made.credentials, conditions.mode,
        Proxy(seed, "telegram", request_kinds.method, conditions.severity, waits=polls),
        Proxy(seed, "service", request_kinds.call, conditions.severity),
        Proxy(seed, "page", request_kinds.visit, conditions.severity),
        Proxy(seed, "receiver", request_kinds.hook, conditions.severity),
        Proxy(seed, "shop", request_kinds.call, conditions.severity),
        Proxy(seed, "hooks", request_kinds.hook, conditions.severity),
        made.shop,
    )  # fmt: skip
    async with AsyncExitStack() as stack:
        stack.enter_context(error_log.listening(product.errors))
        root = await stack.enter_async_context(serve_asgi(create_app(world)))
        stack.push_async_callback(world.close)
        product.telegram.target = int(root.rpartition(":")[2])
        product.page_port = await stack.enter_async_context(product.page.door())
        product.hooks.target = (await stack.enter_async_context(open_receiver())).port
        hooks = await stack.enter_async_context(product.hooks.door())
        product.hook_url = f"http://127.0.0.1:{hooks}/hook"
        product.shop_port = await stack.enter_async_context(product.shop_link.door())
        product.receiver_port = await stack.enter_async_context(product.receiver.door())
        stack.push_async_callback(product.close)
        yield product
