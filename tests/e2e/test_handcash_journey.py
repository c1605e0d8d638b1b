"""The whole journey on HandCash's dialect: made, paid, alerted, sold out, stopped, deleted."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import pytest
import pytest_asyncio

from tests.support.form_questions import question_of
from tests.support.free_ports import free_port
from tests.support.handcash_server import SECRET, HandCash, Made, handcash, keys
from tests.support.http_peers import LOST, SLOW
from tests.support.product_process import (
    PATIENCE,
    Process,
    ProductSetup,
    patient_client,
    sandbox_telegram,
    until,
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

SHARED_LOOP = pytest.mark.asyncio(loop_scope="module")
PAYER = {"paymail": "pat@<i>hand</i>cash.io", "email": "pat@example.org"}
ONLY_HERE = {"Goal", "What buyers get", "Items per purchase", "Thank-you message"}
"""Options of requests of the embedded service."""


@dataclass
class Shop:
    """The product on a server with HandCash's dialect."""

    server: HandCash
    stage: ProductSetup
    run: Process

    @property
    def newest(self) -> Made:
        """Return the request that was made last."""
        return [*self.server.made.values()][-1]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shop(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Shop]:
    async with (
        handcash(app_secret=SECRET) as server,
        sandbox_telegram(tmp_path_factory.mktemp("shop")) as stage,
        stage.run(**keys(server)) as run,
    ):
        yield Shop(server, stage, await run.ready())


async def alerted(sam: Seller, server: HandCash, request_id: str, data: Any = None) -> list[str]:
    """Pay a card and return the lines of the alert, without the transaction number."""
    before = len(sam.alerts)
    await server.delivered(await server.pay(request_id, data), PATIENCE)
    await sam.world.wait_for(lambda: len(sam.alerts) > before, PATIENCE)
    return unnumbered(sam.alerts[before])


async def quiet(sam: Seller) -> None:
    """Wait until every message is sent."""
    await sam.say("/help", "In one line")


@SHARED_LOOP
async def test_a_donation_and_a_one_off_are_made_paid_and_alerted(shop: Shop) -> None:
    """The amount is the link's, for HandCash names none; the payer's data is shown as it is.

    A webhook that comes again has no second alert, and a forged one none.
    """
    server, sam = shop.server, await seller_with_destination(shop.stage.world)
    card = await sam.card("/donation 5 USD Coffee for the team", "Coffee for the team")
    coffee = shop.newest
    assert link_of(card) == f"{server.url}/pay/{coffee.id}" == decoded(sam.world, card)
    assert coffee.body["instrumentCurrencyCode"] == "BSV"
    assert coffee.body["denominationCurrencyCode"] == "USD"
    hook = coffee.body["notifications"]["webhook"]
    assert hook.keys() == {"webhookUrl", "customParameters"}  # events are our own addition
    assert await alerted(sam, server, coffee.id, PAYER) == [
        "💰 $5.00 received for Coffee for the team",
        "Paymail: pat@<i>hand</i>cash.io",
        "Email: pat@example.org",
    ]
    paid = server.hook(coffee.paid[0])
    assert await server.send(coffee.id, paid) == 200
    forged = paid | {"transactionId": "forged", "appSecret": f"{SECRET} "}
    assert await server.send(coffee.id, forged) == 401
    await quiet(sam)
    assert len(sam.alerts) == 1
    await sam.card('/oneoff 120 EUR Painting "Dawn"', "Painting")
    assert await alerted(sam, server, shop.newest.id) == [
        '💰 €120.00 received for Painting "Dawn"',
        "✅ Paid and closed",
    ]
    listed = await sam.say("/list", "Your payment links")
    assert labels(listed)[:2] == [
        '✅ Painting "Dawn" · €120.00',
        "🟢 Coffee for the team · $5.00",
    ]
    assert sam.world.refused == []


@SHARED_LOOP
async def test_a_guided_drop_is_sold_out_stopped_resumed_and_deleted(shop: Shop) -> None:
    """Nothing is offered that only the embedded service does."""
    server, sam = shop.server, await seller_with_destination(shop.stage.world)
    created = server.asked("POST")
    kind = await sam.say("/new", question_of("ask-kind"))
    await sam.press(kind, "Limited drop", question_of("ask-name"))
    await sam.say("Sticker pack", question_of("ask-amount-drop"))
    await sam.say("2.50 USD", question_of("ask-units"))
    review = await sam.say("2", question_of("review"))
    options = await sam.press(review, "More options", question_of("ask-options"))
    assert ONLY_HERE.isdisjoint(labels(options))
    review = await sam.press(options, "Done", question_of("review"))
    card = await sam.press(review, "Create", "2 of 2 left")
    drop = shop.newest
    assert decoded(sam.world, card) == link_of(card) == f"{server.url}/pay/{drop.id}"
    assert (await alerted(sam, server, drop.id, PAYER))[-1] == "1 of 2 left"
    await sam.refresh(card, "1 of 2 left")
    await sam.press(card, "Pause", "Paused")
    assert drop.expires_at is not None
    await sam.press(card, "Resume", "1 of 2 left")
    assert await alerted(sam, server, drop.id) == [
        "💰 $2.50 received for Sticker pack",
        "🏁 SOLD OUT: that was the last one.",
        "Total: $5.00 from 2 payments",
    ]
    await sam.refresh(card, "SOLD OUT: all 2 sold")
    question = await sam.press(card, "Delete", "Delete “Sticker pack”?")
    await sam.press(question, "Yes, delete it", "Sticker pack has been deleted")
    assert (await open_pay_page(f"{server.url}/pay/{drop.id}")).status_code == 404
    assert drop.id in server.deleted
    await sam.say("/list", "You don't have any payment links yet")
    assert (len(sam.alerts), server.asked("POST") - created) == (2, 1)
    assert shop.run.rows("SELECT COUNT(*) FROM payment_requests") == [(0,)]


@SHARED_LOOP
async def test_a_request_is_edited_and_units_are_removed(shop: Shop) -> None:
    """It takes short names only, has no call for one request, and leaves its total as it was."""
    server, sam = shop.server, await seller_with_destination(shop.stage.world)
    card = await sam.card("/drop 10 2.50 USD Sticker", "Sticker")
    drop, edited = shop.newest, server.asked("PUT")
    await alerted(sam, server, drop.id)
    await sam.edit(card)
    await sam.press(card, "Name", question_of("ask-name"))
    await sam.say("S" * 26, "less than or equal to 25 characters")
    await sam.say("Pack", "Name updated: Pack")
    assert drop.body["product"]["name"] == "Pack"
    await sam.world.wait_for(lambda: "Pack" in card.text, PATIENCE)
    await sam.edit(card)
    await sam.press(card, "Remove items", question_of("ask-units-out"))
    await sam.say("2", "2 items removed")
    await sam.world.wait_for(lambda: "7 of 8 left" in card.text, PATIENCE)
    assert (drop.remaining, server.asked("PUT") - edited) == (7, 3)
    assert "6 of 8 left" in await alerted(sam, server, drop.id)
    await sam.world.wait_for(lambda: "6 of 8 left" in card.text, PATIENCE)
    assert sam.world.refused == []


async def test_an_outage_of_the_server_loses_and_doubles_nothing(stage: ProductSetup) -> None:
    """Down: said once, in /readyz too, and waited for. A lost answer: found again.

    Payments meanwhile: all told.
    """
    port = int(free_port())
    settings = {"PAYMENTS_URL": f"http://127.0.0.1:{port}", "INSTRUMENT_CURRENCY": "BSV"}
    settings |= {"APP_ID": "handcash-app", "APP_SECRET": SECRET}
    async with stage.started(**settings) as run:
        sam = await seller_with_destination(stage.world)
        await sam.say("/donation 5 USD Coffee", "The payment service isn't responding.")

        async def is_noticed() -> bool:
            async with patient_client(run.url) as http:
                told = (await http.get("/readyz")).json()
            return (told["status"], told["checks"]["payments"]) == ("degraded", "NotReached")

        await until(is_noticed)
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


async def test_a_bot_killed_in_the_middle_continues(stage: ProductSetup) -> None:
    """Killed while a create is under way and while payments come: one request, each told once."""
    async with handcash(app_secret=SECRET) as server:
        settings = keys(server) | {"PORT": free_port()}
        async with stage.started(**settings) as run:
            sam = await seller_with_destination(stage.world)
            server.fail("POST", SLOW)
            sam.person.send("/drop 4 2.50 USD Mug")
            await server.until(lambda: server.asked("POST"), PATIENCE)
            await run.kill()
        server.release()
        await server.until(lambda: server.made)
        mug = server.only
        async with stage.started(**settings) as run:
            card = await sam.first_card()
            assert link_of(card) == f"{server.url}/pay/{mug.id}"
            assert await alerted(sam, server, mug.id, PAYER)
            await quiet(sam)
            await run.kill()
        meanwhile = [await server.pay(mug.id) for _ in range(2)]
        await server.until(lambda: any(sent.status == 0 for sent in server.sent), PATIENCE)
        async with stage.started(**settings) as run:
            for transaction in meanwhile:
                await server.delivered(transaction, PATIENCE)
            await stage.world.wait_for(lambda: len(sam.alerts) == 3, PATIENCE)
            await sam.refresh(card, "1 of 4 left")
            await quiet(sam)
            left = [line for alert in sam.alerts for line in lines_of(alert) if "of 4" in line]
            assert left == ["3 of 4 left", "2 of 4 left", "1 of 4 left"]
            assert (len(server.made), server.asked("POST")) == (1, 1)
            assert run.rows("SELECT COUNT(*) FROM received_payments") == [(3,)]


async def test_a_server_that_ignores_a_dialect_sells_at_the_sellers_price(
    stage: ProductSetup,
) -> None:
    """It took the price for 5 BSV once: that request is gone, and a restart remembers."""
    async with handcash(app_secret=SECRET) as server:
        server.understands = "currency"
        settings = keys(server) | {"PORT": free_port()}
        async with stage.started(**settings):
            sam = await seller_with_destination(stage.world)
            card = await sam.card("/donation 5 USD Coffee", "Coffee")
            assert "$5.00" in card.text
            assert link_of(card) == f"{server.url}/pay/{server.only.id}"
            assert [made.price_in for made in server.deleted.values()] == ["BSV"]
            assert await alerted(sam, server, server.only.id) == ["💰 $5.00 received for Coffee"]
            assert len(sam.cards) == 1
        async with stage.started(**settings):
            await sam.card("/drop 3 2 USD Mug", "Mug")
            assert [made.price_in for made in server.made.values()] == ["USD", "USD"]
            assert (server.asked("POST"), len(server.deleted)) == (3, 1)
