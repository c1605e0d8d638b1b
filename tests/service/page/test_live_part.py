"""The part of a pay page that changes: the same as on the page, cheap to watch, never stale."""

from __future__ import annotations

import asyncio
import re
from typing import TYPE_CHECKING

import pytest

from bot.core.net.rates import Rate
from bot.service.http.calls import CROWD
from bot.service.http.dependencies import Service
from bot.service.page import live
from bot.service.page.live import FRESH
from bot.service.page.view import IDLE, SLOWEST, WATCHED, Reader
from tests.support.service_harness import DROP, NOON, URL, ServiceHarness, opened

if TYPE_CHECKING:
    from pathlib import Path

    import httpx


async def look(shop: ServiceHarness, request_id: str, **headers: str) -> httpx.Response:
    return await shop.anyone.get(f"/pay/{request_id}/live", headers=headers)


def counted(shop: ServiceHarness) -> list[str]:
    """The ids of requests that the database is asked for from now on."""
    asked: list[str] = []
    shop.db._glance.conn.set_trace_callback(
        lambda statement: asked.extend(re.findall(r" r\.id = '(\w+)'", statement))
    )
    return asked


def of(text: str, name: str) -> str | None:
    found = re.search(rf' data-{name}="([^"]*)"', text)
    return found and found[1]


@pytest.mark.parametrize(
    ("fields", "pays"),
    [
        ({}, 0),
        (DROP, 1),
        (DROP, 3),
        ({"expirationType": "onPaymentCompleted"}, 1),
        ({"enabledAt": "2027-02-01T09:30:00Z"}, 0),
        ({"expirationInSeconds": 60}, 0),
    ],
)
async def test_it_is_word_for_word_what_the_page_has(
    shop: ServiceHarness, fields: dict[str, object], pays: int
) -> None:
    made = await shop.create(**fields)
    for number in range(pays):
        await shop.pay(made["id"], str(number) * 32)
    part = (await look(shop, made["id"])).text
    assert part.startswith('<div id="live"')
    assert part in (await shop.anyone.get(f"/pay/{made['id']}")).text


async def test_it_says_when_to_ask_again_and_what_time_it_is(shop: ServiceHarness) -> None:
    """Often where units can run out, seldom where only the seller ends it."""
    drop, donation = await shop.create(**DROP), await shop.create()
    often, seldom = [(await look(shop, made["id"])).text for made in (drop, donation)]
    assert [of(often, name) for name in ("again", "slowest", "now")] == [
        str(WATCHED), str(SLOWEST), str(NOON),
    ]  # fmt: skip
    assert [of(seldom, name) for name in ("again", "slowest")] == [str(IDLE), str(IDLE)]
    assert of(often, "from") == f"/pay/{drop['id']}/live"


async def test_it_is_guarded_as_every_page_is(shop: ServiceHarness) -> None:
    made = await shop.create()
    answer = await look(shop, made["id"])
    assert answer.headers["cache-control"] == "no-store"
    assert answer.headers["content-language"] == "en"
    assert "Accept-Language" in answer.headers["vary"]
    assert answer.headers["content-security-policy"].startswith("default-src 'none'")
    assert "set-cookie" not in answer.headers


async def test_a_thousand_watchers_are_one_read_a_second(shop: ServiceHarness) -> None:
    """One after the other and all at once."""
    made = await shop.create(**DROP)
    asked = counted(shop)
    for _ in range(20):
        assert "3 of 3 left" in (await look(shop, made["id"])).text
    assert asked == [made["id"]]
    shop.clock.at += FRESH
    answers = await asyncio.gather(*(look(shop, made["id"]) for _ in range(20)))
    assert {answer.status_code for answer in answers} == {200}
    assert asked == [made["id"]] * 2


async def test_a_watcher_who_leaves_takes_nothing_from_the_others(shop: ServiceHarness) -> None:
    """All wait for one answer; it is made though the first of them is gone."""
    made = await shop.create(**DROP)
    watched, who = live.Live(), Reader("en", "en")
    service = Service(db=shop.db, now=shop.clock, public_url=URL)
    first, second = (asyncio.create_task(watched.part(service, who, made["id"])) for _ in range(2))
    await asyncio.sleep(0)
    first.cancel()
    assert "3 of 3 left" in str(await second)


async def test_what_is_told_is_at_most_a_second_old(shop: ServiceHarness) -> None:
    made = await shop.create(**DROP)
    assert "3 of 3 left" in (await look(shop, made["id"])).text
    await shop.pay(made["id"])
    shop.clock.at += FRESH - 1
    assert "3 of 3 left" in (await look(shop, made["id"])).text
    shop.clock.at += 1
    assert "2 of 3 left" in (await look(shop, made["id"])).text


@pytest.mark.parametrize("field", ["enabledAt", "expiresAt"])
async def test_the_moment_of_a_change_is_told_at_that_moment(
    shop: ServiceHarness, field: str
) -> None:
    made = await shop.create(**{field: "2027-01-15T08:00:00.400Z"})
    before = (await look(shop, made["id"])).text
    shop.clock.at += 400
    after = (await look(shop, made["id"])).text
    assert ("data-payable" in before, "data-payable" in after) == (
        field == "expiresAt", field == "enabledAt",
    )  # fmt: skip


async def test_a_clock_that_is_set_back_keeps_no_old_answer(shop: ServiceHarness) -> None:
    made = await shop.create(**DROP)
    await look(shop, made["id"])
    await shop.pay(made["id"])
    shop.clock.at -= 3_600_000
    assert "2 of 3 left" in (await look(shop, made["id"])).text


async def test_few_answers_are_kept(shop: ServiceHarness, monkeypatch: pytest.MonkeyPatch) -> None:
    """Memory does not grow with the requests that are watched: the oldest answer goes."""
    monkeypatch.setattr(live, "MOST", 2)
    ids = [(await shop.create())["id"] for _ in range(3)]
    for one in ids:
        await look(shop, one)
    asked = counted(shop)
    for one in (ids[1], ids[2], ids[0]):
        await look(shop, one)
    assert asked == [ids[0]]


async def test_an_unknown_and_a_deleted_request_are_not_there(shop: ServiceHarness) -> None:
    made = await shop.create()
    assert (await look(shop, made["id"])).status_code == 200
    await shop.seller.delete(f"/v3/paymentRequests/{made['id']}")
    shop.clock.at += FRESH
    for one in (made["id"], "0" * 24):
        assert (await look(shop, one)).status_code == 404


async def test_watching_uses_up_nothing_of_the_payers_calls(tmp_path: Path) -> None:
    """It has a measure of its own, large enough for many behind one address."""
    async with opened(tmp_path, payer_rate=Rate(3, 60)) as shop:
        made = await shop.create(**DROP)
        for _ in range(3 * CROWD):
            assert (await look(shop, made["id"])).status_code == 200
        over = await look(shop, made["id"])
        assert over.status_code == 429
        assert 1 <= int(over.headers["retry-after"]) <= 60
        assert (await shop.pay(made["id"])).status_code == 303


async def test_guessing_ids_counts_as_a_payers_calls(tmp_path: Path) -> None:
    async with opened(tmp_path, payer_rate=Rate(2, 60)) as shop:
        codes = [(await look(shop, str(number) * 24)).status_code for number in range(3)]
        assert codes == [404, 404, 429]
