"""What becomes of earlier buyers when a seller changes what a request delivers.

A text or a file is corrected for all who have it; codes that were given stay, and so does all else.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from bot.service.goods import files
from bot.service.rails.rail import SANDBOX_DELAY
from tests.support.checkout_steps import hear
from tests.support.goods import buy, buy_units, delivered, uploaded
from tests.support.service_harness import DROP, REQUESTS_PATH, ServiceHarness, refusal_code

if TYPE_CHECKING:
    import httpx


CODES = ["AAAA-1", "BBBB-2", "CCCC-3"]
DEAD, GOOD = "https://example.org/dead", "https://example.org/album"
DAY = 24 * 3600


def text(words: str) -> dict[str, Any]:
    return {"state": "delivered", "text": words}


def codes(*listed: str) -> dict[str, Any]:
    return {"state": "delivered", "codes": [*listed]}


async def edit(service: ServiceHarness, request_id: str, delivery: Any) -> None:
    answer = await service.edit(request_id, {"delivery": delivery})
    assert answer.status_code == 200, answer.text


async def shown(service: ServiceHarness, paths: list[str]) -> list[Any]:
    return [await delivered(service, path) for path in paths]


async def download(service: ServiceHarness, path: str) -> httpx.Response:
    return await service.anyone.get(f"{path}/file")


async def test_a_corrected_text_is_what_earlier_buyers_see(service: ServiceHarness) -> None:
    made = (await service.create(delivery={"text": DEAD}))["id"]
    paths = [await buy(service, made, 1)]
    await edit(service, made, {"text": GOOD})
    paths.append(await buy(service, made, 2))
    assert await shown(service, paths) == [text(GOOD)] * 2
    page = (await service.anyone.get(paths[0])).text
    assert GOOD in page
    assert DEAD not in page


async def test_a_text_and_a_file_correct_each_other(service: ServiceHarness) -> None:
    made = (await service.create(delivery={"text": DEAD}))["id"]
    path = await buy(service, made)
    await edit(service, made, {"fileId": await uploaded(service, b"one")})
    assert (await download(service, path)).content == b"one"
    await edit(service, made, {"fileId": await uploaded(service, b"two")})
    assert (await download(service, path)).content == b"two"
    await edit(service, made, {"text": GOOD})
    assert await delivered(service, path) == text(GOOD)
    assert (await download(service, path)).status_code == 404


async def test_a_corrected_file_stays_for_a_day_for_downloads_under_way(
    service: ServiceHarness,
) -> None:
    old, new = await uploaded(service, b"old"), await uploaded(service, b"new")
    made = (await service.create(delivery={"fileId": old}))["id"]
    path = await buy(service, made)
    await edit(service, made, {"fileId": new})
    for seconds, kept in ((DAY - 1, {old, new}), (1, {new}), (365 * DAY, {new})):
        service.clock.advance(seconds)
        await files.sweep_files(service.db, service.clock())
        assert {row["id"] for row in await service.rows("files")} == kept
    assert (await download(service, path)).content == b"new"


async def test_sold_files_outlive_other_goods_and_deletions(service: ServiceHarness) -> None:
    sold, again = await uploaded(service, b"1"), await uploaded(service, b"2")
    made = (await service.create(delivery={"fileId": sold}))["id"]
    paths = [await buy(service, made, 1)]
    await edit(service, made, {"codes": CODES})
    await edit(service, made, {"fileId": again})
    paths.append(await buy(service, made, 2))
    await service.seller.delete(f"{REQUESTS_PATH}/{made}")
    service.clock.advance(365 * DAY)
    await files.sweep_files(service.db, service.clock())
    assert [(await download(service, path)).content for path in paths] == [b"1", b"2"]


async def test_a_file_waits_for_money_of_a_deleted_request_that_another_shared_it_with(
    service: ServiceHarness,
) -> None:
    """For 180 days from the deletion, whatever becomes of the other request."""
    shared, unpaid = await uploaded(service, b"song"), await uploaded(service, b"hymn")
    gone = [(await service.create(delivery={"fileId": one}))["id"] for one in (shared, unpaid)]
    others = [(await service.create(delivery={"fileId": one}))["id"] for one in (shared, unpaid)]
    await service.pay(gone[0], manner="later")
    for deleted, other in zip(gone, others, strict=True):
        await service.seller.delete(f"{REQUESTS_PATH}/{deleted}")
        await edit(service, other, {"text": GOOD})
    await files.sweep_files(service.db, service.clock())
    service.clock.advance(SANDBOX_DELAY / 1000)
    await hear(service)
    (paid,) = await service.rows("payments")
    path = f"/pay/{gone[0]}/receipt/{paid['id']}"
    for days, kept in ((179, {shared, unpaid}), (1, {shared})):
        service.clock.advance(days * DAY)
        await files.sweep_files(service.db, service.clock())
        assert {row["id"] for row in await service.rows("files")} == kept
        assert (await download(service, path)).content == b"song"


async def test_nothing_and_codes_leave_earlier_buyers_what_they_had(
    service: ServiceHarness,
) -> None:
    made = (await service.create(delivery={"text": DEAD}))["id"]
    paths = [await buy(service, made, 1)]
    await edit(service, made, None)
    paths.append(await buy(service, made, 2))
    await edit(service, made, {"codes": CODES})
    paths.append(await buy(service, made, 3))
    await edit(service, made, {"text": GOOD})
    paths.append(await buy(service, made, 4))
    assert await shown(service, paths) == [text(DEAD), None, codes("AAAA-1"), text(GOOD)]


async def test_buyers_who_wait_get_what_takes_the_place_of_codes(service: ServiceHarness) -> None:
    """They see its correction too; the codes that were given stay."""
    made = (await service.create(delivery={"codes": ["one"]}))["id"]
    paths = [await buy(service, made, number) for number in range(3)]
    for words in (DEAD, GOOD):
        await edit(service, made, {"text": words})
        assert await shown(service, paths) == [codes("one"), text(words), text(words)]
    await edit(service, made, {"codes": ["two"]})
    paths.append(await buy(service, made, 9))
    assert await shown(service, paths) == [codes("one"), text(GOOD), text(GOOD), codes("two")]
    assert (await service.get(made))["delivery"]["codes"] == {
        "total": 2,
        "assigned": 2,
        "waiting": 0,
    }


async def test_an_order_of_several_keeps_its_codes_beside_what_takes_their_place(
    service: ServiceHarness,
) -> None:
    made = (await service.create(**DROP, maxQuantity=3, delivery={"codes": CODES[:2]}))["id"]
    path = await buy_units(service, made, 3)
    await edit(service, made, {"text": GOOD})
    assert await delivered(service, path) == codes(*CODES[:2]) | {"text": GOOD}
    page = (await service.anyone.get(path)).text
    assert all(words in page for words in (*CODES[:2], GOOD))


@pytest.mark.parametrize("delivery", [{"codes": ["two"]}, {"text": GOOD}])
async def test_nothing_is_taken_from_buyers_who_wait(
    service: ServiceHarness, delivery: dict[str, Any]
) -> None:
    """Whoever paid for a code gets something for it, or the money back."""
    made = (await service.create(delivery={"codes": ["one"]}))["id"]
    paths = [await buy(service, made, number) for number in range(2)]
    refused = await service.edit(made, {"delivery": None, "product": {"name": "Tea"}})
    assert refusal_code(refused) == (409, "buyersWait")
    assert (await service.get(made))["product"]["name"] == "Coffee"
    assert await delivered(service, paths[1]) == {"state": "waiting"}
    await edit(service, made, delivery)
    await edit(service, made, None)
    assert await shown(service, paths) == [codes("one"), delivery | {"state": "delivered"}]


async def test_who_was_paid_back_waits_for_nothing(service: ServiceHarness) -> None:
    made = (await service.create(delivery={"codes": ["one"]}))["id"]
    paths = [await buy(service, made, number) for number in range(2)]
    payment = paths[1].rpartition("/")[2]
    url = f"{REQUESTS_PATH}/{made}/payments/{payment}"
    assert (await service.seller.put(url, json={"paidBack": {}})).status_code == 200
    await edit(service, made, None)
    assert await shown(service, paths) == [codes("one"), None]
