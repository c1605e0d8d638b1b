"""`python -m tests.floods.hostile_pictures`: ten strangers send the collection of odd pictures.

They do so while the product is idle and while it is paid. Prints the memory of the product and its
children, how often it died, how long it took, and how late the alerts of payments came. Exits with
1 if it died or kept the memory.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import sqlite3
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from bot.sandbox.world import people
from bot.sandbox.world.errors import ApiError
from tests.floods.alert_delays import Spread
from tests.floods.hostile_pictures.memory_cgroup import Cgroup, made
from tests.floods.process_memory import resident
from tests.floods.result_table import spread
from tests.support.free_ports import free_port
from tests.support.hostile_images import collection
from tests.support.product_process import ProductSetup, sandbox_telegram, start_bot
from tests.support.sellers_and_payers import Seller, link_of, pay, seller_with_destination

if TYPE_CHECKING:
    from bot.sandbox.world.model import Message


MEBIBYTE = 2**20
LIMIT = 512 * MEBIBYTE
LOOK = 0.05  # seconds between two looks at the memory
PAY = 0.2  # seconds between two payments
SETTLED = 5.0  # seconds after which memory must be back
RETURNED = 50 * MEBIBYTE
DEATHS = 5
"""Starts that ended at once, after which it is as clear as it gets."""

WAITING = (
    "SELECT COUNT(*) FROM outbox WHERE queue IN ('updates', 'photos')"
    " AND state IN ('waiting', 'leased')"
)


@dataclass
class Report:
    """What was seen of one round, memory in bytes, times in seconds."""

    before: int = 0
    peak: int = 0
    after: int = 0
    kills: int = 0
    deaths: int = 0
    seconds: float = 0.0
    delays: list[float] = field(default_factory=list)
    unpaid: int = 0

    def lines(self) -> list[str]:
        """Return the result in lines for people."""
        paid = ""
        if self.delays or self.unpaid:
            late = spread(Spread.of(self.delays))
            paid = f"\n  alerts {len(self.delays)}, p50/p99/max {late}; "
            paid += f"payments that failed {self.unpaid}"
        before, peak, after = (part // MEBIBYTE for part in (self.before, self.peak, self.after))
        return [
            f"  memory before {before} MiB, peak {peak} MiB, after {after} MiB",
            f"  killed for memory {self.kills}, deaths {self.deaths}, {self.seconds:.0f} s{paid}",
        ]

    @property
    def good(self) -> bool:
        return not self.deaths and self.after < self.before + RETURNED


class Show:
    """One product, kept running; strangers and payers of it."""

    def __init__(self, stage: ProductSetup, cgroup: Cgroup | None) -> None:
        self.stage = stage
        self.cgroup = cgroup
        self.report = Report()
        self.up = asyncio.Event()
        self._port = free_port()
        self._pid = 0

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Keep the product running as a supervisor does, and look at its memory."""
        tasks = [asyncio.create_task(self._supervise()), asyncio.create_task(self._watch())]
        await self.up.wait()
        self.report.before = self.report.peak = self._used()
        began = time.monotonic()
        yield
        self.report.seconds = time.monotonic() - began
        await asyncio.sleep(SETTLED)
        self.report.after = self._used()
        self.report.kills = self.cgroup.kills if self.cgroup else 0
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _supervise(self) -> None:
        program = self.cgroup.program(self.stage.folder) if self.cgroup else ""
        settings = self.stage.settings | {"PORT": self._port, "LOG_LEVEL": "warning"}
        while True:
            with contextlib.suppress(AssertionError):  # a log of a killed one may end anywhere
                async with start_bot(self.stage.folder, "run", program=program, **settings) as run:
                    self._pid = run.child.pid
                    while not run.ended:
                        if not self.up.is_set() and await _answers(run.url):
                            self.up.set()
                        await asyncio.sleep(LOOK)
            self.up.clear()
            self.report.deaths += 1

    async def _watch(self) -> None:
        while True:
            self.report.peak = max(self.report.peak, self._used())
            await asyncio.sleep(LOOK)

    def _used(self) -> int:
        if self.cgroup is None:
            return int(resident(self._pid) * MEBIBYTE)
        with contextlib.suppress(OSError):
            return self.cgroup.used
        return 0

    async def strangers(self, pictures: dict[str, bytes], number: int) -> None:
        """Send all pictures from so many people, every other one as a photo; wait for the end."""
        await asyncio.gather(*(self._stranger(n, pictures) for n in range(number)))
        await asyncio.sleep(1)
        while self.report.deaths < DEATHS and self._waiting():  # noqa: ASYNC110 - no bell
            await asyncio.sleep(LOOK)

    async def _stranger(self, number: int, pictures: dict[str, bytes]) -> None:
        world = self.stage.world
        person = people.join(world, f"Stranger {number}", started=True)
        person.send("/new")

        def asked() -> Message | None:
            found = person.chat.from_bot()
            return next((one for one in found if one.buttons), None)

        menu = await world.wait_for(asked, 30)
        assert menu
        data = [button.get("callback_data", "") for button in menu.buttons]
        person.press(menu, next(one for one in data if ":kind:" in one))
        for name, picture in pictures.items():
            if number % 2:
                with contextlib.suppress(ApiError):  # Telegram takes only what it can read
                    person.send_photo(picture)
                    continue
            person.send_document(f"{name}.png", picture)  # else it is no picture to a bot

    def _waiting(self) -> int:
        with contextlib.closing(sqlite3.connect(self.stage.folder / "bot.db", timeout=30)) as db:
            return int(db.execute(WAITING).fetchone()[0])

    async def payments(self, seller: Seller, link: str) -> None:
        """Pay and see how late its alert is, until cancelled."""
        while True:
            before, began = len(seller.alerts), time.monotonic()
            try:
                answer = await pay(link)
                assert answer.is_redirect
                await self.stage.world.wait_for(lambda: len(seller.alerts) > before, 30)  # noqa: B023 - awaited here
                self.report.delays.append(time.monotonic() - began)
            except Exception:  # noqa: BLE001 - whatever it is, the payer was not served
                self.report.unpaid += 1
            await asyncio.sleep(PAY)


async def _answers(url: str) -> bool:
    host, port = url.removeprefix("http://").split(":")
    with contextlib.suppress(OSError):
        _, writer = await asyncio.open_connection(host, int(port))
        writer.close()
        return True
    return False


async def round_(pictures: dict[str, bytes], strangers: int, *, paying: bool) -> Report:
    """Play one round on a product of its own."""
    cgroup = made(LIMIT)
    with tempfile.TemporaryDirectory() as folder:
        async with sandbox_telegram(Path(folder)) as stage:
            show = Show(stage, cgroup)
            async with show.running():
                payers = None
                if paying:
                    seller = await seller_with_destination(stage.world)
                    card = await seller.card("/donation 5 USD Coffee", "Coffee")
                    payers = asyncio.create_task(show.payments(seller, link_of(card)))
                await show.strangers(pictures, strangers)
                if payers:
                    payers.cancel()
                    await asyncio.gather(payers, return_exceptions=True)
    if cgroup:
        cgroup.remove()
    return show.report


def _say(words: str) -> None:
    sys.stdout.write(f"{words}\n")
    sys.stdout.flush()


async def main() -> int:
    """Play both rounds and print their reports."""
    parser = argparse.ArgumentParser(prog="python -m tests.hostile_pictures")
    parser.add_argument("--strangers", type=int, default=10)
    parser.add_argument("--round", choices=("idle", "payments", "both"), default="both")
    options = parser.parse_args()
    pictures = collection()
    size = sum(map(len, pictures.values())) / 1e6
    _say(f"{len(pictures)} pictures, {size:.0f} MB, sent by {options.strangers} strangers")
    good = True
    for name in ("idle", "payments") if options.round == "both" else (options.round,):
        report = await round_(pictures, options.strangers, paying=name == "payments")
        _say("\n".join([f"{name}:", *report.lines()]))
        good = good and report.good
    return 0 if good else 1


if __name__ == "__main__":
    raise SystemExit(asyncio.run(main()))
