"""The pay page as payers see it: every state, every size, with and without scripts."""

from __future__ import annotations

import io
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import zxingcpp
from PIL import Image
from playwright.async_api import expect

from bot.core.net.rates import Rate
from tests.support.browser_payer import open_service_on_port, payer
from tests.support.chromium import (
    DESK,
    LOOKS,
    PHONE,
    SMALL,
    accessibility_problems,
    problems_of_looks,
)
from tests.support.pay_page_states import ASKED, RESERVATION, STATES, FlakyExchange, Scene
from tests.support.service_harness import ServiceHarness

if TYPE_CHECKING:
    from playwright.async_api import Browser, Response


pytestmark = pytest.mark.asyncio(loop_scope="session")  # one browser serves all

FIRST_VIEW = 30_000
"""Bytes that a first view may weigh, without the product's picture."""


@pytest.mark.parametrize("state", STATES)
async def test_axe_finds_nothing_in_any_state(browser: Browser, tmp_path: Path, state: str) -> None:
    """On a small phone and a desk, light and dark; one heading, a title, nothing sticks out."""
    market = FlakyExchange()
    rate = Rate(3, 3600) if state == "rate_limited" else None  # reopens after all looks
    settings = {"exchange": market, "reservation": RESERVATION * 1000, "payer_rate": rate}
    async with open_service_on_port(tmp_path, **settings) as service:
        path = await STATES[state](Scene(service, market))
        async with payer(browser, service) as who:
            page = await who.look(path)
            assert await problems_of_looks(page) == []


async def test_axe_finds_nothing_in_a_form_that_was_refused(
    browser: Browser, service: ServiceHarness
) -> None:
    """What is wrong is said first, has the focus, and leads to its fields."""
    made = await service.create(**ASKED)
    for size, scheme in LOOKS:
        async with payer(browser, service, viewport=size, color_scheme=scheme) as who:
            page = await who.look(f"/pay/{made['id']}")
            await page.get_by_label("Paymail").fill("me@a.example")
            await page.get_by_label("Email address").fill("me")
            await page.get_by_role("button", name="Pay").click()
            summary = page.get_by_role("alert")
            await expect(summary).to_contain_text("Please fix 2 fields.")
            await expect(summary).to_be_focused()
            await expect(page).to_have_title("Please check: Coffee")
            assert await accessibility_problems(page) == []
            await summary.get_by_role(
                "link", name="That doesn't look like an email address"
            ).click()
            await expect(page.get_by_label("Email address")).to_be_focused()
            await expect(page.get_by_label("Email address")).to_have_value("me")
            await expect(page.get_by_label("Paymail")).to_have_value("me@a.example")


@pytest.mark.parametrize("size", [SMALL, DESK], ids=["small phone", "desk"])
async def test_without_scripts_the_page_is_complete(
    browser: Browser, service: ServiceHarness, size: dict[str, int]
) -> None:
    """From the page to the receipt, with what is left, until when, and why a form was refused."""
    made = await service.create(
        expirationType="limit", totalUnits=2, expirationInSeconds=7200, requestedUserData=["email"]
    )
    async with payer(browser, service, viewport=size, java_script_enabled=False) as who:
        page = await who.look(f"/pay/{made['id']}")
        await expect(page.get_by_text("2 of 2 left")).to_be_visible()
        await expect(page.get_by_text("Ends January 15, 2027, 10:00\u202fAM UTC")).to_be_visible()
        await expect(page.get_by_role("timer")).to_be_hidden()
        button = page.get_by_role("button", name="Pay $5.00")
        await button.click()
        await expect(page.get_by_role("alert")).to_have_text("Enter your email address.")
        await expect(page.get_by_label("Email address")).to_be_focused()
        await page.get_by_label("Email address").fill("me@b.example")
        await button.click()
        await expect(page.get_by_role("heading", name="Paid")).to_be_visible()
        await expect(page.get_by_text("m•••@b.example")).to_be_visible()
        assert await page.locator("main").evaluate("it => it.scrollWidth <= innerWidth")
    assert len(await service.rows("payments")) == 1


async def test_without_scripts_a_waiting_page_reloads_by_itself(
    browser: Browser, tmp_path: Path
) -> None:
    async with open_service_on_port(tmp_path) as service:
        scene = Scene(service, FlakyExchange())
        path = await STATES["waiting"](scene)
        async with payer(browser, service, java_script_enabled=False) as who:
            page = await who.look(path)
            await expect(page.get_by_role("heading", name="Waiting for")).to_be_visible()
            service.clock.advance(10)
            await scene.settle()
            await expect(page.get_by_role("heading", name="Paid")).to_be_visible()


@pytest.mark.parametrize("scripts", [True, False], ids=["with scripts", "without"])
async def test_a_payer_cancels_by_keyboard_and_goes_back_to_the_offer(
    browser: Browser, service: ServiceHarness, *, scripts: bool
) -> None:
    """Another can have the unit then; the page says that nothing was taken."""
    made = await service.create(expirationType="limit", totalUnits=1)
    async with payer(browser, service, java_script_enabled=scripts) as who:
        page = await who.look(f"/pay/{made['id']}")
        await page.locator(".test summary").click()
        await page.get_by_label("How the test money arrives").select_option("never")
        await page.get_by_role("button", name="Pay $5.00").click()
        await expect(page.get_by_role("heading", name="Waiting for")).to_be_visible()
        button = page.get_by_role("button", name="Cancel payment")
        await button.focus()
        await page.keyboard.press("Enter")
        await expect(page.get_by_role("heading", name="Cancelled")).to_be_visible()
        await expect(page.get_by_text("You haven't been charged")).to_be_visible()
        await expect(button).to_have_count(0)
        await page.get_by_role("link", name="Start again").click()
        await expect(page.get_by_text("1 of 1 left")).to_be_visible()
    assert [row["state"] for row in await service.rows("checkouts")] == ["cancelled"]


async def weigh(answer: Response) -> int:
    """Return the bytes of an answer as it came, headers included."""
    sizes = await answer.request.sizes()
    return sizes["responseBodySize"] + sizes["responseHeadersSize"]


@pytest.mark.parametrize("size", [PHONE, DESK], ids=["phone", "desk"])
async def test_the_first_view_is_small_and_loads_nothing_foreign(
    browser: Browser, service: ServiceHarness, size: dict[str, int]
) -> None:
    """All that is loaded is ours; a phone does not load the code that is for phones."""
    made = await service.create(expirationType="limit", totalUnits=50, **ASKED)
    async with payer(browser, service, viewport=size) as who:
        answers: list[Response] = []

        def note(answer: Response) -> None:
            answers.append(answer)

        who.context.on("response", note)
        page = await who.look(f"/pay/{made['id']}")
        await page.wait_for_load_state("networkidle")
        weights = [(answer.url, await weigh(answer)) for answer in answers]
        loaded = {re.sub(r"\.[0-9a-f]{16}|.*/", "", url) for url, _ in weights}
        assert {"pay.css", "pay.js", made["id"]} <= loaded
        assert (f"{made['id']}.svg" in loaded) is (size == DESK)
        assert 1_000 < sum(weight for _, weight in weights) < FIRST_VIEW, weights


@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_the_code_on_a_desk_can_be_read_from_the_screen(
    browser: Browser, service: ServiceHarness, scheme: Any
) -> None:
    """Also in the dark and without scripts; on a phone it is not shown."""
    made = await service.create()
    look = {"color_scheme": scheme, "java_script_enabled": False}
    async with payer(browser, service, viewport=DESK, **look) as who:
        page = await who.look(f"/pay/{made['id']}")
        await page.wait_for_load_state("networkidle")
        await expect(page.get_by_text("Scan to pay on your phone")).to_be_visible()
        with Image.open(io.BytesIO(await page.screenshot())) as seen:
            (code,) = zxingcpp.read_barcodes(seen)
        assert code.text == made["paymentRequestUrl"]
    async with payer(browser, service, viewport=PHONE, **look) as who:
        page = await who.look(f"/pay/{made['id']}")
        await expect(page.get_by_text("Scan to pay on your phone")).to_be_hidden()


async def test_a_picture_that_does_not_load_leaves_no_hole(
    browser: Browser, service: ServiceHarness
) -> None:
    """It is the one foreign thing on the page, so it may fail."""
    product = {"name": "Tea", "imageUrl": str(service.anyone.base_url.join("/gone.png"))}
    made = await service.create(product=product)
    async with payer(browser, service) as who:
        page = await who.look(f"/pay/{made['id']}")
        await expect(page.get_by_role("heading", name="Tea")).to_be_visible()
        await expect(page.locator(".picture")).to_have_count(0)


@pytest.mark.parametrize(("size", "is_tall"), [((60, 100), True), ((100, 100), False)])
async def test_a_tall_picture_is_shown_whole(
    browser: Browser, service: ServiceHarness, size: tuple[int, int], *, is_tall: bool
) -> None:
    """Cut to the frame of others, little more than a third of it would be left."""
    url, drawn = str(service.anyone.base_url.join("/tall.png")), io.BytesIO()
    Image.new("RGB", size).save(drawn, "PNG")
    made = await service.create(product={"name": "Tea", "imageUrl": url})
    async with payer(browser, service) as who:
        answer = {"body": drawn.getvalue(), "content_type": "image/png"}
        await who.context.route(url, lambda route: route.fulfill(**answer))
        page = await who.look(f"/pay/{made['id']}")
        fit = "contain" if is_tall else "cover"
        await expect(page.locator(".picture")).to_have_css("object-fit", fit)
