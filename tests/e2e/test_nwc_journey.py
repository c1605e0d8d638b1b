"""Wallets over Nostr, from a connection string to the receipt, over a real relay.

The service is a process; the wallet is another implementation. Whatever the service logs, at
debug, is searched for the connection's secret when it has ended.
"""

from __future__ import annotations

import html
import re
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from tests.support.nwc_wallet import PAY, LocalRelay, NwcWallet
from tests.support.product_process import PATIENCE, patient_client, running_product, until
from tests.support.rail_shop import OWNER, PRICE, RailShop, open_rail_shop
from tests.support.sellers_and_payers import lines_of, link_of, pay, seller

if TYPE_CHECKING:
    import httpx


SETTINGS = {"RAILS": "nwc", "RAIL_ALLOW": "127.0.0.1", "RATES_URLS": "table"}


async def connect(service: RailShop, wallet: NwcWallet) -> httpx.Response:
    return await service.connect("nwc", connection=wallet.connection)


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


@asynccontextmanager
async def open_shop(folder: Path) -> AsyncIterator[tuple[RailShop, LocalRelay, NwcWallet]]:
    async with (
        LocalRelay() as relay,
        NwcWallet(relay.url) as wallet,
        open_rail_shop(folder, RAILS="nwc") as service,
    ):
        service.run.secrets.add(wallet.secret)
        yield service, relay, wallet
        assert wallet.secret.encode() not in service.run.database.read_bytes()


async def test_a_wallet_is_paid_once_late_and_again(tmp_path: Path) -> None:
    async with open_shop(tmp_path) as (service, _, wallet):
        account = await connect(service, wallet)
        assert (account.status_code, account.json()["automatic"]) == (200, True)
        assert account.json()["currency"] == "SAT"
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
        assert unopened["payWith"] is None
        listed = await service.payments(path)
        by = [payment["paidBy"] for payment in listed]
        assert [(one["kind"], one["amount"]) for one in by] == [("nwc", PRICE)] * 2
        assert {one["reference"] for one in by} == {paid, late}
        assert service.units(path) == (1, 0)
        shown = [account.text, repr(listed), end.text]
        assert not [text for text in shown if wallet.secret in text]


async def test_a_payment_is_found_after_the_relay_was_away(tmp_path: Path) -> None:
    async with open_shop(tmp_path) as (service, relay, wallet):
        assert (await connect(service, wallet)).status_code == 200
        page = await service.open(await service.create())
        paid = await hash_on(service, wallet, page)
        await relay.stop()
        wallet.settle(paid)
        await service.run.line("no relay takes the request")
        assert (await service.checkout(page))["state"] == "open"
        await relay.start()
        await wallet.connect()
        await service.reach(page, "paid")


async def test_keys_that_spend_or_are_revoked_cost_a_seller_nothing(tmp_path: Path) -> None:
    async with open_shop(tmp_path) as (service, relay, wallet):
        async with NwcWallet(relay.url, methods=PAY) as spender:
            service.run.secrets.add(spender.secret)
            refused = await connect(service, spender)
        (problem,) = refused.json()["info"]
        assert (refused.status_code, problem["field"]) == (400, "details.connection")
        assert re.search(r"can also spend \(pay_invoice\)", problem["message"])
        listed = await service.seller.get("/v3/payoutAccounts", params={"owner": OWNER})
        assert listed.json()["items"] == []

        assert (await connect(service, wallet)).status_code == 200
        path = await service.create()
        wallet.silent.add("*")
        page = await service.open(path)
        await service.reach(page, "failed")
        assert service.units(path) == (5, 0)
        shown = html.unescape((await service.payer.get(page)).text)
        assert "You haven't been charged." in shown


async def test_a_seller_connects_a_wallet_by_chat_and_hears_of_its_money(tmp_path: Path) -> None:
    async with AsyncExitStack() as stack:
        relay = await stack.enter_async_context(LocalRelay())
        wallet = await stack.enter_async_context(NwcWallet(relay.url))
        spender = await stack.enter_async_context(NwcWallet(relay.url, methods=PAY))
        stage, run = await stack.enter_async_context(running_product(tmp_path, **SETTINGS))
        run.secrets.update({wallet.secret, spender.secret})
        sam = seller(stage.world)

        page = await sam.say("/getpaid", "What you can connect")
        await sam.press(page, "Wallet connection", "What's your connection string?")
        refused = "This connection can also spend your money, so I won't use it."
        await sam.say(spender.connection, refused)
        found = await sam.say(wallet.connection, "This works. Should I save it?")
        await sam.press(found, "Save", "From now on, payers can pay you here")
        shown = sam.person.chat
        await stage.world.wait_for(
            lambda: not any("&secret=" in message.text for message in shown.visible), PATIENCE
        )

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
