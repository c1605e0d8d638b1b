"""The pages of real money as payers see them: every state and size, by hand and without scripts."""

from __future__ import annotations

import io
import re
from collections.abc import AsyncIterator
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import pytest_asyncio
import zxingcpp
from PIL import Image
from playwright.async_api import expect

from bot.service.checkouts import claiming
from bot.service.rails import bank
from tests.support import real_page_states
from tests.support.browser_payer import payer
from tests.support.chromium import DESK, SMALL, fits, problems_of_looks
from tests.support.real_page_states import REAL_STATES, RealScene, open_real_scene
from tests.support.real_rails import OWNER

if TYPE_CHECKING:
    from playwright.async_api import Browser


GOOD_SHIFT = 0.1
"""The cumulative layout shift below which pages count as calm (web.dev/articles/cls)."""

SHIFTS = """
    window.shifted = 0;
    new PerformanceObserver((seen) => {
      for (const shift of seen.getEntries()) window.shifted += shift.value;
    }).observe({ type: "layout-shift", buffered: true });
"""
"""Sums up how far the parts of a page move by themselves."""

pytestmark = pytest.mark.asyncio(loop_scope="session")  # one browser serves all


@pytest_asyncio.fixture(loop_scope="session")
async def scene(tmp_path: Path) -> AsyncIterator[RealScene]:
    async with open_real_scene(tmp_path) as opened:
        yield opened


@pytest.mark.parametrize("state", REAL_STATES)
async def test_axe_finds_nothing_in_any_state(
    browser: Browser, scene: RealScene, state: str
) -> None:
    """On a small phone and a desk, light and dark; one heading, a title, nothing sticks out."""
    path = await REAL_STATES[state](scene)
    async with payer(browser, scene.service) as who:
        page = await who.look(path)
        assert await problems_of_looks(page) == []


@pytest.mark.parametrize("scripts", [True, False], ids=["with scripts", "without"])
async def test_a_payer_chooses_by_keyboard_and_reports_a_transfer(
    browser: Browser, scene: RealScene, *, scripts: bool
) -> None:
    """From the choice of the way to the receipt, which follows the seller's word by itself."""
    path = await real_page_states.two_ways(scene)
    async with payer(browser, scene.service, java_script_enabled=scripts) as who:
        page = await who.look(path)
        await page.get_by_role("radio", name="Lightning").focus()
        await page.keyboard.press("ArrowUp")
        await expect(page.get_by_role("radio", name="Bank transfer")).to_be_checked()
        await page.get_by_role("button", name="Pay €18.50").press("Enter")
        await expect(page.get_by_role("heading", name="Pay by bank transfer")).to_be_visible()
        await expect(page.get_by_text("DE89 3704 0044 0532 0130 00")).to_be_visible()
        await expect(page.get_by_role("button", name="Copy IBAN")).to_be_visible(visible=scripts)
        await page.get_by_role("button", name="I've sent the money").press("Enter")
        await expect(page.get_by_role("heading", name="Waiting for Mia's")).to_be_visible()
        await page.get_by_text("Payment details").click()
        await expect(page.get_by_text("DE89 3704 0044 0532 0130 00")).to_be_visible()
        await scene.decide(page.url, claiming.confirm)
        if not scripts:
            await page.reload()
        await expect(page.get_by_role("heading", name="Paid")).to_be_visible()


async def test_an_invoice_turns_to_paid_by_itself(browser: Browser, scene: RealScene) -> None:
    where = await real_page_states.opening(scene)
    async with payer(browser, scene.service) as who:
        page = await who.look(where)
        await scene.open()
        await expect(page.get_by_role("heading", name="Pay with Lightning")).to_be_visible()
        await expect(page.get_by_role("timer")).to_be_visible()
        link = page.get_by_role("link", name="Open in wallet")
        assert (await link.get_attribute("href") or "").startswith(
            f"lightning:{real_page_states.INVOICE}"
        )
        await scene.arrive()
        await expect(page.get_by_role("heading", name="Paid")).to_be_visible()


@pytest.mark.parametrize("state", ["invoice", "bank_code"])
async def test_nothing_moves_when_the_script_runs(
    browser: Browser, scene: RealScene, state: str
) -> None:
    """The countdown and the buttons to copy have their places from the first paint."""
    where = await REAL_STATES[state](scene)
    async with payer(browser, scene.service, viewport=SMALL) as who:
        await who.context.add_init_script(SHIFTS)
        page = await who.look(where)
        await expect(page.get_by_role("timer")).to_be_visible()
        await expect(page.get_by_role("button", name="Copy").first).to_be_visible()
        assert await page.evaluate("shifted") < GOOD_SHIFT / 10


@pytest.mark.parametrize("size", [SMALL, DESK], ids=["small phone", "desk"])
async def test_the_code_comes_where_its_place_was(
    browser: Browser, scene: RealScene, size: dict[str, int]
) -> None:
    """Its place is as large as the code, so that what follows moves little."""
    where = await real_page_states.opening(scene)
    async with payer(browser, scene.service, viewport=size) as who:
        await who.context.add_init_script(SHIFTS)
        page = await who.look(where)
        place = await page.locator("p.square").bounding_box()
        facts = await page.locator("#facts").bounding_box()
        await scene.open()
        code = page.get_by_role("img", name="QR code with the Lightning invoice")
        await expect(code).to_be_visible()
        shown = await code.bounding_box()
        assert await page.evaluate("shifted") < GOOD_SHIFT
    assert place
    assert shown
    assert facts
    assert [shown[side] for side in ("x", "width", "height")] == [
        place[side] for side in ("x", "width", "height")
    ]
    assert place["y"] + place["height"] < facts["y"]


async def test_a_long_amount_breaks_no_title(browser: Browser, scene: RealScene) -> None:
    """It goes to a line of its own; the name and the amount of a way are read together."""
    await real_page_states.two_ways(scene)
    dear = await scene.link(receivers=[{"sendAmount": 123456.5, "destination": f"account:{OWNER}"}])
    async with payer(browser, scene.service, viewport=SMALL) as who:
        page = await who.look(dear)
        assert await fits(page)
        title, amount = page.locator("label", has_text="Lightning"), page.locator("#sum-2")
        boxes = [await one.bounding_box() for one in (title, amount)]
        assert [box["height"] for box in boxes if box] == [24, 24]
        radio = page.get_by_role("radio", name="Lightning")
        await expect(radio).to_have_accessible_description(re.compile(r"^≈ 135,548,570\ssat Takes"))


async def test_a_payer_who_waits_takes_the_pages_address_along(
    browser: Browser, scene: RealScene
) -> None:
    where = await real_page_states.claimed(scene)
    async with payer(browser, scene.service) as who:
        await who.context.grant_permissions(["clipboard-read", "clipboard-write"])
        page = await who.look(where)
        await page.get_by_role("button", name="Copy Address of this page").press("Enter")
        await expect(page.get_by_role("button", name="Copied Address")).to_be_visible()
        copied = await page.evaluate("navigator.clipboard.readText()")
    assert copied.startswith(("http://", "https://"))
    assert copied.endswith(where)


async def test_the_focus_of_a_button_that_is_gone_moves_to_what_became_of_it(
    browser: Browser, scene: RealScene
) -> None:
    where = await real_page_states.invoice(scene)
    async with payer(browser, scene.service) as who:
        page = await who.look(where)
        await page.get_by_role("button", name="Copy Lightning invoice").focus()
        await scene.act(where, "cancel")
        await expect(page.get_by_role("heading", name="Cancelled")).to_be_visible()
        await expect(page.locator("#state")).to_be_focused()
        await page.keyboard.press("Tab")
        await expect(page.get_by_role("link", name="Start again")).to_be_focused()


async def test_what_is_copied_is_what_banks_take(browser: Browser, scene: RealScene) -> None:
    """The IBAN without its spaces; the button says that it was copied, and then its name again."""
    where = await real_page_states.bank_code(scene)
    async with payer(browser, scene.service) as who:
        await who.context.grant_permissions(["clipboard-read", "clipboard-write"])
        page = await who.look(where)
        button = page.get_by_role("button", name="Copy IBAN")
        await button.click()
        await expect(page.get_by_role("button", name="Copied IBAN")).to_be_visible()
        assert await page.evaluate("navigator.clipboard.readText()") == "DE89370400440532013000"
        await expect(button).to_be_visible()


@pytest.mark.parametrize("locale", ["en-US", "de-DE"])
async def test_a_reference_is_read_in_groups_and_selected_whole(
    browser: Browser, scene: RealScene, locale: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also the widest on a small phone, where no group breaks and all fit on one line."""
    widest = "RF56WWWWWW"
    monkeypatch.setattr(bank, "new_reference", lambda: widest)
    where = await real_page_states.bank_code(scene)
    async with payer(browser, scene.service, viewport=SMALL, locale=locale) as who:
        page = await who.look(where)
        shown = page.locator(".reference data")
        boxes = [await one.bounding_box() for one in await shown.locator("span").all()]
        lefts_and_rights = [(box["x"], box["x"] + box["width"]) for box in boxes if box]
        assert len({box["y"] for box in boxes if box}) == 1
        label = await page.locator(".reference .what").bounding_box()
        assert label is not None
        assert label["height"] < 30  # one line
        assert all(one[1] + 2 < two[0] for one, two in pairwise(lefts_and_rights))
        selected = "one => { getSelection().selectAllChildren(one); return `${getSelection()}`; }"
        assert await shown.evaluate(selected) == widest


@pytest.mark.parametrize("state", ["invoice", "bank_code", "swiss_code"])
@pytest.mark.parametrize("size", [SMALL, DESK], ids=["small phone", "desk"])
async def test_the_code_is_read_from_the_screen_in_the_dark(
    browser: Browser, scene: RealScene, state: str, size: dict[str, int]
) -> None:
    where = await REAL_STATES[state](scene)
    async with payer(browser, scene.service, viewport=size, color_scheme="dark") as who:
        page = await who.look(where)
        await page.wait_for_load_state("load")
        shown = await page.locator(".code img").screenshot()
    with Image.open(io.BytesIO(shown)) as seen:
        (code,) = zxingcpp.read_barcodes(
            seen, zxingcpp.BarcodeFormats(zxingcpp.BarcodeFormat.QRCode)
        )
    assert code.text.startswith(("LIGHTNING:LNBC", "BCD", "SPC"))
