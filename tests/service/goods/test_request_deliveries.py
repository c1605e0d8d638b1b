"""`delivery` of create and edit: stored, shown without its content, replaced and cleared."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from bot.interface.answers import PublicAnswer, RequestAnswer, RequestList
from bot.service.goods import contents
from tests.support.goods import ALBUM, buy, delivered, uploaded
from tests.support.service_harness import (
    DROP,
    NEW,
    REQUESTS_PATH,
    ServiceHarness,
    refusal_code,
    refused_fields,
)

if TYPE_CHECKING:
    import httpx

OWNER = "Owner-Ref"


CODES = ["AAAA-1", "BBBB-2", "CCCC-3"]
TEXT = "https://example.org/secret-album"


async def create(service: ServiceHarness, delivery: Any) -> httpx.Response:
    return await service.seller.post(REQUESTS_PATH, json=NEW | DROP | {"delivery": delivery})


async def add_codes(service: ServiceHarness, request_id: str, codes: list[str]) -> httpx.Response:
    return await service.seller.post(f"{REQUESTS_PATH}/{request_id}/codes", json={"codes": codes})


async def shown(service: ServiceHarness, request_id: str) -> tuple[Any, Any]:
    """Return what the seller and everybody else is told of a request's delivery."""
    own = await service.get(request_id)
    RequestAnswer.model_validate(own)
    public = (await service.anyone.get(f"{REQUESTS_PATH}/public/{request_id}")).json()
    PublicAnswer.model_validate(public)
    listed = (await service.seller.get(REQUESTS_PATH)).json()
    RequestList.model_validate(listed)
    assert listed["items"][0].get("delivery") == own.get("delivery")
    assert "delivery" not in public
    assert own.get("delivers") == public.get("delivers")
    return own.get("delivery"), public.get("delivers")


async def test_most_requests_deliver_nothing(service: ServiceHarness) -> None:
    made = await service.create()
    assert not made.keys() & {"delivery", "delivers"}
    assert await shown(service, made["id"]) == (None, None)


async def test_a_text_is_kept_and_not_shown(service: ServiceHarness) -> None:
    made = await service.create(delivery={"text": TEXT})
    assert await shown(service, made["id"]) == ({"kind": "text"}, "text")
    assert TEXT not in str(made)


async def test_a_file_is_described(service: ServiceHarness) -> None:
    made = await service.create(delivery={"fileId": await uploaded(service)})
    file = {"name": "album.zip", "mediaType": "application/zip", "size": len(ALBUM)}
    assert made["delivery"] == {"kind": "file", "file": file}
    assert await shown(service, made["id"]) == (made["delivery"], "file")


async def test_codes_are_counted(service: ServiceHarness) -> None:
    made = await service.create(delivery={"codes": CODES})
    assert made["delivery"] == {
        "kind": "codes",
        "codes": {"total": 3, "assigned": 0, "waiting": 0},
    }
    assert await shown(service, made["id"]) == (made["delivery"], "codes")
    assert "AAAA" not in str(made)


async def test_codes_come_from_a_file_too(service: ServiceHarness) -> None:
    listed = "\ufeffAAAA-1\r\n\r\nBBBB-2\r\n".encode()
    file = await uploaded(service, listed, "codes.txt")
    made = await service.create(delivery={"codesFileId": file})
    assert made["delivery"]["codes"]["total"] == 2
    rows = await service.db.query("SELECT place, code FROM codes ORDER BY place")
    assert [tuple(row.values()) for row in rows] == [(1, "AAAA-1"), (2, "BBBB-2")]


async def test_as_many_codes_as_allowed_come_from_a_file(service: ServiceHarness) -> None:
    listed = "\n".join(f"CODE-{number:06d}" for number in range(10_000))
    file = await uploaded(service, listed.encode(), "codes.txt")
    made = await service.create(delivery={"codesFileId": file})
    assert made["delivery"]["codes"]["total"] == 10_000
    (row,) = await service.db.query("SELECT code FROM codes WHERE place = 7777")
    assert row["code"] == "CODE-007776"


UNDELIVERABLE: list[tuple[Any, str]] = [
    ({}, "delivery"),
    ({"text": "a", "codes": ["b"]}, "delivery"),
    ({"text": ""}, "delivery.text"),
    ({"text": " \n"}, "delivery.text"),
    ({"text": "a\x00"}, "delivery.text"),
    ({"text": "a" * 4001}, "delivery.text"),
    ({"codes": []}, "delivery.codes"),
    ({"codes": ["a\nb"]}, "delivery.codes"),
    ({"codes": ["a", "a"]}, "delivery.codes"),
    ({"codes": ["a" * 501]}, "delivery.codes.0"),
    ({"codes": "a"}, "delivery.codes"),
    ({"link": "a"}, "delivery.link"),
]


async def test_what_can_not_be_delivered_is_refused(service: ServiceHarness) -> None:
    for delivery, field in UNDELIVERABLE:
        answer = await create(service, delivery)
        assert refusal_code(answer) == (400, "invalidBody"), delivery
        assert refused_fields(answer) == [field]
    assert await service.rows("payment_requests") == await service.rows("codes") == []
    for file_id in ("f" * 24, "album", "F" * 24, "f" * 24 + "\n", ""):
        for field in ("fileId", "codesFileId"):
            answer = await create(service, {field: file_id})
            told = f"delivery.{field}: is no file of this application"
            assert answer.json()["message"] == told


async def test_repeated_codes_are_named_by_their_lines_and_never_repeated(
    service: ServiceHarness,
) -> None:
    file = await uploaded(service, b"SECRET\n\nb\nSECRET\nb\n", "codes.txt")
    answer = await create(service, {"codesFileId": file})
    problem = "delivery.codesFileId: 2 codes are repeated: lines 4 and 5"
    assert answer.json()["message"] == problem
    answer = await create(service, {"codes": ["SECRET", "SECRET"]})
    assert answer.json()["message"] == "delivery.codes: 1 code is repeated: number 2"


async def test_a_picture_is_no_list_of_codes(service: ServiceHarness) -> None:
    answer = await create(service, {"codesFileId": await uploaded(service, b"\x89PNG\r\n")})
    assert answer.json()["message"] == "delivery.codesFileId: is not UTF-8 text"


async def test_added_codes_are_counted_and_a_repeat_adds_none(service: ServiceHarness) -> None:
    made = (await service.create(delivery={"codes": CODES}))["id"]
    answer = await add_codes(service, made, ["CCCC-3", "DDDD-4"])
    assert answer.json() == {"total": 4, "added": 1, "assigned": 0, "waiting": 0}
    answer = await add_codes(service, made, ["CCCC-3", "DDDD-4"])
    assert answer.json() == {"total": 4, "added": 0, "assigned": 0, "waiting": 0}
    audited = await service.db.query("SELECT details FROM audit WHERE action = 'request.codes'")
    assert [row["details"] for row in audited] == ['{"added":1}']


async def test_who_bought_from_a_deleted_request_gets_a_code_too(service: ServiceHarness) -> None:
    made = (await service.create(delivery={"codes": ["A-1"]}))["id"]
    paths = [await buy(service, made, number) for number in (1, 2)]
    await service.seller.delete(f"{REQUESTS_PATH}/{made}")
    url = f"{REQUESTS_PATH}/{made}/codes"
    answer = await service.seller.post(url, json={"codes": ["B-2"]})
    assert answer.json() == {"total": 2, "assigned": 2, "waiting": 0, "added": 1}
    assert (await delivered(service, paths[1])) == {"state": "delivered", "codes": ["B-2"]}


async def test_many_codes_are_added_at_once(service: ServiceHarness) -> None:
    """A body of codes may be larger than others."""
    made = (await service.create(delivery={"codes": ["first"]}))["id"]
    answer = await add_codes(service, made, [f"{number:060d}" for number in range(10_000)])
    assert answer.json()["total"] == 10_001
    assert refusal_code(await add_codes(service, made, ["x" * 500] * 2200)) == (
        413,
        "bodyTooLarge",
    )


@pytest.mark.parametrize(("item", "count"), [("", 300_000), (1, 400_000)])
async def test_a_list_that_is_too_long_is_refused_before_its_items_are_read(
    service: ServiceHarness, item: Any, count: int
) -> None:
    """An error for each item would keep every payer waiting for seconds."""
    answer = await add_codes(service, "f" * 24, [item] * count)
    assert refusal_code(answer) == (400, "invalidBody")
    assert answer.json()["message"] == "codes: has more than 10000 codes"
    assert refused_fields(answer) == ["codes"]


async def test_the_codes_of_a_seller_are_bounded(
    service: ServiceHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Deleted requests keep theirs, so that requests without end would fill the database."""
    monkeypatch.setattr(contents, "MOST_CODES_OF_SELLER", 5)
    anna, ben = {OWNER: "anna"}, {OWNER: "ben"}
    body = NEW | {"delivery": {"codes": CODES}}

    async def made(owner: dict[str, str]) -> httpx.Response:
        return await service.seller.post(REQUESTS_PATH, json=body, headers=owner)

    first = await made(anna)
    assert refusal_code(await made(anna)) == (400, "invalidBody")
    assert refusal_code(await add_codes(service, first.json()["id"], ["D", "E", "F"]))[0] == 400
    assert (await add_codes(service, first.json()["id"], ["D", "E"])).status_code == 200
    assert [(await made(owner)).status_code for owner in (ben, {}, {})] == [200] * 3
    assert (await made(anna | service.stranger())).status_code == 200


async def test_codes_are_added_where_codes_are_delivered(service: ServiceHarness) -> None:
    made = (await service.create(delivery={"text": TEXT}))["id"]
    assert refusal_code(await add_codes(service, made, CODES)) == (409, "noCodes")
    assert refusal_code(await add_codes(service, "f" * 24, CODES)) == (404, "notFound")
    assert await service.rows("codes") == []


async def test_an_edit_replaces_and_clears(service: ServiceHarness) -> None:
    made = (await service.create(delivery={"text": TEXT}))["id"]
    await service.edit(made, {"delivery": {"codes": CODES}})
    codes = {"total": 3, "assigned": 0, "waiting": 0}
    assert await shown(service, made) == ({"kind": "codes", "codes": codes}, "codes")
    await service.edit(made, {"delivery": {"codes": ["x"]}})
    assert (await shown(service, made))[0]["codes"]["total"] == 1
    await service.edit(made, {"product": {"name": "Tea"}})
    assert (await shown(service, made))[1] == "codes"
    answer = await service.edit(made, {"delivery": None})
    assert answer.status_code == 200
    assert await shown(service, made) == (None, None)
    assert await service.rows("codes") == []
    assert await service.rows("former_deliveries") == []


async def test_an_edit_that_is_refused_changes_nothing(service: ServiceHarness) -> None:
    made = (await service.create(delivery={"codes": CODES}))["id"]
    answer = await service.edit(made, {"delivery": {"fileId": "f" * 24}})
    assert refused_fields(answer) == ["delivery.fileId"]
    assert (await shown(service, made))[0]["codes"]["total"] == 3
    assert len(await service.rows("codes")) == 3


async def test_the_audit_log_says_that_it_changed_and_not_how(service: ServiceHarness) -> None:
    made = (await service.create(delivery={"text": TEXT}))["id"]
    await service.edit(made, {"delivery": {"text": TEXT}})  # the same
    await service.edit(made, {"delivery": {"text": TEXT + "-2"}})
    rows = await service.db.query("SELECT details FROM audit WHERE action = 'request.edited'")
    assert [row["details"] for row in rows] == ['{"delivery":"changed"}']
