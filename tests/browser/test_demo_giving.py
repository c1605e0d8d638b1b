"""What payers choose and get, from the seller's chat page to the payers' phones, in Chromium."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.async_api import expect

from bot.sandbox.world.files import DOWNLOAD_BYTES
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
    say,
)
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
        await edit(page, card, "Goal", "How much do you want to raise?", "10")
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
        await edit(page, card, "Items per purchase", "How many items can a buyer", "3")
        await expect(from_bot(page, "up to 3").first).to_be_visible()
        await edit(page, card, "What buyers get", "What does the buyer get", "AA-1\nBB-2\nCC-3")
        await press(page, "How should buyers get this?", "Codes, one per line")
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


async def test_an_amount_at_either_bound_is_paid_and_none_beyond(
    browser: Browser, demo: Process, tmp_path: Path
) -> None:
    async with open_demo(browser, demo, tmp_path, viewport=DESK) as page:
        card = await make_by_line(page, "/donation 3-500 5/10 EUR Drums", "Drums")
        for least, refused, sum_of in (("3", "2,99", "3,00"), ("500", "500,01", "500,00")):
            async with german_payer(browser, await link_on(card)) as shop:
                for typed in (refused, least):
                    await shop.locator("#amount").fill(typed)
                    await shop.locator(".bar button").click()
                    if typed == refused:
                        await expect(shop.get_by_role("alert")).to_contain_text(f"{sum_of}\xa0€")
                await expect(shop.get_by_role("heading", name="Bezahlt")).to_be_visible()
                await expect(shop.get_by_text(f"{sum_of}\xa0€")).to_be_visible()
        await expect(card).to_contain_text("2 payments · €503.00")


async def test_a_file_of_20_mb_is_downloaded_whole(
    browser: Browser, demo: Process, tmp_path: Path
) -> None:
    data = bytes(range(256)) * (DOWNLOAD_BYTES // 256)
    (tmp_path / "album.zip").write_bytes(data)
    async with open_demo(browser, demo, tmp_path, viewport=DESK) as page:
        card = await make_by_line(page, "/oneoff 5 EUR Album", "Album")
        await card.get_by_role("button", name="Edit").click()
        await card.get_by_role("button", name="What buyers get").click()
        await expect(from_bot(page, "What does the buyer get")).to_be_visible()
        await page.locator("#file").set_input_files(tmp_path / "album.zip")
        await page.get_by_role("dialog").get_by_role("button", name="Send it").click()
        await expect(from_bot(page, "Buyers now get: album.zip, 20 MB")).to_be_visible()
        async with german_payer(browser, await link_on(card)) as shop:
            await shop.locator(".bar button").click()
            async with shop.expect_download() as opening:
                await shop.get_by_role("link", name="Herunterladen").click()
            got = await opening.value
            assert got.suggested_filename == "album.zip"
            assert (await got.path()).read_bytes() == data


async def test_a_receipt_kept_by_one_account_is_not_shown_to_the_next(
    browser: Browser, demo: Process, tmp_path: Path
) -> None:
    """The next one reads where it is; in the browser it opens for both."""
    async with open_demo(browser, demo, tmp_path, viewport=DESK) as page:
        card = await make_by_line(page, "/oneoff 5 EUR Poem", "Poem")
        await edit(page, card, "What buyers get", "What does the buyer get", "Roses are red")
        await expect(from_bot(page, "Buyers now get: Roses are red")).to_be_visible()
        async with german_payer(browser, await link_on(card)) as shop:
            await shop.locator(".bar button").click()
            keep = shop.get_by_role("link", name="In Telegram speichern")
            address, place = await keep.get_attribute("href"), shop.url
            await keep.click()
            await expect(shop.get_by_label("You are")).to_have_value("1002")
            await expect(from_bot(shop, "Poem")).to_contain_text("Roses are red")
            (key,) = parse_qs(urlsplit(str(address)).query)["start"]
            await say(page, f"/start {key}")
            told = from_bot(page, "already kept in another Telegram account")
            await expect(told).to_be_visible()
            await expect(told).not_to_contain_text("Roses")
            await shop.goto(place)
            await expect(shop.get_by_text("Roses are red")).to_be_visible()


async def test_a_payer_without_telegram_sees_on_the_receipt_what_became_of_it(
    browser: Browser, demo: Process, tmp_path: Path
) -> None:
    """The seller reads that nobody could be written to; the page has the note."""
    async with open_demo(browser, demo, tmp_path, viewport=DESK) as page:
        card = await make_by_line(page, "/oneoff 5 EUR Vase", "Vase")
        async with german_payer(browser, await link_on(card)) as shop:
            await shop.locator(".bar button").click()
            await expect(shop.get_by_role("heading", name="Bezahlt")).to_be_visible()
            await press(page, "received for Vase", "Details")
            await press(page, "Payment for Vase", "Sent")
            await expect(from_bot(page, "Would you like to add a tracking")).to_be_visible()
            await say(page, "DHL 0034")
            await expect(from_bot(page, "left no email address")).to_be_visible()
            await shop.reload()
            await expect(shop.get_by_text("Verschickt")).to_be_visible()
            await expect(shop.get_by_text("DHL 0034")).to_be_visible()
