"""What the holder of a payment gets: their own, all of it, and nobody else's."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from bot.core.net.rates import Rate
from bot.interface.answers import ReceiptAnswer
from bot.service.goods import files
from tests.support.goods import buy, buy_units, delivered, random_bytes, receipt, upload, uploaded
from tests.support.service_harness import (
    DROP,
    NOON_ISO,
    REQUESTS_PATH,
    URL,
    ServiceHarness,
    open_service,
    refusal_code,
)

if TYPE_CHECKING:
    import httpx


CODES = ["AAAA-1", "BBBB-2", "CCCC-3"]
TEXT = "The door's number is 4711."


async def paid_back(service: ServiceHarness, path: str) -> None:
    payment = path.rpartition("/")[2]
    sql = "UPDATE payments SET paid_back_at = 1 WHERE id = :id"
    await service.db.transaction(lambda tx: tx.execute(sql, id=payment))


async def add_codes(service: ServiceHarness, request_id: str, *codes: str) -> dict[str, Any]:
    url = f"{REQUESTS_PATH}/{request_id}/codes"
    answer = await service.seller.post(url, json={"codes": codes})
    assert answer.status_code == 200, answer.text
    added: dict[str, Any] = answer.json()
    return added


async def counts(service: ServiceHarness, request_id: str) -> tuple[int, int, int]:
    total, assigned, waiting = (await service.get(request_id))["delivery"]["codes"].values()
    return total, assigned, waiting


async def test_receipts_that_an_application_fetches_do_not_count_as_a_payers_calls(
    database_url: str,
) -> None:
    """The chat fetches those of all buyers from one address."""
    async with open_service(database_url, payer_rate=Rate(6, 60)) as service:
        made = await service.create(**DROP)
        path = (await buy(service, made["id"])).rpartition("/")[2]
        address = f"{REQUESTS_PATH}/public/{made['id']}/receipts/{path}"
        chat = [(await service.seller.get(address)).status_code for _ in range(9)]
        wrong = {"App-Id": "app-1", "App-Secret": "wrong"}
        others = [(await service.anyone.get(address, headers=wrong)).status_code for _ in range(9)]
    assert chat == [200] * 9
    assert others[-1] == 429


async def test_a_receipt_says_what_was_bought(service: ServiceHarness) -> None:
    made = await service.create(**DROP, maxQuantity=2, thanks="See you!", delivery={"codes": CODES})
    await buy(service, made["id"])
    path = await buy_units(service, made["id"], 2)
    found = await receipt(service, path)
    ReceiptAnswer.model_validate(found)
    assert found == {
        "product": {"name": "Coffee"},
        "amount": 10,
        "currencyCode": "USD",
        "quantity": 2,
        "units": {"first": 2, "last": 3, "total": 3},
        "completedAt": NOON_ISO,
        "status": "paid",
        "thanks": "See you!",
        "receiptUrl": f"{URL}{path}",
        "delivery": {"state": "delivered", "codes": ["BBBB-2", "CCCC-3"]},
    }


async def test_a_receipt_counts_the_units_that_are_still_offered(service: ServiceHarness) -> None:
    """As the pay page, the receipt's page and lists of payments do."""
    made = (await service.create(**DROP))["id"]
    path = await buy(service, made)
    assert (await service.edit(made, {"decreaseRemainingUnits": 1})).status_code == 200
    assert (await receipt(service, path))["units"] == {"first": 1, "last": 1, "total": 2}
    listed = await service.seller.get(f"{REQUESTS_PATH}/{made}/payments")
    assert listed.json()["items"][0]["totalUnits"] == 2
    assert "1 of 2" in (await service.anyone.get(path)).text


async def test_a_receipt_without_a_delivery_has_none(service: ServiceHarness) -> None:
    found = await receipt(service, await buy(service, (await service.create())["id"]))
    assert not found.keys() & {"delivery", "units"}


async def test_a_receipt_is_kept_by_nobody(service: ServiceHarness) -> None:
    made = (await service.create(delivery={"text": TEXT}))["id"]
    transaction = (await buy(service, made)).rpartition("/")[2]
    url = f"{REQUESTS_PATH}/public/{made}/receipts/{transaction}"
    answer = await service.anyone.get(url)
    assert answer.headers["cache-control"] == "no-store"
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert "set-cookie" not in answer.headers


async def test_a_guessed_address_shows_nothing(service: ServiceHarness) -> None:
    made = (await service.create(delivery={"text": TEXT}))["id"]
    other = (await service.create(delivery={"text": TEXT}))["id"]
    transaction = (await buy(service, made)).rpartition("/")[2]
    answers = [
        await service.anyone.get(f"{REQUESTS_PATH}/public/{request_id}/receipts/{payment_id}")
        for request_id, payment_id in [
            (made, "f" * 24),
            (other, transaction),
            ("f" * 24, transaction),
            (made, transaction[:-1]),
        ]
    ]
    assert {refusal_code(answer) for answer in answers} == {(404, "notFound")}
    assert len({answer.text for answer in answers}) == 1


async def test_buyers_wait_in_the_order_of_their_payments(service: ServiceHarness) -> None:
    made = (await service.create(delivery={"codes": ["one"]}))["id"]
    paths = [await buy(service, made, number) for number in range(4)]
    assert await counts(service, made) == (1, 1, 3)
    waiting = {"state": "waiting"}
    assert [await delivered(service, path) for path in paths] == [
        {"state": "delivered", "codes": ["one"]},
        *[waiting] * 3,
    ]
    added = await add_codes(service, made, "two", "one", "three")
    assert added == {"total": 3, "added": 2, "assigned": 3, "waiting": 1}
    added = await add_codes(service, made, "two", "one", "three")
    assert added == {"total": 3, "added": 0, "assigned": 3, "waiting": 1}
    assert [await delivered(service, path) for path in paths[1:]] == [
        {"state": "delivered", "codes": ["two"]},
        {"state": "delivered", "codes": ["three"]},
        waiting,
    ]


async def states(service: ServiceHarness, request_id: str) -> list[Any]:
    """Return what the seller is told of each payment's delivery, oldest first."""
    url = f"{REQUESTS_PATH}/{request_id}/payments"
    items = (await service.seller.get(url)).json()["items"]
    one = (await service.seller.get(f"{url}/{items[0]['transactionId']}")).json()
    assert one == items[0]
    return [item.get("delivery") for item in reversed(items)]


async def test_the_seller_is_told_who_waits(service: ServiceHarness) -> None:
    made = (await service.create(delivery={"codes": ["one"]}))["id"]
    paths = []
    for number in range(3):
        service.clock.advance(1)
        paths.append(await buy(service, made, number))
    assert await states(service, made) == ["delivered", "waiting", "waiting"]
    await add_codes(service, made, "two")
    await paid_back(service, paths[2])
    assert await states(service, made) == ["delivered", "delivered", None]
    nothing = (await service.create())["id"]
    await buy(service, nothing)
    assert await states(service, nothing) == [None]


async def test_some_of_several_units_may_wait(service: ServiceHarness) -> None:
    made = (await service.create(**DROP, maxQuantity=3, delivery={"codes": CODES[:2]}))["id"]
    path = await buy_units(service, made, 3)
    assert await delivered(service, path) == {"state": "waiting", "codes": CODES[:2]}
    await add_codes(service, made, CODES[2])
    assert await delivered(service, path) == {"state": "delivered", "codes": CODES}


async def test_money_that_was_paid_back_shows_nothing(service: ServiceHarness) -> None:
    made = (await service.create(**DROP, thanks="Enjoy!", delivery={"codes": CODES}))["id"]
    path = await buy(service, made)
    assert {"delivery", "units", "thanks"} <= (await receipt(service, path)).keys()
    await paid_back(service, path)
    found = await receipt(service, path)
    assert found["status"] == "paidBack"
    assert not {"delivery", "units", "thanks"} & found.keys()


async def test_oversold_money_shows_nothing(service: ServiceHarness) -> None:
    made = (await service.create(**DROP | {"totalUnits": 1}, delivery={"codes": CODES}))["id"]
    path = await buy(service, made)
    oversold = "UPDATE payments SET state = 'oversold', first_unit = NULL"
    await service.db.transaction(lambda tx: tx.execute(oversold))
    found = await receipt(service, path)
    assert found["status"] == "oversold"
    assert "delivery" not in found


async def test_underpaid_money_has_no_receipt(service: ServiceHarness) -> None:
    made = (await service.create(delivery={"codes": CODES}))["id"]
    path = await buy(service, made)
    short = "UPDATE payments SET state = 'underpaid', first_unit = NULL"
    await service.db.transaction(lambda tx: tx.execute(short))
    transaction = path.rpartition("/")[2]
    answer = await service.anyone.get(f"{REQUESTS_PATH}/public/{made}/receipts/{transaction}")
    assert refusal_code(answer) == (404, "notFound")


async def test_sold_codes_stay_when_the_others_are_replaced(service: ServiceHarness) -> None:
    made = (await service.create(delivery={"codes": CODES}))["id"]
    first = await buy(service, made, 1)
    await service.edit(made, {"delivery": {"codes": ["AAAA-1", "new"]}})
    assert await counts(service, made) == (2, 1, 0)
    second = await buy(service, made, 2)
    assert (await delivered(service, first), await delivered(service, second)) == (
        {"state": "delivered", "codes": ["AAAA-1"]},
        {"state": "delivered", "codes": ["new"]},
    )
    assert len(await service.rows("codes")) == 2


async def download(service: ServiceHarness, path: str, **headers: str) -> httpx.Response:
    return await service.anyone.get(f"{path}/file", headers=headers)


async def test_a_file_comes_back_byte_for_byte(service: ServiceHarness) -> None:
    data = random_bytes(files.PART + 7)
    made = await service.create(delivery={"fileId": await uploaded(service, data)})
    path = await buy(service, made["id"])
    assert await delivered(service, path) == {
        "state": "delivered",
        "file": {
            "name": "album.zip",
            "mediaType": "application/zip",
            "size": len(data),
            "url": f"{URL}{path}/file",
        },
    }
    answer = await download(service, path)
    assert answer.content == data
    assert answer.headers["content-length"] == str(len(data))


async def test_a_download_is_saved_and_never_shown(service: ServiceHarness) -> None:
    """A stranger's page must not run at our address, nor be found or kept anywhere."""
    page = b"<script>alert(document.cookie)</script>"
    file = (await upload(service, page, "für dich.html", content_type="text/html")).json()["id"]
    path = await buy(service, (await service.create(delivery={"fileId": file}))["id"])
    answer = await download(service, path)
    assert answer.content == page
    assert answer.headers["content-type"] == "text/html"
    assert answer.headers["content-disposition"] == (
        "attachment; filename=\"fur dich.html\"; filename*=UTF-8''f%C3%BCr%20dich.html"
    )
    assert answer.headers["content-security-policy"].endswith("sandbox")
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["x-robots-tag"] == "noindex"
    assert answer.headers["cache-control"] == "no-store"
    assert not answer.headers.keys() & {"etag", "last-modified", "set-cookie"}
    assert "access-control-allow-origin" not in answer.headers


async def test_the_headers_of_a_download_come_alone(service: ServiceHarness) -> None:
    """They are those of the whole file: only GET has parts (RFC 9110, section 14.2)."""
    path = await buy(
        service, (await service.create(delivery={"fileId": await uploaded(service)}))["id"]
    )
    answer = await download(service, path)
    for asked in ({}, {"range": "bytes=0-1"}, {"range": "bytes=99999999-"}):
        head = await service.anyone.head(f"{path}/file", headers=asked)
        assert head.status_code == 200
        assert head.content == b""
        assert head.headers == answer.headers


async def test_a_part_of_a_file_is_downloaded(service: ServiceHarness) -> None:
    data = random_bytes(600_000)
    path = await buy(
        service, (await service.create(delivery={"fileId": await uploaded(service, data)}))["id"]
    )
    answer = await download(service, path, range="bytes=262000-530000")
    assert answer.status_code == 206
    assert answer.content == data[262000:530001]
    assert answer.headers["content-range"] == "bytes 262000-530000/600000"
    assert (await download(service, path, range="bytes=-5")).content == data[-5:]
    answer = await download(service, path, range="bytes=600000-")
    assert (answer.status_code, answer.headers["content-range"]) == (416, "bytes */600000")
    other = {"range": "bytes=0-1", "if-range": '"some"'}
    assert (await download(service, path, **other)).content == data


async def test_a_guessed_download_is_a_page_that_says_nothing(service: ServiceHarness) -> None:
    file = await uploaded(service)
    made = (await service.create(delivery={"fileId": file}))["id"]
    path, back = await buy(service, made, 1), await buy(service, made, 2)
    await paid_back(service, back)
    text = await buy(service, (await service.create(delivery={"text": TEXT}))["id"])
    guessed = [f"/pay/{made}/receipt/{'f' * 24}", f"/pay/{'f' * 24}{path[28 + 1 :]}", back, text]
    answers = [await download(service, one) for one in guessed]
    assert [answer.status_code for answer in answers] == [404] * 4
    assert len({answer.text for answer in answers}) == 1


async def test_a_replaced_file_that_nobody_bought_is_deleted_soon(service: ServiceHarness) -> None:
    old, new = await uploaded(service), await uploaded(service)
    made = (await service.create(delivery={"fileId": old}))["id"]
    shared = (await service.create(delivery={"fileId": new}))["id"]
    await service.edit(made, {"delivery": {"fileId": new}})
    await service.edit(made, {"delivery": {"text": TEXT}})
    await files.sweep_files(service.db, service.clock())
    assert [row["id"] for row in await service.rows("files")] == [new]
    await service.seller.delete(f"{REQUESTS_PATH}/{shared}")
    await files.sweep_files(service.db, service.clock())
    assert [row["id"] for row in await service.rows("files")] == [new], "money may still come"
    service.clock.advance(180 * 24 * 3600)
    await files.sweep_files(service.db, service.clock())
    assert await service.rows("files") == await service.rows("file_parts")


@pytest.mark.parametrize("payers", [130])
async def test_each_code_is_sold_once_however_many_buy(
    service: ServiceHarness, payers: int
) -> None:
    codes = [f"CODE-{number:03d}" for number in range(100)]
    made = (await service.create(**DROP | {"totalUnits": 100}, delivery={"codes": codes}))["id"]
    answers = await asyncio.gather(
        *(service.pay(made, f"{number:032d}") for number in range(payers))
    )
    paths = [one.headers["location"] for one in answers if one.status_code == 303]
    assert len(paths) == 100
    assert [one.status_code for one in answers].count(409) == payers - 100
    found = [await delivered(service, path) for path in paths]
    assert sorted(code for one in found if one for code in one["codes"]) == codes
    assert await counts(service, made) == (100, 100, 0)
