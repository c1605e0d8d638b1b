"""The live part of a pay page: the same as on the page, cheap, never stale."""

from __future__ import annotations

import asyncio
import re
from typing import TYPE_CHECKING

import pytest

from bot.core.net.rates import Rate
from bot.service.api.rate_limits import CROWD_FACTOR
from bot.service.pages import page_cache
from bot.service.pages.page_cache import FRESH_MS
from bot.service.pages.page_texts import Locale
from bot.service.pages.page_values import IDLE_MS, SLOWEST_MS, WATCHED_MS
from tests.support.databases import SQLITE, sqlite
from tests.support.service_harness import DROP, NOON, ServiceHarness, make_service, open_service

if TYPE_CHECKING:
    import httpx


GOAL = {"expirationType": "never", "goal": 1000}


async def look(service: ServiceHarness, request_id: str, **headers: str) -> httpx.Response:
    return await service.anyone.get(f"/pay/{request_id}/live", headers=headers)


def counted(service: ServiceHarness) -> list[str]:
    """Record the ids of the requests that are read from now on."""
    asked: list[str] = []
    sqlite(service.db)._loop_reader.set_trace_callback(
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
        (GOAL, 1),
        (DROP, 1),
        (DROP, 3),
        ({"expirationType": "onPaymentCompleted"}, 1),
        ({"enabledAt": "2027-02-01T09:30:00Z"}, 0),
        ({"expirationInSeconds": 60}, 0),
    ],
)
async def test_it_has_the_same_parts_as_the_page(
    service: ServiceHarness, fields: dict[str, object], pays: int
) -> None:
    made = await service.create(**fields)
    for number in range(pays):
        await service.pay(made["id"], str(number) * 32)
    part = (await look(service, made["id"])).text
    page = (await service.anyone.get(f"/pay/{made['id']}")).text
    pieces = re.split(
        r'(?=<div id="(?:state|goal|stock|times)")', part.removesuffix("</div>").strip()
    )
    assert len(pieces) == 5
    for piece in pieces:
        assert piece.strip() in page


async def test_it_has_the_next_interval_and_the_time(service: ServiceHarness) -> None:
    """Short intervals if units can run out, long ones if only the seller can end the request."""
    drop, donation = await service.create(**DROP), await service.create()
    often, seldom = [(await look(service, made["id"])).text for made in (drop, donation)]
    assert [of(often, name) for name in ("again", "slowest", "now")] == [
        str(WATCHED_MS), str(SLOWEST_MS), str(NOON),
    ]  # fmt: skip
    assert [of(seldom, name) for name in ("again", "slowest")] == [str(IDLE_MS), str(IDLE_MS)]
    assert of(often, "from") == f"/pay/{drop['id']}/live"


async def test_it_has_the_security_headers_of_every_page(service: ServiceHarness) -> None:
    made = await service.create()
    answer = await look(service, made["id"])
    assert answer.headers["cache-control"] == "no-store"
    assert answer.headers["content-language"] == "en"
    assert "Accept-Language" in answer.headers["vary"]
    assert answer.headers["content-security-policy"].startswith("default-src 'none'")
    assert "set-cookie" not in answer.headers


@pytest.mark.only(SQLITE, "a trace of its statements")
async def test_a_thousand_open_pages_cost_one_read_a_second(service: ServiceHarness) -> None:
    """One after the other, and all at once."""
    made = await service.create(**DROP)
    asked = counted(service)
    for _ in range(20):
        assert "3 of 3 left" in (await look(service, made["id"])).text
    assert asked == [made["id"]]
    service.clock.at += FRESH_MS
    answers = await asyncio.gather(*(look(service, made["id"]) for _ in range(20)))
    assert {answer.status_code for answer in answers} == {200}
    assert asked == [made["id"]] * 2


async def test_a_page_that_closes_cancels_no_other_answer(service: ServiceHarness) -> None:
    """All wait for one answer, which is completed though the first caller has gone."""
    made = await service.create(**DROP)
    watched, who = page_cache.LiveParts(), Locale("en", "en")
    settings = make_service(service.db, service.clock)
    first, second = (asyncio.create_task(watched.part(settings, who, made["id"])) for _ in range(2))
    await asyncio.sleep(0)
    first.cancel()
    assert "3 of 3 left" in str(await second)


async def test_an_answer_is_at_most_a_second_old(service: ServiceHarness) -> None:
    made = await service.create(**DROP)
    assert "3 of 3 left" in (await look(service, made["id"])).text
    await service.pay(made["id"])
    service.clock.at += FRESH_MS - 1
    assert "3 of 3 left" in (await look(service, made["id"])).text
    service.clock.at += 1
    assert "2 of 3 left" in (await look(service, made["id"])).text


@pytest.mark.parametrize("field", ["enabledAt", "expiresAt"])
async def test_a_change_by_time_shows_at_once(service: ServiceHarness, field: str) -> None:
    made = await service.create(**{field: "2027-01-15T08:00:00.400Z"})
    before = (await look(service, made["id"])).text
    service.clock.at += 400
    after = (await look(service, made["id"])).text
    assert ("data-payable" in before, "data-payable" in after) == (
        field == "expiresAt", field == "enabledAt",
    )  # fmt: skip


async def test_a_clock_set_back_keeps_no_old_answer(service: ServiceHarness) -> None:
    made = await service.create(**DROP)
    await look(service, made["id"])
    await service.pay(made["id"])
    service.clock.at -= 3_600_000
    assert "2 of 3 left" in (await look(service, made["id"])).text


@pytest.mark.only(SQLITE, "a trace of its statements")
async def test_the_cache_of_answers_is_limited(
    service: ServiceHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Memory does not grow with the number of open requests: the oldest answer is dropped."""
    monkeypatch.setattr(page_cache, "MAX_LIVE_REQUESTS", 2)
    ids = [(await service.create())["id"] for _ in range(3)]
    for one in ids:
        await look(service, one)
    asked = counted(service)
    for one in (ids[1], ids[2], ids[0]):
        await look(service, one)
    assert asked == [ids[0]]


async def test_unknown_and_deleted_requests_are_not_found(service: ServiceHarness) -> None:
    made = await service.create()
    assert (await look(service, made["id"])).status_code == 200
    await service.seller.delete(f"/v3/paymentRequests/{made['id']}")
    service.clock.at += FRESH_MS
    for one in (made["id"], "0" * 24):
        assert (await look(service, one)).status_code == 404


async def test_open_pages_do_not_use_up_the_payers_calls(database_url: str) -> None:
    """They have a limit of their own, large enough for many behind one address."""
    async with open_service(database_url, payer_rate=Rate(3, 60)) as service:
        made = await service.create(**DROP)
        for _ in range(3 * CROWD_FACTOR):
            assert (await look(service, made["id"])).status_code == 200
        over = await look(service, made["id"])
        assert over.status_code == 429
        assert 1 <= int(over.headers["retry-after"]) <= 60
        assert (await service.pay(made["id"])).status_code == 303


async def test_guessed_ids_count_as_calls_of_a_payer(database_url: str) -> None:
    async with open_service(database_url, payer_rate=Rate(2, 60)) as service:
        codes = [(await look(service, str(number) * 24)).status_code for number in range(3)]
        assert codes == [404, 404, 429]


async def test_a_goal_moves_for_each_reader_in_their_own_spelling(service: ServiceHarness) -> None:
    """Amounts follow the region, which is no part of the language; refunds do not count."""
    made = await service.create(**GOAL, instrumentCurrencyCode="EUR")
    tags = {"de-DE": "€ von 1.000", "de-CH": "von EUR\xa01’000"}
    for tag, text in tags.items():
        assert text in (await look(service, made["id"], **{"Accept-Language": tag})).text
    path = (await service.pay(made["id"])).headers["location"]
    service.clock.at += FRESH_MS
    assert ">€5 of €1,000</strong>" in (await look(service, made["id"])).text
    payment = f"/v3/paymentRequests/{made['id']}/payments/{path.rpartition('/')[2]}"
    await service.seller.put(payment, json={"paidBack": {}})
    service.clock.at += FRESH_MS
    assert ">€0 of €1,000</strong> <span>0%</span>" in (await look(service, made["id"])).text


async def test_past_the_goal_a_donation_stays_open(service: ServiceHarness) -> None:
    """The share is rounded down: 100 % is a goal that was reached."""
    made = await service.create(expirationType="never", goal=15.01)
    shares: list[str] = []
    for token in "abcd":
        await service.pay(made["id"], token * 32)
        page = (await service.anyone.get(f"/pay/{made['id']}")).text
        shares += re.findall(r"<span>(\d+)%</span>", page)
        assert "data-payable" in page
    assert shares == ["33", "66", "99", "133"]
    assert "Goal reached!" in page
    assert '<progress value="100" max="100" aria-label="Goal" aria-valuetext="$20 of $15.01' in page
