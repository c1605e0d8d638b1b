"""The tools of the proofs: they find what is broken, and say so."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path

import pytest

from tests.floods.process_memory import family
from tests.replicas import __main__, crowd
from tests.replicas.proof import Figures, Size
from tests.replicas.roll import NEXT_VERSION, next_version
from tests.replicas.telegram import most_within, shortest
from tests.support.paths import ROOT

REPLICAS_AND_SERVER = 12
"""Processes after which the replicas run: PostgreSQL has six, and one for each connection."""


def test_figures_name_the_promises_that_are_broken() -> None:
    figures = Figures()
    figures.hold("paid", 100, 100)
    figures.hold("twice", 2, 0)
    figures.at_most("seconds", 12.25, 12)
    figures.at_least("cuts", 1, 1)
    assert figures.table().splitlines() == [
        "paid     100", "twice    2", "seconds  12.2", "cuts     1",
    ]  # fmt: skip
    assert figures.broken == [
        "twice: 2, promised was 0",
        "seconds: 12.2, promised was at most 12",
    ]


def test_a_window_slides() -> None:
    assert most_within(1.0, [0.0, 0.6, 0.9, 1.5, 1.59]) == 4
    assert most_within(1.0, [0.0, 1.0, 2.0]) == 1
    assert most_within(1.0, []) == 0


def test_a_burst_is_measured_from_its_first_message() -> None:
    assert shortest([0.0, 0.1, 0.2, 0.3, 1.25], 4) == 1.25
    assert shortest([0.0, 0.1], 4) > 1e6


def test_the_next_version_has_one_migration_more(tmp_path: Path) -> None:
    code = next_version(tmp_path)
    assert f'"{NEXT_VERSION}"' in (code / "bot/__init__.py").read_text()
    assert "ADD COLUMN" in (code / "bot/core/database/migrations.py").read_text()


@pytest.mark.parametrize(("found", "code"), [(0, 0), (1, 1)])
def test_the_command_fails_where_a_promise_is_broken(
    found: int, code: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    sizes: list[Size] = []

    async def prove(size: Size) -> Figures:
        sizes.append(size)
        figures = Figures()
        figures.hold("twice", found, 0)
        return figures

    monkeypatch.setattr(crowd, "prove", prove)
    monkeypatch.setattr(sys, "argv", ["replicas", "crowd", "--replicas", "2"])
    with pytest.raises(SystemExit) as exited:
        __main__.main()
    told = capsys.readouterr()
    assert exited.value.code == code
    assert sizes == [Size(replicas=2, payments=crowd.SIZE.payments)]
    assert told.out == f"twice  {found}\n"
    assert ("BROKEN: twice: 1, promised was 0" in told.err) == bool(code)


async def test_a_proof_that_is_stopped_leaves_no_process_behind() -> None:
    command = (sys.executable, "-m", "tests.replicas", "crowd", "--replicas", "2")
    run = await asyncio.create_subprocess_exec(*command, cwd=ROOT)
    children: set[int] = set()
    async with asyncio.timeout(30):
        while len(children) < REPLICAS_AND_SERVER:
            await asyncio.sleep(0.05)
            children = {*family(run.pid)} - {run.pid}
    run.send_signal(signal.SIGTERM)
    assert await asyncio.wait_for(run.wait(), 30) == 1
    assert children.isdisjoint(map(int, filter(str.isdigit, os.listdir("/proc"))))  # noqa: PTH208
