"""The real LNbits: from its invoice key to the receipt, over its own API."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from tests.lnbits.lnbits_server import Lightning
from tests.lnbits.sales import SOON, open_lnbits_shop, quickest_payment, sell_late, sell_one
from tests.support.form_questions import question_of
from tests.support.product_process import PATIENCE, patient_client, running_product, until
from tests.support.rail_shop import PRICE, REAL_RAILS, invoices_on, open_rail_shop
from tests.support.sellers_and_payers import lines_of, link_of, pay, seller

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.timeout(600)]


async def test_a_seller_is_paid_in_their_own_wallet(tmp_path: Path, lightning: Lightning) -> None:
    shop_wallet = lightning.shop
    async with open_rail_shop(tmp_path, RAILS="lnbits") as shop:
        shop.run.secrets.update({lightning.seller.inkey, lightning.seller.adminkey})
        for key, problem in ((lightning.seller.adminkey, "can spend"), ("f" * 32, "doesn't know")):
            refused = await shop.connect("lnbits", url=shop_wallet.url, key=key)
            assert refused.status_code == 400
            assert problem in refused.json()["info"][0]["message"]
        page_of_wallet = f"{shop_wallet.url}/wallet?usr=0&wal={lightning.seller.id}"
        account = await shop.connect("lnbits", url=page_of_wallet, key=lightning.seller.inkey)
        assert (account.status_code, account.json()["automatic"]) == (200, True)

        receipt = await sell_one(shop, lightning, "lnbits")
        balance = {"X-Api-Key": lightning.seller.inkey}
        wallet = await shop_wallet.http.get("/api/v1/wallet", headers=balance)
        assert wallet.json()["balance"] == PRICE * 1_000
        for shown in (account.text, receipt):
            assert lightning.seller.inkey not in shown


async def test_a_payment_is_recorded_two_seconds_after_it_at_most(
    tmp_path: Path, lightning: Lightning
) -> None:
    async with open_lnbits_shop(tmp_path, lightning) as shop:
        assert await quickest_payment(shop, lightning) < SOON


async def test_money_after_the_reservation_is_late_and_recorded(
    tmp_path: Path, lightning: Lightning
) -> None:
    async with open_lnbits_shop(tmp_path, lightning, RESERVATION_SECONDS="5") as shop:
        assert await sell_late(shop, lightning) == ([PRICE], (0, 0))


async def test_a_payment_is_told_once_however_often_lnbits_tells_it(
    tmp_path: Path, lightning: Lightning
) -> None:
    """LNbits announces each payment twice; a second payment of an invoice it refuses itself."""
    async with open_lnbits_shop(tmp_path, lightning) as shop:
        path, page, invoice = await shop.check_out()
        await lightning.pay(invoice)
        await shop.reach(page, "paid")
        again = {"out": True, "bolt11": invoice}
        refused = await lightning.node.call(lightning.payer, "payments", again)
        assert refused.status_code == 520
        second = await shop.open(path)
        assert await shop.shown_invoice(second) != invoice
        assert len(await shop.payments(path)) == 1
        assert shop.units(path) == (3, 1)


async def test_an_lnbits_that_stops_half_way_loses_no_money(
    tmp_path: Path, lightning: Lightning
) -> None:
    """The invoice is paid at the node while the shop's LNbits is down: no webhook ever comes."""
    async with open_lnbits_shop(tmp_path, lightning) as shop:
        path, page, invoice = await shop.check_out()
        await lightning.shop.stop(signal.SIGKILL)
        await lightning.pay(invoice)
        await shop.run.line("no connection to")
        unopened = await shop.open(path)
        await shop.reach(unopened, "failed")
        assert (await shop.checkout(page))["state"] == "open"
        assert shop.units(path) == (4, 1)
        await lightning.shop.start()
        await shop.reach(page, "paid")
        assert shop.units(path) == (4, 0)
        assert (await shop.reach(await shop.open(path), "open"))["payWith"]


async def test_a_lightning_address_of_lnbits_is_confirmed_by_its_seller(
    tmp_path: Path, lightning: Lightning
) -> None:
    """LNbits announces no verify address, so the payer says that it was sent."""
    named = {"lightning_address": "lemonade"}
    headers = {"X-Api-Key": lightning.seller.adminkey}
    answer = await lightning.shop.http.patch("/api/v1/wallet", json=named, headers=headers)
    assert answer.status_code == 200, answer.text
    host = lightning.shop.url.partition("://")[2]
    async with open_rail_shop(tmp_path, RAILS="lightning") as shop:
        refused = await shop.connect("lightning", address=f"nobody@{host}")
        (problem,) = refused.json()["info"]
        assert problem["message"] == f"{host} says: Lightning address not found."
        account = await shop.connect("lightning", address=f"LIGHTNING:Lemonade@{host}")
        assert (account.status_code, account.json()["automatic"]) == (200, False)
        path, page, invoice = await shop.check_out()
        await lightning.pay(invoice)
        async with patient_client(shop.run.url) as payer:
            assert (await payer.post(page, data={"action": "claim"})).status_code == 303
        await shop.reach(page, "claimed")
        checkout = f"/v3/checkouts/{page.rpartition('/')[2]}"
        assert (await shop.seller.post(f"{checkout}/confirm")).json()["state"] == "paid"
        assert shop.units(path) == (4, 0)


async def test_a_seller_connects_lnbits_by_chat_and_hears_of_its_money(
    tmp_path: Path, lightning: Lightning
) -> None:
    url, wallet = lightning.shop.url, lightning.seller
    async with running_product(tmp_path, RAILS="lnbits", **REAL_RAILS) as (stage, run):
        run.secrets.update({wallet.inkey, wallet.adminkey})
        sam = seller(stage.world)
        page = await sam.say("/getpaid", "What you can connect")
        await sam.press(page, "My LNbits", question_of("payout-ask-lnbits-url"))
        await sam.say(url, "What's the invoice key of your wallet?")
        await sam.say(wallet.adminkey, "That key can spend your money, so I won't use it.")
        found = await sam.say(wallet.inkey, question_of("payout-found"))
        await sam.press(found, "Save", "From now on, payers can pay you here")
        keys = (wallet.inkey, wallet.adminkey)
        shown = sam.person.chat
        await stage.world.wait_for(
            lambda: not any(key in one.text for one in shown.visible for key in keys), PATIENCE
        )

        link = link_of(await sam.card("/drop 3 5 EUR Lemonade", "Lemonade"))
        checkout = (await pay(link)).headers["location"]
        async with patient_client(run.url) as payer:

            async def shows_invoice() -> bool:
                return bool(invoices_on((await payer.get(checkout)).text))

            await until(shows_invoice)
            (invoice,) = invoices_on((await payer.get(checkout)).text)
            await lightning.pay(invoice)
            await stage.world.wait_for(lambda: sam.alerts, PATIENCE)
            receipt = await payer.get(checkout, follow_redirects=True)
        assert "Thank you! Your payment went through." in receipt.text
        alert = lines_of(sam.alerts[0])
        assert alert[0] == "💰 €5.00 received for Lemonade"
        assert any(line.startswith("Paid by ") for line in alert), alert
