"""Answers as JSON: exact numbers, and no null but those that a client sent."""

from __future__ import annotations

from decimal import Decimal

from bot.core import exact_json
from bot.interface import answers, fields
from tests.support.service_harness import HOOK, NEW, REQUESTS_PATH, ServiceHarness

OWN = {"a": None, "b": [None, {"c": None, "d": Decimal("1.10")}], "e": 2**53}


def test_amounts_keep_their_digits_and_missing_fields_are_left_out() -> None:
    paid = answers.PaymentAmount(currency_code="USD", amount=Decimal("0.10"), denominated_in="USD")
    assert paid.json_text() == '{"currencyCode":"USD","amount":0.10,"denominatedIn":"USD"}'
    assert answers.ProductAnswer(name="Tea").json_text() == '{"name":"Tea"}'


async def test_custom_parameters_keep_their_nulls_and_numbers(service: ServiceHarness) -> None:
    hook = HOOK | {"customParameters": OWN}
    body = exact_json.dumps(NEW | {"notifications": {"webhook": hook}})
    made = await service.seller.post(
        REQUESTS_PATH, content=body, headers={"Content-Type": "application/json"}
    )
    answer = exact_json.loads(made.content)
    assert answer["customParameters"] == OWN
    assert answer["notifications"]["webhook"]["customParameters"] == OWN


SHOP = {"name": "Tea & Co", "since": 1987, "rate": Decimal("1.10"), "logo": None}


async def test_the_shop_of_handcash_is_answered_as_it_was_sent(service: ServiceHarness) -> None:
    """By every call of its application, and to nobody else."""
    body = exact_json.dumps(NEW | {"shop": SHOP})
    made = await service.seller.post(
        REQUESTS_PATH, content=body, headers={"Content-Type": "application/json"}
    )
    request_id = made.json()["id"]
    edited = await service.seller.put(
        f"{REQUESTS_PATH}/{request_id}", json={"product": {"name": "Tea"}}
    )
    got = await service.seller.get(f"{REQUESTS_PATH}/{request_id}")
    listed = await service.seller.get(REQUESTS_PATH)
    (item,) = exact_json.loads(listed.content)["items"]
    for answer in (made, edited, got):
        assert exact_json.loads(answer.content)["shop"] == SHOP
    assert item["shop"] == SHOP
    public = await service.anyone.get(f"{REQUESTS_PATH}/public/{request_id}")
    assert "shop" not in public.json()
    assert "shop" not in await service.create()


async def test_a_shop_is_bounded_like_custom_parameters(service: ServiceHarness) -> None:
    for shop in ({"a\nb": 1}, {"a": "x" * fields.MAX_PARAMETERS}, [1], "Tea & Co"):
        answer = await service.seller.post(REQUESTS_PATH, json=NEW | {"shop": shop})
        assert answer.status_code == 400, shop
        assert [one["field"] for one in answer.json()["info"]] == ["shop"], shop


async def test_a_shop_cannot_be_edited(service: ServiceHarness) -> None:
    request_id = (await service.create())["id"]
    answer = await service.seller.put(f"{REQUESTS_PATH}/{request_id}", json={"shop": SHOP["name"]})
    assert answer.json()["info"] == [{"field": "shop", "message": "is not a field of this body"}]
