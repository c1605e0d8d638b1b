"""A drill: backups under load, the machine lost, a restore on another one."""

from __future__ import annotations

import asyncio
import csv
import json
import shutil
from collections import Counter
from collections.abc import AsyncIterator
from decimal import Decimal
from pathlib import Path

import pytest

from bot.sandbox.world.errors import Fault
from tests.support.free_ports import free_port
from tests.support.http_peers import Receiver, empty_answer, open_receiver
from tests.support.machine_faults import MARK, OPEN, OWED, count_alerts
from tests.support.product_process import (
    PATIENCE,
    Process,
    ProductSetup,
    app_headers,
    create_application,
    patient_client,
    rows,
    run_command,
    sandbox_telegram,
    until,
)
from tests.support.raw_payers import posted, request_of
from tests.support.sellers_and_payers import Seller, labels, link_of, seller_with_destination, texts

PAYERS, HELD = 4, 3
UNITS = 100_000


@pytest.fixture
async def stage(tmp_path: Path) -> AsyncIterator[ProductSetup]:
    (tmp_path / "lost").mkdir()
    async with sandbox_telegram(tmp_path / "lost") as it:
        yield it


async def paying(url: str, request_id: str, who: str, receipts: set[str]) -> None:
    """Pay again and again, as long as the machine is there."""
    for number in range(UNITS):
        try:
            got = await posted(url, request_id, f"{who}-{number:020d}")
        except OSError:
            return
        assert got.status == 303, got.text
        receipts.add(got.location.rpartition("/")[2])


async def test_acknowledged_work_continues_from_the_backup_elsewhere(
    stage: ProductSetup, tmp_path: Path
) -> None:
    """Each such payment is there, told, exported; alerts and webhooks go on where they stopped."""
    env = {**OPEN, "PORT": free_port(), "WEBHOOK_ALLOW": "127.0.0.1"}
    lost, kept = stage.folder, tmp_path / "kept.db"
    async with open_receiver() as receiver:
        receiver.answers += [empty_answer(503)] * HELD
        async with stage.started(**env) as run:
            sam = await seller_with_destination(stage.world)
            card = await sam.card(f"/drop {UNITS} 5 USD Ticket", "Ticket")
            drop = link_of(card).rpartition("/")[2]
            keys = await create_application(lost)
            async with patient_client(run.url, app_headers(keys)) as other:
                hooked = str((await request_of(other, receiver.url, UNITS))["id"])
            receipts, others = set[str](), set[str]()
            crowd = [
                asyncio.create_task(paying(run.url, drop, f"payer-{n}", receipts))
                for n in range(PAYERS)
            ]
            crowd.append(asyncio.create_task(paying(run.url, hooked, "other", others)))
            await stage.world.wait_for(lambda: len(sam.alerts) >= PAYERS, PATIENCE)
            stage.world.faults.add(Fault("error", "sendMessage", code=502, times=10_000))
            await stage.world.wait_for(lambda: stage.world.refused, PATIENCE)
            acknowledged = set(receipts), set(others)
            code, out, err = await run_command(lost, "backup", str(kept))
            assert (code, err) == (0, []), out
            before = len(sam.alerts)
            await run.kill()
            await asyncio.gather(*crowd)
        shutil.rmtree(lost)
        stage.world.faults.clear()
        stage.folder = tmp_path / "new"
        stage.folder.mkdir()
        await restored(stage.folder, kept)
        async with stage.started(**env) as run:
            await quiet(run, hooked)
            assert acknowledged[0] <= paid(run, drop)
            assert acknowledged[1] <= paid(run, hooked)
            told_of = {key for (key,) in run.rows("SELECT transaction_id FROM received_payments")}
            assert paid(run, drop) == told_of
            alerts_add_up(sam, before, len(told_of))
            same_ids(receiver, paid(run, hooked))
            await goes_on(run, sam, drop)
            await adds_up(stage.folder, run, drop)
            assert await run.stop() == 0


async def restored(folder: Path, kept: Path) -> None:
    code, out, err = await run_command(folder, "restore", str(kept))
    assert code == 0, err
    doubtful = rows(folder / "bot.db", "SELECT COUNT(*) FROM outbox WHERE uncertain = 1")
    assert doubtful[0][0] > 0
    assert f"may repeat:   {doubtful[0][0]} messages that waited to be sent" in out


async def quiet(run: Process, hooked: str) -> None:
    """Wait until all is sent; what the endpoint refused is sent at once, as an operator would."""
    refused = "SELECT o.id FROM outbox o JOIN deliveries d ON d.id = o.id WHERE o.state = 'waiting'"
    for (key,) in run.rows(f"{refused} AND d.request_id = '{hooked}'"):
        await run_command(run.database.parent, "deliveries", "retry", key)

    async def look() -> bool:
        return run.rows(OWED) == []

    await until(look, 3 * PATIENCE)


def paid(run: Process, request_id: str) -> set[str]:
    found = run.rows(f"SELECT id FROM payments WHERE request_id = '{request_id}'")
    return {key for (key,) in found}


def alerts_add_up(sam: Seller, before: int, payments: int) -> None:
    """Check that each payment has an alert, and that alerts after the restore are marked."""
    certain, marked = count_alerts(sam)
    assert certain + marked >= payments
    later = texts(sam.alerts)[before:]
    assert later
    assert all(text.startswith(MARK) for text in later), later


def same_ids(receiver: Receiver, payments: set[str]) -> None:
    """Check that the endpoint received one id for each payment before and after."""
    ids: dict[str, set[str]] = {}
    for one in receiver.received:
        ids.setdefault(json.loads(one.body)["transactionId"], set()).add(one.headers["webhook-id"])
    assert payments <= ids.keys()
    assert {len(found) for found in ids.values()} == {1}


async def goes_on(run: Process, sam: Seller, drop: str) -> None:
    """Check that old buttons, the list and new payments work, and new alerts are unmarked."""
    listed = await sam.say("/list", "Your payment links")
    assert any("Ticket" in label for label in labels(listed))
    await sam.press(sam.cards[0], "Payments", "Ticket")
    before = len(sam.alerts)
    assert (await posted(run.url, drop, f"afterwards-{1:020d}")).status == 303
    await sam.world.wait_for(lambda: len(sam.alerts) > before, PATIENCE)
    assert not sam.alerts[-1].text.startswith(MARK)


async def adds_up(folder: Path, run: Process, drop: str) -> None:
    """Check that the export has each payment once and adds up to the table's sum."""
    code, out, err = await run_command(folder, "export", "payments", "--request", drop)
    assert (code, err) == (0, [])
    lines = [*csv.DictReader(out)]
    assert {line["transactionId"] for line in lines} == paid(run, drop)
    assert len(lines) == len(paid(run, drop))
    ((minor, sold, left),) = run.rows(
        "SELECT SUM(p.amount), r.paid_count, r.remaining_units FROM payments p"
        f" JOIN payment_requests r ON r.id = p.request_id WHERE r.id = '{drop}'"
    )
    assert sum(Decimal(line["amount"]) for line in lines) == Decimal(minor) / 100
    assert (sold, left) == (len(lines), UNITS - len(lines))
    assert Counter(line["currencyCode"] for line in lines) == {"USD": len(lines)}
