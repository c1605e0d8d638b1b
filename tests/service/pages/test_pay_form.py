"""The form of the pay page: payer data, the token, the redirect."""

from __future__ import annotations

import re

import pytest

from bot.service.app import create_app
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


@pytest.mark.parametrize(
    ("field", "value"),
    [
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
        ("phoneNumber", "123456"),
        ("phoneNumber", "1" * 16),
        ("phoneNumber", "call me 1234567"),
        ("phoneNumber", "+49 170 1234567\u00b9"),
    ],
)
async def test_malformed_payer_data_is_reported_at_its_field(
    service: ServiceHarness, field: str, value: str
) -> None:
    """400 with the page, which keeps the other values; nothing is paid."""
    made = await service.create(**ASKED)
    answer = await service.pay(made["id"], **(GIVEN | {field: value}))
    assert answer.status_code == 400
    wrong = re.findall(r'<input id="(\w+)"[^>]*aria-invalid="true"', answer.text)
    assert wrong == [field]
    for name, given in GIVEN.items():
        if name != field:
            assert f'value="{given}"' in answer.text
    assert 'role="alert"' in answer.text
    assert await service.rows("payments") == []


@pytest.mark.parametrize(
    ("email", "problem"),
    [
        ("", "Enter your email address."),
        ("  ", "Enter your email address."),
        ("me", "That doesn't look like an email address. For example: name@example.org."),
    ],
)
async def test_an_empty_field_has_another_problem_than_a_malformed_one(
    service: ServiceHarness, email: str, problem: str
) -> None:
    made = await service.create(**ASKED)
    answer = await service.pay(made["id"], **(GIVEN | {"email": email}))
    assert only_problem(answer.text, "email") == problem


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


@pytest.mark.parametrize("token", ["", "short", "x" * 65, "not a token at all, really"])
async def test_a_form_without_a_valid_token_pays_nothing(
    service: ServiceHarness, token: str
) -> None:
    made = await service.create()
    answer = await service.pay(made["id"], token)
    assert answer.status_code == 400
    assert "This form was incomplete" in answer.text
    assert (await service.pay(made["id"], form_token(answer.text))).status_code == 303


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


@pytest.mark.parametrize(
    ("url", "target"),
    [
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
    ],
)
async def test_a_payment_redirects_with_its_transaction(
    database_url: str, url: str, target: str
) -> None:
    async with open_service(database_url, schemes=frozenset({"shop", "tg"})) as service:
        made = await service.create(redirectUrl=url)
        answer = await service.pay(made["id"])
        (row,) = await service.rows("payments")
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
