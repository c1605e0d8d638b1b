"""Wallets over Nostr, from a connection string to the receipt, over a real relay.

The service is a process; the relay and the wallet are nostr-sdk's. Whatever the service logs, at
debug, is searched for the connection's secret when it has ended.
"""

from __future__ import annotations

import html
import re
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tests.support.nwc_wallet import PAY, LocalRelay, NwcWallet
from tests.support.product_process import (
    PATIENCE,
    foreign_service,
    patient_client,
    running_product,
    until,
)
from tests.support.sellers_and_payers import lines_of, link_of, pay, seller
from tests.support.service_harness import form_token

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    import httpx

    from tests.support.product_process import Process

PRICE = 21
OWNER = "sam"
SETTINGS = {"RAILS": "nwc", "RAIL_ALLOW": "127.0.0.1", "RATES_URLS": "table"}


@dataclass
class Shop:
    """A service that sells for wallets, with an application's client and a payer's."""

    run: Process
    relay: LocalRelay
    wallet: NwcWallet
    seller: httpx.AsyncClient
    payer: httpx.AsyncClient

    async def connect(self, wallet: NwcWallet) -> httpx.Response:
        body = {"owner": OWNER, "kind": "nwc", "details": {"connection": wallet.connection}}
        return await self.seller.post("/v3/payoutAccounts", json=body)

    async def create(self, units: int = 5) -> str:
        """Create a drop; its page's path."""
        body = {
            "product": {"name": "Lemonade"},
            "instrumentCurrencyCode": "SAT",
            "receivers": [{"sendAmount": PRICE, "destination": f"account:{OWNER}"}],
            "expirationType": "limit",
            "totalUnits": units,
        }
        answer = await self.seller.post("/v3/paymentRequests", json=body)
        assert answer.status_code == 200, answer.text
        return f"/pay/{answer.json()['id']}"

    async def open(self, path: str) -> str:
        """Press Pay as a new payer; the path of the checkout's page."""
        async with patient_client(self.run.url) as payer:
            token = form_token((await payer.get(path)).text)
            answer = await payer.post(path, data={"token": token})
            again = await payer.post(path, data={"token": token})
        assert answer.status_code == 303, answer.text
        assert again.headers["location"] == answer.headers["location"]
        return str(answer.headers["location"])

    async def checkout(self, page: str) -> dict[str, Any]:
        answer = await self.seller.get(f"/v3/checkouts/{page.rpartition('/')[2]}")
        assert answer.status_code == 200, answer.text
        found: dict[str, Any] = answer.json()
        return found

    async def reach(self, page: str, state: str) -> dict[str, Any]:
        """Wait until the checkout is in a state."""
        found: list[dict[str, Any]] = []

        async def is_there() -> bool:
            found.append(await self.checkout(page))
            return bool(found[-1]["state"] == state)

        await until(is_there, 40)
        return found[-1]

    async def invoice(self, page: str) -> str:
        """Wait for the invoice that the page shows; its payment hash."""
        opened = await self.reach(page, "open")
        shown = (await self.payer.get(page)).text
        invoice = opened["payWith"]["lightningInvoice"]
        assert invoice in shown
        assert f"lightning:{invoice}" in shown
        return next(
            payment_hash
            for payment_hash, one in self.wallet.invoices.items()
            if one["invoice"] == invoice
        )

    def units(self, path: str) -> tuple[int, int]:
        """Return the units that remain, and those that are reserved."""
        units = "SELECT remaining_units, reserved_units FROM payment_requests WHERE id = "
        ((remaining, reserved),) = self.run.rows(f"{units}'{path.rpartition('/')[2]}'")
        return remaining, reserved


async def invoice_of(wallet: NwcWallet, *known: str) -> str:
    """Wait until the wallet has one more invoice; its payment hash."""

    async def is_made() -> bool:
        return len(wallet.invoices) > len(known)

    await until(is_made)
    (found,) = wallet.invoices.keys() - known
    return found


@asynccontextmanager
async def open_shop(folder: Path) -> AsyncIterator[Shop]:
    async with AsyncExitStack() as stack:
        relay = await stack.enter_async_context(LocalRelay())
        wallet = await stack.enter_async_context(NwcWallet(relay.url))
        service = foreign_service(folder, **SETTINGS)
        run, keys = await stack.enter_async_context(service)
        run.secrets.add(wallet.secret)
        own = {"App-Id": keys["APP_ID"], "App-Secret": keys["APP_SECRET"]}
        seller = await stack.enter_async_context(patient_client(run.url, own))
        payer = await stack.enter_async_context(patient_client(run.url))
        yield Shop(run, relay, wallet, seller, payer)
        assert wallet.secret.encode() not in run.database.read_bytes()


async def test_a_wallet_is_paid_once_late_and_again(tmp_path: Path) -> None:
    async with open_shop(tmp_path) as shop:
        account = await shop.connect(shop.wallet)
        assert (account.status_code, account.json()["automatic"]) == (200, True)
        assert account.json()["currency"] == "SAT"
        path = await shop.create(units=3)

        page = await shop.open(path)
        paid = await shop.invoice(page)
        shop.wallet.settle(paid)
        assert (await shop.reach(page, "paid"))["amount"] == PRICE
        end = await shop.payer.get(page, follow_redirects=True)
        assert "Thank you! Your payment went through." in end.text

        page = await shop.open(path)
        late = await shop.invoice(page)
        cancelled = await shop.payer.post(page, data={"action": "cancel"})
        assert cancelled.status_code == 303
        await shop.reach(page, "cancelled")
        shop.wallet.settle(late)
        await shop.reach(page, "late")

        shop.wallet.lies["make_invoice"] = lambda _: shop.wallet.invoices[paid]
        assert (await shop.reach(await shop.open(path), "failed"))["payWith"] is None
        listed = await shop.seller.get(path.replace("/pay/", "/v3/paymentRequests/") + "/payments")
        by = [one["paidBy"] for one in listed.json()["items"]]
        assert [(one["kind"], one["amount"]) for one in by] == [("nwc", PRICE)] * 2
        assert {one["reference"] for one in by} == {paid, late}
        assert shop.units(path) == (1, 0)
        shown = [account.text, listed.text, end.text]
        assert not [text for text in shown if shop.wallet.secret in text]


async def test_a_payment_is_found_after_the_relay_was_away(tmp_path: Path) -> None:
    async with open_shop(tmp_path) as shop:
        assert (await shop.connect(shop.wallet)).status_code == 200
        page = await shop.open(await shop.create())
        paid = await shop.invoice(page)
        shop.relay.stop()
        shop.wallet.settle(paid)
        await shop.run.line("no relay takes the request")
        assert (await shop.checkout(page))["state"] == "open"
        await shop.relay.start()
        await shop.reach(page, "paid")


async def test_keys_that_spend_or_are_revoked_cost_a_seller_nothing(tmp_path: Path) -> None:
    async with open_shop(tmp_path) as shop:
        async with NwcWallet(shop.relay.url, methods=PAY) as spender:
            shop.run.secrets.add(spender.secret)
            refused = await shop.connect(spender)
        (problem,) = refused.json()["info"]
        assert (refused.status_code, problem["field"]) == (400, "details.connection")
        assert re.search(r"can also spend \(pay_invoice\)", problem["message"])
        listed = await shop.seller.get("/v3/payoutAccounts", params={"owner": OWNER})
        assert listed.json()["items"] == []

        assert (await shop.connect(shop.wallet)).status_code == 200
        path = await shop.create()
        shop.wallet.silent.add("*")
        page = await shop.open(path)
        await shop.reach(page, "failed")
        assert shop.units(path) == (5, 0)
        shown = html.unescape((await shop.payer.get(page)).text)
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
        await sam.say(spender.connection, "can also spend (pay_invoice)")
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
