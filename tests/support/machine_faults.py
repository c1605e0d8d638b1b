"""Faults of the machine under a running process, and the checks afterwards."""

from __future__ import annotations

import asyncio
import os
import re
import resource
import sqlite3
from collections import Counter
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import asynccontextmanager, closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests.support.product_process import (
    PATIENCE,
    Process,
    ProductSetup,
    patient_client,
    running_product,
    until,
)
from tests.support.raw_payers import Answer, posted
from tests.support.sellers_and_payers import Seller, link_of, seller_with_destination, texts

MARK = "You may have seen this already."
SEVERAL = re.compile(r": (\d+) payments")
OWED = "SELECT queue, state, note FROM outbox WHERE state IN ('waiting', 'leased')"
SET_ASIDE = "SELECT queue, note FROM outbox WHERE state = 'dead'"
OPEN = {"PAYER_RATE": "0", "API_RATE": "0", "LOG_LEVEL": "info"}
STOCK = 100_000
"""Units of the drop: more than any crowd here pays for."""

UNITS = "SELECT paid_count, remaining_units, reserved_units FROM payment_requests"
TROUBLE, OVER = "database not usable", "database usable again"


@dataclass
class DropUnderLoad:
    """A seller with a drop, and payers who post its form; `receipts` by payer number."""

    seller: Seller
    url: str
    request_id: str
    receipts: dict[int, str] = field(default_factory=dict)

    async def post(self, number: int) -> Answer:
        """Post the form of payer `number`; always the same one, as a browser does."""
        answer = await posted(self.url, self.request_id, f"payer-{number:026d}")
        if answer.status == 303:
            receipt = answer.location.rpartition("/")[2]
            assert self.receipts.setdefault(number, receipt) == receipt
        return answer

    async def posts(self, numbers: Iterable[int]) -> Counter[int]:
        """Post the forms of these payers at once; count the statuses."""
        answers = await asyncio.gather(*map(self.post, numbers))
        return Counter(answer.status for answer in answers)

    async def pay(self, number: int) -> None:
        """Post the form of payer `number` until the page takes it, over restarts too."""
        while True:
            try:
                answer = await self.post(number)
            except OSError:
                answer = None
            if answer and answer.status == 303:
                return
            assert answer is None or answer.status == 503, answer.text
            await asyncio.sleep(0.05)


@asynccontextmanager
async def drop_under_load(
    folder: Path, **env: str
) -> AsyncIterator[tuple[ProductSetup, Process, DropUnderLoad]]:
    """Run the whole product with a drop in it, and one payment whose alert has come."""
    async with running_product(folder, **{**OPEN, **env}) as (stage, run):
        yield stage, run, await open_drop(stage, run)


async def open_drop(stage: ProductSetup, run: Process) -> DropUnderLoad:
    sam = await seller_with_destination(stage.world)
    card = await sam.card(f"/drop {STOCK} 5 USD Ticket", "Ticket")
    it = DropUnderLoad(sam, run.url, link_of(card).rpartition("/")[2])
    await it.pay(0)
    await stage.world.wait_for(lambda: sam.alerts, PATIENCE)
    return it


@contextmanager
def limited(run: Process, what: int, soft: int) -> Iterator[None]:
    """Lower a resource limit of the running process until the block ends."""
    before = resource.prlimit(run.child.pid, what)
    resource.prlimit(run.child.pid, what, (soft, before[1]))
    try:
        yield
    finally:
        resource.prlimit(run.child.pid, what, before)


@contextmanager
def locked(database: Path) -> Iterator[None]:
    """Write in another process's place, without end."""
    with closing(sqlite3.connect(database, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        yield
        other.execute("ROLLBACK")


@contextmanager
def moved(database: Path) -> Iterator[None]:
    """Take the file from its place."""
    away = database.rename(database.with_suffix(".away"))
    try:
        yield
    finally:
        away.rename(database)


def cpu_seconds(run: Process) -> float:
    """Return the CPU time of the process so far (proc(5))."""
    fields = Path(f"/proc/{run.child.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


async def health(run: Process) -> tuple[int, int, str]:
    """Return the statuses of /livez and /readyz, and the database's check of the latter."""
    async with patient_client(run.url) as http:
        alive, ready = await http.get("/livez"), await http.get("/readyz")
    return alive.status_code, ready.status_code, ready.json()["checks"]["database"]


async def wait_until_well(run: Process) -> None:
    """Check that all is said to be well; a check that is late on a busy machine is asked again."""

    async def look() -> bool:
        found = await health(run)
        assert found in {(200, 200, "ok"), (200, 503, "TimeoutError")}
        return found == (200, 200, "ok")

    await until(look)


def operator_lines(lines: Iterable[str]) -> list[str]:
    """Return the log's warnings and errors, but for that of a first start."""
    told = [line for line in lines if "[error " in line or "[warning " in line]
    return [line for line in told if "new empty database" not in line]


async def wait_until_idle(run: Process) -> None:
    """Wait until no work is left, so that nothing more can be sent."""

    async def look() -> bool:
        return run.rows(OWED) == []

    try:
        await until(look, 2 * PATIENCE)
    except TimeoutError:
        raise AssertionError(run.rows(OWED)) from None


def count_alerts(sam: Seller) -> tuple[int, int]:
    """Count the payments in plain alerts, and those in alerts marked as possible repetitions."""
    counts = {True: 0, False: 0}
    for text in texts(sam.alerts):
        several = SEVERAL.search(text)
        counts[text.startswith(MARK)] += int(several[1]) if several else 1
    return counts[False], counts[True]


async def assert_books_match(run: Process, shop: DropUnderLoad, *, crashes: bool = False) -> None:
    """Check that service and chat know the same payments, and each receipt has its payment.

    Once each; only where a crash cut an answer, a second may come that says so.
    """
    await wait_until_idle(run)
    paid = [key for (key,) in run.rows("SELECT id FROM payments")]
    known = [key for (key,) in run.rows("SELECT transaction_id FROM received_payments")]
    assert sorted(paid) == sorted(known)
    assert set(shop.receipts.values()) == set(paid)
    assert len(paid) == len(shop.receipts)
    sold = run.rows(f"{UNITS} WHERE id = '{shop.request_id}'")
    assert sold == [(len(paid), STOCK - len(paid), 0)]
    certain, marked = count_alerts(shop.seller)
    if crashes:
        assert certain <= len(paid) <= certain + marked
    else:
        assert (certain, marked) == (len(paid), 0)
    assert run.rows(SET_ASIDE) == []
