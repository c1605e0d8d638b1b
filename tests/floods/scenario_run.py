"""Measures a scenario: payments and alerts in calm, during the flood, and afterwards."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from bench.processes import Place, Server, serving
from tests.floods.alert_delays import Alerts, Spread
from tests.floods.livez_probe import probing
from tests.floods.payer_clients import Payers, Payment, served
from tests.floods.process_memory import peak, resident
from tests.floods.telegram_process import Telegram, started
from tests.support.free_ports import free_port

QUIET = 2.0
"""Seconds without a call after which what was prepared counts as done."""


@dataclass(frozen=True, slots=True)
class Plan:
    """How long each part takes in seconds, sellers, payments a second."""

    seconds: float = 60.0
    calm: float = 20.0
    rest: float = 60.0
    settle: float = 180.0
    sellers: int = 40
    rate: float = 5.0


@dataclass(frozen=True, slots=True)
class Stage:
    """The product at work, with sellers whose requests can be paid; it logs to `log`."""

    telegram: Telegram
    server: Server
    payers: Payers
    log: Path

    @property
    def pages(self) -> list[str]:
        """Return the paths of the sellers' pay pages."""
        return list(self.payers.pages.values())


@dataclass(frozen=True, slots=True)
class Found:
    """What a flood saw itself: a note, and in a word where the product falls short."""

    note: str
    short: str = ""


@dataclass(frozen=True, slots=True)
class Scenario:
    """A flood that lasts for the seconds it is told; `prepare` makes it ready.

    `settings` are given beside the product's defaults.
    """

    name: str
    flood: Callable[[Stage, float], Coroutine[Any, Any, Found]]
    prepare: Callable[[Stage], Coroutine[Any, Any, None]] | None = None
    settings: Mapping[str, str] = field(default_factory=dict)
    letters: bool = False


@dataclass(frozen=True, slots=True)
class Result:
    """What a flood did: how late alerts were, how long payers and /livez took, MiB, and counts."""

    name: str
    calm: Spread
    flood: Spread
    paying: Spread
    livez: Spread
    memory: tuple[float, float, float]
    served: int
    attempted: int
    lost: int
    doubled: int
    found: Found


async def measure(scenario: Scenario, plan: Plan) -> Result:
    """Play a scenario on a product and a Telegram of its own."""
    async with playing(scenario, plan) as stage:
        if scenario.prepare:
            await scenario.prepare(stage)
        await stage.telegram.ask("quiet", seconds=QUIET)
        return await _measured(scenario, plan, stage)


async def _measured(scenario: Scenario, plan: Plan, stage: Stage) -> Result:
    payers, pid = stage.payers, stage.server.process.pid
    alerts = Alerts(stage.telegram, frozenset(payers.pages))
    await alerts.look()
    alerts.told.clear()  # of what was paid in preparation
    await payers.pay(plan.calm, plan.rate)
    await alerts.settle(payers.made, plan.settle)
    calm = list(payers.made)
    async with peak(pid) as memory, probing(stage.server.url) as livez:
        async with asyncio.TaskGroup() as both:
            flood = both.create_task(scenario.flood(stage, plan.seconds))
            both.create_task(payers.pay(plan.seconds, plan.rate))
        ended = time.monotonic()
    await alerts.settle(payers.made, plan.settle)
    await asyncio.sleep(max(0.0, ended + plan.rest - time.monotonic()))
    await alerts.look()
    flooded = payers.made[len(calm) :]
    return Result(
        scenario.name,
        _late(alerts, payers.made, calm),
        _late(alerts, payers.made, flooded),
        Spread.of([payment.paid - payment.began for payment in flooded]),
        Spread.of(livez),
        (memory.before, memory.most, resident(pid)),
        served(flooded),
        len(flooded),
        alerts.lost(payers.made),
        alerts.doubled(payers.made),
        _with_problems(stage, flood.result()),
    )


def _late(alerts: Alerts, everything: Sequence[Payment], some: Sequence[Payment]) -> Spread:
    chosen = {id(payment) for payment in some}
    return Spread.of([lag for payment, lag in alerts.lags(everything) if id(payment) in chosen])


def _with_problems(stage: Stage, found: Found) -> Found:
    """Add what should not happen whatever the flood: the product's end, tracebacks in its log."""
    ended = stage.server.process.returncode
    traces = stage.log.read_text("utf-8", "replace").count("Traceback (most recent")
    problem = [f"ended with {ended}"] if ended is not None else []
    problem += [f"{traces} tracebacks"] if traces else []
    short = ", ".join(filter(None, [found.short, *problem]))
    return Found(found.note, short)


@asynccontextmanager
async def playing(scenario: Scenario, plan: Plan) -> AsyncIterator[Stage]:
    """Run a Telegram and the product, with the sellers' requests made."""
    with TemporaryDirectory() as folder, TemporaryDirectory() as home:
        log = Path(folder) / "log"
        async with started() as telegram:
            port = int(free_port())
            place = Place(home, _settings(scenario, telegram, home, port), log)
            async with serving(place, ["-m", "bot", "run"], port, "/readyz") as server:
                pages = await telegram.ask("open_shops", number=plan.sellers)
                by_chat = {int(chat): path for chat, path in pages.items()}
                yield Stage(telegram, server, Payers(server.url, by_chat), log)


def _settings(scenario: Scenario, telegram: Telegram, home: str, port: int) -> dict[str, str]:
    """Return what an operator has to set, and what the scenario sets; all else is the default."""
    mail = {"SMTP_URL": telegram.smtp, "SMTP_FROM": "shop@example.org"} if scenario.letters else {}
    return {
        "BOT_TOKEN": telegram.token,
        "TELEGRAM_API_URL": telegram.url,
        "PORT": str(port),
        "DATABASE_URL": f"sqlite:///{home}/bot.db",
        "LOG_LEVEL": "warning",
        **mail,
        **scenario.settings,
    }
