"""What payers choose and get, from the seller's chat page to the payers' phones, in Chromium."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pytest
from playwright.async_api import expect

from tests.support.chromium import DESK
from tests.support.demo_page import (
    edit,
    from_bot,
    german_payer,
    link_on,
    make_by_line,
    open_demo,
    paid_by_form,
    press,
)
from tests.support.form_questions import question_of
from tests.support.product_process import Process

if TYPE_CHECKING:
    from playwright.async_api import Browser


pytestmark = pytest.mark.asyncio(loop_scope="session")  # one browser serves all


async def test_an_amount_and_words_of_a_german_payer_come_to_the_chat(
    browser: Browser, demo: Process, tmp_path: Path
) -> None:
    """The minimum, digits of another script, a goal; the words lead nowhere and are hidden."""
    async with open_demo(browser, demo, tmp_path, viewport=DESK) as page:
        card = await make_by_line(page, "/donation 3+ 5/10/20 EUR New drums", "New drums")
        await edit(page, card, "Goal", question_of("ask-goal"), "10")
        await expect(card).to_contain_text("€0 of €10")
        async with german_payer(browser, await link_on(card)) as shop:
            own, pay_it = shop.locator("#amount"), shop.locator(".bar button")
            await own.fill("2,99")
            await pay_it.click()
            await expect(shop.get_by_role("alert")).to_contain_text("3,00\xa0€")
            await own.fill("١٠٫٤٠")
            await shop.locator("details.words summary").click()
            await shop.locator("#name").fill("Mia")
            await shop.locator("#message").fill("Für die Trommeln! https://thief.example")
            await pay_it.click()
            await expect(shop.get_by_role("heading", name="Bezahlt")).to_be_visible()
        alert = from_bot(page, "€10.40 from Mia: Für die Trommeln!")
        await expect(alert.get_by_role("link")).to_have_count(0)
        await expect(card).to_contain_text("104%")
        await alert.get_by_role("button", name="Hide message").click()
        await expect(from_bot(page, "€10.40 received for New drums")).to_be_visible()
        await expect(page.get_by_text("Trommeln")).to_have_count(0)


async def test_codes_of_two_units_reach_the_receipt_and_the_buyers_chat(
    browser: Browser, demo: Process, tmp_path: Path
) -> None:
    """Three are asked for where two are left; what is kept in Telegram has the same codes."""
    async with open_demo(browser, demo, tmp_path, viewport=DESK) as page:
        card = await make_by_line(page, "/drop 3 5 EUR Ticket", "Ticket")
        await edit(page, card, "Items per purchase", question_of("ask-perbuyer"), "3")
        await expect(from_bot(page, "up to 3").first).to_be_visible()
        await edit(page, card, "What buyers get", question_of("ask-goods"), "AA-1\nBB-2\nCC-3")
        await press(page, question_of("ask-which-goods"), "Codes, one per line")
        await expect(card).to_contain_text("Codes left: 3 of 3")
        link = await link_on(card)
        async with german_payer(browser, link) as shop:
            await shop.locator("#quantity").select_option("3")
            await paid_by_form(demo, urlsplit(link).path)
            await shop.locator(".bar button").click()
            await expect(shop.get_by_role("alert")).to_contain_text("Nur noch 2")
            await shop.locator(".bar button").click()
            await expect(shop.get_by_text("2 und 3 von 3")).to_be_visible()
            await expect(shop.get_by_text("BB-2")).to_be_visible()
            await expect(shop.get_by_text("AA-1")).to_have_count(0)
            await shop.get_by_role("link", name="In Telegram speichern").click()
            kept = from_bot(shop, "Yours: 2 and 3 of 3")
            await expect(kept).to_contain_text("BB-2")
            await expect(kept).to_contain_text("CC-3")
            await expect(shop.get_by_text("AA-1")).to_have_count(0)
        await expect(from_bot(page, "2 × Ticket")).to_contain_text("SOLD OUT")
        await expect(card).to_contain_text("Codes left: 0 of 3")
