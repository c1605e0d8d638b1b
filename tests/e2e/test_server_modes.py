"""The same journey with Telegram's webhook, with another service, beside one, and in the demo."""

from __future__ import annotations

import json
import sqlite3
import time
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bot.chat.payments.reconciler import FIRST_WAIT, WEBHOOK_GRACE
from bot.chat.telegram.intake import WEBHOOK_PATH
from bot.core import signing
from bot.service.notifications.notification_queues import RETRIES
from tests.support.asgi_server import make_certificate, open_tcp_relay
from tests.support.demo_client import SELLER, buttons, offer_vase, say, sell_vase, shown
from tests.support.free_ports import free_port
from tests.support.product_process import (
    PATIENCE,
    Process,
    foreign_service,
    patient_client,
    running_product,
    sandbox_telegram,
    start_bot,
    started_bot,
    until,
)
from tests.support.sellers_and_payers import (
    SECONDS,
    Seller,
    decoded,
    lines_of,
    link_of,
    open_pay_page,
    pay,
    seller_with_destination,
)

if TYPE_CHECKING:
    import pytest


PAYMENTS = 10
AT_ONCE = 2.0
"""Seconds to an alert whose payment another process took: queues are looked at once a second."""

SECOND_TRY = RETRIES.delays[0] / 1000 * (1 - RETRIES.jitter / 1000)
"""Seconds before a second attempt can come: a machine that pauses may delay one alert so long."""

FOUND = "🔎 Found later"


async def test_in_webhook_mode_telegram_sends_the_updates(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Registered with a secret, delivered over https, answered; a stranger is turned away."""
    pem, front, port = make_certificate(tmp_path), free_port(), free_port()
    monkeypatch.setenv("SSL_CERT_FILE", str(pem))
    public = f"https://127.0.0.1:{front}"
    async with sandbox_telegram(tmp_path) as stage, open_tcp_relay(port, front, pem):
        world = stage.world
        env = {"TELEGRAM_MODE": "webhook", "PUBLIC_URL": public, "PORT": port}
        async with stage.started(**env) as run:
            run.secrets.add(world.webhook.secret)
            assert world.webhook.url == f"{public}{WEBHOOK_PATH}"
            assert world.calls_of("getUpdates") == []
            sam = await seller_with_destination(world)
            card = await sam.card("/drop 2 5 USD Mug", "Mug")
            assert link_of(card).startswith(f"{public}/pay/")
            assert decoded(world, card) == link_of(card)
            inside = link_of(card).replace(public, run.url)
            alert = await sam.alert(pay(inside))
            assert lines_of(alert)[:2] == ["💰 $5.00 received for Mug", "1 of 2 left"]
            async with patient_client(run.url) as http:
                answer = await http.post(WEBHOOK_PATH, json={"update_id": 1})
            assert answer.status_code == 401
            await world.close()


async def test_another_service_works_the_same(tmp_path: Path) -> None:
    """Created, paid, told, stopped, resumed and deleted at another server."""
    async with (
        foreign_service(tmp_path) as (service, keys),
        sandbox_telegram(tmp_path) as stage,
        stage.run(PAYMENTS_URL=service.url, **keys) as run,
    ):
        await run.ready()
        sam = await seller_with_destination(stage.world)
        card = await sam.card("/drop 2 2.50 USD Sticker", "Sticker")
        link = link_of(card)
        assert link.startswith(f"{service.url}/pay/")
        assert decoded(stage.world, card) == link
        alert = await sam.alert(pay(link))
        assert lines_of(alert)[:2] == ["💰 $2.50 received for Sticker", "1 of 2 left"]
        await sam.press(card, "Pause", "Paused")
        await sam.press(card, "Resume", "1 of 2 left")
        last = await sam.alert(pay(link))
        assert lines_of(last)[1] == "🏁 SOLD OUT: that was the last one."
        question = await sam.press(card, "Delete", "Delete “Sticker”?")
        await sam.press(question, "Yes, delete it", "Sticker has been deleted")
        assert (await open_pay_page(link)).status_code == 404
        assert len(sam.alerts) == 2
        assert run.rows("SELECT COUNT(*) FROM payment_requests") == [(0,)]


def let_time_pass(service: Process) -> None:
    """Make its payments as old as payments are whose webhooks had their time."""
    with closing(sqlite3.connect(service.database)) as database, database:
        database.execute(
            "UPDATE payments SET completed_at = completed_at - ?", (2 * WEBHOOK_GRACE,)
        )


async def late_webhook(run: Process, secret: str, transaction: str) -> int:
    """Post a payment's webhook as the service would have; return the status."""
    ((token, request),) = run.rows("SELECT token, request_id FROM listings")
    event: dict[str, Any] = {
        "paymentRequestId": request, "transactionId": transaction, "customParameters": {},
        "userData": {}, "amount": 2.5, "currencyCode": "USD", "remainingUnits": 3,
    }  # fmt: skip
    body = json.dumps(event).encode()
    signed = signing.sign([secret], f"msg_{transaction}", datetime.now(UTC), body)
    async with patient_client(run.url) as http:
        return (
            await http.post(f"/webhooks/payments/{token}", content=body, headers=signed)
        ).status_code


async def test_a_payment_during_an_outage_is_found_and_its_late_webhook_sends_no_alert(
    tmp_path: Path,
) -> None:
    """Its address has changed besides, so that no webhook ever finds it."""
    async with foreign_service(tmp_path) as (service, keys), sandbox_telegram(tmp_path) as stage:
        env = {"PAYMENTS_URL": service.url, "PUBLIC_URL": f"http://127.0.0.1:{free_port()}"}
        async with stage.started(**env, **keys) as run:
            sam = await seller_with_destination(stage.world)
            card = await sam.card("/drop 4 2.50 USD Sticker", "Sticker")
            assert await run.stop() == 0
        assert (await pay(link_of(card))).status_code == 303
        let_time_pass(service)
        async with stage.started(**env, **keys) as run:
            await stage.world.wait_for(lambda: sam.alerts, FIRST_WAIT + SECONDS)
            assert "found=1" in await run.line("compared with the service")
            (alert,) = sam.alerts
            assert lines_of(alert)[0] == "💰 $2.50 received for Sticker"
            assert lines_of(alert)[1].startswith(FOUND)
            assert lines_of(alert)[2] == "3 of 4 left"
            ((transaction,),) = service.rows("SELECT id FROM payments")
            assert await late_webhook(run, keys["WEBHOOK_SECRET"], transaction) == 200
            await sam.say("/help", "In one line")
            assert len(sam.alerts) == 1
            assert run.rows("SELECT COUNT(*) FROM received_payments") == [(1,)]


async def test_a_payment_of_the_embedded_service_is_found_too(tmp_path: Path) -> None:
    """Its webhook died, as an operator sees with `deliveries list`."""
    async with running_product(tmp_path) as (stage, run):
        sam = await seller_with_destination(stage.world)
        card = await sam.card("/donation 5 USD Coffee", "Coffee")
        await sam.alert(pay(link_of(card)))
        await run.stop()
        with closing(sqlite3.connect(run.database)) as database, database:
            database.execute("DELETE FROM received_payments")
            database.execute("DELETE FROM takings")
        let_time_pass(run)
        async with stage.started():
            await stage.world.wait_for(lambda: len(sam.alerts) == 2, FIRST_WAIT + SECONDS)
            assert lines_of(sam.alerts[1])[1].startswith(FOUND)


async def sold(sam: Seller, link: str) -> float:
    """Pay; the seconds until the seller was told, in the words of a payment that was told."""
    began = time.monotonic()
    alert = await sam.alert(pay(link))
    assert "Found later" not in alert.text
    return time.monotonic() - began


async def attempted(run: Process, payments: int) -> None:
    """Check that each payment took one attempt, which is recorded after its alert may have gone."""
    attempts = "SELECT status FROM delivery_attempts"

    async def recorded() -> bool:
        return len(run.rows(attempts)) >= payments

    await until(recorded)
    assert run.rows(attempts) == [(200,)] * payments


async def test_payments_at_a_service_beside_the_bot_have_alerts_from_the_bot(
    tmp_path: Path,
) -> None:
    """`service` has no receiver of the bot's webhooks, so it leaves them to `run`: at once.

    No attempt is spent while nobody runs it, so their alerts come with its start.
    """
    async with sandbox_telegram(tmp_path) as stage, start_bot(tmp_path, "service") as service:
        await service.ready()
        async with stage.started() as run:
            sam = await seller_with_destination(stage.world)
            card = await sam.card("/donation 5 USD Coffee", "Coffee")
            link = f"{service.url}/pay/{link_of(card).rpartition('/')[2]}"
            *usual, longest = sorted([await sold(sam, link) for _ in range(PAYMENTS)])
            assert max(usual) < AT_ONCE
            assert longest < SECOND_TRY
            await attempted(run, PAYMENTS)
            assert await run.stop() == 0
        assert (await pay(link)).status_code == 303
        async with stage.run() as run:
            await stage.world.wait_for(lambda: len(sam.alerts) > PAYMENTS, PATIENCE)
            assert "Found later" not in sam.alerts[-1].text
            await attempted(run, PAYMENTS + 1)


async def test_the_demo_continues_with_the_same_database(tmp_path: Path) -> None:
    """The Telegram of the demo forgets, the bot doesn't: /list, buttons and pages still work."""
    port = free_port()
    async with started_bot(tmp_path, "demo", "--no-browser", PORT=port) as run:
        async with patient_client(f"{run.url}/chat/api/") as http:
            link = await offer_vase(http)
        assert await run.stop() == 0
    async with started_bot(tmp_path, "demo", "--no-browser", PORT=port) as run:
        async with patient_client(f"{run.url}/chat/api/") as http:
            await http.post("start", json={"user_id": SELLER})
            await say(http, "/list")
            page = await shown(http, "Your payment links")
            assert buttons(page)[0]["text"] == "🟢 Vase · €9.00"
            await sell_vase(http, link)
        assert await run.stop() == 0
