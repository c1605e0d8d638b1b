"""The product on servers with other dialects: the seller's price, or a text."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from bot.core.text.translations import t
from tests.support.free_ports import free_port
from tests.support.handcash_server import HandCash, handcash
from tests.support.handcash_settings import SECRET, keys
from tests.support.product_process import PATIENCE, sandbox_telegram
from tests.support.sellers_and_payers import Seller, lines_of, link_of, seller_with_destination
from tests.support.server_failures import SILENT

CORRECTED = "currency"


@asynccontextmanager
async def selling(folder: Path, server: HandCash) -> AsyncIterator[Seller]:
    async with sandbox_telegram(folder) as stage, stage.run(**keys(server)) as run:
        await run.ready()
        yield await seller_with_destination(stage.world)


async def is_sold_for(server: HandCash, sam: Seller, words: str) -> None:
    """Check that the server's only request costs five dollars and the card links to it."""
    card = await sam.first_card()
    assert words in card.text
    assert link_of(card) == f"{server.url}/pay/{server.only.id}"
    assert server.only.price_in == "USD"
    await server.delivered(await server.pay(server.only.id), PATIENCE)
    await sam.world.wait_for(lambda: sam.alerts, PATIENCE)
    assert lines_of(sam.alerts[0])[0] == "💰 $5.00 received for Coffee"


async def test_a_server_that_ignores_a_dialect_sells_at_the_sellers_price(tmp_path: Path) -> None:
    """It took the price for 5 BSV once: that request is gone, and a restart remembers."""
    async with handcash(app_secret=SECRET) as server, sandbox_telegram(tmp_path) as stage:
        server.understands = CORRECTED
        settings = keys(server) | {"PORT": free_port()}
        async with stage.run(**settings) as run:
            await run.ready()
            sam = await seller_with_destination(stage.world)
            sam.person.send("/donation 5 USD Coffee")
            await is_sold_for(server, sam, "$5.00")
            assert [made.price_in for made in server.deleted.values()] == ["BSV"]
            assert len(sam.cards) == 1
        async with stage.run(**settings) as run:
            await run.ready()
            await sam.card("/drop 3 2 USD Mug", "Mug")
            assert [made.price_in for made in server.made.values()] == ["USD", "USD"]
            assert (server.asked("POST"), len(server.deleted)) == (3, 1)


async def test_a_server_that_refuses_a_dialect_sells_at_the_sellers_price(tmp_path: Path) -> None:
    async with handcash(app_secret=SECRET) as server:
        server.refused = frozenset({CORRECTED})
        async with selling(tmp_path, server) as sam:
            sam.person.send("/donation 5 USD Coffee")
            await is_sold_for(server, sam, "$5.00")
            assert (server.asked("POST"), server.deleted) == (1, {})
    async with handcash(app_secret=SECRET) as server:
        server.understands = CORRECTED
        server.refused = frozenset({"denominationCurrencyCode"})
        (tmp_path / "other").mkdir()
        async with selling(tmp_path / "other", server) as sam:
            sam.person.send("/donation 5 USD Coffee")
            await is_sold_for(server, sam, "$5.00")
            assert (server.asked("POST"), server.deleted) == (2, {})


async def test_if_every_dialect_fails_the_seller_gets_the_reason_and_no_card(
    tmp_path: Path,
) -> None:
    async with handcash(app_secret=SECRET) as server:
        server.understands = "nothing"
        async with selling(tmp_path, server) as sam:
            words = await sam.say(
                "/donation 5 USD Coffee", "would charge 5.00 BSV instead of $5.00"
            )
            assert "I deleted it there" in words.text
            assert (server.made, sam.cards) == ({}, [])
            await sam.say("/list", "You don't have any payment links yet")


async def test_the_seller_is_warned_once_of_a_server_that_sends_no_price(tmp_path: Path) -> None:
    """It writes "" for an end that there is none of, too."""
    async with handcash(app_secret=SECRET) as server:
        server.tells_prices, server.blank = False, True
        async with selling(tmp_path, server) as sam:
            await sam.say("/donation 5 USD Coffee", "I couldn't check your price")
            await is_sold_for(server, sam, "$5.00")
            card = await sam.card("/drop 3 2 USD Mug", "Mug")
            await sam.press(card, "Pause", "Paused")
            await sam.say("/help", "In one line")
            said = [message.text for message in sam.person.chat.from_bot()]
            assert said.count(t("en", "service-price-unchecked")) == 1


async def test_a_bot_killed_before_it_compares_the_price_leaves_no_wrong_price(
    tmp_path: Path,
) -> None:
    async with handcash(app_secret=SECRET) as server, sandbox_telegram(tmp_path) as stage:
        server.understands = CORRECTED
        settings = keys(server) | {"PORT": free_port()}
        async with stage.run(**settings) as run:
            await run.ready()
            sam = await seller_with_destination(stage.world)
            server.fail("POST", SILENT)
            sam.person.send("/donation 5 USD Coffee")
            await server.until(lambda: server.made, PATIENCE)
            await run.kill()
        server.release()
        assert server.only.price_in == "BSV"
        async with stage.run(**settings) as run:
            await run.ready()
            await is_sold_for(server, sam, "$5.00")
            assert [made.price_in for made in server.deleted.values()] == ["BSV"]
