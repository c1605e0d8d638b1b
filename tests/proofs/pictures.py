"""`pictures`: strangers send every odd picture at once to the product in 512 MB.

They do so while the product is idle and while it is paid. It may neither die nor keep the memory.
"""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

from bot.sandbox.world import errors, people
from bot.sandbox.world.model import Message
from bot.sandbox.world.world import World
from tests.proofs import clusters, processes, proof
from tests.support.product_process import QUICK
from tests.support.sample_pictures import collection
from tests.support.sellers_and_payers import Seller, link_of, pay, seller_with_destination

MEBIBYTE = 2**20
LIMIT = 512 * MEBIBYTE
LOOK_SECONDS = 0.05
PAY_SECONDS = 0.2
"""Between two payments."""

SETTLED_SECONDS = 5.0
"""After which the memory must be back."""

ALERT_SECONDS = 30.0
GROWTH_MIB = 50.0
DEATHS = 5
"""Starts that ended at once, after which it is as clear as it gets."""

WAITING = (
    "SELECT COUNT(*) FROM outbox WHERE queue IN ('updates', 'photos')"
    " AND state IN ('waiting', 'leased')"
)


async def prove(size: proof.Size) -> proof.Figures:
    """Play both rounds, each on a product of its own."""
    figures, pictures = proof.Figures(), collection()
    figures.note("pictures", len(pictures))
    figures.note("MB", sum(map(len, pictures.values())) / 1e6)
    for part in ("idle", "paid"):
        with figures.of(part):
            await _round(figures, pictures, size.clients, is_paid=part == "paid")
    return figures


async def _round(
    figures: proof.Figures, pictures: dict[str, bytes], strangers: int, *, is_paid: bool
) -> None:
    cgroup = processes.new_cgroup(LIMIT)
    with TemporaryDirectory(prefix="pictures-") as name:
        async with clusters.strict_telegram(errors.NO_LIMITS) as telegram:
            database = Path(name) / "shop.db"
            settings = clusters.settings_of(telegram, f"sqlite:///{database}") | QUICK
            product = clusters.Replica("shop", settings, Path(name))
            show = Show(product, telegram.world, database, cgroup)
            async with show.running(figures):
                payers = None
                if is_paid:
                    seller = await seller_with_destination(telegram.world)
                    card = await seller.card("/donation 5 USD Coffee", "Coffee")
                    payers = asyncio.create_task(show.pay(seller, link_of(card)))
                await show.send(pictures, strangers)
                if payers:
                    payers.cancel()
                    await asyncio.gather(payers, return_exceptions=True)
    if cgroup:
        cgroup.remove()
    if is_paid:
        figures.note("alerts", len(show.delays))
        figures.note("alerts, p50/p99/max", proof.Spread.of(show.delays))
        figures.note("payments that failed", show.unpaid)


@dataclass(slots=True)
class Show:
    """One product, kept running; strangers and payers of it."""

    product: clusters.Replica
    world: World
    database: Path
    cgroup: processes.Cgroup | None
    up: asyncio.Event = field(default_factory=asyncio.Event)
    peak: float = 0.0
    deaths: int = 0
    delays: list[float] = field(default_factory=list)
    unpaid: int = 0

    @contextlib.asynccontextmanager
    async def running(self, figures: proof.Figures) -> AsyncIterator[None]:
        """Keep the product running as a supervisor does, and hold its memory to what it was."""
        tasks = [asyncio.create_task(self._supervise()), asyncio.create_task(self._watch())]
        try:
            await self.up.wait()
            before = self.peak = self._used()
            began = time.monotonic()
            yield
            figures.note("seconds", time.monotonic() - began)
            await asyncio.sleep(SETTLED_SECONDS)
            after = self._used()
            figures.note("MiB before/peak/after", f"{before:.0f}/{self.peak:.0f}/{after:.0f}")
            figures.at_most("MiB more than before", after - before, GROWTH_MIB)
            figures.note("killed for memory", self.cgroup.kills if self.cgroup else 0)
            figures.hold("deaths", self.deaths, 0)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _supervise(self) -> None:
        try:
            while True:
                await self.product.start()
                assert self.product.process
                if self.cgroup:
                    self.cgroup.take(self.product.process.pid)
                with contextlib.suppress(RuntimeError):  # it may end before it is ready
                    await self.product.ready()
                    self.up.set()
                    await self.product.process.wait()
                self.up.clear()
                self.deaths += 1
        finally:
            await self.product.close()

    async def _watch(self) -> None:
        while True:
            self.peak = max(self.peak, self._used())
            await asyncio.sleep(LOOK_SECONDS)

    def _used(self) -> float:
        """Return the memory in MiB."""
        if self.cgroup is None:
            process = self.product.process
            return processes.resident(process.pid) if process else 0.0
        with contextlib.suppress(OSError):
            return self.cgroup.used / MEBIBYTE
        return 0.0

    async def send(self, pictures: dict[str, bytes], number: int) -> None:
        """Send all pictures from so many people, every other one as a photo; wait for the end."""
        await asyncio.gather(*(self._stranger(n, pictures) for n in range(number)))
        await asyncio.sleep(1)
        while self.deaths < DEATHS and self._waiting():  # noqa: ASYNC110 - no bell
            await asyncio.sleep(LOOK_SECONDS)

    async def _stranger(self, number: int, pictures: dict[str, bytes]) -> None:
        person = people.join(self.world, f"Stranger {number}", started=True)
        person.send("/new")

        def asked() -> Message | None:
            return next((one for one in person.chat.from_bot() if one.buttons), None)

        menu = await self.world.wait_for(asked, ALERT_SECONDS)
        assert menu
        data = [button.get("callback_data", "") for button in menu.buttons]
        person.press(menu, next(one for one in data if ":kind:" in one))
        for name, picture in pictures.items():
            if number % 2:
                with contextlib.suppress(errors.ApiError):  # Telegram takes only what it can read
                    person.send_photo(picture)
                    continue
            person.send_document(f"{name}.png", picture)  # else it is no picture to a bot

    def _waiting(self) -> int:
        with contextlib.closing(sqlite3.connect(self.database, timeout=30)) as db:
            return int(db.execute(WAITING).fetchone()[0])

    async def pay(self, seller: Seller, link: str) -> None:
        """Pay and see how late its alert is, until cancelled."""
        while True:
            before, began = len(seller.alerts), time.monotonic()
            try:
                answer = await pay(link)
                assert answer.is_redirect
                await self.world.wait_for(lambda: len(seller.alerts) > before, ALERT_SECONDS)  # noqa: B023 - awaited here
                self.delays.append(time.monotonic() - began)
            except Exception:  # noqa: BLE001 - whatever it is, the payer was not served
                self.unpaid += 1
            await asyncio.sleep(PAY_SECONDS)
