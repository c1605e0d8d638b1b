"""`soak`: payments, new requests and every flood in turn for an hour; shows what grows.

A sample a minute is written to soak.csv in the current folder.
"""

from __future__ import annotations

import asyncio
import dataclasses
import itertools
import math
import sqlite3
import sys
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean
from typing import ClassVar, TextIO

from tests.proofs import attacks, flood_stage, floods, processes, proof

SAMPLES = Path("soak.csv")
MINUTE = 60.0
RATE = 2.0
"""Payments a second: two processors have to do for the floods as well."""

PEOPLE, ROOMS = 30, 30
ASK_EVERY = 2.0
FLOOD_SECONDS = 20.0
PAUSE_SECONDS = 20.0
CREATE_EVERY = 20.0
BROWSERS = 40
OFFER = "/donation 5 USD Coffee for the team"

COMPARED = 5
"""Minutes at the beginning and at the end, which are compared."""

MORE_FILES = 50.0
MORE_WAITING = 200.0


@dataclass(frozen=True, slots=True)
class Sample:
    """A minute of the soak."""

    HEAD: ClassVar[str] = (
        "minute,mib,peak_mib,files,waiting,leased,done,dead,database_mib,"
        "alerts_p50_ms,alerts_p99_ms,alerts_max_ms,served,attempted,flood"
    )
    minute: int
    memory: float
    """MiB before it."""

    most: float
    """MiB at the most."""

    files: int
    """Open file handles."""

    outbox: dict[str, int]
    """Rows of the outbox by state."""

    database: float
    """Its size in MiB."""

    late: proof.Spread
    served: int
    attempted: int
    flood: str
    """The flood that was played when it ended."""

    def line(self) -> str:
        """Write the sample under `HEAD`."""
        states = [self.outbox.get(name, 0) for name in ("waiting", "leased", "done", "dead")]
        late = [f"{1000 * each:.0f}" for each in (self.late.p50, self.late.p99, self.late.most)]
        return (
            f"{self.minute},{self.memory:.1f},{self.most:.1f},{self.files},"
            f"{','.join(map(str, states))},{self.database:.1f},{','.join(late)},"
            f"{self.served},{self.attempted},{self.flood}"
        )


async def prove(size: proof.Size, samples: Path = SAMPLES) -> proof.Figures:
    """Play for so many seconds, writing a sample a minute to the file."""
    figures = proof.Figures()
    with samples.open("w", encoding="utf-8") as out:
        print(Sample.HEAD, file=out, flush=True)
        async with flood_stage.playing(size.sellers, figures, letters=True) as stage:
            await stage.telegram.ask("invite", number=PEOPLE, groups=ROOMS)
            await stage.telegram.ask("quiet", seconds=flood_stage.QUIET_SECONDS)
            alerts = flood_stage.Alerts(stage.telegram, frozenset(stage.payers.pages))
            soak = Soak(stage, alerts, out)
            await soak.play(size.seconds)
            _hold_growth(figures, soak.samples)
            flood_stage.hold_payers(figures, alerts, stage.payers.made)
            flood_stage.hold_process(figures, stage)
            figures.hold("floods that broke off", soak.broken_off, 0)
    return figures


@dataclass(slots=True)
class Soak:
    """A soak under way."""

    stage: flood_stage.Stage
    alerts: flood_stage.Alerts
    out: TextIO
    samples: list[Sample] = field(default_factory=list)
    now_playing: str = ""
    broken_off: int = 0
    """Floods that could not be played."""

    async def play(self, seconds: float) -> None:
        """Pay and look for so many seconds, while people create and flood."""
        beside = [asyncio.create_task(self._create()), asyncio.create_task(self._flood())]
        try:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self.stage.payers.pay(seconds, RATE))
                tasks.create_task(self._watch(seconds))
        finally:
            for task in beside:
                task.cancel()
            await asyncio.gather(*beside, return_exceptions=True)
        await self.stage.telegram.ask("calm")
        await self.alerts.settle(self.stage.payers.made)

    async def _create(self) -> None:
        """Create a request by somebody new every `CREATE_EVERY` seconds."""
        while True:
            await asyncio.sleep(CREATE_EVERY)
            await self._try(lambda: self.stage.telegram.ask("offer", words=OFFER))

    async def _flood(self) -> None:
        """Play the floods in turn, moderately, with pauses. What each of them sees is left out."""
        stage = dataclasses.replace(self.stage, figures=proof.Figures())
        for name, flood in itertools.cycle(TURNS.items()):
            await asyncio.sleep(PAUSE_SECONDS)
            self.now_playing = name
            await self._try(lambda flood=flood: flood(stage))  # type: ignore[misc]
            self.now_playing = ""

    async def _try(self, act: Callable[[], Awaitable[object]]) -> None:
        try:
            await act()
        except Exception as error:  # noqa: BLE001 - the soak goes on, and tells
            self.broken_off += 1
            print(f"{self.now_playing}: {error!r}", file=sys.stderr)  # noqa: T201 - a command

    async def _watch(self, seconds: float) -> None:
        """Take a sample each minute, and write it down at once."""
        pid, payers = self.stage.pid, self.stage.payers
        for minute in range(max(1, round(seconds / MINUTE))):
            async with processes.peak(pid) as memory:
                await asyncio.sleep(min(MINUTE, seconds))
            await self.alerts.look()
            # Of the last minute but one, so that alerts had time.
            since, until = time.time() - 2 * MINUTE, time.time() - MINUTE
            paid = [one for one in payers.made if since <= one.began < until]
            sample = Sample(
                minute + 1,
                memory.before,
                memory.most,
                processes.handles(pid),
                *_outbox(self.stage.server.folder),
                self.alerts.late(payers.made, paid),
                sum(payment.is_served for payment in paid),
                len(paid),
                self.now_playing,
            )
            self.samples.append(sample)
            print(sample.line(), file=self.out, flush=True)


async def _addresses(stage: flood_stage.Stage) -> None:
    for path in await floods.public_addresses(stage):
        await attacks.hammer(stage.server.url + path, 1)
        await asyncio.sleep(1)


async def _drop(stage: flood_stage.Stage) -> None:
    homes = [flood_stage.address(n, floods.HOMES) for n in range(BROWSERS)]
    await floods.rush(stage, FLOOD_SECONDS, homes)


TURNS: dict[str, Callable[[flood_stage.Stage], Awaitable[object]]] = {
    "chatty": lambda stage: floods.by_telegram(stage, FLOOD_SECONDS, "chatty", every=ASK_EVERY),
    "groups": lambda stage: floods.by_telegram(stage, FLOOD_SECONDS, "groups", every=ASK_EVERY),
    "inline": lambda stage: floods.by_telegram(
        stage, FLOOD_SECONDS, "inline", rate=40.0, accounts=50, answer_seconds=0.1
    ),
    "addresses": _addresses,
    "pipelines": lambda stage: attacks.attack(
        "pipelines", stage.server.url + stage.pages[0], FLOOD_SECONDS, 100, 64 * 1024
    ),
    "connections": lambda stage: attacks.attack("idle", stage.server.url, FLOOD_SECONDS, 300),
    "drop": _drop,
    "script": lambda stage: floods.hold_some(stage, FLOOD_SECONDS),
    "mail": lambda stage: floods.mail_by_chat(stage, FLOOD_SECONDS),
}


def _outbox(folder: Path) -> tuple[dict[str, int], float]:
    """Return how many rows of the outbox are in each state, and the database's size in MiB."""
    size = sum(file.stat().st_size for file in folder.glob("shop.db*"))
    with closing(sqlite3.connect(f"file:{folder}/shop.db?mode=ro", uri=True)) as database:
        rows = database.execute("SELECT state, COUNT(*) FROM outbox GROUP BY state").fetchall()
    return dict(rows), size / 2**20


def _hold_growth(figures: proof.Figures, samples: Sequence[Sample]) -> None:
    """Hold each figure's mean over the last minutes to that of the first, and alerts to time."""
    first, last = samples[:COMPARED], samples[-COMPARED:]
    grows: dict[str, tuple[Callable[[Sample], float], float]] = {
        "memory, MiB": (lambda one: one.memory, flood_stage.GROWTH_MIB),
        "file handles": (lambda one: one.files, MORE_FILES),
        "outbox rows waiting": (lambda one: one.outbox.get("waiting", 0), MORE_WAITING),
        "database, MiB": (lambda one: one.database, math.inf),
    }
    for name, (figure, most) in grows.items():
        begin, end = fmean(map(figure, first)), fmean(map(figure, last))
        figures.note(f"{name}, at the beginning", begin)
        figures.at_most(f"{name}, more at the end", end - begin, most)
    if paid := [one for one in samples if one.attempted]:
        worst = max(paid, key=lambda one: one.late.p99)
        figures.note("alerts in the first minute, p50/p99/max", paid[0].late)
        figures.note("alerts in the last minute, p50/p99/max", paid[-1].late)
        figures.note(f"alerts in the worst minute, {worst.minute}, p50/p99/max", worst.late)
        figures.at_most("alerts, p99 in seconds", worst.late.p99, flood_stage.LATE_SECONDS)
