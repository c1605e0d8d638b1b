"""What payers choose and get, in Chromium: with scripts and without, by touch and by keyboard."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from playwright.async_api import expect

from tests.support.browser_payer import open_service_on_port, payer
from tests.support.chromium import DESK, PHONE, SMALL, accessibility_problems, fits
from tests.support.pay_page_states import GIVING, STATES, FlakyExchange, Scene
from tests.support.service_harness import ServiceHarness

if TYPE_CHECKING:
    from playwright.async_api import Browser, Page, Route


pytestmark = pytest.mark.asyncio(loop_scope="session")  # one browser serves all

SHIFTS = """() => new Promise((done) => {
    new PerformanceObserver((list) => done(list.getEntries().flatMap(({sources}) =>
        sources.map(({node}) => node?.outerHTML ?? ""))))
        .observe({type: "layout-shift", buffered: true});
    setTimeout(() => done([]), 300);
})"""
"""What has moved since the page was opened."""

PAINTED = """() => new Promise((done) =>
    new PerformanceObserver(() => done(null)).observe({type: "paint", buffered: true}))"""


def button(page: Page) -> Any:
    return page.locator(".bar button")


async def paid(service: ServiceHarness) -> list[int]:
    return sorted(row["amount"] for row in await service.rows("payments"))


async def test_the_button_names_the_sum_that_is_chosen(
    browser: Browser, service: ServiceHarness
) -> None:
    """A typed amount presses its button, and another button takes it away."""
    path = await STATES["own_amount"](Scene(service, FlakyExchange()))
    made = await service.create(**GIVING, instrumentCurrencyCode="EUR")
    async with payer(browser, service, locale="de-DE") as who:
        page = await who.look(f"/pay/{made['id']}")
        own = page.locator("#amount")
        await expect(button(page)).to_have_text("5,00\xa0€ Testgeld zahlen")
        await page.get_by_role("radio", name="20\xa0€", exact=True).click()
        await expect(button(page)).to_have_text("20,00\xa0€ Testgeld zahlen")
        for typed, sum_of in (
            ("7,5", "7,50\xa0€"),
            ("٧", "7,00\xa0€"),
            ("1234.5", "1.234,50\xa0€"),
        ):
            await own.fill(typed)
            await expect(page.locator("[value=other]")).to_be_checked()
            await expect(button(page)).to_have_text(f"{sum_of} Testgeld zahlen")
        await own.fill("1.000")  # which the server asks about
        await expect(button(page)).to_have_text("Mit Testgeld bezahlen")
        await page.get_by_role("radio", name="50\xa0€", exact=True).click()
        await expect(own).to_have_value("")
        await button(page).click()
        await expect(page.get_by_role("heading", name="Bezahlt")).to_be_visible()
        page = await who.look(path)
        await expect(button(page)).to_have_text("Mit Testgeld bezahlen")
    assert await paid(service) == [5000]


@pytest.mark.parametrize("scripts", [True, False], ids=["with scripts", "without"])
async def test_an_amount_is_chosen_by_keyboard_alone(
    browser: Browser, service: ServiceHarness, *, scripts: bool
) -> None:
    made = await service.create(**GIVING)
    async with payer(browser, service, java_script_enabled=scripts) as who:
        page = await who.look(f"/pay/{made['id']}")
        await page.locator("[value='5.00']").focus()
        for _ in range(4):
            await page.keyboard.press("ArrowRight")
        await expect(page.locator("[value=other]")).to_be_focused()
        await page.keyboard.press("Tab")
        await page.keyboard.type("7.50")
        await page.keyboard.press("Enter")
        await expect(page.get_by_role("heading", name="Paid")).to_be_visible()
    assert await paid(service) == [750]


@pytest.mark.parametrize("scripts", [True, False], ids=["with scripts", "without"])
async def test_an_ambiguous_amount_is_asked_about_and_paid(
    browser: Browser, service: ServiceHarness, *, scripts: bool
) -> None:
    """Its readings are buttons, of which none is pressed; the page keeps to all rules."""
    made = await service.create(**GIVING | {"amountChoice": {"minimum": 1, "suggested": [5]}})
    async with payer(browser, service, viewport=SMALL, java_script_enabled=scripts) as who:
        page = await who.look(f"/pay/{made['id']}")
        await page.locator("[value=other]").click()
        await page.locator("#amount").fill("1.500")
        await button(page).click()
        await expect(page.locator("#amount")).to_be_focused()
        await expect(page.get_by_role("alert")).to_contain_text("more than one way")
        assert await page.locator("[name=amount]:checked").count() == 0
        assert await fits(page)
        if scripts:
            assert await accessibility_problems(page) == []
        await page.get_by_role("radio", name="$1,500", exact=True).click()
        await button(page).click()
        await expect(page.get_by_text("$1,500.00")).to_be_visible()
    assert await paid(service) == [150_000]


async def test_without_scripts_a_forgotten_button_is_asked_about(
    browser: Browser, service: ServiceHarness
) -> None:
    """Who types an amount beside the pressed button decides between both."""
    made = await service.create(**GIVING)
    async with payer(browser, service, java_script_enabled=False) as who:
        page = await who.look(f"/pay/{made['id']}")
        await expect(button(page)).to_have_text("Pay in test money")
        await page.locator("#amount").fill("7")
        await button(page).click()
        await page.get_by_role("radio", name="$7", exact=True).click()
        await button(page).click()
        await expect(page.get_by_role("heading", name="Paid")).to_be_visible()
    assert await paid(service) == [700]


async def test_the_total_of_several_units_is_shown(
    browser: Browser, service: ServiceHarness
) -> None:
    made = await service.create(expirationType="limit", totalUnits=3, maxQuantity=3)
    async with payer(browser, service) as who:
        page = await who.look(f"/pay/{made['id']}")
        await page.get_by_label("How many?").select_option("3")
        await expect(page.get_by_text("Total: $15.00")).to_be_visible()
        await expect(button(page)).to_have_text("Pay $15.00 in test money")
        await service.pay(made["id"])
        await button(page).click()
        await expect(page.get_by_role("alert")).to_contain_text("Only 2 left.")
        await expect(page.get_by_label("How many?")).to_have_value("2")
        await expect(page.get_by_text("Total: $10.00")).to_be_visible()
        await button(page).click()
        await expect(page.get_by_text("2 × $5.00")).to_be_visible()


@pytest.mark.parametrize("size", [PHONE, DESK], ids=["phone", "desk"])
@pytest.mark.parametrize("state", ["choice", "quantity", "code", "file_bought"])
async def test_nothing_moves_when_the_script_runs(
    browser: Browser, service: ServiceHarness, state: str, size: dict[str, int]
) -> None:
    path = await STATES[state](Scene(service, FlakyExchange()))
    async with payer(browser, service, viewport=size) as who:
        page = await who.context.new_page()
        script = asyncio.Event()

        async def late(route: Route) -> None:
            await script.wait()
            await route.continue_()

        await page.route("**/*.js*", late)
        await page.goto(path, wait_until="commit")
        await page.evaluate(PAINTED)
        script.set()
        await expect(page.locator("html.scripted")).to_have_count(1)
        assert await page.evaluate(SHIFTS) == []


ARRIVING = """() => {
    const blocks = "main, main > :not(.bar), #live > *, form > *, aside";
    const parts = [...document.querySelectorAll(blocks)];
    const places = () => parts.map((part) => [part.className, part.getBoundingClientRect()])
        .map(([name, {left, top}]) => `${name} ${Math.round(left)} ${Math.round(top)}`);
    const shown = places();
    const moved = [];
    const all = document.querySelectorAll("body > *, main > *, #live > *, form > *");
    for (const last of [...all].reverse()) {
        if (parts.at(-1) === last) parts.pop();
        last.remove();
        const found = places().find((place, number) => place !== shown[number]);
        if (found) moved.push([last.outerHTML.slice(0, 60), found]);
    }
    return moved;
}"""
"""What moves when the page ends earlier, as it does while a slow one arrives."""


@pytest.mark.parametrize("size", [PHONE, DESK], ids=["phone", "desk"])
@pytest.mark.parametrize("state", ["choice", "quantity", "code", "goal_passed", "sold_out"])
async def test_nothing_moves_while_a_slow_page_arrives(
    browser: Browser, service: ServiceHarness, state: str, size: dict[str, int]
) -> None:
    path = await STATES[state](Scene(service, FlakyExchange()))
    async with payer(browser, service, viewport=size, java_script_enabled=False) as who:
        page = await who.look(path)
        assert await page.evaluate(ARRIVING) == []


async def test_words_are_folded_and_come_back_open(
    browser: Browser, service: ServiceHarness
) -> None:
    made = await service.create()
    async with payer(browser, service, java_script_enabled=False) as who:
        page = await who.look(f"/pay/{made['id']}")
        await expect(page.get_by_label("Your message")).to_be_hidden()
        await page.get_by_text("Add your name or a message").click()
        await page.get_by_label("Your name").fill("Mia")
        await page.get_by_label("Your message").fill("x" * 281)
        await button(page).click()
        await expect(page.get_by_label("Your name")).to_have_value("Mia")
        await expect(page.get_by_role("alert")).to_contain_text("That's 281 characters")
        await expect(page.get_by_label("Your message")).to_be_focused()
        await page.get_by_label("Your message").fill("For the drums!")
        await button(page).click()
        await expect(page.get_by_text("M•••")).to_be_visible()


async def test_a_goal_moves_on_an_open_page(browser: Browser, service: ServiceHarness) -> None:
    made = await service.create(**GIVING | {"goal": 10})
    async with payer(browser, service) as who:
        page = await who.look(f"/pay/{made['id']}")
        await expect(page.get_by_role("progressbar", name="Goal")).to_have_attribute("value", "0")
        await service.pay(made["id"], amount="10.40")
        service.clock.advance(2)
        await page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
        await expect(page.get_by_text("104%")).to_be_visible()
        await expect(page.get_by_text("Goal reached!")).to_be_visible()
        await expect(button(page)).to_be_visible()


async def test_each_button_that_copies_names_its_code(
    browser: Browser, service: ServiceHarness
) -> None:
    path = await STATES["codes_waiting"](Scene(service, FlakyExchange()))
    async with payer(browser, service) as who:
        page = await who.look(path)
        await expect(page.get_by_role("button", name="Copy AUTUMN-7KQ2-XV9D")).to_be_visible()
        await expect(page.get_by_role("button", name="Copy AUTUMN-2")).to_be_visible()


@pytest.mark.parametrize("scripts", [True, False], ids=["with scripts", "without"])
async def test_a_code_can_be_copied(browser: Browser, tmp_path: Path, *, scripts: bool) -> None:
    """By a button, or without scripts by selecting it."""
    async with open_service_on_port(tmp_path) as service:
        path = await STATES["code"](Scene(service, FlakyExchange()))
        async with payer(browser, service, java_script_enabled=scripts) as who:
            page = await who.look(path)
            await expect(page.get_by_text("Yours: 1 of 100")).to_be_visible()
            code = page.get_by_text("AUTUMN-7KQ2-XV9D")
            await expect(code).to_have_css("user-select", "all")
            await expect(page.get_by_text("Copy")).to_be_visible(visible=scripts)
            if scripts:
                await who.context.grant_permissions(["clipboard-read", "clipboard-write"])
                await page.get_by_role("button", name="Copy").click()
                copied = await page.evaluate("navigator.clipboard.readText()")
                assert copied == "AUTUMN-7KQ2-XV9D"


async def test_a_code_arrives_on_the_open_receipt(
    browser: Browser, service: ServiceHarness
) -> None:
    path = await STATES["waiting_for_code"](Scene(service, FlakyExchange()))
    async with payer(browser, service) as who:
        page = await who.look(path)
        await expect(page.get_by_text("Yours is on its way")).to_be_visible()
        address = f"/v3/paymentRequests/{path.split('/')[2]}/codes"
        await service.seller.post(address, json={"codes": ["AUTUMN-LATE"]})
        await page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
        await expect(page.get_by_text("AUTUMN-LATE")).to_be_visible()
        await expect(page.get_by_text("on its way")).to_have_count(0)
