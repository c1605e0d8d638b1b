"""Holds of a drop's units by browsers with a cookie and scripts without, over real sockets."""

from __future__ import annotations

import asyncio
import re
import ssl
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import httpx
import pytest

from bot.core.net.rates import Rate
from bot.service.api.callers import FORM_TIME_MS, PayerCookies
from bot.service.checkouts import checkout
from bot.service.pages.app import create_app
from tests.support.raw_http import NOBODY, open_web_server
from tests.support.service_harness import (
    DROP,
    ServiceHarness,
    client,
    form_token,
    make_service,
    open_service,
)

KEY = b"k" * 32
TLS = ssl.create_default_context()
"""Created once: no test uses TLS, and creating one takes longer than a purchase."""

RESERVATION = 900_000
RATE = Rate(60, 60)
"""The default of PAYER_RATE."""

CAP = 5
Place: TypeAlias = tuple[str, dict[str, str]]
US = ("127.0.0.1",)
ONE_ADDRESS: list[Place] = [("127.0.0.2", {})]
MANY_ADDRESSES: list[Place] = [(f"127.0.1.{number}", {}) for number in range(1, 201)]
PROXIED: list[Place] = [("127.0.0.1", {"X-Forwarded-For": "203.0.113.9"})]
"""The places of a crowd: the address of its connections, and the headers of its proxy."""


@dataclass
class Market:
    """A shop on a port; `browser` opens clients that close with it."""

    service: ServiceHarness
    url: str
    stack: AsyncExitStack = field(repr=False)

    async def browser(self, host: str = "127.0.0.2", **headers: str) -> httpx.AsyncClient:
        """Open a browser's profile, with a jar for cookies, at an address."""
        made = httpx.AsyncClient(
            base_url=self.url, headers=headers, timeout=60,
            transport=httpx.AsyncHTTPTransport(local_address=host, verify=TLS),
        )  # fmt: skip
        return await self.stack.enter_async_context(made)

    async def drop(self, units: int) -> str:
        made = await self.service.create(expirationType="limit", totalUnits=units)
        return f"/pay/{made['id']}"

    async def states(self) -> list[str]:
        return sorted(row["state"] for row in await self.service.rows("checkouts"))


@asynccontextmanager
async def market(
    database_url: str, proxies: tuple[str, ...] = NOBODY, **settings: Any
) -> AsyncIterator[Market]:
    given: dict[str, Any] = {"holds": CAP, "payer_key": KEY, "payer_rate": RATE} | settings
    async with open_service(database_url, **given) as service, AsyncExitStack() as stack:
        app = create_app(make_service(service.db, service.clock, **given))
        site = await stack.enter_async_context(open_web_server(app, proxies))
        yield Market(service, f"http://127.0.0.1:{site.port}", stack)


async def buy(browser: httpx.AsyncClient, path: str, scenario: str = "atOnce") -> httpx.Response:
    """Look at the page and post its form, as a browser does."""
    page = await browser.get(path)
    if "<form" not in page.text:
        return page
    return await browser.post(path, data={"token": form_token(page.text), "manner": scenario})


async def take(http: httpx.AsyncClient, path: str, number: int) -> httpx.Response:
    """Post a form like a script that keeps no cookie and never pays."""
    http.cookies.clear()
    return await http.post(path, data={"token": f"{number:032x}", "manner": "never"})


@pytest.mark.long
async def test_one_script_without_cookies_holds_five_and_the_others_are_served(
    database_url: str,
) -> None:
    """Of 37 units the script holds 5, whatever it tries, and 105 honest payers get the other 32."""
    async with market(database_url) as it:
        path = await it.drop(37)
        script = await it.browser("127.0.0.9")
        answers = [await take(script, path, number) for number in range(50)]
        assert [answer.status_code for answer in answers] == [303] * CAP + [429] * 45
        refused = answers[CAP]
        assert refused.headers["retry-after"] == str(RESERVATION // 1000)
        assert "try again in 15 minutes" in refused.text
        assert '<a class="button" href="">Back to payment</a>' in refused.text
        assert await it.states() == ["open"] * CAP
        honest = [await it.browser(host) for host, _ in MANY_ADDRESSES[:105]]
        served = await asyncio.gather(*(buy(browser, path) for browser in honest))
        assert [answer.status_code for answer in served].count(303) == 32
        assert await it.states() == ["open"] * CAP + ["paid"] * 32


@pytest.mark.long
@pytest.mark.parametrize("places", [ONE_ADDRESS, MANY_ADDRESSES, PROXIED], ids=len)
async def test_a_crowd_behind_one_address_buys_as_one_from_many(
    database_url: str, places: list[Place]
) -> None:
    """200 browsers at once, with the default PAYER_RATE: 100 units are sold without a 429."""
    async with market(database_url, US if places is PROXIED else NOBODY) as it:
        path = await it.drop(100)
        crowd = [await it.browser(host, **headers) for host, headers in (places * 200)[:200]]
        answers = await asyncio.gather(*(buy(browser, path) for browser in crowd))
        statuses = [answer.status_code for answer in answers]
        assert statuses.count(303) == 100
        assert set(statuses) <= {200, 303, 409}
        receipts = [
            browser.get(answer.headers["location"])
            for browser, answer in zip(crowd, answers, strict=True)
            if answer.status_code == 303
        ]
        assert {answer.status_code for answer in await asyncio.gather(*receipts)} == {200}
        assert await it.states() == ["paid"] * 100


@pytest.mark.long
async def test_a_script_with_cookies_holds_a_networks_share(database_url: str) -> None:
    """It uses a new browser for each payment; payers elsewhere get all the others."""
    async with market(database_url) as it:
        path = await it.drop(36)
        answers = [await buy(await it.browser(), path, "never") for _ in range(40)]
        assert [answer.status_code for answer in answers] == [303] * 5 + [429] * 35
        nameless = await take(await it.browser(), path, 1)
        assert nameless.status_code == 429
        elsewhere = [await it.browser(host) for host, _ in MANY_ADDRESSES[:33]]
        bought = [(await buy(browser, path)).status_code for browser in elsewhere]
        assert bought == [303] * 31 + [200] * 2


async def test_units_of_cancelled_and_lapsed_checkouts_can_be_held_again(database_url: str) -> None:
    """Cancelled at once, at once; lapsed, after as long again."""
    async with market(database_url) as it:
        path, script = await it.drop(37), await it.browser()
        held = [(await take(script, path, number)).headers["location"] for number in range(CAP)]
        assert (await take(script, path, 6)).status_code == 429
        await script.post(held[0], data={"action": "cancel"})
        assert (await take(script, path, 6)).status_code == 303
        known = await buy(await it.browser(), path, "never")
        assert (known.status_code, known.headers["retry-after"]) == (
            429,
            str(2 * RESERVATION // 1000),
        )
        it.service.clock.advance(RESERVATION // 1000)
        assert (await take(script, path, 7)).status_code == 429
        it.service.clock.advance(RESERVATION // 1000)
        assert (await take(script, path, 7)).status_code == 303
        rows = await it.service.rows("checkouts")
        kept = {row["state"]: row["payer"] for row in rows}
        assert kept["cancelled"] == kept["lapsed"] is None


async def test_holds_count_by_subscriber_and_by_request(database_url: str) -> None:
    """Addresses of one IPv6 /64 are one payer; another request has a count of its own."""
    async with market(database_url, US) as it:
        path, other, proxy = await it.drop(37), await it.drop(37), await it.browser("127.0.0.1")

        async def take_as(where: str, number: int, address: str) -> int:
            proxy.headers["X-Forwarded-For"] = address
            return (await take(proxy, where, number)).status_code

        mine = [await take_as(path, n, f"2001:db8::{n + 1}") for n in range(CAP + 1)]
        assert mine == [303] * CAP + [429]
        assert await take_as(path, 90, "2001:db8:0:1::1") == 303
        assert await take_as(other, 91, "2001:db8::1") == 303


@pytest.mark.parametrize(("cap", "fields"), [(0, DROP | {"totalUnits": 37}), (2, {})])
async def test_the_cap_is_a_setting_and_holds_for_donations_too(
    database_url: str, cap: int, fields: dict[str, Any]
) -> None:
    """0 means no cap; a donation never runs out, so only payers without a cookie are capped."""
    async with market(database_url, holds=cap) as it:
        path = f"/pay/{(await it.service.create(**fields))['id']}"
        script = await it.browser()
        statuses = [(await take(script, path, number)).status_code for number in range(10)]
        assert statuses == [303] * (cap or 10) + [429] * (10 - (cap or 10))
        assert (await buy(await it.browser(), path, "never")).status_code == 303


@pytest.mark.parametrize(
    ("cap", "per_network", "per_site", "opened"),
    [(CAP, 3, 5, [3, 2, 0, 3]), (0, 3, 5, [4, 4, 4, 4])],
)
async def test_a_network_and_its_site_have_a_cap_on_links_without_units(
    database_url: str,
    monkeypatch: pytest.MonkeyPatch,
    cap: int,
    per_network: int,
    per_site: int,
    opened: list[int],
) -> None:
    """A browser's profile for each form is no way round; each makes calls to a provider.

    Three networks, of which the third begins when its site has as many as it may, and another site.
    """
    monkeypatch.setattr(checkout, "MOST_OPEN", per_network)
    monkeypatch.setattr(checkout, "MOST_OPEN_OF_SITE", per_site)
    async with market(database_url, US, holds=cap) as it:
        path = f"/pay/{(await it.service.create())['id']}"
        networks = ["2001:db8:0:1::1", "2001:db8:0:2::1", "2001:db8:0:3::1", "2001:db8:9::1"]
        found = []
        for address in networks:
            headers = {"X-Forwarded-For": address}
            browsers = [await it.browser("127.0.0.1", **headers) for _ in range(4)]
            found.append([await buy(browser, path, "never") for browser in browsers])
        statuses = [[answer.status_code for answer in answers] for answers in found]
        assert statuses == [[303] * number + [429] * (4 - number) for number in opened]
        rows = await it.service.rows("checkouts")
        assert len(rows) == sum(opened)
        if cap:
            assert found[0][3].headers["retry-after"] == str(RESERVATION // 1000)
            first = found[0][0].headers["location"]
            browser = await it.browser("127.0.0.1", **{"X-Forwarded-For": networks[0]})
            await browser.post(first, data={"action": "cancel"})
            assert (await buy(browser, path, "never")).status_code == 303
            gone = [row for row in await it.service.rows("checkouts") if row["state"] != "open"]
            assert [row["site"] for row in gone] == [None]


async def test_a_known_payer_returns_to_the_open_checkout(database_url: str) -> None:
    """Another tab posts a form of its own; once it is paid, the next form opens a checkout."""
    async with market(database_url) as it:
        path, browser = await it.drop(3), await it.browser()
        first = await buy(browser, path, "never")
        second = await buy(browser, path)
        assert first.headers["location"] == second.headers["location"]
        assert await it.states() == ["open"]
        await browser.post(first.headers["location"], data={"action": "cancel"})
        for _ in range(2):
            assert "/receipt/" in (await buy(browser, path)).headers["location"]
        assert await it.states() == ["cancelled", "paid", "paid"]


async def test_browsers_count_one_by_one_and_those_without_cookies_by_address(
    database_url: str,
) -> None:
    async with market(database_url, payer_rate=Rate(3, 60)) as it:
        path = await it.drop(99)
        nameless = [(await take(await it.browser(), path, n)).status_code for n in range(5)]
        assert nameless == [303] * 3 + [429] * 2
        for _ in range(4):
            assert "/receipt/" in (await buy(await it.browser(), path)).headers["location"]
        known = await it.browser()
        looks = [(await known.get(path)).status_code for _ in range(5)]
        assert looks == [200] * 4 + [429]  # the first brought the cookie


async def test_an_address_has_a_limit_even_for_a_crowd(database_url: str) -> None:
    async with market(database_url, payer_rate=Rate(1, 60)) as it:
        path = await it.drop(9)
        looks = [(await (await it.browser()).get(path)).status_code for _ in range(21)]
        assert looks == [200] * 20 + [429]
        assert (await (await it.browser("127.0.0.3")).get(path)).status_code == 200


async def test_the_cookie_has_only_what_it_needs(database_url: str) -> None:
    """One random value for /pay: no script reads it, no other site sends it, it soon expires."""
    async with market(database_url) as it:
        path, browser = await it.drop(3), await it.browser()
        page = await browser.get(path)
        (header,) = page.headers.get_list("set-cookie")
        value, *attributes = header.split("; ")
        assert re.fullmatch(r"payer=[0-9a-f]{24}\.[0-9a-f]{11}\.[0-9a-f]{32}", value)
        seconds = (FORM_TIME_MS + RESERVATION) // 1000
        assert attributes == ["Path=/pay", f"Max-Age={seconds}", "HttpOnly", "SameSite=Lax"]
        (again,) = (await browser.get(path)).headers.get_list("set-cookie")
        assert again[:30] == header[:30]
        paid = await buy(browser, path)
        receipt = await browser.get(paid.headers["location"])
        for answer in (paid, receipt, await browser.get(f"{path}/live")):
            assert "set-cookie" not in answer.headers
        gone = await it.service.create(expirationInSeconds=1)
        it.service.clock.advance(1)
        assert "set-cookie" not in (await browser.get(f"/pay/{gone['id']}")).headers


async def test_the_cookie_of_a_https_page_is_secure(service: ServiceHarness) -> None:
    made = await service.create()
    app = create_app(make_service(service.db, service.clock, "https://pay.test"))
    async with client(app) as anyone:
        page = await anyone.get(f"/pay/{made['id']}")
    assert page.headers["set-cookie"].endswith("; SameSite=Lax; Secure")


NOW = 1_800_000_000_000
COOKIES = PayerCookies(KEY, RESERVATION, secure=False)
MADE = COOKIES.header("192.0.2.1", NOW).partition(";")[0].removeprefix("payer=")
END = NOW + FORM_TIME_MS + RESERVATION


@pytest.mark.parametrize(
    ("cookie", "network", "now", "known"),
    [
        (MADE, "192.0.2.1", NOW, True),
        (MADE, "192.0.2.1", END - 1, True),
        (MADE, "192.0.2.1", END, False),
        (MADE, "192.0.2.1", NOW - 1, False),
        (MADE, "192.0.2.2", NOW, False),
        ("0" * 24 + MADE[24:], "192.0.2.1", NOW, False),
        (MADE[:-1] + ("1" if MADE[-1] == "0" else "0"), "192.0.2.1", NOW, False),
        (f"{'0' * 24}.{NOW:x}.{'0' * 32}", "192.0.2.1", NOW, False),
        ("", "192.0.2.1", NOW, False),
        ("x" * 9000, "192.0.2.1", NOW, False),
    ],
    ids=range(10),  # a cookie is random, and parallel runs need the same names
)
def test_a_cookie_is_valid_for_its_network_and_time(
    *, cookie: str, network: str, now: int, known: bool
) -> None:
    assert COOKIES.payer(cookie, network, now) == (MADE[:24] if known else None)


def test_a_cookie_of_another_deployment_is_ignored() -> None:
    other = PayerCookies(b"o" * 32, RESERVATION, secure=False)
    assert other.payer(MADE, "192.0.2.1", NOW) is None
    assert other.network_at_request("id", "192.0.2.1") != COOKIES.network_at_request(
        "id", "192.0.2.1"
    )
    assert COOKIES.network_at_request("id", "192.0.2.1") != COOKIES.network_at_request(
        "other", "192.0.2.1"
    )
