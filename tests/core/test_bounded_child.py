"""Work on strangers' bytes: in a process of its own, within limits, one at a time."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest

from bot.core.bounded_process import ROOT, BoundedChild, Budget
from bot.core.errors import OverBudget, StorageError

MODULE = "tests.support.child_tasks"
BUDGET = Budget(memory=50_000_000, processor=1, seconds=20.0, answer=1_000)
linux = pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells")


async def done(task: str, budget: Budget = BUDGET) -> str:
    return (await BoundedChild(MODULE, budget).run(task.encode())).decode()


async def test_a_large_piece_of_work_arrives_complete() -> None:
    assert await done(f"size {'a' * 5_000_000}") == "5000000"


@pytest.mark.long
@linux
@pytest.mark.parametrize(
    ("task", "reason"),
    [
        ("memory 60000000", "50 MB of memory"),
        ("processor", "1 seconds of processor time"),
        ("answer 1001", "an answer of more than 1000 bytes"),
        ("fail", "exit status 1"),
        ("die", "killed by signal 9"),
    ],
)
async def test_a_child_beyond_its_budget_ends_with_a_reason(task: str, reason: str) -> None:
    with pytest.raises(OverBudget, match=reason):
        await done(task)


@linux
def test_memory_is_limited_where_the_oom_score_can_not_be_set() -> None:
    """As with a Python that has file capabilities, whose files in /proc belong to root."""
    work = (
        "import resource; from bot.core import bounded_process as child;"
        " child.HIGHEST_OOM_SCORE = 'refused';"
        " child._set_limits(50_000_000, 1); print(resource.getrlimit(resource.RLIMIT_AS)[0])"
    )
    ran = subprocess.run([sys.executable, "-c", work], capture_output=True, check=True, cwd=ROOT)
    assert int(ran.stdout) > 50_000_000


async def test_a_child_that_does_not_end_is_killed() -> None:
    with pytest.raises(OverBudget, match="no end within"):
        await done("hang /dev/null", Budget(BUDGET.memory, 1, 0.3, 1_000))


async def test_a_child_writes_no_files(tmp_path: Path) -> None:
    with pytest.raises(OverBudget):
        await done(f"file {tmp_path}/file")
    assert not (tmp_path / "file").exists() or (tmp_path / "file").read_text() == ""


async def test_a_child_that_does_not_read_ends() -> None:
    child = BoundedChild("tests.no_such_module", BUDGET)
    with pytest.raises(OverBudget, match="exit status 1"):
        await child.run(bytes(5_000_000))


@linux
async def test_within_its_budget_memory_is_granted() -> None:
    assert await done("memory 30000000") == "30000000"


@linux
async def test_a_child_is_killed_first_and_has_none_of_our_environment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("BOT_TOKEN", "42:secret")
    said = await done("about")
    assert "oom 1000" in said
    assert "BOT_TOKEN" not in said


@pytest.mark.long
async def test_one_child_works_at_a_time() -> None:
    """The second starts when the first has ended."""
    child = BoundedChild(MODULE, BUDGET)
    spans = [
        [float(moment) for moment in said.split()]
        for said in await asyncio.gather(*(child.run(b"span") for _ in range(3)))
    ]
    spans.sort()
    assert all(before[1] <= after[0] for before, after in pairwise(spans))


async def test_a_cancelled_call_kills_its_child(tmp_path: Path) -> None:
    child = BoundedChild(MODULE, BUDGET)
    fifo = tmp_path / "pid"
    os.mkfifo(fifo)
    reading = asyncio.create_task(asyncio.to_thread(fifo.read_text))
    working = asyncio.create_task(child.run(f"hang {fifo}".encode()))
    pid = int(await reading)
    working.cancel()
    with pytest.raises(asyncio.CancelledError):
        await working
    async with asyncio.timeout(10):
        assert await child.run(b"echo next") == b"next"
    with pytest.raises(ProcessLookupError):
        os.kill(pid, signal.SIG_DFL)


async def test_a_process_that_can_not_be_started_is_a_storage_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sys, "executable", "/nonexistent/python")
    with pytest.raises(StorageError, match="no child process"):
        await done("echo")
