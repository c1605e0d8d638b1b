"""After payment: the redirect, or first the receipt with what was bought, which leads on to it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest

from bot.interface.vocabulary import BANK, LIGHTNING
from bot.service.checkouts import claiming
from bot.service.rails.rail import Arrived
from tests.support.checkout_steps import begun, hear
from tests.support.goods import uploaded
from tests.support.real_rails import ScriptedRail, open_annas_service
from tests.support.service_harness import ServiceHarness, open_service

if TYPE_CHECKING:
    import httpx


SHOP = "https://example.org/done?cart=7"
GOODS: dict[str, Any] = {
    "text": {"delivery": {"text": "The door code is 4711"}},
    "codes": {"delivery": {"codes": ["CODE-4711"]}, "expirationType": "limit", "totalUnits": 1},
    "thanks": {"thanks": "See you on Friday"},
}
"""What a receipt has that its payer must see, in words of each."""

WORDS = {"text": "The door code is 4711", "codes": "CODE-4711", "thanks": "See you on Friday"}


def onward(page: str) -> list[tuple[str, str]]:
    """Return address and text of the links that lead on from a receipt."""
    links = re.findall(
        r'<a class="button[^"]*" href="([^"]+)"[^>]*>((?:Continue|Weiter).*?)</a>', page
    )
    return [(url.replace("&amp;", "&"), re.sub("<[^>]+>", "", text)) for url, text in links]


async def receipt(service: ServiceHarness, answer: httpx.Response) -> str:
    """Follow a redirect that has to lead to the receipt."""
    assert answer.status_code == 303, answer.text
    assert re.fullmatch(r"/pay/\w+/receipt/\w+", answer.headers["location"])
    page = await service.anyone.get(answer.headers["location"])
    assert page.status_code == 200
    return page.text


@pytest.mark.parametrize("kind", GOODS)
async def test_what_was_bought_is_seen_before_the_sellers_site(
    service: ServiceHarness, kind: str
) -> None:
    """The receipt first, with a link on; a repeated post leads there too."""
    made = await service.create(redirectUrl=SHOP, **GOODS[kind])
    token = await service.token(made["id"])
    for _ in range(2):
        page = await receipt(service, await service.pay(made["id"], token))
        (payment,) = await service.rows("payments")
        assert WORDS[kind] in page
        assert onward(page) == [
            (f"{SHOP}&transactionId={payment['id']}", "Continue to example.org")
        ]


async def test_a_file_is_seen_before_the_sellers_site(service: ServiceHarness) -> None:
    made = await service.create(redirectUrl=SHOP, delivery={"fileId": await uploaded(service)})
    page = await receipt(service, await service.pay(made["id"]))
    assert "album.zip" in page
    assert len(onward(page)) == 1


async def test_without_goods_or_thanks_the_redirect_follows_at_once(
    service: ServiceHarness,
) -> None:
    made = await service.create(redirectUrl=SHOP)
    (answer, again) = [await service.pay(made["id"]) for _ in range(2)]
    (payment,) = await service.rows("payments")
    target = f"{SHOP}&transactionId={payment['id']}"
    assert [one.headers["location"] for one in (answer, again)] == [target, target]


async def test_goods_that_are_added_or_removed_decide_from_then_on(
    service: ServiceHarness,
) -> None:
    made = await service.create(redirectUrl=SHOP)
    await service.edit(made["id"], {"thanks": "See you"})
    await receipt(service, await service.pay(made["id"], "a" * 32))
    await service.edit(made["id"], {"thanks": None})
    answer = await service.pay(made["id"], "b" * 32)
    assert answer.headers["location"].startswith("https://example.org/done?")


async def test_a_page_may_redirect_though_its_goods_are_removed_meanwhile(
    service: ServiceHarness,
) -> None:
    """A browser blocks a form's redirect that the policy of its page doesn't name."""
    made = await service.create(redirectUrl=SHOP, thanks="See you")
    page = await service.anyone.get(f"/pay/{made['id']}")
    assert "form-action 'self' https://example.org;" in page.headers["content-security-policy"]


@pytest.mark.parametrize("query", ["", "?live"])
async def test_a_waiting_page_leads_to_the_receipt_once_money_arrives(
    database_url: str, query: str
) -> None:
    """With scripts and without: an invoice that is paid, and a transfer confirmed after its end."""
    wallet = ScriptedRail()
    async with open_annas_service(database_url, wallet, LIGHTNING, BANK) as service:
        it = await begun(service, LIGHTNING, redirectUrl=SHOP, **GOODS["text"])
        place = f"/pay/{it.request_id}/checkout/{it.id}{query}"
        assert (await service.anyone.get(place)).status_code == 200
        wallet.polls = [Arrived(it.quote.amount)]
        service.clock.advance(5)
        await hear(service)
        page = await receipt(service, await service.anyone.get(place))
        assert WORDS["text"] in page
        assert onward(page)[0][1] == "Continue to example.org"


@pytest.mark.parametrize("late", [False, True])
async def test_a_confirmed_transfer_leads_to_the_receipt(database_url: str, *, late: bool) -> None:
    async with open_annas_service(database_url, ScriptedRail(), BANK, LIGHTNING) as service:
        it = await begun(service, "bank:sepa", redirectUrl=SHOP, **GOODS["thanks"])
        place = f"/pay/{it.request_id}/checkout/{it.id}"
        assert (await service.anyone.post(place, data={"action": "claim"})).status_code == 303
        if late:
            service.clock.advance(30 * 24 * 3600)
            assert (await service.anyone.get(place)).status_code == 200
        (app,) = await service.rows("apps")
        await service.db.transaction(
            lambda tx: claiming.confirm(tx, app["id"], it.id, service.clock())
        )
        page = await receipt(service, await service.anyone.get(place))
        assert WORDS["thanks"] in page
        assert onward(page)[0][0].startswith("https://example.org/done?cart=7&transactionId=")


@pytest.mark.parametrize(
    ("url", "language", "text"),
    [
        ("https://Example.org:8443/x", "en", "Continue to example.org:8443"),
        ("https://example.org", "de", "Weiter zu example.org"),
        (
            "https://münchen.example/", "en",
            "Continue to münchen.example (xn--mnchen-3ya.example)",
        ),
        (
            "https://xn--mnchen-3ya.example:81/", "de",
            "Weiter zu münchen.example:81 (xn--mnchen-3ya.example:81)",
        ),
        (
            "https://пример.example/", "en",
            "Continue to пример.example (xn--e1afmkfd.example)",
        ),
        (
            "https://\u0435xample.org/", "en",
            "Continue to xn--xample-2of.org",
        ),
        ("http://[2001:db8::1]:80/", "en", "Continue to [2001:db8::1]:80"),
        ("shop://paid", "en", "Continue in the app “shop”"),
        ("com.example.shop:/paid", "de", "Weiter in der App „com.example.shop“"),
        ("tg://resolve?domain=shop", "en", "Continue in Telegram"),
        ("TG://resolve?domain=shop", "de", "Weiter in Telegram"),
    ],
)  # fmt: skip
async def test_the_link_names_where_it_leads(
    database_url: str, url: str, language: str, text: str
) -> None:
    """A host in letters stands beside the host as it is looked up; of mixed scripts, only that."""
    schemes = frozenset({"shop", "com.example.shop", "tg"})
    async with open_service(database_url, schemes=schemes) as service:
        made = await service.create(redirectUrl=url, thanks="See you")
        answer = await service.pay(made["id"])
        page = await service.anyone.get(
            answer.headers["location"], headers={"Accept-Language": language}
        )
    assert [one for _, one in onward(page.text)] == [text]


async def test_a_scheme_that_is_no_longer_allowed_leads_nowhere(database_url: str) -> None:
    async with open_service(database_url, schemes=frozenset({"shop"})) as service:
        made = await service.create(redirectUrl="shop://paid", thanks="See you")
        path = (await service.pay(made["id"])).headers["location"]
    async with open_service(database_url) as service:
        page = await service.anyone.get(path)
    assert onward(page.text) == []


async def test_money_that_bought_nothing_leads_nowhere(service: ServiceHarness) -> None:
    """Neither an oversold payment nor one that was paid back."""
    made = await service.create(redirectUrl=SHOP, thanks="See you")
    path = (await service.pay(made["id"])).headers["location"]
    payment = path.rpartition("/")[2]
    marked = await service.seller.put(
        f"/v3/paymentRequests/{made['id']}/payments/{payment}", json={"paidBack": {}}
    )
    assert marked.status_code == 200, marked.text
    assert onward((await service.anyone.get(path)).text) == []
