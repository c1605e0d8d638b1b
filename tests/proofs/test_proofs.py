"""The tools of the proofs work: figures, measures, the command, and some proofs in short.

The other proofs run nightly. What they prove at full size has a test of its own in short:

- race: tests/core/outbox/test_races.py; skew: tests/core/outbox/test_lane_pace.py
- failover: tests/core/replicas/test_failover.py, tests/e2e/test_two_replicas.py
- database: tests/core/database/postgres/test_lost_connections.py and test_checks.py
  beside it, tests/core/replicas/test_failover.py
- roll: tests/core/database/test_migrations.py, tests/e2e/test_two_replicas.py,
  tests/test_architecture.py (no statement reads every column)
- migrate-to: tests/app/maintenance/test_migrate_to.py and test_server_restores.py beside it
"""

from __future__ import annotations

import asyncio
import dataclasses
import os
import signal
import sys
from importlib import import_module
from pathlib import Path

import pytest

from tests.proofs import (
    __main__,
    attacks,
    clusters,
    commit_cut,
    crowds,
    flood_stage,
    flood_telegram,
    floods,
    processes,
    proof,
    soak,
    upgrades,
)
from tests.support.source_tree import ROOT

SHORT = proof.Size(seconds=2, sellers=2)
START_SECONDS = 90.0
"""The longest that a busy machine takes to start or to end the processes of a proof."""

REPLICAS_AND_SERVER = 12
"""Processes after which the replicas run: PostgreSQL has six, and one for each connection."""


async def test_a_crowd_gets_no_unit_twice() -> None:
    figures = await crowds.crowd(proof.Size(replicas=3, payments=200))
    assert figures.broken == []


async def test_replicas_that_are_killed_lose_and_double_nothing() -> None:
    figures = await crowds.kill(proof.Size(replicas=3, payments=60, seconds=9))
    assert figures.broken == []


async def test_commits_without_an_answer_are_neither_lost_nor_doubled() -> None:
    figures = await commit_cut.prove(proof.Size(replicas=2, payments=48))
    assert figures.broken == []


def test_figures_name_the_promises_that_are_broken() -> None:
    figures = proof.Figures()
    figures.hold("paid", 100, 100)
    with figures.of("forms"):
        figures.hold("twice", 2, 0)
    figures.at_most("seconds", 12.25, 12)
    figures.at_least("cuts", 1, 1)
    assert figures.table().splitlines() == [
        "paid          100", "forms: twice  2", "seconds       12.2", "cuts          1",
    ]  # fmt: skip
    assert figures.broken == [
        "forms: twice: 2, promised was 0",
        "seconds: 12.2, promised was at most 12",
    ]


def test_a_spread_is_written_in_the_unit_that_fits() -> None:
    assert str(proof.Spread(0.25, 2.0, float("inf"))) == "250 ms / 2.0 s / never"
    assert proof.Spread.of([]) == proof.Spread(0, 0, 0)
    assert proof.Spread.of([0.5, 1.0]).most == 1.0


def test_a_window_slides() -> None:
    assert clusters.most_within(1.0, [0.0, 0.6, 0.9, 1.5, 1.59]) == 4
    assert clusters.most_within(1.0, [0.0, 1.0, 2.0]) == 1
    assert clusters.most_within(1.0, []) == 0


def test_a_burst_is_measured_from_its_first_message() -> None:
    assert clusters.shortest([0.0, 0.1, 0.2, 0.3, 1.25], 4) == 1.25
    assert clusters.shortest([0.0, 0.1], 4) > 1e6


def test_the_next_version_has_one_migration_more(tmp_path: Path) -> None:
    code = upgrades.next_version(tmp_path)
    assert f'"{upgrades.NEXT_VERSION}"' in (code / "bot/__init__.py").read_text()
    assert "ADD COLUMN" in (code / "bot/core/database/migrations.py").read_text()


def test_each_name_is_a_proof() -> None:
    for name, each in __main__.PROOFS.items():
        page = import_module(f"tests.proofs.{each.page}")
        assert asyncio.iscoroutinefunction(getattr(page, each.function)), name


@pytest.mark.parametrize("found", [0, 1])
def test_the_command_fails_if_a_promise_is_broken(
    found: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    sizes: list[proof.Size] = []

    async def prove(size: proof.Size) -> proof.Figures:
        sizes.append(size)
        figures = proof.Figures()
        figures.hold("twice", found, 0)
        return figures

    monkeypatch.setattr(crowds, "crowd", prove)
    monkeypatch.setattr(sys, "argv", ["proofs", "crowd", "--replicas", "2"])
    with pytest.raises(SystemExit) as exited:
        __main__.main()
    told = capsys.readouterr()
    assert exited.value.code == found
    assert sizes == [dataclasses.replace(__main__.PROOFS["crowd"].size, replicas=2)]
    assert f"twice  {found}\n" in told.out
    assert ("BROKEN: twice: 1, promised was 0" in told.err) == bool(found)


def test_a_proof_that_breaks_off_is_told_and_the_next_one_runs(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    async def breaks(_size: proof.Size) -> proof.Figures:
        raise RuntimeError("no server")

    async def prove(_size: proof.Size) -> proof.Figures:
        return proof.Figures([("paid", "1")])

    monkeypatch.setattr(crowds, "crowd", breaks)
    monkeypatch.setattr(crowds, "kill", prove)
    monkeypatch.setattr(sys, "argv", ["proofs", "crowd", "kill"])
    with pytest.raises(SystemExit) as exited:
        __main__.main()
    told = capsys.readouterr()
    assert exited.value.code == 1
    assert "paid  1\n" in told.out
    assert "BROKEN: crowd broke off: RuntimeError('no server')" in told.err


@pytest.mark.parametrize(
    ("name", "processes_started"), [("crowd", REPLICAS_AND_SERVER), ("chatty", 2)]
)
async def test_a_proof_that_is_stopped_leaves_no_process_behind(
    name: str, processes_started: int
) -> None:
    command = (sys.executable, "-m", "tests.proofs", name, "--replicas", "2", "--sellers", "1")
    run = await asyncio.create_subprocess_exec(*command, cwd=ROOT)
    children: set[int] = set()
    try:
        async with asyncio.timeout(START_SECONDS):
            while len(children) < processes_started:
                await asyncio.sleep(0.05)
                children = {*processes.family(run.pid)} - {run.pid}
    finally:
        run.send_signal(signal.SIGTERM)
    assert await asyncio.wait_for(run.wait(), START_SECONDS) == 1
    assert children.isdisjoint(map(int, filter(str.isdigit, os.listdir("/proc"))))  # noqa: PTH208


def broken(figures: proof.Figures) -> list[str]:
    """Return the broken promises, without those of time: a busy machine breaks them."""
    return [line for line in figures.broken if "p99" not in line]


def payment(chat: int, paid: float, status: int = 303) -> flood_stage.Payment:
    return flood_stage.Payment(chat, began=paid, posted=True, status=status, paid=paid)


async def test_alerts_are_matched_in_the_order_of_each_chat() -> None:
    async with flood_telegram.started() as telegram:
        with pytest.raises(RuntimeError, match="offer"):
            await telegram.ask("offer")  # without its words
    alerts = flood_stage.Alerts(telegram, frozenset([1, 2]))
    made = [payment(1, 10.0), payment(1, 11.0), payment(2, 10.0), payment(2, 12.0, status=0)]
    alerts.told.update({1: [10.5], 2: [10.25, 12.5, 13.0]})
    assert [lag for _, lag in alerts.lags(made)] == [0.5, float("inf"), 0.25]
    assert alerts.lost(made) == 1
    assert alerts.doubled(made) == 1  # who got no answer may have paid


async def test_a_flood_is_measured_from_end_to_end() -> None:
    async def act(stage: flood_stage.Stage, seconds: float) -> None:
        url = stage.server.url + stage.pages[0]
        async with asyncio.TaskGroup() as both:
            both.create_task(floods.by_telegram(stage, seconds, "chatty", every=0.5))
            sent = both.create_task(attacks.attack("pipelines", url, seconds, 3, 10_000))
        assert sent.result()["opened"] >= 3

    async def invite(stage: flood_stage.Stage) -> None:
        await stage.telegram.ask("invite", number=2)

    figures = await flood_stage.measure(SHORT, flood_stage.Flood("both", act, invite))
    assert broken(figures) == []
    found = dict(figures.lines)
    assert int(found["both: payers served"]) >= 10
    before, peak, _ = map(float, found["both: MiB before/peak/after"].split("/"))
    assert 50 < before <= peak
    assert "sendMessage" in found["both: counted"]


async def test_a_soak_writes_a_sample_a_minute_and_holds_what_grows(tmp_path: Path) -> None:
    file = tmp_path / "soak.csv"
    figures = await soak.prove(SHORT, file)
    assert broken(figures) == []
    head, line = file.read_text().splitlines()
    assert len(head.split(",")) == len(line.split(","))
    assert dict(figures.lines)["memory, MiB, more at the end"] == "0.0"
