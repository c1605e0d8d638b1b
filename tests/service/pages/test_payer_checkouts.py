"""Paying real money on the page: choosing a way, the invoice, the payer's word, what is refused."""

from __future__ import annotations

import asyncio
import io
import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import zxingcpp
from PIL import Image

from bot.service.checkouts import claiming
from bot.service.pages import pay_routes
from bot.service.rails.rail import Unavailable
from tests.support import real_page_states
from tests.support.checkout_steps import RESERVATION, hear, units
from tests.support.real_page_states import RealScene, open_real_scene

if TYPE_CHECKING:
    import httpx


@pytest.fixture
async def scene(tmp_path: Path) -> AsyncIterator[RealScene]:
    async with open_real_scene(tmp_path) as opened:
        yield opened


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wait for no wallet."""
    monkeypatch.setattr(pay_routes, "OPENING_WAITS", ())


async def get(scene: RealScene, path: str) -> httpx.Response:
    return await scene.service.anyone.get(path)


async def post(scene: RealScene, path: str, **form: str) -> httpx.Response:
    return await scene.service.anyone.post(path, data=form)


async def stored(scene: RealScene) -> list[str]:
    return [row["state"] for row in await scene.service.rows("checkouts")]


async def test_the_word_test_appears_on_no_page_of_real_money(scene: RealScene) -> None:
    path = await real_page_states.two_ways(scene)
    where = await scene.pay()
    await scene.act(where, "claim")
    await scene.decide(where, claiming.confirm)
    onward = await get(scene, where)
    for page in (path, onward.headers["location"]):
        assert "test" not in (await get(scene, page)).text.lower()


async def test_a_payer_chooses_a_way(scene: RealScene) -> None:
    path = await real_page_states.two_ways(scene)
    text = (await get(scene, path)).text
    assert text.index('value="bank:sepa"') < text.index('value="lightning"')
    assert 'value="bank:sepa" aria-describedby="sum-1 how-1" checked' in text
    await scene.pay(way="lightning")
    (row,) = await scene.service.rows("checkouts")
    assert (row["way"], row["state"]) == ("lightning", "opening")


async def test_a_way_that_its_seller_has_removed_leaves_the_others_to_choose(
    scene: RealScene,
) -> None:
    path = await real_page_states.two_ways(scene)
    (bank, *_) = await scene.service.rows("payout_accounts")
    await scene.service.seller.delete(f"/v3/payoutAccounts/{bank['id']}")
    refused = await post(scene, path, token="t" * 32, way=f"bank:{bank['scheme']}")
    assert refused.status_code == 409
    assert "You haven&#39;t been charged. Please choose another way." in refused.text
    assert 'name="token"' in refused.text
    assert await units(scene.service) == (20, 0, 0, 0)


async def test_a_way_that_closed_meanwhile_leaves_the_others_to_choose(scene: RealScene) -> None:
    """The rate is unknown by now; the payer's own input stays."""
    path = await real_page_states.unpriced_way(scene)
    refused = await post(scene, path, token="f" * 32, way="lightning")
    assert refused.status_code == 409
    assert "You haven&#39;t been charged. Please choose another way." in refused.text
    assert 'value="bank:sepa" aria-describedby="sum-1 how-1" checked' in refused.text
    assert await units(scene.service) == (20, 0, 0, 0)
    taken = await post(scene, path, token="g" * 32, way="bank:sepa")
    assert taken.status_code == 303


async def test_without_an_account_the_page_says_so_and_takes_nothing(scene: RealScene) -> None:
    path = await real_page_states.no_account(scene)
    page = (await get(scene, path)).text
    assert "Mia&#39;s Ceramics can&#39;t take payments yet." in page
    assert "Contact the seller" in page
    refused = await post(scene, path, token="t" * 32)
    assert refused.status_code == 409
    assert refused.text.count("You haven&#39;t been charged.") == 1
    assert await stored(scene) == []


async def test_the_page_waits_for_the_invoice(scene: RealScene) -> None:
    """The answer to the form came at once; the page has the invoice as soon as it is there."""
    where = await real_page_states.opening(scene)
    asked = asyncio.create_task(get(scene, where))
    await scene.open()
    page = await asked
    assert real_page_states.INVOICE in page.text
    assert f'href="lightning:{real_page_states.INVOICE}' in page.text


@pytest.mark.usefixtures("impatient")
async def test_a_slow_wallet_shows_a_page_that_goes_on_by_itself(scene: RealScene) -> None:
    where = await real_page_states.opening(scene)
    page = await get(scene, where)
    assert (page.status_code, "Getting the invoice…" in page.text) == (200, True)
    assert f'data-from="{where}?live" data-again="2000"' in page.text
    assert '<noscript><meta http-equiv="refresh" content="2"></noscript>' in page.text
    assert (await get(scene, f"{where}/code.png")).status_code == 404


async def test_the_picture_of_an_invoice_is_read_by_phones(scene: RealScene) -> None:
    where = await real_page_states.invoice(scene)
    picture = await get(scene, f"{where}/code.png")
    assert picture.headers["content-type"] == "image/png"
    assert picture.headers["cache-control"] == "no-store"
    with Image.open(io.BytesIO(picture.content)) as drawn:
        (code,) = zxingcpp.read_barcodes(
            drawn, zxingcpp.BarcodeFormats(zxingcpp.BarcodeFormat.QRCode)
        )
    assert code.text.startswith(f"LIGHTNING:{real_page_states.INVOICE.upper()}")
    scene.service.clock.advance(RESERVATION)
    assert (await get(scene, f"{where}/code.png")).status_code == 404


async def test_the_picture_of_a_bank_code_has_what_the_page_says(scene: RealScene) -> None:
    where = await real_page_states.bank_code(scene)
    page = (await get(scene, where)).text
    with Image.open(io.BytesIO((await get(scene, f"{where}/code.png")).content)) as drawn:
        (code,) = zxingcpp.read_barcodes(
            drawn, zxingcpp.BarcodeFormats(zxingcpp.BarcodeFormat.QRCode)
        )
    (row,) = await scene.service.rows("checkouts")
    for text in ("DE89370400440532013000", row["reference"], "Mia Ferreira"):
        assert text in page
        assert text in code.text
    assert "EUR18.50" in code.text


async def test_open_pages_have_the_wallet_polled_once_a_second(scene: RealScene) -> None:
    """However many pages of one checkout are open."""
    where = await real_page_states.invoice(scene)
    scene.service.clock.advance(50)
    await hear(scene.service)
    polls = 0
    for _ in range(7):
        for _ in range(3):
            await get(scene, where)
        polls += await hear(scene.service)
        scene.service.clock.advance(1)
    assert polls == 6


async def test_the_answer_to_a_script_waits_for_what_the_wallet_says(scene: RealScene) -> None:
    """So that the page turns to Paid with the poll and not with its next question."""
    where = await real_page_states.invoice(scene)
    asked = asyncio.create_task(get(scene, f"{where}?live"))
    await asyncio.sleep(0)
    await scene.arrive()
    assert (await asked).status_code == 303


async def test_money_that_arrived_leads_to_the_receipt(scene: RealScene) -> None:
    """With how it was paid, both amounts, the rate and the payment hash."""
    where = await real_page_states.paid_by_invoice(scene)
    onward = (await get(scene, where)).headers["location"]
    receipt = (await get(scene, onward)).text
    (row,) = await scene.service.rows("checkouts")
    assert f"{row['external_id'][:8]}…{row['external_id'][-8:]}" in receipt
    for text in ("Lightning", "€18.50", "20,312\xa0sat", "1 EUR = 1,097.946 sat", "kraken.com"):
        assert text in receipt


async def test_the_receipt_of_a_transfer_names_its_reference(scene: RealScene) -> None:
    where = await real_page_states.paid_by_bank(scene)
    receipt = (await get(scene, (await get(scene, where)).headers["location"])).text
    (row,) = await scene.service.rows("checkouts")
    assert row["reference"] in receipt
    assert "Bank transfer" in receipt
    assert "Payment hash" not in receipt


async def test_too_little_money_has_no_receipt(scene: RealScene) -> None:
    """Its number leads to the checkout, which says what is missing."""
    where = await real_page_states.underpaid(scene)
    (row,) = await scene.service.rows("payments")
    receipt = await get(scene, f"{scene.path}/receipt/{row['id']}")
    assert (receipt.status_code, receipt.headers["location"]) == (303, where)
    page = (await get(scene, where)).text
    assert "12,000\xa0sat of 20,312\xa0sat arrived" in page
    assert row["id"] in page
    assert "code.png" not in page


async def test_a_claim_holds_the_unit_and_may_be_repeated(scene: RealScene) -> None:
    where = await real_page_states.claimed(scene)
    await scene.act(where, "claim")
    scene.service.clock.advance(RESERVATION * 60)
    page = (await get(scene, where)).text
    assert "Waiting for Mia&#39;s Ceramics to confirm" in page
    assert "<summary>Payment details</summary>" in page
    assert await units(scene.service) == (19, 1, 0, 0)


async def test_a_claim_that_comes_too_late_is_answered_with_what_to_do(scene: RealScene) -> None:
    await real_page_states.connect_bank(scene)
    await scene.link(totalUnits=1)
    where = await scene.pay()
    scene.service.clock.advance(RESERVATION)
    scene.service.anyone.cookies.clear()
    await scene.pay("o" * 32)
    refused = await post(scene, where, action="claim")
    assert refused.status_code == 409
    assert "We can&#39;t hold one for you any more" in refused.text
    assert "they can still confirm your payment, or refund you" in refused.text


async def test_cancelling_leads_back_or_to_the_other_ways(scene: RealScene) -> None:
    where = await real_page_states.bank_code(scene)
    assert f'formaction="{where}?then=pay"' in (await get(scene, where)).text
    answer = await post(scene, f"{where}?then=pay", action="cancel")
    assert (answer.status_code, answer.headers["location"]) == (303, scene.path)
    again = await post(scene, where, action="cancel")
    assert (again.status_code, again.headers["location"]) == (303, where)
    assert await units(scene.service) == (20, 0, 0, 0)


@pytest.mark.parametrize(("reason", "shown"), [("slow", "button"), ("lied", "button quiet")])
async def test_a_wallet_without_an_invoice_gives_the_unit_back(
    scene: RealScene, reason: str, shown: str
) -> None:
    scene.wallet.unavailable = Unavailable(reason)
    page = (await get(scene, await real_page_states.invoice(scene))).text
    assert "We couldn&#39;t get an invoice" in page
    assert f'<a class="{shown}" href="{scene.path}">Try again</a>' in page
    assert await units(scene.service) == (20, 0, 0, 0)


async def test_a_sellers_name_is_escaped_wherever_it_is_named(scene: RealScene) -> None:
    evil = "<img src=x onerror=alert(1)>"
    await real_page_states.connect_bank(scene)
    path = await scene.link(seller={"name": evil})
    where = await scene.pay()
    for page in (path, where):
        assert "<img src=x" not in (await get(scene, page)).text
    await scene.act(where, "claim")
    assert "<img src=x" not in (await get(scene, where)).text


TWO = "b" * 32


async def again(scene: RealScene, token: str = TWO, **form: str) -> httpx.Response:
    """Post a new form of the same browser."""
    return await post(scene, scene.path, token=token, way="bank:sepa", **form)


def hidden(page: str) -> dict[str, str]:
    """Return the hidden fields of the form."""
    return dict(re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)">', page))


async def claim_with_cookie(scene: RealScene, **fields: Any) -> str:
    """Return the checkout of a browser's claim."""
    await real_page_states.connect_bank(scene)
    await scene.link(**fields)
    await get(scene, scene.path)
    where = await scene.pay(way="bank:sepa")
    await scene.act(where, "claim")
    return where


async def test_a_payer_whose_claim_waits_is_told_before_another_payment(scene: RealScene) -> None:
    """Nothing is taken or changed; the form keeps what was typed and can buy another."""
    where = await claim_with_cookie(scene)
    answer = await again(scene, name="Mia", message="Two, please")
    assert answer.status_code == 409
    assert "You&#39;ve said you sent the money for" in answer.text
    assert f'<a class="button" href="{where}">View it</a>' in answer.text
    assert ">Buy another</button>" in answer.text
    assert 'value="Mia"' in answer.text
    assert "You haven&#39;t been charged" not in answer.text
    assert (await stored(scene), await units(scene.service)) == (["claimed"], (19, 1, 0, 0))
    assert [row["payer_name"] for row in await scene.service.rows("checkouts")] == [None]
    form = hidden(answer.text)
    assert (form["another"], form["token"] != TWO) == ("yes", True)
    bought = await again(scene, form["token"], another="yes", name="Mia")
    assert bought.status_code == 303
    assert bought.headers["location"] not in (where, scene.path)
    assert sorted(await stored(scene)) == ["claimed", "open"]
    assert await units(scene.service) == (18, 2, 0, 0)


async def test_another_payment_stays_another_one_while_its_form_is_put_right(
    scene: RealScene,
) -> None:
    """A form that is shown again for a mistake asks no second time whether more is bought."""
    await claim_with_cookie(scene)
    answer = await again(scene, another="yes", name="x" * 81)
    assert answer.status_code == 400
    form = hidden(answer.text)
    assert form["another"] == "yes"
    assert (await again(scene, form["token"], another=form["another"])).status_code == 303
    assert sorted(await stored(scene)) == ["claimed", "open"]


async def test_the_form_of_the_claim_itself_leads_back_to_it(scene: RealScene) -> None:
    """A double press and a reload are no other payment."""
    where = await claim_with_cookie(scene)
    answer = await post(scene, scene.path, token="t" * 32, way="bank:sepa")
    assert (answer.status_code, answer.headers["location"]) == (303, where)


async def test_beside_a_claim_an_open_checkout_is_returned_to(scene: RealScene) -> None:
    """Of one that waits for the seller and one that waits for the payer, the second is meant."""
    await claim_with_cookie(scene)
    opened = (await again(scene, another="yes")).headers["location"]
    for form in ({}, {"another": "yes"}):
        answer = await again(scene, "c" * 32, **form)
        assert (answer.status_code, answer.headers["location"]) == (303, opened)
    assert sorted(await stored(scene)) == ["claimed", "open"]


async def test_where_nothing_is_left_a_claim_is_only_looked_at(scene: RealScene) -> None:
    """The page says what is, and offers no form: the claim itself has the last unit."""
    where = await claim_with_cookie(scene, totalUnits=1)
    answer = await again(scene)
    assert answer.status_code == 409
    assert f'<a class="button" href="{where}">View it</a>' in answer.text
    assert "Buy another" not in answer.text
    assert '<form id="pay"' not in answer.text
    assert await stored(scene) == ["claimed"]
    assert (await again(scene, "d" * 32, another="yes")).status_code == 409
    assert await stored(scene) == ["claimed"]


async def test_a_claim_whose_unit_is_for_sale_again_is_still_mentioned(scene: RealScene) -> None:
    """Nobody is promised the only unit until the seller decides; the claim waits all the same."""
    where = await claim_with_cookie(scene, totalUnits=1)
    scene.service.clock.advance(120)
    answer = await again(scene)
    assert answer.status_code == 409
    assert f'<a class="button" href="{where}">View it</a>' in answer.text
    assert ">Buy another</button>" in answer.text
    assert await stored(scene) == ["claimed"]
    assert (await again(scene, "d" * 32, another="yes")).status_code == 303
    assert sorted(await stored(scene)) == ["claimed", "open"]


async def test_a_decided_claim_is_no_longer_mentioned(scene: RealScene) -> None:
    where = await claim_with_cookie(scene)
    await scene.decide(where, claiming.reject)
    assert (await again(scene)).status_code == 303
