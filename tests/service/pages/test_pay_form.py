"""The form of the pay page: payer data, the token, and where a payer is led."""

from __future__ import annotations

import re
from typing import Any

import httpx
import pytest

from bot.interface.vocabulary import BANK, LIGHTNING
from bot.service.checkouts import claiming
from bot.service.pages.app import create_app
from bot.service.rails.rail import Arrived
from tests.support.checkout_steps import begun, hear
from tests.support.goods import uploaded
from tests.support.real_rails import ScriptedRail, open_annas_service
from tests.support.service_harness import (
    ServiceHarness,
    client,
    form_token,
    make_service,
    only_problem,
    open_service,
)

ASKED = {"requestedUserData": ["paymail", "email", "phoneNumber"]}

GIVEN = {"paymail": "me@a.example", "email": "me@b.example", "phoneNumber": "+44 20 7946 0958"}


async def test_requested_payer_data_is_stored(service: ServiceHarness) -> None:
    made = await service.create(**ASKED)
    looked = await service.anyone.get(f"/pay/{made['id']}")
    assert re.findall(r'<input id="(\w+)" name="(\w+)"', looked.text) == [
        (name, name) for name in ASKED["requestedUserData"]
    ]
    answer = await service.pay(made["id"], form_token(looked.text), **GIVEN)
    assert answer.status_code == 303
    listed = await service.seller.get(f"/v3/paymentRequests/{made['id']}/payments")
    assert listed.json()["items"][0]["userData"] == GIVEN | {"phoneNumber": "+442079460958"}


MALFORMED = [
    ("paymail", ""),
    ("paymail", "me"),
    ("paymail", "me@localhost"),
    ("email", "a b@c.example"),
    ("email", "me@" + "x" * 300 + ".example"),
    ("email", "me@a..example"),
    ("email", "me..you@a.example"),
    ("email", "me@127.0.0.1"),
    ("email", "me@1.2"),
    ("email", "mé@a.example"),
    ("email", "=?utf-8?q?a?=@payer.example"),
    ("email", "pat@payer.example\r\nBcc: thief@mail.example"),
    ("email", "pat@payer.example\nSubject: Hi"),
    ("email", "pat@payer.example, thief@mail.example"),
    ("email", "<pat@payer.example>"),
    ("email", "pat@payer.example\0"),
    ("email", "pat@payer.example\u2028Bcc:thief@mail.example"),
    ("email", '"a\\"b"@payer.example'),
    ("phoneNumber", "123456"),
    ("phoneNumber", "1" * 16),
    ("phoneNumber", "call me 1234567"),
    ("phoneNumber", "+49 170 1234567\u00b9"),
]
"""Also addresses that no letter reaches, or that would write headers."""


async def test_malformed_payer_data_is_reported_at_its_field(service: ServiceHarness) -> None:
    """400 with the page, which keeps the other values; nothing is paid."""
    made = await service.create(**ASKED)
    for field, value in MALFORMED:
        answer = await service.pay(made["id"], **(GIVEN | {field: value}))
        assert answer.status_code == 400, value
        wrong = re.findall(r'<input id="(\w+)"[^>]*aria-invalid="true"', answer.text)
        assert wrong == [field]
        for name, given in GIVEN.items():
            assert name == field or f'value="{given}"' in answer.text
        assert 'role="alert"' in answer.text
    assert await service.rows("payments") == []


async def test_an_empty_field_has_another_problem_than_a_malformed_one(
    service: ServiceHarness,
) -> None:
    for email, problem in (
        ("", "Enter your email address."),
        ("  ", "Enter your email address."),
        ("me", "That doesn't look like an email address. For example: name@example.org."),
    ):
        made = await service.create(**ASKED)
        answer = await service.pay(made["id"], **(GIVEN | {"email": email}))
        assert only_problem(answer.text, "email") == problem, email


async def test_several_problems_are_listed_above_the_form_and_said_at_their_fields(
    service: ServiceHarness,
) -> None:
    made = await service.create(**ASKED)
    answer = await service.pay(made["id"], **(GIVEN | {"email": "", "phoneNumber": "1"}))
    listed = re.findall(r'<li><a href="#(\w+)">(.*?)</a></li>', answer.text)
    assert [field for field, _ in listed] == ["email", "phoneNumber"]
    for field, problem in listed:
        assert re.search(rf'id="{field}-hint"[^>]*>{re.escape(problem)}</span>', answer.text)
    assert answer.text.count('role="alert"') == answer.text.count(" autofocus") == 1
    assert '<p data-left1="Please fix 1 field." data-left2="Please fix 2 fields.">' in answer.text


async def test_fields_that_were_not_requested_are_not_stored(service: ServiceHarness) -> None:
    made = await service.create(requestedUserData=["email"])
    await service.pay(made["id"], **GIVEN, shoeSize="44")
    (row,) = await service.rows("payments")
    assert row["user_data"] == '{"email":"me@b.example"}'


async def test_a_form_without_a_valid_token_pays_nothing(service: ServiceHarness) -> None:
    for token in ("", "short", "x" * 65, "not a token at all, really"):
        made = await service.create()
        answer = await service.pay(made["id"], token)
        assert answer.status_code == 400, token
        assert "This form was incomplete" in answer.text, token
        assert (await service.pay(made["id"], form_token(answer.text))).status_code == 303, token


async def test_a_body_that_is_no_form_is_refused_with_a_page(service: ServiceHarness) -> None:
    made = await service.create()
    path = f"/pay/{made['id']}"
    form = {"Content-Type": "application/x-www-form-urlencoded"}
    for answer, status in (
        (await service.anyone.post(path, json={"token": "t" * 32}), 415),
        (await service.anyone.post(path, files={"token": b"t"}), 415),
        (await service.anyone.post(path, content="a" * 70_000, headers=form), 413),
        (await service.anyone.post(path, content="a=1&" * 30, headers=form), 400),
        (await service.anyone.post(path, content=b"token=\xff", headers=form), 400),
        (await service.anyone.put(path), 405),
    ):
        assert answer.status_code == status
        assert answer.headers["content-type"] == "text/html; charset=utf-8"
        assert "<h1>" in answer.text
    assert await service.rows("payments") == []


TARGETS = [
    ("https://t.example", "https://t.example?transactionId={}"),
    ("https://t.example/a?x=1#f", "https://t.example/a?x=1&transactionId={}#f"),
    ("https://t.example/?", "https://t.example/?transactionId={}"),
    ("https://t.example/?transactionId=7", "https://t.example/?transactionId={}"),
    (
        "https://t.example/?transactionId=1&a=+&transactionId&&transactionid=3#transactionId",
        "https://t.example/?a=+&&transactionid=3&transactionId={}#transactionId",
    ),
    ("https://t.example/?transaction%49d&b", "https://t.example/?b&transactionId={}"),
    ("shop://paid", "shop://paid?transactionId={}"),
    ("shop:///paid?a=b", "shop:///paid?a=b&transactionId={}"),
    ("tg://resolve?domain=x", "tg://resolve?domain=x&transactionId={}"),
    ("https://münchen.example/ö", "https://xn--mnchen-3ya.example/%C3%B6?transactionId={}"),
]
"""Where a payer is redirected; the place of the transaction is `{}`."""


async def test_a_payment_redirects_with_its_transaction(database_url: str) -> None:
    async with open_service(database_url, schemes=frozenset({"shop", "tg"})) as service:
        for url, target in TARGETS:
            made = await service.create(redirectUrl=url)
            answer = await service.pay(made["id"])
            (row,) = [
                one for one in await service.rows("payments") if one["request_id"] == made["id"]
            ]
            assert answer.status_code == 303
            assert answer.headers["location"] == target.format(row["id"])


async def test_a_scheme_that_is_no_longer_allowed_is_not_opened(database_url: str) -> None:
    """A request stored while REDIRECT_SCHEMES named it leads to the receipt."""
    async with open_service(database_url, schemes=frozenset({"shop"})) as service:
        made = await service.create(redirectUrl="shop://paid")
        assert (await service.pay(made["id"])).headers["location"].startswith("shop://paid?")
        without = create_app(make_service(service.db, service.clock))
        async with client(without) as anyone:
            answer = await anyone.post(f"/pay/{made['id']}", data={"token": "u" * 32})
    assert f"/pay/{made['id']}/receipt/" in answer.headers["location"]


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


async def test_goods_that_are_added_or_removed_decide_from_then_on(service: ServiceHarness) -> None:
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
