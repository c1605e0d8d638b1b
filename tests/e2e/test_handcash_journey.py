"""The whole journey on HandCash's dialect: made, paid, alerted, sold out, stopped, deleted."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from tests.support.free_ports import free_port
from tests.support.handcash_server import HandCash, handcash
from tests.support.handcash_settings import SECRET, keys
from tests.support.product_process import (
    PATIENCE,
    Process,
    ProductSetup,
    patient_client,
    sandbox_telegram,
)
from tests.support.sellers_and_payers import (
    Seller,
    decoded,
    labels,
    lines_of,
    link_of,
    open_pay_page,
    seller_with_destination,
    unnumbered,
)
from tests.support.server_failures import LOST, SLOW

PAYER = {"paymail": "pat@<i>hand</i>cash.io", "email": "pat@example.org"}
NEVER = "n" * 32
"""A token that no request has."""


@asynccontextmanager
async def playing(folder: Path) -> AsyncIterator[tuple[HandCash, ProductSetup, Process, Seller]]:
    """Run the product on HandCash's dialect, with a seller whose destination is known."""
    async with (
        handcash(app_secret=SECRET) as server,
        sandbox_telegram(folder) as stage,
        stage.run(**keys(server)) as run,
    ):
        await run.ready()
        yield server, stage, run, await seller_with_destination(stage.world)


async def alerted(sam: Seller, server: HandCash, request_id: str, data: Any = None) -> list[str]:
    """Pay a card and return the lines of the alert, without the transaction number."""
    before = len(sam.alerts)
    await server.delivered(await server.pay(request_id, data), PATIENCE)
    await sam.world.wait_for(lambda: len(sam.alerts) > before, PATIENCE)
    return unnumbered(sam.alerts[before])


async def quiet(sam: Seller) -> None:
    """Wait until every message is sent."""
    await sam.say("/help", "In one line")


async def test_a_donation_and_a_one_off_are_made_paid_and_alerted(tmp_path: Path) -> None:
    """The amount is the link's, for HandCash names none; the payer's data is shown as it is."""
    async with playing(tmp_path) as (server, stage, _, sam):
        card = await sam.card("/donation 5 USD Coffee for the team", "Coffee for the team")
        coffee = server.only
        assert link_of(card) == f"{server.url}/pay/{coffee.id}" == decoded(stage.world, card)
        assert coffee.body["instrumentCurrencyCode"] == "BSV"
        assert coffee.body["denominationCurrencyCode"] == "USD"
        assert await alerted(sam, server, coffee.id, PAYER) == [
            "💰 $5.00 received for Coffee for the team",
            "Paymail: pat@<i>hand</i>cash.io",
            "Email: pat@example.org",
        ]
        assert await alerted(sam, server, coffee.id) == [
            "💰 $5.00 received for Coffee for the team",
            "Total: $10.00 from 2 payments",
        ]
        await sam.card('/oneoff 120 EUR Painting "Dawn"', "Painting")
        painting = next(one for one in server.made.values() if one is not coffee)
        assert await alerted(sam, server, painting.id) == [
            '💰 €120.00 received for Painting "Dawn"',
            "✅ Paid and closed",
        ]
        listed = await sam.say("/list", "Your payment links")
        assert labels(listed)[:2] == [
            '✅ Painting "Dawn" · €120.00',
            "🟢 Coffee for the team · $5.00",
        ]
        assert server.asked("POST") == 2


async def test_a_guided_drop_is_sold_out_stopped_resumed_and_deleted(tmp_path: Path) -> None:
    async with playing(tmp_path) as (server, stage, run, sam):
        kind = await sam.say("/new", "What kind of payment link")
        await sam.press(kind, "Limited drop", "What's it called")
        await sam.say("Sticker pack", "How much does one item cost")
        await sam.say("2.50 USD", "How many items")
        review = await sam.say("2", "Does everything look right")
        card = await sam.press(review, "Create", "2 of 2 left")
        drop = server.only
        assert decoded(stage.world, card) == link_of(card) == f"{server.url}/pay/{drop.id}"
        assert (await alerted(sam, server, drop.id, PAYER))[-1] == "1 of 2 left"
        await sam.refresh(card, "1 of 2 left")
        await sam.press(card, "Pause", "Paused")
        assert drop.expires_at is not None
        await sam.press(card, "Resume", "1 of 2 left")
        last = await alerted(sam, server, drop.id)
        assert last == [
            "💰 $2.50 received for Sticker pack",
            "🏁 SOLD OUT: that was the last one.",
            "Total: $5.00 from 2 payments",
        ]
        await sam.refresh(card, "SOLD OUT: all 2 sold")
        question = await sam.press(card, "Delete", "Delete “Sticker pack”?")
        await sam.press(question, "Yes, delete it", "Sticker pack has been deleted")
        assert (await open_pay_page(f"{server.url}/pay/{drop.id}")).status_code == 404
        assert (server.made, [*server.deleted]) == ({}, [drop.id])
        await sam.say("/list", "You don't have any payment links yet")
        assert (len(sam.alerts), server.asked("POST")) == (2, 1)
        assert run.rows("SELECT COUNT(*) FROM payment_requests") == [(0,)]


async def test_a_webhook_has_one_alert_and_a_forged_one_none(tmp_path: Path) -> None:
    async with playing(tmp_path) as (server, _, run, sam):
        await sam.card("/drop 5 2.50 USD Sticker", "Sticker")
        drop = server.only
        await alerted(sam, server, drop.id)
        paid = server.hook(drop.paid[0])
        forged = paid | {"transactionId": "forged"}
        assert [await server.send(drop.id, paid) for _ in range(3)] == [200] * 3
        for secret in ("", "wrong", None, 5, [SECRET], SECRET[:-1], f"{SECRET} "):
            assert await server.send(drop.id, forged | {"appSecret": secret}) == 401
        del forged["appSecret"]
        assert await server.send(drop.id, forged) == 401
        hook = drop.body["notifications"]["webhook"]
        assert hook.keys() == {"webhookUrl", "customParameters"}  # events are our own addition
        address = hook["webhookUrl"]
        async with patient_client() as http:
            wrong = f"{address.rpartition('/')[0]}/{NEVER}"
            assert (await http.post(wrong, json=paid)).status_code == 404
        other = paid | {"transactionId": "t2", "paymentRequestId": "0" * 24}
        assert await server.send(drop.id, other) == 400
        await quiet(sam)
        assert [lines_of(alert)[-2:] for alert in sam.alerts] == [
            ["4 of 5 left", f"🧾 {paid['transactionId']}"]
        ]
        assert run.rows("SELECT COUNT(*) FROM received_payments") == [(1,)]


async def test_a_name_too_long_for_the_server_is_corrected_at_its_step(tmp_path: Path) -> None:
    async with playing(tmp_path) as (server, _, __, sam):
        asked = await sam.say(f"/drop 3 2 USD {'S' * 26}", "less than or equal to 25 characters")
        assert "What's it called" in asked.text
        assert server.made == {}
        review = await sam.say("S" * 25, "Does everything look right")
        card = await sam.press(review, "Create", "3 of 3 left")
        assert (link_of(card), server.only.body["product"]["name"]) == (
            f"{server.url}/pay/{server.only.id}",
            "S" * 25,
        )
        assert (await sam.say("/list", "Your payment links")).text.count("S" * 20) == 0
        assert len(server.made) == 1


async def test_a_request_is_edited_and_units_are_removed(tmp_path: Path) -> None:
    """It takes short names only, has no call for one request, and leaves its total as it was."""
    async with playing(tmp_path) as (server, stage, _, sam):
        card = await sam.card("/drop 10 2.50 USD Sticker", "Sticker")
        drop = server.only
        await alerted(sam, server, drop.id)
        await sam.edit(card)
        await sam.press(card, "Name", "What's it called")
        await sam.say("S" * 26, "less than or equal to 25 characters")
        await sam.say("Pack", "Name updated: Pack")
        assert drop.body["product"]["name"] == "Pack"
        await stage.world.wait_for(lambda: "Pack" in card.text, PATIENCE)
        await sam.edit(card)
        await sam.press(card, "Remove items", "How many items")
        await sam.say("2", "2 items removed")
        await stage.world.wait_for(lambda: "7 of 8 left" in card.text, PATIENCE)
        assert (drop.remaining, server.asked("PUT")) == (7, 3)
        assert "6 of 8 left" in await alerted(sam, server, drop.id)
        await stage.world.wait_for(lambda: "6 of 8 left" in card.text, PATIENCE)
        assert stage.world.refused == []


async def test_an_outage_of_the_server_loses_and_doubles_nothing(tmp_path: Path) -> None:
    """Down: said once and waited for. A lost answer: found again. Payments meanwhile: all told."""
    port = int(free_port())
    async with sandbox_telegram(tmp_path) as stage:
        settings = {"PAYMENTS_URL": f"http://127.0.0.1:{port}", "INSTRUMENT_CURRENCY": "BSV"}
        settings |= {"APP_ID": "handcash-app", "APP_SECRET": SECRET}
        async with stage.run(**settings) as run:
            await run.ready()
            sam = await seller_with_destination(stage.world)
            await sam.say("/donation 5 USD Coffee", "The payment service isn't responding.")
            async with handcash(app_secret=SECRET, port=port) as server:
                coffee = await sam.first_card()
                assert link_of(coffee) == f"{server.url}/pay/{server.only.id}"
                server.fail("POST", LOST)
                await sam.say("/donation 7 USD Cake", "The payment service isn't responding.")
                await stage.world.wait_for(lambda: len(sam.cards) == 2, PATIENCE)
                assert (len(server.made), server.asked("POST")) == (2, 2)
                for made in tuple(server.made.values()):
                    await alerted(sam, server, made.id)
            silent = await sam.press(coffee, "Pause", "so nothing was done")
            assert silent.text.startswith("The payment service is unavailable")
            assert [lines_of(alert)[0] for alert in sam.alerts] == [
                "💰 $5.00 received for Coffee",
                "💰 $7.00 received for Cake",
            ]


async def test_a_bot_killed_in_the_middle_continues(tmp_path: Path) -> None:
    """Killed while a create is under way and while payments come: one request, each told once."""
    async with handcash(app_secret=SECRET) as server, sandbox_telegram(tmp_path) as stage:
        port = free_port()
        settings = keys(server) | {"PORT": port}
        async with stage.run(**settings) as run:
            await run.ready()
            sam = await seller_with_destination(stage.world)
            server.fail("POST", SLOW)
            sam.person.send("/drop 4 2.50 USD Mug")
            await server.until(lambda: server.asked("POST"), PATIENCE)
            await run.kill()
        server.release()
        await server.until(lambda: server.made)
        mug = server.only
        async with stage.run(**settings) as run:
            await run.ready()
            card = await sam.first_card()
            assert link_of(card) == f"{server.url}/pay/{mug.id}"
            assert await alerted(sam, server, mug.id, PAYER)
            await quiet(sam)
            await run.kill()
        meanwhile = [await server.pay(mug.id) for _ in range(2)]
        await server.until(lambda: any(sent.status == 0 for sent in server.sent), PATIENCE)
        async with stage.run(**settings) as run:
            await run.ready()
            for transaction in meanwhile:
                await server.delivered(transaction, PATIENCE)
            await stage.world.wait_for(lambda: len(sam.alerts) == 3, PATIENCE)
            await sam.refresh(card, "1 of 4 left")
            await quiet(sam)
            left = [line for alert in sam.alerts for line in lines_of(alert) if "of 4" in line]
            assert left == ["3 of 4 left", "2 of 4 left", "1 of 4 left"]
            assert (len(server.made), server.asked("POST")) == (1, 1)
            assert run.rows("SELECT COUNT(*) FROM received_payments") == [(3,)]
