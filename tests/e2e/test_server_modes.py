"""The same journey with Telegram's webhook, with a foreign service, and in the demo."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bot.chat.telegram.intake import SECRET_HEADER, WEBHOOK_PATH
from bot.core import signing
from tests.support.certificates import make_certificate
from tests.support.demo_client import SELLER, buttons, offer_vase, say, sell_vase, shown
from tests.support.free_ports import free_port
from tests.support.product_process import (
    PATIENCE,
    Process,
    foreign_service,
    patient_client,
    sandbox_telegram,
    start_bot,
)
from tests.support.sellers_and_payers import (
    decoded,
    labels,
    lines_of,
    link_of,
    open_pay_page,
    pay,
    seller_with_destination,
)
from tests.support.tcp_relay import open_tcp_relay

if TYPE_CHECKING:
    import pytest


async def test_in_webhook_mode_telegram_sends_the_updates(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Registered with a secret, delivered over https, answered; strangers are turned away."""
    pem, front, port = make_certificate(tmp_path), free_port(), free_port()
    monkeypatch.setenv("SSL_CERT_FILE", str(pem))
    public = f"https://127.0.0.1:{front}"
    async with sandbox_telegram(tmp_path) as stage, open_tcp_relay(port, front, pem):
        world = stage.world
        env = {"TELEGRAM_MODE": "webhook", "PUBLIC_URL": public, "PORT": port}
        async with stage.run(**env) as run:
            await run.ready()
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
            await strangers_are_turned_away(run, world.webhook.secret)
            await world.close()


async def strangers_are_turned_away(run: Process, secret: str) -> None:
    update = {"update_id": 1, "message": {"text": "/start"}}
    stored = run.rows("SELECT COUNT(*) FROM outbox WHERE queue = 'updates'")
    async with patient_client(run.url) as http:
        for guess in (b"", b"guess", b"\xe9"):
            headers = {SECRET_HEADER.encode(): guess}
            answer = await http.post(WEBHOOK_PATH, json=update, headers=headers)
            assert answer.status_code == 401
        proof = {SECRET_HEADER: secret}
        for body in (b"", b"[]", b"{", b"{}", b'{"update_id": "1"}'):
            answer = await http.post(WEBHOOK_PATH, content=body, headers=proof)
            assert answer.status_code == 400
    assert run.rows("SELECT COUNT(*) FROM outbox WHERE queue = 'updates'") == stored


async def test_a_foreign_service_works_the_same(tmp_path: Path) -> None:
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
        *lines, number = lines_of(alert)
        assert lines == ["💰 $2.50 received for Sticker", "1 of 2 left"]
        assert number.startswith("🧾 ")
        await sam.press(card, "Pause", "Paused")
        await sam.press(card, "Resume", "1 of 2 left")
        last = await sam.alert(pay(link))
        assert lines_of(last)[1] == "🏁 SOLD OUT: that was the last one."
        question = await sam.press(card, "Delete", "Delete “Sticker”?")
        await sam.press(question, "Yes, delete it", "Sticker has been deleted")
        assert (await open_pay_page(link)).status_code == 404
        assert len(sam.alerts) == 2
        assert run.rows("SELECT COUNT(*) FROM payment_requests") == [(0,)]


PAYER = {"email": "pat@example.org", "paymail": "pat@<i>hand</i>cash.io"}


async def test_an_alert_shows_the_payer_data_of_the_webhook(tmp_path: Path) -> None:
    """Signed, told once however often it comes; unsigned or altered it is 401 and not told."""
    async with (
        foreign_service(tmp_path) as (service, keys),
        sandbox_telegram(tmp_path) as stage,
        stage.run(PAYMENTS_URL=service.url, **keys) as run,
    ):
        await run.ready()
        sam = await seller_with_destination(stage.world)
        await sam.card("/drop 2 2.50 USD Sticker", "Sticker")
        event = event_of(run) | {"amount": 2.5, "currencyCode": "USD", "remainingUnits": 1}
        body = json.dumps(event).encode()
        signed = signing.sign([keys["WEBHOOK_SECRET"]], "msg_1", datetime.now(UTC), body)
        proven = {"appSecret": keys["APP_SECRET"]}
        for headers, sent in (
            ({}, body),
            (signed, body + b" "),
            ({}, json.dumps(event | proven).encode()),
        ):
            assert await post(run, sent, headers) == 401
        assert [await post(run, body, signed) for _ in range(2)] == [200, 200]
        await stage.world.wait_for(lambda: sam.alerts, PATIENCE)
        await sam.say("/help", "In one line")
        assert [lines_of(alert) for alert in sam.alerts] == [
            [
                "💰 $2.50 received for Sticker",
                "Paymail: pat@<i>hand</i>cash.io",
                "Email: pat@example.org",
                "1 of 2 left",
                "🧾 t1",
            ]
        ]


async def test_handcashs_webhook_is_proven_by_the_secret_in_its_body(tmp_path: Path) -> None:
    """No signature, no amount: the alert takes it from the request; a wrong secret is 401."""
    async with foreign_service(tmp_path) as (service, keys), sandbox_telegram(tmp_path) as stage:
        del keys["WEBHOOK_SECRET"]
        async with stage.run(PAYMENTS_URL=service.url, **keys) as run:
            await run.ready()
            sam = await seller_with_destination(stage.world)
            await sam.card("/drop 2 2.50 USD Sticker", "Sticker")
            event = event_of(run)
            for secret in ("", "wrong", None, 5):
                assert (
                    await post(run, json.dumps(event | {"appSecret": secret}).encode(), {}) == 401
                )
            event |= {"appSecret": keys["APP_SECRET"]}
            assert await post(run, json.dumps(event).encode(), {}) == 200
            await stage.world.wait_for(lambda: sam.alerts, PATIENCE)
            assert lines_of(sam.alerts[0])[0] == "💰 $2.50 received for Sticker"
            assert lines_of(sam.alerts[0])[-2:] == ["1 of 2 left", "🧾 t1"]


def event_of(run: Process) -> dict[str, Any]:
    ((link, request),) = run.rows("SELECT id, request_id FROM listings")
    return {
        "paymentRequestId": request,
        "transactionId": "t1",
        "customParameters": {"listing": link},
        "userData": PAYER,
    }


async def post(run: Process, body: bytes, headers: dict[str, str]) -> int:
    """Post a webhook for the bot's only request; return the status."""
    ((token,),) = run.rows("SELECT token FROM listings")
    async with patient_client() as http:
        address = f"{run.url}/webhooks/payments/{token}"
        return (await http.post(address, content=body, headers=headers)).status_code


async def test_the_bot_waits_for_a_foreign_service_that_is_down(tmp_path: Path) -> None:
    """The seller is told, nothing is lost, and the card comes once it is back, once."""
    port = free_port()
    async with (
        foreign_service(tmp_path) as (_, keys),
        sandbox_telegram(tmp_path) as stage,
        stage.run(PAYMENTS_URL=f"http://127.0.0.1:{port}", **keys) as run,
    ):
        await run.ready()
        sam = await seller_with_destination(stage.world)
        await sam.say("/donation 5 USD Coffee", "The payment service isn't responding.")
        assert sam.cards == []
        there = tmp_path / "there"
        async with start_bot(there, "service", PORT=port, WEBHOOK_ALLOW="127.0.0.1") as service:
            await service.ready()
            await stage.world.wait_for(lambda: sam.cards, PATIENCE)
            assert service.rows("SELECT COUNT(*) FROM payment_requests") == [(1,)]
        await sam.press(sam.cards[0], "Pause", "so nothing was done")
        listed = await sam.say("/list", "Your payment links")
        assert labels(listed)[0] == "🟢 Coffee · $5.00"
        assert len(sam.cards) == 1


async def test_wrong_credentials_at_a_foreign_service_are_reported(tmp_path: Path) -> None:
    """The seller learns whom to turn to; the operator finds what to mend in the log."""
    async with foreign_service(tmp_path) as (service, _), sandbox_telegram(tmp_path) as stage:
        keys = {"APP_ID": "nobody", "APP_SECRET": "a wrong secret of a test"}
        async with stage.run(PAYMENTS_URL=service.url, **keys) as run:
            await run.ready()
            sam = await seller_with_destination(stage.world)
            await sam.say("/donation 5 USD Coffee", "isn't letting this bot in")
            assert "check APP_ID and APP_SECRET" in await run.line("service call failed")
            await sam.say("/list", "You don't have any payment links yet")


async def test_the_demo_continues_with_the_same_database(tmp_path: Path) -> None:
    """The Telegram of the demo forgets, the bot doesn't: /list, buttons and pages still work."""
    port = free_port()
    link = ""
    for start in range(2):
        async with start_bot(tmp_path, "demo", "--no-browser", PORT=port) as run:
            await run.ready()
            async with patient_client(f"{run.url}/chat/api/") as http:
                if start == 0:
                    link = await offer_vase(http)
                else:
                    await http.post("start", json={"user_id": SELLER})
                    await say(http, "/list")
                    page = await shown(http, "Your payment links")
                    assert buttons(page)[0]["text"] == "🟢 Vase · €9.00"
                    await sell_vase(http, link)
            assert await run.stop() == 0
