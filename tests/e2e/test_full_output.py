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
COMMANDS = [
    "--help",
    "--version",
    "apps --help",
    "apps create other",
    "apps list --json",
    "audit",
    "backup kept.db",
    "deliveries list",
    "demo --no-browser",
    "doctor",
    "erase ann@example.org --yes",
    "export",
    "export requests --format json",
]


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


def assert_one_line(done: subprocess.CompletedProcess[str], line: str) -> None:
    """Check the exit code, and that a log line or a message may precede the line at most."""
    assert done.returncode == 1, done.stderr
    assert done.stderr.splitlines()[-1] == line
    assert not [word for word in ("Traceback", "Exception ignored") if word in done.stderr]


@pytest.mark.parametrize("command", COMMANDS)
def test_a_full_disk_ends_a_command_with_a_line(folder: Path, command: str) -> None:
    with Path("/dev/full").open("wb") as full:
        assert_one_line(run(folder, command, full), FULL)


@pytest.fixture
def gone() -> Iterator[int]:
    """A pipe whose reader has gone."""
    reading, writing = os.pipe()
    os.close(reading)
    yield writing
    os.close(writing)


@pytest.mark.parametrize("command", ["--help", "apps list", "export"])
def test_a_reader_that_has_gone_ends_a_command_silently(
    folder: Path, command: str, gone: int
) -> None:
    """As in `export | head -1`."""
    done = run(folder, command, gone)
    assert (done.returncode, done.stderr) == (1, "")


@pytest.mark.parametrize("command", ["--version", "apps list", "export"])
def test_a_closed_output_ends_a_command_with_a_line(folder: Path, command: str) -> None:
    """Python would print nothing and succeed."""
    shell: Any = ("sh", "-c", 'exec "$@" >&-', "sh")
    assert_one_line(run(folder, command, subprocess.DEVNULL, *shell), CLOSED)
