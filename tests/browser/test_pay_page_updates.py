"""An open pay page keeps itself up to date: units left, its opening, its end, changes."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest
import pytest_asyncio
from playwright.async_api import expect

from bot.service.pages.page_values import SLOWEST_MS, WATCHED_MS
from tests.support.browser_payer import Payer, payer
from tests.support.pay_page_states import STATES, FlakyExchange, Scene
from tests.support.service_harness import DROP, ServiceHarness

if TYPE_CHECKING:
    from playwright.async_api import Browser, Page, Request


pytestmark = pytest.mark.asyncio(loop_scope="session")  # one browser serves all

DAWN = datetime(2020, 2, 2, tzinfo=UTC)
"""What the payers' clocks say, which are wrong by years."""


STEP = 500
PATIENCE = 120_000
"""Milliseconds of the browser's time that pass at once, and that a look may be waited for."""


@pytest_asyncio.fixture(loop_scope="session")
async def who(browser: Browser, service: ServiceHarness) -> AsyncIterator[Payer]:
    """Open a payer's browser whose time stands still until the test moves it."""
    async with payer(browser, service, timezone_id="Asia/Tokyo") as it:
        await it.context.clock.install(time=DAWN)
        await it.context.clock.pause_at(DAWN)
        yield it


async def advance(service: ServiceHarness, page: Page, ms: int) -> None:
    """Move the time of the service and of the browser."""
    service.clock.at += ms
    await page.clock.run_for(ms)


async def looked(service: ServiceHarness, page: Page, where: str = "/live") -> int:
    """Move time until the page has asked and read the answer; return the milliseconds.

    Little by little: an answer that took seconds of the browser's time would be given up. And time
    that passed before the page has read it would be added to the wait for its next look.
    """
    asked: list[Request] = []

    def note(request: Request) -> None:
        if where in request.url:
            asked.append(request)

    page.on("request", note)
    waited = 0
    while not asked:
        assert waited < PATIENCE, "the page asks no more"
        await advance(service, page, STEP)
        waited += STEP
    page.remove_listener("request", note)
    answer = await asked[0].response()
    assert answer
    if answer.ok:  # a page reads nothing of another, and may leave for good
        await answer.finished()
    await page.locator(":root").wait_for()  # by when the page has planned its next look
    return waited


TIMED = """() => {
  const ask = window.fetch;
  window.looks = [];
  window.fetch = async (...what) => {
    const look = {asked: performance.now()};
    window.looks.push(look);
    const answer = await ask(...what);
    look.answered = performance.now();
    return answer;
  };
}"""
"""Notes the page's own times, as a routed request is reported after time has passed on."""


async def marked(page: Page) -> None:
    """Mark the document, so that one that was loaded anew is told from it."""
    await page.evaluate("document.documentElement.dataset.mark = 'kept'")


async def kept(page: Page) -> bool:
    return await page.locator("html[data-mark=kept]").count() == 1


async def test_an_open_page_shows_another_payers_payment_without_a_reload(
    service: ServiceHarness, who: Payer
) -> None:
    """Down to sold out; what was typed stays, the focus stays, the form goes when it is over."""
    made = await service.create(requestedUserData=["email"], **DROP | {"totalUnits": 2})
    page = await who.look(f"/pay/{made['id']}")
    await marked(page)
    field = page.get_by_label("Email address")
    await field.fill("me@b.ex")
    await service.pay(made["id"], "1" * 32, email="a@b.example")
    await looked(service, page)
    await expect(page.get_by_text("1 of 2 left")).to_be_visible()
    await expect(field).to_have_value("me@b.ex")
    await expect(field).to_be_focused()
    await service.pay(made["id"], "2" * 32, email="a@b.example")
    await looked(service, page)
    await expect(page.get_by_role("status")).to_contain_text("Sold out")
    await expect(page.get_by_role("button", name="Pay")).to_be_hidden()
    await expect(page).to_have_title("Sold out: Coffee")
    assert await kept(page)


async def test_a_returned_unit_restores_the_form_with_its_input(
    service: ServiceHarness, who: Payer
) -> None:
    made = await service.create(requestedUserData=["email"], **DROP | {"totalUnits": 1})
    page = await who.look(f"/pay/{made['id']}")
    await marked(page)
    await page.get_by_label("Email address").fill("me@b.example")
    await service.pay(made["id"], manner="never", email="a@b.example")
    await looked(service, page)
    await expect(page.get_by_role("status")).to_contain_text(
        "Someone's payment for the last one is still under way."
    )
    await expect(page.get_by_label("Email address")).to_be_hidden()
    service.clock.advance(900)
    await looked(service, page)
    await expect(page.get_by_role("status")).to_be_empty()
    await expect(page.get_by_label("Email address")).to_have_value("me@b.example")
    await expect(page).to_have_title(re.compile(r"^Coffee . \$5\.00$"))
    assert await kept(page)


async def test_the_form_appears_when_the_request_opens(service: ServiceHarness, who: Payer) -> None:
    """The countdown follows the service's clock, whatever the browser's says."""
    made = await service.create(enabledAt="2027-01-15T08:00:10Z")  # any number may pay it
    page = await who.look(f"/pay/{made['id']}")
    await expect(page.get_by_role("timer")).to_have_text("in 10 s")
    await expect(page.get_by_text("January 15, 2027 at 5:00 PM GMT+9")).to_be_visible()
    await advance(service, page, 4_010)
    await expect(page.get_by_role("timer")).to_have_text("in 6 s")
    await expect(page.get_by_role("button", name="Pay")).to_have_count(0)
    assert await looked(service, page) <= 6_500
    await expect(page.get_by_role("button", name="Pay $5.00")).to_be_visible()


async def test_the_form_is_removed_at_the_end(service: ServiceHarness, who: Payer) -> None:
    """The clock's end is not waited for until the next look."""
    made = await service.create(expirationInSeconds=5)
    page = await who.look(f"/pay/{made['id']}")
    await marked(page)
    await expect(page.get_by_role("timer")).to_have_text("in 5 s")
    assert await looked(service, page) in (5_000, 5_500)
    await expect(page.get_by_role("status")).to_contain_text("Expired")
    await expect(page.get_by_role("button", name="Pay")).to_be_hidden()
    await expect(page.get_by_role("timer")).to_have_count(0)
    assert await kept(page)


async def test_a_long_time_is_counted_in_days(service: ServiceHarness, who: Payer) -> None:
    made = await service.create(expirationInSeconds=2 * 86_400 + 3_600)
    page = await who.look(f"/pay/{made['id']}")
    await expect(page.get_by_role("timer")).to_have_text("in 2 days")


async def test_seconds_are_not_shown_with_reduced_motion(
    browser: Browser, service: ServiceHarness
) -> None:
    made = await service.create(expirationInSeconds=119)
    async with payer(browser, service, reduced_motion="reduce") as calm:
        page = await calm.look(f"/pay/{made['id']}")
        await expect(page.get_by_role("timer")).to_have_text("in 1 min")


async def test_an_open_page_shows_that_its_request_was_deleted(
    service: ServiceHarness, who: Payer
) -> None:
    made = await service.create(**DROP)
    page = await who.look(f"/pay/{made['id']}")
    await service.seller.delete(f"/v3/paymentRequests/{made['id']}")
    await looked(service, page)
    await expect(page.get_by_role("heading", name="Link not found")).to_be_visible()


async def test_a_hidden_page_does_not_poll_and_polls_at_once_when_shown(
    service: ServiceHarness, who: Payer
) -> None:
    made = await service.create(**DROP)
    page = await who.look(f"/pay/{made['id']}")
    await hide(page, hidden=True)
    await advance(service, page, 10 * SLOWEST_MS)
    assert not [address for address in who.asked if address.endswith("/live")]
    await service.pay(made["id"])
    async with page.expect_response("**/live"):
        await hide(page, hidden=False)
    await expect(page.get_by_text("2 of 3 left")).to_be_visible()


async def hide(page: Page, *, hidden: bool) -> None:
    """Change what the page knows of its tab: Playwright's tabs are always in front."""
    await page.evaluate(
        "value => { Object.defineProperty(document, 'hidden', {value, configurable: true});"
        " document.dispatchEvent(new Event('visibilitychange')) }",
        hidden,
    )


async def test_a_page_polls_less_often_while_nothing_changes(
    service: ServiceHarness, who: Payer
) -> None:
    """From every three seconds on to every fifteen."""
    made = await service.create(**DROP)
    page = await who.look(f"/pay/{made['id']}")
    gaps = [await looked(service, page) for _ in range(10)]
    assert WATCHED_MS <= gaps[0] <= WATCHED_MS * 1.2 + STEP
    assert max(gaps) <= SLOWEST_MS * 1.2 + STEP
    assert gaps[-1] >= SLOWEST_MS


@pytest.mark.parametrize("aside", [False, True], ids=["in front", "put aside meanwhile"])
async def test_a_page_waits_as_long_as_retry_after_says(
    service: ServiceHarness, who: Payer, *, aside: bool
) -> None:
    made = await service.create(**DROP)
    page = await who.look(f"/pay/{made['id']}")
    await page.evaluate(TIMED)
    answer = {"status": 429, "headers": {"Retry-After": "40"}, "body": "later"}
    await page.route("**/live", lambda route: route.fulfill(**answer))
    await looked(service, page)
    await page.unroute("**/live")
    await service.pay(made["id"])
    if aside:
        await hide(page, hidden=True)
        await hide(page, hidden=False)
    await looked(service, page)
    await expect(page.get_by_text("2 of 3 left")).to_be_visible()
    refused, answered = await page.evaluate("looks")
    assert 40_000 <= answered["asked"] - refused["answered"] <= 48_000


async def test_a_waiting_page_leads_to_the_receipt(service: ServiceHarness, who: Payer) -> None:
    """Without the page being loaded again and again under who reads it aloud."""
    scene = Scene(service, FlakyExchange())
    page = await who.look(await STATES["waiting"](scene))
    await expect(page.get_by_role("heading", name="Waiting for your payment")).to_be_visible()
    await marked(page)
    await looked(service, page, "/checkout/")
    assert await kept(page)
    service.clock.advance(10)
    await scene.settle()
    await advance(service, page, 4_000)
    await expect(page.get_by_role("heading", name="Paid")).to_be_visible()


async def test_an_open_page_shows_that_the_reservation_lapsed(
    service: ServiceHarness, who: Payer
) -> None:
    page = await who.look(await STATES["waiting"](Scene(service, FlakyExchange())))
    await marked(page)
    service.clock.advance(900)
    await looked(service, page, "/checkout/")
    await expect(page.get_by_role("heading", name="Time's up")).to_be_visible()
    await expect(page.get_by_role("link", name="Start again")).to_be_visible()
    assert await kept(page)
