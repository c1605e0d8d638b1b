"""The database's place fails under the running product: full, locked, moved, damaged.

What is acknowledged is kept, what can't be stored is not acknowledged, the log says so once, and
all goes on by itself.
"""

from __future__ import annotations

import asyncio
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from bot.core.database.database import PROVEN_SECONDS
from bot.core.database.opening import open_database
from bot.core.database.sqlite import COMMIT_BYTES
from bot.core.database.sqlite_writer import BUSY_TIMEOUT_SECONDS, FILE_MOVED
from tests.support.form_questions import question_of
from tests.support.free_ports import free_port
from tests.support.machine_faults import (
    OPEN,
    OVER,
    TROUBLE,
    DropUnderLoad,
    assert_books_match,
    count_alerts,
    drop_under_load,
    health,
    limited,
    locked,
    moved,
    open_drop,
    operator_lines,
    wait_until_idle,
    wait_until_well,
)
from tests.support.product_process import (
    PATIENCE,
    Process,
    ProductSetup,
    foreign_service,
    running_product,
)
from tests.support.source_tree import ROOT

if TYPE_CHECKING:
    Fault = Callable[[Process], AbstractContextManager[None]]

SIGTERM_SECONDS = 10
LASTING = 2.0
"""Seconds that a fault lasts: long enough for every worker to meet it more than once."""

FULL, NO_SPACE = "disk I/O error", "database or disk is full"
"""What SQLite makes of EFBIG, and of a full disk's ENOSPC."""

LEFT = 200 * 1024
"""Bytes that stay free on the full disk: a few payments' worth, hundreds of the smallest write."""

CROWD = 100


def full(run: Process) -> AbstractContextManager[None]:
    """Limit files to one page."""
    return limited(run, resource.RLIMIT_FSIZE, 4096)


def away(run: Process) -> AbstractContextManager[None]:
    return moved(run.database)


async def meet(
    stage: ProductSetup, run: Process, shop: DropUnderLoad, fault: Fault, reason: str
) -> None:
    """Try payments with broken storage: none is acknowledged and the log says why; repair it."""
    before = len(run.err)
    with fault(run):
        shop.seller.person.send("/help")
        assert await shop.posts(range(1, 21)) == {503: 20}
        assert await health(run) == (200, 503, reason)
        await asyncio.sleep(LASTING)  # what is said meanwhile is what is tried
        page = await shop.post(1)
        kept = len(stage.world.updates.pending)
    assert (page.status, "be charged twice" in page.text) == (503, True)
    assert (kept, list(shop.receipts)) == (1, [0])
    told_of = operator_lines(run.err[before:])
    assert [TROUBLE in line for line in told_of] == [True], told_of


@pytest.mark.parametrize(("fault", "reason"), [(full, FULL), (away, FILE_MOVED)])
async def test_unstored_work_is_not_acknowledged_and_resumes_by_itself(
    tmp_path: Path, fault: Fault, reason: str
) -> None:
    """Forms are answered 503 with a page, updates not confirmed; afterwards all is told once."""
    async with drop_under_load(tmp_path) as (stage, run, shop):
        await meet(stage, run, shop, fault, reason)
        await asyncio.gather(*map(shop.pay, range(1, 21)))
        await stage.world.wait_for(
            lambda: any("In one line" in message.text for message in shop.seller.said), PATIENCE
        )
        await run.line(OVER)
        await wait_until_well(run)
        await assert_books_match(run, shop)
        assert await run.stop() == 0


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
                assert await health(run) == (200, 503, NO_SPACE)
                await asyncio.sleep(PROVEN_SECONDS)
        await asyncio.sleep(PROVEN_SECONDS)
        await wait_until_well(run)
        await asyncio.gather(*map(shop.pay, range(1, CROWD)))
        await assert_books_match(run, shop)
        assert await run.stop() == 0


async def test_a_disk_that_is_full_at_times_loses_no_payment_and_no_draft(
    tmp_path: Path,
) -> None:
    """It fills while alerts are on their way and a form is under way: none comes a second time."""
    async with drop_under_load(tmp_path) as (stage, run, shop):
        sam = shop.seller
        kind = await sam.say("/new", question_of("ask-kind"))
        await sam.press(kind, "Donation", question_of("ask-name"))
        for round_ in range(3):
            paying = [asyncio.create_task(shop.pay(10 * round_ + n)) for n in range(1, 11)]
            await asyncio.sleep(0.03 * round_)
            with full(run):
                if round_ == 0:
                    sam.person.send("Coffee")
                await asyncio.sleep(0.5)
            await asyncio.gather(*paying)
        words = question_of("ask-amount-donation")
        await stage.world.bot_message(sam.person.chat, words, seconds=PATIENCE)
        await sam.say("five", "couldn't find an amount")
        await assert_books_match(run, shop)
        assert await run.stop() == 0


async def test_transactions_wait_for_a_lock_together_and_the_stop_does_not(tmp_path: Path) -> None:
    """However many queue, nobody waits longer than the time-out counted from their own coming."""
    async with drop_under_load(tmp_path) as (_, run, shop):
        with locked(run.database):
            short = asyncio.create_task(shop.posts(range(1, 6)))
            await asyncio.sleep(0.3)
        assert await short == {303: 5}
        with locked(run.database):
            begun = time.monotonic()
            refused = asyncio.create_task(shop.posts(range(6, 21)))
            await asyncio.sleep(PROVEN_SECONDS)
            assert await health(run) == (200, 503, "TimeoutError")
            assert await refused == {503: 15}
            took = time.monotonic() - begun
            # One after the other, the second would wait twice as long.
            assert BUSY_TIMEOUT_SECONDS <= took < 2 * BUSY_TIMEOUT_SECONDS
        await run.line("database is locked")
        await asyncio.gather(*map(shop.pay, range(6, 21)))
        await assert_books_match(run, shop)
        with locked(run.database):
            asked = asyncio.create_task(shop.post(21))
            await asyncio.sleep(0.1)
            assert await asyncio.wait_for(run.stop(), SIGTERM_SECONDS) == 0
            assert (await asked).status == 503


async def test_a_webhook_that_cannot_be_stored_is_sent_again(tmp_path: Path) -> None:
    """The receiver answers 503 and never 200; the other service sends it once more."""
    async with foreign_service(tmp_path, **OPEN) as (service, keys):
        keys["PAYMENTS_URL"] = service.url
        async with running_product(tmp_path, **OPEN, **keys) as (stage, run):
            shop = await open_drop(stage, service)
            with away(run):
                await shop.pay(1)
                await service.line("answered 503")
                assert count_alerts(shop.seller) == (1, 0)
            await stage.world.wait_for(lambda: count_alerts(shop.seller) == (2, 0), PATIENCE)
            await wait_until_idle(run)
            assert count_alerts(shop.seller) == (2, 0)
            assert await run.stop() == 0


async def test_a_damaged_database_ends_the_start_with_2_and_one_line(tmp_path: Path) -> None:
    path = tmp_path / "bot.db"
    open_database(f"sqlite:///{path}").close()
    whole = path.read_bytes()
    path.write_bytes(whole[:100] + b"\xff" * (len(whole) - 100))
    line = f"DATABASE_URL: sqlite:///{path} can't be used: database disk image is malformed"
    assert await started(str(path)) == (2, [line])


async def test_a_database_that_may_not_be_written_ends_the_start_with_2(tmp_path: Path) -> None:
    """Told by the rights of the file, which count for root too once it may not pass them over."""
    path = tmp_path / "bot.db"
    open_database(f"sqlite:///{path}").close()
    path.chmod(0o400)
    humble = ("setpriv", "--bounding-set=-all", "--inh-caps=-all") if os.geteuid() == 0 else ()
    told_of = "attempt to write a readonly database"
    line = f"DATABASE_URL: sqlite:///{path} can't be used: {told_of}"
    assert await started(str(path), *humble) == (2, [line])


async def started(database: str, *before: str) -> tuple[int | None, list[str]]:
    """Start the service on a database of which nobody could ask which secrets it has."""
    child = await asyncio.create_subprocess_exec(
        *before, sys.executable, "-m", "bot", "service",
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), "PORT": free_port(),
             "DATABASE_URL": f"sqlite:///{database}"},
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT,
    )  # fmt: skip
    out, _ = await asyncio.wait_for(child.communicate(), PATIENCE)
    return child.returncode, out.decode().splitlines()
