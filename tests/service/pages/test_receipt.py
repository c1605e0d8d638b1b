"""The receipt: what was bought, for the holder of its address; the payer is masked."""

from __future__ import annotations

import html
import re
from typing import Any

import httpx
import pytest

from bot.core.net.rates import Rate
from bot.interface.vocabulary import PayerField
from bot.service.checkouts import order
from bot.service.rails.rail import SANDBOX_DELAY
from tests.support import checkout_steps
from tests.support.service_harness import REQUESTS_PATH, URL, ServiceHarness, open_service

ASKED = {"requestedUserData": ["paymail", "email", "phoneNumber"]}
GIVEN = {"paymail": "me@a.example", "email": "me@b.example", "phoneNumber": "+44 20 7946 0958"}


async def test_the_receipt_needs_the_id_of_its_transaction(service: ServiceHarness) -> None:
    """The id of another request's payment is not found; a receipt outlives its request."""
    made, other = await service.create(**ASKED), await service.create()
    path = (await service.pay(made["id"], **GIVEN)).headers["location"]
    payment_id = path.rpartition("/")[2]
    assert path == f"/pay/{made['id']}/receipt/{payment_id}"
    receipt = await service.anyone.get(path)
    assert receipt.status_code == 200
    link = f"{URL}/pay/{made['id']}"
    for text in ("Coffee", "$5.00", payment_id, "January 15, 2027", "Test mode", link):
        assert text in receipt.text
    wrong = await service.anyone.get(f"/pay/{other['id']}/receipt/{payment_id}")
    assert wrong.status_code == 404
    await service.seller.delete(f"/v3/paymentRequests/{made['id']}")
    assert (await service.anyone.get(path)).status_code == 200


async def test_the_receipt_masks_the_payers_data(service: ServiceHarness) -> None:
    """Its address reaches the seller's page and others; the interface has the whole data."""
    made = await service.create(**ASKED)
    path = (await service.pay(made["id"], **GIVEN)).headers["location"]
    receipt = (await service.anyone.get(path)).text
    for shown, whole in (("m•••@a.example", "me@a.example"), ("+44 ••• ••58", "7946")):
        assert shown in receipt
        assert whole not in receipt
    listed = await service.seller.get(f"{REQUESTS_PATH}/{made['id']}/payments")
    assert listed.json()["items"][0]["userData"]["paymail"] == "me@a.example"


@pytest.mark.parametrize(
    ("field", "value", "shown"),
    [
        ("email", "mia@example.org", "m•••@example.org"),
        ("email", "m@example.org", "•••@example.org"),
        ("paymail", "mia@handcash.io", "m•••@handcash.io"),
        ("phoneNumber", "+491701234589", "+49 ••• ••89"),
        ("phoneNumber", "+15551234589", "+1 ••• ••89"),
        ("phoneNumber", "01701234589", "••• ••89"),
    ],
)
def test_masked_data_stays_recognizable(field: PayerField, value: str, shown: str) -> None:
    assert order.masked(field, value) == shown


DROP: dict[str, Any] = {"expirationType": "limit", "totalUnits": 100, "maxQuantity": 5}
CODES = [f"CODE-{number}" for number in range(1, 10)]
KEEP = "https://t.me/shop_bot?start=r-{requestId}-{transactionId}&x=%7B"
BOLD = '<b>Wi-Fi</b> & "clay"\nOne line more'


async def bought(service: ServiceHarness, request_id: str, token: str = "t", **form: str) -> str:
    """Pay, and return the address of the receipt."""
    answer = await service.pay(request_id, token * 32, **form)
    assert answer.status_code == 303
    return answer.headers["location"]


async def look(service: ServiceHarness, where: str, language: str = "en") -> httpx.Response:
    answer = await service.anyone.get(where, headers={"Accept-Language": language})
    assert answer.status_code == 200
    return answer


def shown(page: str) -> str:
    """Return the part of a receipt about what was bought."""
    found = re.search(r'<div id="delivered">(.*?)\n</div>\n', page, re.DOTALL)
    assert found
    return found[1]


def codes(page: str) -> list[str]:
    return re.findall(r'class="value code-text" dir="auto">([^<]+)<', page)


async def test_each_buyer_sees_the_codes_of_their_units(service: ServiceHarness) -> None:
    made = await service.create(**DROP, delivery={"codes": CODES})
    first = await bought(service, made["id"], "a", quantity="3")
    second = await bought(service, made["id"], "b")
    page = (await look(service, first)).text
    assert codes(page) == CODES[:3]
    assert "Yours: 1, 2 and 3 of 100" in page
    german = (await look(service, second, "de")).text
    assert codes(german) == CODES[3:4]
    assert "Für Sie: Nr. 4 von 100" in german


async def test_many_units_are_named_by_the_first_and_the_last(service: ServiceHarness) -> None:
    made = await service.create(**DROP)
    where = await bought(service, made["id"], quantity="5")
    assert "Yours: 1 to 5 of 100" in (await look(service, where)).text


async def test_a_buyer_who_waits_gets_the_code_on_the_open_page(service: ServiceHarness) -> None:
    """The page asks again by itself, by a script or without; then it stops."""
    made = await service.create(**DROP, delivery={"codes": CODES[:1]})
    where = await bought(service, made["id"], quantity="2")
    page = (await look(service, where)).text
    assert codes(page) == CODES[:1]
    assert "One more is on its way" in page
    assert f'data-from="{where}?live"' in page
    assert '<noscript><meta http-equiv="refresh"' in page
    await service.seller.post(f"{REQUESTS_PATH}/{made['id']}/codes", json={"codes": CODES[:2]})
    page = (await look(service, f"{where}?live")).text
    assert codes(page) == CODES[:2]
    assert "on its way" not in page
    assert "data-from" not in page
    assert "http-equiv" not in page


async def test_a_page_that_waits_takes_no_calls_from_payers(database_url: str) -> None:
    """Many may wait behind one address; a guessed address counts as a payer's call."""
    async with open_service(database_url, payer_rate=Rate(3, 60)) as service:
        made = await service.create(**DROP, delivery={"codes": CODES[:1]})
        await bought(service, made["id"], "a")
        where = await bought(service, made["id"], "b")
        service.anyone.cookies.clear()
        for _ in range(10):
            await look(service, f"{where}?live")
        guessed = [(await service.anyone.get(f"{where[:-4]}0000?live")).status_code for _ in "12"]
        assert guessed == [404, 429]


async def test_a_text_is_shown_as_it_is(service: ServiceHarness) -> None:
    """No markup; the whole of it can be selected and copied."""
    made = await service.create(delivery={"text": BOLD}, thanks="See <i>you</i>\nsoon")
    page = (await look(service, await bought(service, made["id"]))).text
    assert html.escape(BOLD).replace("&quot;", "&#34;") in shown(page)
    assert "See &lt;i&gt;you&lt;/i&gt;\nsoon</blockquote>" in page


async def test_addresses_in_the_seller_s_words_are_links(service: ServiceHarness) -> None:
    """They don't tell where they were opened; the pay page has none."""
    words = "Open https://example.org/x?a=1&b=2."
    made = await service.create(
        product={"name": "Course", "description": words}, delivery={"text": words}, thanks=words
    )
    where = await bought(service, made["id"])
    await service.seller.put(
        f"{REQUESTS_PATH}/{made['id']}/payments/{where.rpartition('/')[2]}",
        json={"sent": {"note": words}},
    )
    url = "https://example.org/x?a=1&amp;b=2"
    link = f'<a href="{url}" dir="ltr" rel="noreferrer noopener nofollow">{url}</a>.'
    assert (await look(service, where)).text.count(f"Open {link}</") == 3
    assert 'href="https://example.org' not in (await look(service, f"/pay/{made['id']}")).text


async def test_a_file_can_be_downloaded(service: ServiceHarness) -> None:
    stored = await service.seller.post(
        "/v3/files",
        params={"name": "Album & <more>.zip"},
        content=b"z" * 1_234_567,
        headers={"Content-Type": "application/zip"},
    )
    made = await service.create(delivery={"fileId": stored.json()["id"]})
    where = await bought(service, made["id"])
    page = (await look(service, where, "de")).text
    assert "Album &amp; &lt;more&gt;.zip" in page
    assert "1,2 MB" in page
    (link,) = re.findall(r'href="([^"]+/file)"', page)
    assert link == f"{where}/file"
    assert len((await service.anyone.get(link)).content) == 1_234_567


async def test_money_without_goods_shows_none(service: ServiceHarness) -> None:
    """Neither contents nor units nor thanks, once it is paid back."""
    made = await service.create(**DROP, delivery={"codes": CODES}, thanks="Enjoy!")
    where = await bought(service, made["id"])
    address = f"{REQUESTS_PATH}/{made['id']}/payments/{where.rpartition('/')[2]}"
    marked = await service.seller.put(address, json={"paidBack": {"note": "<b>Sorry</b>"}})
    assert marked.status_code == 200
    page = (await look(service, where)).text
    assert "The seller marked your payment as paid back on" in page
    assert "&lt;b&gt;Sorry&lt;/b&gt;" in page
    for gone in ("CODE-", "Yours:", "Enjoy!"):
        assert gone not in page


async def test_the_seller_s_mark_is_shown(service: ServiceHarness) -> None:
    made = await service.create()
    where = await bought(service, made["id"])
    address = f"{REQUESTS_PATH}/{made['id']}/payments/{where.rpartition('/')[2]}"
    await service.seller.put(address, json={"sent": {"note": "DHL 0034"}})
    page = (await look(service, where)).text
    assert "<h2>Sent</h2>" in page
    assert "DHL 0034" in page


async def test_a_receipt_can_be_kept_elsewhere(service: ServiceHarness) -> None:
    """By the application's address, with its ids."""
    made = await service.create(keepUrl=KEEP)
    where = await bought(service, made["id"])
    page = (await look(service, where)).text
    url = f"https://t.me/shop_bot?start=r-{made['id']}-{where.rpartition('/')[2]}&amp;x=%7B"
    assert f'href="{url}" rel="noreferrer noopener nofollow">Keep it in Telegram</a>' in page


async def test_a_receipt_of_oversold_money_can_be_kept_too(service: ServiceHarness) -> None:
    """Its payer is owed a refund, hears of it where the receipt is kept, and is shown no goods."""
    goods = {"delivery": {"text": BOLD}, "thanks": "Enjoy!"}
    made = await service.create(expirationType="onPaymentCompleted", keepUrl=KEEP, **goods)
    late = await bought(service, made["id"], manner="late")
    service.clock.advance(service.context.reservation / 1000)
    await bought(service, made["id"], "o")
    service.clock.advance(SANDBOX_DELAY / 1000)
    await checkout_steps.hear(service)
    owed = (await look(service, late)).text
    (where,) = re.findall(r'href="([^"]+)">View receipt</a>', owed)
    page = (await look(service, where)).text
    assert "Refund due" in owed
    assert "Refund due" in page
    url = f"https://t.me/shop_bot?start=r-{made['id']}-{where.rpartition('/')[2]}&amp;x=%7B"
    assert f'href="{url}" rel="noreferrer noopener nofollow">Keep it in Telegram</a>' in page
    for kept_back in ("Wi-Fi", "Enjoy!", "Yours:"):
        assert kept_back not in page


@pytest.mark.parametrize("header", ["Cache-Control: no-store", "Referrer-Policy: no-referrer"])
async def test_nobody_stores_or_learns_the_address(service: ServiceHarness, header: str) -> None:
    made = await service.create(delivery={"text": "secret"})
    answer = await look(service, await bought(service, made["id"]))
    name, _, value = header.partition(": ")
    assert answer.headers[name] == value
    assert '<meta name="robots" content="noindex">' in answer.text
    pay_page = await service.anyone.get(f"/pay/{made['id']}")
    assert "secret" not in pay_page.text
