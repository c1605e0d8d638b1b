"""Payments whose webhooks never came: each has one alert all the same."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bot.chat.payments.reconciler import FIRST_WAIT, WEBHOOK_GRACE
from bot.core import signing
from tests.support.free_ports import free_port
from tests.support.product_process import (
    Process,
    foreign_service,
    patient_client,
    running_product,
    sandbox_telegram,
)
from tests.support.scripted_server import open_scripted_server
from tests.support.sellers_and_payers import (
    SECONDS,
    lines_of,
    link_of,
    pay,
    seller_with_destination,
)

PATIENCE = FIRST_WAIT + SECONDS
FOUND = "🔎 Found later"


def let_time_pass(service: Process) -> None:
    """Make its payments as old as payments are whose webhooks had their time."""
    with closing(sqlite3.connect(service.database)) as database, database:
        database.execute(
            "UPDATE payments SET completed_at = completed_at - ?", (2 * WEBHOOK_GRACE,)
        )


async def webhook(run: Process, secret: str, transaction: str) -> int:
    """Post a payment's webhook as the service would have; return the status."""
    ((token, request),) = run.rows("SELECT token, request_id FROM listings")
    event: dict[str, Any] = {
        "paymentRequestId": request, "transactionId": transaction, "customParameters": {},
        "userData": {}, "amount": 2.5, "currencyCode": "USD", "remainingUnits": 3,
    }  # fmt: skip
    body = json.dumps(event).encode()
    signed = signing.sign([secret], f"msg_{transaction}", datetime.now(UTC), body)
    async with patient_client() as http:
        address = f"{run.url}/webhooks/payments/{token}"
        return (await http.post(address, content=body, headers=signed)).status_code


async def test_a_payment_during_an_outage_is_found_and_its_late_webhook_sends_no_alert(
    tmp_path: Path,
) -> None:
    """Its address has changed besides, so that no webhook ever finds it."""
    async with foreign_service(tmp_path) as (service, keys), sandbox_telegram(tmp_path) as stage:
        env = {"PAYMENTS_URL": service.url, "PUBLIC_URL": f"http://127.0.0.1:{free_port()}"}
        async with stage.run(**env, **keys) as run:
            await run.ready()
            sam = await seller_with_destination(stage.world)
            card = await sam.card("/drop 4 2.50 USD Sticker", "Sticker")
            assert await run.stop() == 0
        assert (await pay(link_of(card))).status_code == 303
        let_time_pass(service)
        async with stage.run(**env, **keys) as run:
            await run.ready()
            await stage.world.wait_for(lambda: sam.alerts, PATIENCE)
            assert "found=1" in await run.line("compared with the service")
            (alert,) = sam.alerts
            assert lines_of(alert)[0] == "💰 $2.50 received for Sticker"
            assert lines_of(alert)[1].startswith(FOUND)
            assert lines_of(alert)[2] == "3 of 4 left"
            ((transaction,),) = service.rows("SELECT id FROM payments")
            assert await webhook(run, keys["WEBHOOK_SECRET"], transaction) == 200
            await sam.say("/help", "In one line")
            assert len(sam.alerts) == 1
            assert run.rows("SELECT COUNT(*) FROM received_payments") == [(1,)]


async def test_a_payment_of_the_embedded_service_is_found_too(tmp_path: Path) -> None:
    """Its webhook died, as an operator sees with `deliveries list`."""
    async with running_product(tmp_path) as (stage, run):
        sam = await seller_with_destination(stage.world)
        card = await sam.card("/donation 5 USD Coffee", "Coffee")
        assert lines_of(await sam.alert(pay(link_of(card))))[0] == "💰 $5.00 received for Coffee"
        await run.stop()
        lose_alerts(run)
        let_time_pass(run)
        async with stage.run() as again:
            await again.ready()
            await stage.world.wait_for(lambda: len(sam.alerts) == 2, PATIENCE)
            assert lines_of(sam.alerts[1])[1].startswith(FOUND)


def lose_alerts(run: Process) -> None:
    """Forget that the payments were told, as if their webhooks had not come."""
    with closing(sqlite3.connect(run.database)) as database, database:
        database.execute("DELETE FROM received_payments")
        database.execute("DELETE FROM takings")


async def test_a_service_that_hangs_does_not_keep_the_bot_from_stopping(tmp_path: Path) -> None:
    """A look is under way when the stop comes."""
    async with open_scripted_server() as peer, sandbox_telegram(tmp_path) as stage:
        keys = {"APP_ID": "app-1", "APP_SECRET": "the secret of a test"}
        async with stage.run(PAYMENTS_URL=peer.url, **keys) as run:
            await run.ready()
            async with asyncio.timeout(PATIENCE), peer.news:
                await peer.news.wait_for(lambda: peer.calls)
            assert await run.stop() == 0
