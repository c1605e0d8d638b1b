"""The tools of the floods: they measure correctly and leave nothing behind."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path

import pytest

from bench.processes import ROOT
from tests.floods.alert_delays import Alerts, Spread
from tests.floods.attack_commands import attack
from tests.floods.flood_scenarios import told_of
from tests.floods.payer_clients import Payment
from tests.floods.process_memory import family
from tests.floods.result_table import markdown, verdict, written
from tests.floods.scenario_run import Found, Plan, Result, Scenario, Stage, measure
from tests.floods.soak import soak
from tests.floods.telegram_process import Telegram, started

SHORT = Plan(seconds=2, calm=1, rest=0, settle=20, sellers=2)


def payment(chat: int, paid: float, status: int = 303) -> Payment:
    return Payment(chat, began=paid, posted=True, status=status, paid=paid)


async def test_alerts_are_matched_in_the_order_of_each_chat() -> None:
    async with started() as telegram:
        alerts = Alerts(telegram, frozenset([1, 2]))
    made = [payment(1, 10.0), payment(1, 11.0), payment(2, 10.0), payment(2, 12.0, status=0)]
    alerts.told.update({1: [10.5], 2: [10.25, 12.5, 13.0]})
    assert [lag for _, lag in alerts.lags(made)] == [0.5, float("inf"), 0.25]
    assert alerts.lost(made) == 1
    assert alerts.doubled(made) == 1  # who got no answer may have paid


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, "ok"),
        ({"flood": Spread(100, 2100, 3000)}, "late"),
        ({"memory": (100.0, 900.0, 151.0)}, "memory"),
        ({"memory": (100.0, 900.0, 149.0)}, "ok"),
        ({"served": 9, "lost": 1, "doubled": 1}, "payers, lost, doubled"),
        ({"found": Found("", "ended with -9")}, "ended with -9"),
    ],
)
def test_the_verdict_names_each_failed_goal(changes: dict[str, object], expected: str) -> None:
    calm = Spread(10, 20, 30)
    given = {
        "name": "quiet", "calm": calm, "flood": calm, "paying": calm, "livez": calm,
        "memory": (100.0, 100.0, 100.0), "served": 10, "attempted": 10,
        "lost": 0, "doubled": 0, "found": Found("nothing"),
    }  # fmt: skip
    assert verdict(Result(**(given | changes))) == expected  # type: ignore[arg-type]


async def test_a_flood_is_measured_from_end_to_end() -> None:
    async def flood(stage: Stage, seconds: float) -> Found:
        url = stage.server.url + stage.pages[0]
        async with asyncio.TaskGroup() as both:
            said = both.create_task(told_of(stage, seconds, "chatty", every=0.5))
            sent = both.create_task(attack("pipelines", url, seconds, 3, 10_000))
        assert sent.result()["opened"] >= 3
        return said.result()

    async def invite(stage: Stage) -> None:
        await stage.telegram.ask("invite", number=2)

    result = await measure(Scenario("both", flood, invite), SHORT)
    assert (result.served, result.lost, result.doubled) == (result.attempted, 0, 0)
    assert result.attempted >= 10
    assert 50 < result.memory[0] <= result.memory[1]
    assert "sendMessage" in result.found.note
    assert "both" in written([result])
    assert "| both |" in markdown([result])


async def test_a_soak_writes_a_sample_a_minute_and_a_verdict(tmp_path: Path) -> None:
    file = tmp_path / "soak.csv"
    told = await soak(SHORT, file)
    head, line = file.read_text().splitlines()
    assert len(head.split(",")) == len(line.split(","))
    assert "alerts lost: 0 (ok)" in told


async def test_started_processes_end_with_the_harness() -> None:
    """Whoever stops a run finds no product and no Telegram of it left."""
    command = (sys.executable, "-m", "tests.floods", "chatty", "--sellers", "1")
    run = await asyncio.create_subprocess_exec(*command, cwd=ROOT)
    children: set[int] = set()
    async with asyncio.timeout(30):
        while len(children) < 2:
            await asyncio.sleep(0.05)
            children = {*family(run.pid)} - {run.pid}
    run.send_signal(signal.SIGTERM)
    assert await asyncio.wait_for(run.wait(), 30) == 1
    assert children.isdisjoint(map(int, filter(str.isdigit, os.listdir("/proc"))))  # noqa: PTH208


async def test_a_failed_command_is_reported() -> None:
    async with started() as telegram:
        assert isinstance(telegram, Telegram)
        with pytest.raises(RuntimeError, match="offer"):
            await telegram.ask("offer")
