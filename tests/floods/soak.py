"""The soak: payments, new requests and every flood in turn for an hour; shows what grows."""

from __future__ import annotations

import asyncio
import itertools
import sqlite3
import sys
import time
from collections.abc import Awaitable, Callable
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import TextIO

from tests.floods import drop_crowd, mail_bomb
from tests.floods.alert_delays import Alerts, Spread
from tests.floods.attack_commands import attack, hammer
from tests.floods.flood_scenarios import public_addresses, told_of
from tests.floods.payer_clients import Payment, address, served
from tests.floods.process_memory import handles, peak
from tests.floods.scenario_run import QUIET, Plan, Scenario, Stage, playing
from tests.floods.soak_samples import Sample, report

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


@dataclass(slots=True)
class Soak:
    """A soak under way; `problem` counts floods that could not be played."""

    stage: Stage
    alerts: Alerts
    out: TextIO
    samples: list[Sample] = field(default_factory=list)
    now_playing: str = ""
    problem: int = 0

    async def creates(self) -> None:
        """Create a request by somebody new every `CREATE_EVERY` seconds."""
        while True:
            await asyncio.sleep(CREATE_EVERY)
            await self._try(lambda: self.stage.telegram.ask("offer", words=OFFER))

    async def floods(self) -> None:
        """Play the floods in turn, moderately, with pauses."""
        for name, flood in itertools.cycle(TURNS.items()):
            await asyncio.sleep(PAUSE_SECONDS)
            self.now_playing = name
            await self._try(lambda flood=flood: flood(self.stage))  # type: ignore[misc]
            self.now_playing = ""

    async def _try(self, act: Callable[[], Awaitable[object]]) -> None:
        try:
            await act()
        except Exception as error:  # noqa: BLE001 - the soak goes on, and tells
            self.problem += 1
            print(f"{self.now_playing}: {error!r}", file=sys.stderr)  # noqa: T201 - a command

    async def watch(self, seconds: float) -> None:
        """Take a sample each minute, and write it down at once."""
        pid = self.stage.server.process.pid
        for minute in range(max(1, round(seconds / MINUTE))):
            async with peak(pid) as memory:
                await asyncio.sleep(min(MINUTE, seconds))
            await self.alerts.look()
            paid = self._paid(time.time() - 2 * MINUTE, time.time() - MINUTE)
            these = set(map(id, paid))
            made = self.alerts.lags(self.stage.payers.made)
            lags = [lag for one, lag in made if id(one) in these]
            sample = Sample(
                minute + 1,
                memory.before,
                memory.most,
                handles(pid),
                *_outbox(Path(self.stage.server.place.folder)),
                Spread.of(lags),
                served(paid),
                len(paid),
                self.now_playing,
            )
            self.samples.append(sample)
            print(sample.line(), file=self.out, flush=True)

    def _paid(self, since: float, until: float) -> list[Payment]:
        """Return the payments of a minute: of the last but one, so that alerts had time."""
        return [one for one in self.stage.payers.made if since <= one.began < until]


async def _addresses(stage: Stage) -> None:
    for path in await public_addresses(stage):
        await hammer(stage.server.url + path, 1)
        await asyncio.sleep(1)


async def _crowd(stage: Stage) -> None:
    await drop_crowd.rush(
        stage, FLOOD_SECONDS, [address(n, drop_crowd.HOMES) for n in range(BROWSERS)]
    )


TURNS: dict[str, Callable[[Stage], Awaitable[object]]] = {
    "chatty": lambda stage: told_of(stage, FLOOD_SECONDS, "chatty", every=ASK_EVERY),
    "groups": lambda stage: told_of(stage, FLOOD_SECONDS, "groups", every=ASK_EVERY),
    "inline": lambda stage: told_of(
        stage, FLOOD_SECONDS, "inline", rate=40.0, accounts=50, answer_seconds=0.1
    ),
    "addresses": _addresses,
    "pipelines": lambda stage: attack(
        "pipelines", stage.server.url + stage.pages[0], FLOOD_SECONDS, 100, 64 * 1024
    ),
    "connections": lambda stage: attack("idle", stage.server.url, FLOOD_SECONDS, 300),
    "crowd": _crowd,
    "script": lambda stage: drop_crowd.hold_some(stage, FLOOD_SECONDS),
    "mail": lambda stage: mail_bomb.by_chat(stage, FLOOD_SECONDS),
}


def _outbox(home: Path) -> tuple[dict[str, int], float]:
    """Return how many rows of the outbox are in each state, and the database's size in MiB."""
    size = sum(file.stat().st_size for file in home.glob("bot.db*"))
    with closing(sqlite3.connect(f"file:{home}/bot.db?mode=ro", uri=True)) as database:
        rows = database.execute("SELECT state, COUNT(*) FROM outbox GROUP BY state").fetchall()
    return dict(rows), size / 2**20


async def soak(plan: Plan, samples: Path) -> str:
    """Play for `plan.seconds`, writing a sample a minute to the file; the report."""
    scenario = Scenario("soak", mail_bomb.by_chat, letters=True)
    with samples.open("w", encoding="utf-8") as out:
        print(Sample.HEAD, file=out, flush=True)
        async with playing(scenario, plan) as stage:
            await stage.telegram.ask("invite", number=PEOPLE, groups=ROOMS)
            await stage.telegram.ask("quiet", seconds=QUIET)
            run = Soak(stage, Alerts(stage.telegram, frozenset(stage.payers.pages)), out)
            await _play(run, plan)
            made = stage.payers.made
            lost, doubled = run.alerts.lost(made), run.alerts.doubled(made)
            return report(run.samples, lost, doubled, len(made) - served(made), run.problem)


async def _play(run: Soak, plan: Plan) -> None:
    beside = [asyncio.create_task(run.creates()), asyncio.create_task(run.floods())]
    try:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(run.stage.payers.pay(plan.seconds, RATE))
            tasks.create_task(run.watch(plan.seconds))
    finally:
        for task in beside:
            task.cancel()
        await asyncio.gather(*beside, return_exceptions=True)
    await run.stage.telegram.ask("calm")
    await run.alerts.settle(run.stage.payers.made, plan.settle)
