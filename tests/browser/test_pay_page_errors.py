"""What was refused, in Chromium: said once, beside its field, and gone once that is put right."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from playwright.async_api import expect

from tests.support import real_page_states
from tests.support.browser_payer import payer
from tests.support.chromium import accessibility_problems, fits
from tests.support.pay_page_states import GIVING
from tests.support.real_page_states import open_real_scene
from tests.support.service_harness import ServiceHarness

if TYPE_CHECKING:
    from playwright.async_api import Browser, Page


pytestmark = pytest.mark.asyncio(loop_scope="session")  # one browser serves all

LOOKS = [
    {"color_scheme": "light", "locale": "en-US"},
    {"color_scheme": "dark", "locale": "de-DE"},
]


async def press_pay(page: Page) -> None:
    async with page.expect_navigation():
        await page.locator(".bar button").click()


def hint(page: Page, field: str) -> Any:
    return page.locator(f"#{field}-hint")


@pytest.mark.parametrize("look", LOOKS, ids=["en", "de"])
async def test_a_single_error_stands_at_its_field_and_goes_with_it(
    browser: Browser, service: ServiceHarness, look: dict[str, Any]
) -> None:
    made = await service.create(requestedUserData=["email"])
    async with payer(browser, service, **look) as who:
        page = await who.look(f"/pay/{made['id']}")
        usual = await hint(page, "email").text_content()
        await page.locator("#email").fill("anna@")
        await press_pay(page)
        await expect(page.get_by_role("alert")).to_have_count(1)
        await expect(hint(page, "email")).to_have_class("wrong")
        await expect(page.locator("#email")).to_be_focused()
        await expect(page.locator("#email")).to_have_accessible_description(
            str(await hint(page, "email").text_content())
        )
        assert await accessibility_problems(page) == []
        assert await fits(page)
        for typed in ("anna@example", "an..na@example.org", "anna@1.2"):
            await page.locator("#email").fill(typed)
            await expect(hint(page, "email")).to_have_class("wrong")
        await page.locator("#email").fill("anna@münchen.de")
        await expect(hint(page, "email")).to_have_class("hint")
        await expect(hint(page, "email")).to_have_text(str(usual))
        await expect(page.locator("[aria-invalid]")).to_have_count(0)
        await expect(page.get_by_role("alert")).to_have_count(0)
        await press_pay(page)
        assert "/receipt/" in page.url
    (row,) = await service.rows("payments")
    assert row["user_data"] == '{"email":"anna@xn--mnchen-3ya.de"}'


async def test_the_list_of_errors_shrinks_with_each_field(
    browser: Browser, service: ServiceHarness
) -> None:
    """Amount, phone and message are judged as the server does, as far as a script can."""
    made = await service.create(
        **GIVING, instrumentCurrencyCode="EUR", requestedUserData=["phoneNumber"]
    )
    async with payer(browser, service) as who:
        page = await who.look(f"/pay/{made['id']}")
        await page.locator("#amount").fill("0")
        await page.locator("#phoneNumber").fill("call me")
        await page.locator("details.words summary").click()
        await page.locator("#message").fill("x" * 281)
        await press_pay(page)
        box = page.locator(".problem")
        await expect(box).to_be_focused()
        await expect(box.locator("p")).to_have_text("Please fix 3 fields.")
        assert await accessibility_problems(page) == []
        await page.locator("#phoneNumber").fill("call 1234567")
        await expect(box.locator("li")).to_have_count(3)
        await page.locator("#phoneNumber").fill("\u202a+49\u00a0(0)170\u20111234567\u202c")
        await expect(box.locator("p")).to_have_text("Please fix 2 fields.")
        await page.get_by_role("radio").first.check()
        await expect(box.locator("p")).to_have_text("Please fix 1 field.")
        await page.locator("#message").fill("x" * 280)
        await expect(box).to_have_count(0)
        await expect(page.locator(".wrong, [aria-invalid]")).to_have_count(0)
        await press_pay(page)
        assert "/receipt/" in page.url
    (row,) = await service.rows("payments")
    assert row["user_data"] == '{"phoneNumber":"+491701234567"}'


@pytest.mark.parametrize("scripts", [True, False], ids=["scripts", "no scripts"])
@pytest.mark.parametrize("look", LOOKS, ids=["en", "de"])
async def test_a_payer_who_pays_again_is_told_of_the_claim(
    browser: Browser, tmp_path: Path, look: dict[str, Any], *, scripts: bool
) -> None:
    """View it, or buy another: by links and buttons that need no script."""
    async with open_real_scene(tmp_path) as scene:
        await real_page_states.connect_bank(scene)
        await scene.link()
        async with payer(browser, scene.service, java_script_enabled=scripts, **look) as who:
            page = await who.look(scene.path)
            await press_pay(page)
            claimed = page.url
            async with page.expect_navigation():
                await page.locator("#claim button").last.click()
            await page.goto(scene.path)
            await press_pay(page)
            note = page.locator(".pending")
            await expect(note).to_be_visible()
            if scripts:
                assert await accessibility_problems(page) == []
            assert await fits(page)
            async with page.expect_navigation():
                await note.get_by_role("link").click()
            assert page.url == claimed
            await page.goto(scene.path)
            await press_pay(page)
            await press_pay(page)
            assert "/checkout/" in page.url
            assert page.url != claimed
        rows = await scene.service.rows("checkouts")
        assert sorted(row["state"] for row in rows) == ["claimed", "open"]
