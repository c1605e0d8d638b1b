"""Wallets over Nostr, from a connection string to the receipt, over a real relay.

The wallet is another implementation. Whatever the product logs, at debug, is searched for the
connection's secret when it has ended.
"""

from __future__ import annotations

import html
import re
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING
from urllib.parse import urljoin

import pytest
import pytest_asyncio

from tests.support.form_questions import question_of
from tests.support.free_ports import free_port
from tests.support.nwc_wallet import PAY, LocalRelay, NwcWallet
from tests.support.product_process import PATIENCE, ProductSetup, patient_client, until
from tests.support.rail_shop import OWNER, PRICE, REAL_RAILS, RailShop, open_rail_shop
from tests.support.sellers_and_payers import (
    Seller,
    has_button,
    labels,
    lines_of,
    link_of,
    pay,
    seller,
)

if TYPE_CHECKING:
    from bot.sandbox.world.model import Message
    from bot.sandbox.world.world import World


SHARED_LOOP = pytest.mark.asyncio(loop_scope="module")
ACCEPT = "✅ Accept as paid"
SOLD = "💰 $5.00 received for Painting"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def relay() -> AsyncIterator[LocalRelay]:
    async with LocalRelay() as it:
        yield it


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def wallet(relay: LocalRelay) -> AsyncIterator[NwcWallet]:
    async with NwcWallet(relay.url) as it:
        yield it


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def service(
    wallet: NwcWallet, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[RailShop]:
    """Start the service with a seller who has connected that wallet."""
    async with open_rail_shop(tmp_path_factory.mktemp("service"), RAILS="nwc") as it:
        it.run.secrets.add(wallet.secret)
        account = await it.connect("nwc", connection=wallet.connection)
        assert (account.status_code, account.json()["automatic"]) == (200, True)
        assert account.json()["currency"] == "SAT"
        assert wallet.secret not in account.text
        yield it
        assert wallet.secret.encode() not in it.run.database.read_bytes()


async def hash_on(service: RailShop, wallet: NwcWallet, page: str) -> str:
    """Return the payment hash of the invoice that a checkout's page shows."""
    shown = await service.shown_invoice(page)
    return next(hash_ for hash_, one in wallet.invoices.items() if one["invoice"] == shown)


async def invoice_of(wallet: NwcWallet, *known: str) -> str:
    """Wait until the wallet has one more invoice; its payment hash."""

    async def is_made() -> bool:
        return len(wallet.invoices) > len(known)

    await until(is_made)
    (found,) = wallet.invoices.keys() - known
    return found


@SHARED_LOOP
async def test_a_wallet_is_paid_once_late_and_again(service: RailShop, wallet: NwcWallet) -> None:
    """An invoice that was paid before is not shown to another payer."""
    path = await service.create(units=3)
    page = await service.open(path)
    paid = await hash_on(service, wallet, page)
    wallet.settle(paid)
    assert (await service.reach(page, "paid"))["amount"] == PRICE
    end = await service.payer.get(page, follow_redirects=True)
    assert "Thank you! Your payment went through." in end.text

    page = await service.open(path)
    late = await hash_on(service, wallet, page)
    cancelled = await service.payer.post(page, data={"action": "cancel"})
    assert cancelled.status_code == 303
    await service.reach(page, "cancelled")
    wallet.settle(late)
    await service.reach(page, "late")

    wallet.false_answers["make_invoice"] = lambda _: wallet.invoices[paid]
    unopened = await service.reach(await service.open(path), "failed")
    del wallet.false_answers["make_invoice"]
    assert unopened["payWith"] is None
    listed = await service.payments(path)
    by = [payment["paidBy"] for payment in listed]
    assert [(one["kind"], one["amount"]) for one in by] == [("nwc", PRICE)] * 2
    assert {one["reference"] for one in by} == {paid, late}
    assert service.units(path) == (1, 0)
    assert not [text for text in (repr(listed), end.text) if wallet.secret in text]


@SHARED_LOOP
async def test_a_payment_is_found_after_the_relay_was_away(
    service: RailShop, relay: LocalRelay, wallet: NwcWallet
) -> None:
    page = await service.open(await service.create())
    paid = await hash_on(service, wallet, page)
    await relay.stop()
    wallet.settle(paid)
    await service.run.line("no relay takes the request")
    assert (await service.checkout(page))["state"] == "open"
    await relay.start()
    await wallet.connect()
    await service.reach(page, "paid")


@SHARED_LOOP
async def test_keys_that_spend_or_are_revoked_cost_a_seller_nothing(
    service: RailShop, relay: LocalRelay, wallet: NwcWallet
) -> None:
    """A refused key leaves the account as it was."""
    owner = {"owner": OWNER}
    before = (await service.seller.get("/v3/payoutAccounts", params=owner)).json()["items"]
    async with NwcWallet(relay.url, methods=PAY) as spender:
        service.run.secrets.add(spender.secret)
        refused = await service.connect("nwc", connection=spender.connection)
    (problem,) = refused.json()["info"]
    assert (refused.status_code, problem["field"]) == (400, "details.connection")
    assert re.search(r"can also spend \(pay_invoice\)", problem["message"])
    listed = await service.seller.get("/v3/payoutAccounts", params=owner)
    assert listed.json()["items"] == before

    path = await service.create()
    wallet.silent.add("*")
    page = await service.open(path)
    await service.reach(page, "failed")
    assert service.units(path) == (5, 0)
    shown = html.unescape((await service.payer.get(page)).text)
    assert "You haven't been charged." in shown


async def connected(world: World, wallet: NwcWallet, *refused: NwcWallet) -> Seller:
    """Add a seller who connects this wallet by chat, after others that the bot refuses."""
    sam = seller(world)
    page = await sam.say("/getpaid", "What you can connect")
    await sam.press(page, "Wallet connection", question_of("payout-ask-nwc-connection"))
    for one in refused:
        words = "This connection can also spend your money, so I won't use it."
        await sam.say(one.connection, words)
    found = await sam.say(wallet.connection, question_of("payout-found"))
    await sam.press(found, "Save", "From now on, payers can pay you here")
    await world.wait_for(
        lambda: not any("&secret=" in message.text for message in sam.person.chat.visible), PATIENCE
    )
    return sam


async def test_a_seller_connects_a_wallet_by_chat_and_hears_of_its_money(
    stage: ProductSetup,
) -> None:
    async with (
        LocalRelay() as relay,
        NwcWallet(relay.url) as wallet,
        NwcWallet(relay.url, methods=PAY) as spender,
        stage.run(RAILS="nwc", **REAL_RAILS) as run,
    ):
        run.secrets.update({wallet.secret, spender.secret})
        await run.ready()
        sam = await connected(stage.world, wallet, spender)
        link = link_of(await sam.card("/drop 3 5 EUR Lemonade", "Lemonade"))
        first = await pay(link)
        paid = await invoice_of(wallet)
        wallet.settle(paid)
        await stage.world.wait_for(lambda: sam.alerts, PATIENCE)
        assert "Paid by Lightning" in lines_of(sam.alerts[0])
        async with patient_client(run.url) as payer:
            receipt = await payer.get(first.headers["location"], follow_redirects=True)
            assert "Thank you! Your payment went through." in receipt.text

            checkout = (await pay(link)).headers["location"]
            late = await invoice_of(wallet, paid)
            await payer.post(checkout, data={"action": "cancel"})
            wallet.settle(late)
            await stage.world.wait_for(lambda: len(sam.alerts) > 1, PATIENCE)
            end = await payer.get(checkout, follow_redirects=True)
        assert "1 of 3 left" in lines_of(sam.alerts[1])
        assert "Thank you! Your payment went through." in end.text


async def alert_with(sam: Seller, button: str) -> Message:
    """Wait for a message with this button."""

    def look() -> Message | None:
        return next((one for one in sam.said if has_button(one, button)), None)

    alert = await sam.world.wait_for(look, PATIENCE)
    assert alert is not None
    return alert


async def sees(page: str, words: str) -> None:
    """Wait until the payer's page has these words."""

    async def look() -> bool:
        async with patient_client() as payer:
            answer = await payer.get(page, follow_redirects=True)
        return words in html.unescape(answer.text)

    await until(look)


async def test_underpaid_money_is_accepted_by_its_seller_over_a_kill(stage: ProductSetup) -> None:
    """The process dies right after the press: the drop is sold, and the books count it once."""
    settings = {"RAILS": "nwc", "PORT": free_port(), **REAL_RAILS}
    async with LocalRelay() as relay, NwcWallet(relay.url) as wallet:
        wallet.false_answers["lookup_invoice"] = lambda found: (
            found | {"amount": found["amount"] // 2}
        )
        async with stage.run(**settings) as run:
            run.secrets.add(wallet.secret)
            await run.ready()
            sam = await connected(stage.world, wallet)
            link = link_of(await sam.card("/drop 1 5 USD Painting", "Painting"))
            answer = await pay(link)
            wallet.settle(await invoice_of(wallet))
            alert = await alert_with(sam, ACCEPT)
            page = urljoin(link, answer.headers["location"])
            await sees(page, "who can refund you or accept what you've paid")
            assert labels(alert)[:2] == [ACCEPT, "🧾 Details"]
            listed = await sam.say("/payments", "Latest payments")
            assert "Tap 🧾 1 to accept it as paid" in listed.text
            sam.person.press(alert, ACCEPT)

            async def is_stored() -> bool:
                return run.rows("SELECT state FROM claims") != [("underpaid",)]

            await until(is_stored)
            await run.kill()
        async with stage.run(**settings) as run:
            run.secrets.add(wallet.secret)
            await run.ready()
            await stage.world.wait_for(lambda: SOLD in alert.text, PATIENCE)
            assert "less than the price arrived." in alert.text
            assert ACCEPT not in labels(alert)
            assert run.rows("SELECT state FROM claims") == [("paid",)]
            assert run.rows("SELECT COUNT(*) FROM payments") == [(1,)]
            assert run.rows("SELECT underpaid, amount FROM received_payments") == [(0, 500)]
            await sees(page, "Thank you! Your payment went through.")
            facts = await sam.press(listed, "🧾 1", "Painting")
            assert "Underpaid" not in facts.text
