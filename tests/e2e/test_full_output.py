"""Output that can't be written: a full disk, a reader that has gone, a closed standard output."""

from __future__ import annotations

import asyncio
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import pytest

from tests.support.free_ports import free_port
from tests.support.product_process import OURS
from tests.support.service_harness import KEY, open_service
from tests.support.source_tree import ROOT

FULL = "The output is incomplete: No space left on device."
CLOSED = "The output is incomplete: Bad file descriptor."


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with a database that has an application, a request and a payment."""
    (tmp_path / "data").mkdir()
    asyncio.run(sell(f"sqlite:///{tmp_path}/data/bot.db"))
    return tmp_path


async def sell(url: str) -> None:
    async with open_service(url) as shop:
        await shop.pay((await shop.create())["id"])


def run(
    folder: Path, command: str, output: IO[bytes] | int, *program: str
) -> subprocess.CompletedProcess[str]:
    settings = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), "PORT": free_port()}
    settings["SECRET_KEY"] = KEY
    return subprocess.run(
        [*program, *OURS, *command.split()], cwd=folder, env=settings, stdin=subprocess.DEVNULL,
        stdout=output, stderr=subprocess.PIPE, text=True, check=False, timeout=60,
    )  # fmt: skip


def ending(done: subprocess.CompletedProcess[str]) -> tuple[int, str, list[str]]:
    """Return exit code and last line, which a log line may precede, and signs of an exception."""
    signs = [word for word in ("Traceback", "Exception ignored") if word in done.stderr]
    return done.returncode, done.stderr.splitlines()[-1], signs


@pytest.mark.parametrize(
    "command", ["--help", "apps create other", "demo --no-browser", "doctor", "export"]
)
def test_a_full_disk_ends_a_command_with_a_line(folder: Path, command: str) -> None:
    with Path("/dev/full").open("wb") as full:
        assert ending(run(folder, command, full)) == (1, FULL, [])


@pytest.fixture
def gone() -> Iterator[int]:
    """A pipe whose reader has gone."""
    reading, writing = os.pipe()
    os.close(reading)
    yield writing
    os.close(writing)


def test_a_reader_that_has_gone_ends_a_command_silently(folder: Path, gone: int) -> None:
    done = run(folder, "--help", gone)
    assert (done.returncode, done.stderr) == (1, "")


@pytest.mark.parametrize("command", ["--version", "export"])
def test_a_closed_output_ends_a_command_with_a_line(folder: Path, command: str) -> None:
    """Python would print nothing and succeed."""
    shell: Any = ("sh", "-c", 'exec "$@" >&-', "sh")
    assert ending(run(folder, command, subprocess.DEVNULL, *shell)) == (1, CLOSED, [])
