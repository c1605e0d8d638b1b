"""The layout of the payer's pages: within reach, nothing covered, times of the payer, on paper."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pypdfium2
import pytest
from playwright.async_api import expect

from tests.support.browser_payer import payer
from tests.support.chromium import DESK, PHONE, SMALL, accessibility_problems, fits
from tests.support.pay_page_states import ASKED, STATES, STICKERS, FlakyExchange, Scene
from tests.support.service_harness import ServiceHarness

if TYPE_CHECKING:
    from playwright.async_api import Browser, Page


pytestmark = pytest.mark.asyncio(loop_scope="session")  # one browser serves all

LARGE_TEXT = ":root { font-size: 200% }"
NAMES = {
    "100 characters": "Hand-knitted merino hat with cable pattern and a detachable bobble, "
    "extra-long cuff, size L-XXL, red",
    "one word": "x" * 100,
    "Arabic": "قهوة عربية طازجة مع الهيل",
    "emoji": "🍋🍊🍇",
}


async def enlarge_text(page: Page) -> None:
    await page.evaluate("rule => document.styleSheets[0].insertRule(rule)", LARGE_TEXT)


async def overlap(page: Page, field: str) -> float:
    """Return how many pixels of a field and its hint the bar with the button covers."""
    return float(
        await page.evaluate(
            "id => document.getElementById(`${id}-hint`).getBoundingClientRect().bottom"
            " - document.querySelector('.bar').getBoundingClientRect().top",
            field,
        )
    )


@pytest.mark.parametrize("size", [SMALL, PHONE], ids=["small phone", "phone"])
async def test_the_button_is_in_view_wherever_the_page_is_scrolled(
    browser: Browser, service: ServiceHarness, size: dict[str, int]
) -> None:
    product = {"name": "Coffee", "description": "line\n" * 80}
    made = await service.create(**ASKED, product=product)
    async with payer(browser, service, viewport=size) as who:
        page = await who.look(f"/pay/{made['id']}")
        button = page.get_by_role("button", name="Pay $5.00")
        for place in (0, 600, 100_000):
            await page.evaluate("y => scrollTo(0, y)", place)
            await expect(button).to_be_in_viewport(ratio=1)


@pytest.mark.parametrize("large", [False, True], ids=["usual text", "large text"])
@pytest.mark.parametrize("height", [640, 360], ids=["whole screen", "above a keyboard"])
async def test_the_button_never_covers_a_focused_field(
    browser: Browser, service: ServiceHarness, height: int, *, large: bool
) -> None:
    """Nor its hint or error; also where the keyboard takes half of the screen."""
    made = await service.create(**ASKED)
    async with payer(browser, service, viewport={"width": 320, "height": height}) as who:
        page = await who.look(f"/pay/{made['id']}")
        await page.get_by_role("button", name="Pay $5.00").click()
        await expect(page.get_by_role("alert")).to_be_focused()
        if large:
            await enlarge_text(page)
        for field in ASKED["requestedUserData"]:
            await page.locator(f"#{field}").focus()
            await expect(page.locator(f"#{field}")).to_be_in_viewport(ratio=1)
            assert await overlap(page, field) <= 0


@pytest.mark.parametrize("state", ["drop", "sold_out", "waiting", "paid", "privacy"])
async def test_large_text_does_not_stick_out(
    browser: Browser, service: ServiceHarness, state: str
) -> None:
    path = await STATES[state](Scene(service, FlakyExchange()))
    async with payer(browser, service, viewport=SMALL) as who:
        page = await who.look(path)
        await enlarge_text(page)
        assert await fits(page)


@pytest.mark.parametrize("name", NAMES)
async def test_any_name_fits_a_small_phone(
    browser: Browser, service: ServiceHarness, name: str
) -> None:
    """Of the thing and of the seller; a text from right to left keeps to the page's side."""
    made = await service.create(product={"name": NAMES[name]}, seller={"name": NAMES[name]})
    async with payer(browser, service, viewport=SMALL) as who:
        page = await who.look(f"/pay/{made['id']}")
        assert await fits(page)
        side = await page.locator("h1").evaluate("it => getComputedStyle(it).textAlign")
        assert side == "left"
        assert await accessibility_problems(page) == []


@pytest.mark.parametrize("state", ["drop", "scheduled", "expired", "waiting", "lapsed", "paid"])
async def test_all_times_are_in_the_payers_zone(
    browser: Browser, service: ServiceHarness, state: str
) -> None:
    path = await STATES[state](Scene(service, FlakyExchange()))
    look: dict[str, Any] = {"timezone_id": "Asia/Tokyo", "locale": "en-GB"}
    async with payer(browser, service, **look) as who:
        page = await who.look(path)
        times = page.locator("time")
        await expect(times.first).to_contain_text("GMT+9")
        assert all("GMT+9" in text for text in await times.all_text_contents())
    async with payer(browser, service, java_script_enabled=False, **look) as who:
        page = await who.look(path)
        assert all("UTC" in text for text in await page.locator("time").all_text_contents())


async def test_a_waiting_page_counts_down_as_the_chat_says_it(
    browser: Browser, service: ServiceHarness
) -> None:
    """For the 15 minutes of a reservation; without scripts it names the time alone."""
    path = await STATES["waiting"](Scene(service, FlakyExchange()))
    async with payer(browser, service) as who:
        page = await who.look(path)
        await expect(page.get_by_text("Reservation ends")).to_be_visible()
        await expect(page.get_by_role("timer")).to_contain_text("in 1")
    async with payer(browser, service, java_script_enabled=False) as who:
        page = await who.look(path)
        await expect(page.get_by_text("Reservation ends")).to_be_hidden()
        await expect(page.get_by_text("We're holding one for you until")).to_be_visible()


async def test_a_sellers_picture_that_does_not_load_leaves_the_initials(
    browser: Browser, service: ServiceHarness
) -> None:
    gone = str(service.anyone.base_url.join("/gone.png"))
    made = await service.create(seller={"name": "Mia Paper", "imageUrl": gone})
    async with payer(browser, service) as who:
        page = await who.look(f"/pay/{made['id']}")
        await expect(page.locator(".face img")).to_have_count(0)
        await expect(page.locator(".face")).to_have_text("MP")


@pytest.mark.parametrize("sheet", ["A4", "Letter"])
async def test_a_receipt_is_printed_on_one_page(
    browser: Browser, service: ServiceHarness, sheet: str
) -> None:
    """With all that identifies the payment, and nothing that is for pressing."""
    product = STICKERS["product"] | {"name": NAMES["100 characters"]}
    seller = {"name": NAMES["100 characters"], "contact": "@layla_paper"}
    made = await service.create(**STICKERS | {"product": product, "seller": seller}, **ASKED)
    given = {"paymail": "me@a.example", "email": "me@b.example", "phoneNumber": "+442079460958"}
    path = (await service.pay(made["id"], **given)).headers["location"]
    async with payer(browser, service, color_scheme="dark", timezone_id="Asia/Tokyo") as who:
        page = await who.look(path)
        await expect(page.locator("time")).to_contain_text("GMT+9")
        printed = pypdfium2.PdfDocument(await page.pdf(format=sheet))
    assert len(printed) == 1
    text = " ".join(printed[0].get_textpage().get_text_range().split())
    for shown in (NAMES["100 characters"], "€12.50", path.rpartition("/")[2], "GMT+9", made["id"]):
        assert shown in text
    for pressed in ("Save as PDF", "Privacy", "Contact"):
        assert pressed not in text


@pytest.mark.parametrize("scripts", [True, False], ids=["with scripts", "without"])
async def test_a_receipt_can_be_saved(
    browser: Browser, service: ServiceHarness, *, scripts: bool
) -> None:
    """By a button where scripts run; the page says how without them."""
    path = await STATES["paid"](Scene(service, FlakyExchange()))
    async with payer(browser, service, viewport=DESK, java_script_enabled=scripts) as who:
        page = await who.look(path)
        await expect(page.get_by_text("print this page or save it as a PDF")).to_be_visible()
        await expect(page.get_by_text("Save as PDF")).to_be_visible(visible=scripts)
        if scripts:
            await page.evaluate("window.print = () => { document.title = 'printed' }")
            await page.get_by_role("button", name="Save as PDF").click()
            await expect(page).to_have_title("printed")
