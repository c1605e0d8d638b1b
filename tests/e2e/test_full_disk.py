"""A file system that is really full: /readyz fails while payments cannot be stored."""

from __future__ import annotations

import asyncio
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from bot.core.database.database import PROVEN_SECONDS
from bot.core.database.sqlite import COMMIT_BYTES
from tests.support.machine_faults import (
    assert_books_match,
    drop_under_load,
    health,
    wait_until_well,
)

FULL = "database or disk is full"
LEFT = 200 * 1024
"""Bytes that stay free: a few payments' worth, and hundreds of the smallest write."""

CROWD = 100


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """Mount a small file system."""
    place = tmp_path / "disk"
    place.mkdir()
    size = f"size={8 * COMMIT_BYTES}"
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", size, "none", str(place)], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip("only who may mount can have a full file system")
    yield place
    subprocess.run(["umount", "--lazy", str(place)], check=True)


def free(disk: Path) -> int:
    """Return the free bytes of a file system."""
    found = os.statvfs(disk)
    return found.f_bavail * found.f_frsize


@contextmanager
def filled(disk: Path, left: int) -> Iterator[None]:
    """Fill the file system up to `left` bytes."""
    ballast = disk / "ballast"
    with ballast.open("wb", buffering=0) as file:
        while (room := free(disk) - left) > 0:
            file.write(b"\xff" * min(room, 2**20))
    yield
    ballast.unlink()


async def test_readyz_fails_while_payments_do_and_recovers_with_the_space(
    tmp_path: Path, disk: Path
) -> None:
    """Though small writes still succeed, in what a payment's failed commit left of the log."""
    async with drop_under_load(tmp_path, DATABASE_URL=f"sqlite:///{disk}/bot.db") as (_, run, shop):
        await wait_until_well(run)
        with filled(disk, LEFT):
            refused = 0
            for round_ in range(5):
                answers = await shop.posts(range(1 + round_ * CROWD, 1 + (round_ + 1) * CROWD))
                refused += answers[503]
                assert set(answers) <= {303, 503}
            assert refused >= CROWD
            for _ in range(3):
                assert await health(run) == (200, 503, FULL)
                await asyncio.sleep(PROVEN_SECONDS)
        await asyncio.sleep(PROVEN_SECONDS)
        await wait_until_well(run)
        await asyncio.gather(*map(shop.pay, range(1, CROWD)))
        await assert_books_match(run, shop)
        assert await run.stop() == 0
