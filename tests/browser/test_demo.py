"""`bot demo` in a real browser: a newcomer's first minutes, from START to the alert."""

from __future__ import annotations

import io
import re
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pytest
import zxingcpp
from PIL import Image
from playwright.async_api import Page, expect

from tests.support.chromium import DESK, PHONE, fits
from tests.support.demo_page import from_bot, open_demo, paid_by_form, press, say
from tests.support.form_questions import question_of
from tests.support.product_process import (
    Process,
    app_headers,
    create_application,
    patient_client,
)

if TYPE_CHECKING:
    from playwright.async_api import Browser, FrameLocator, Locator, ViewportSize


pytestmark = pytest.mark.asyncio(loop_scope="session")  # one browser serves all


async def make_drop(page: Page) -> Locator:
    """Follow the front page, press START, fill in the guided form as a newcomer would; the card."""
    await page.goto("/")
    await page.get_by_role("link", name="Chat with @").click()
    await page.get_by_role("button", name="START").click()
    await press(page, "I make payment links for you", "New payment link")
    await press(page, question_of("ask-kind"), "Limited drop")
    await expect(from_bot(page, question_of("ask-name"))).to_be_visible()
    await say(page, "Sticker <b>pack</b>")
    await expect(from_bot(page, question_of("ask-amount-drop"))).to_be_visible()
    await say(page, "2,50 €")
    await expect(from_bot(page, question_of("ask-units"))).to_be_visible()
    await say(page, "2")
    await expect(from_bot(page, question_of("ask-destination"))).to_be_visible()
    await say(page, "$anna")
    await press(page, question_of("review"), "Create")
    card = card_of(page)
    await expect(card).to_contain_text("2 of 2 left")
    await expect(card).to_contain_text("Sticker <b>pack</b>")
    return card


async def pay(page: Page, card: Locator, way: str = "Open") -> None:
    """Open the pay page by a link of the card and pay there, on the payer's phone."""
    await card.get_by_role("link", name=way).click()
    is_desk = page.viewport_size == DESK
    sheet = (page.frame_locator("#phone iframe") if is_desk else page).locator("#in-app")
    payer = sheet.frame_locator("iframe")
    await expect(payer.get_by_role("heading", name="Sticker <b>pack</b>")).to_be_visible()
    await expect(payer.get_by_text("Test mode: no real money is charged.")).to_be_visible()
    await payer.get_by_role("button", name="Pay €2.50").click()
    await expect(payer.get_by_role("heading", name="Paid")).to_be_visible()
    await expect(sheet).to_contain_text(re.compile(r"/pay/[0-9a-f]{24}/receipt/[0-9a-zA-Z]+"))
    assert await fits(page)
    await sheet.get_by_role("button", name="Close page").click()
    await expect(sheet).to_be_hidden()


@pytest.mark.parametrize(
    ("size", "scheme"), [(DESK, "light"), (PHONE, "dark")], ids=["desk", "dark phone"]
)
async def test_from_start_to_the_alert_in_the_browser(
    browser: Browser, demo: Process, tmp_path: Path, size: ViewportSize, scheme: str
) -> None:
    """The guided form, the QR picture, the pay page by its link, the alert, sold out."""
    async with open_demo(browser, demo, tmp_path, viewport=size, color_scheme=scheme) as page:
        card = await make_drop(page)
        await card.get_by_role("button", name="Open picture").click()
        await expect(page.get_by_role("status")).to_have_css("opacity", "0")
        picture = page.get_by_role("dialog").locator("img")
        link = await card.get_by_role("link", name="Open").get_attribute("href")
        assert await decoded(picture) == link
        await page.get_by_role("button", name="Close picture").click()
        await pay(page, card)
        await expect(from_bot(page, "€2.50 received for Sticker <b>pack</b>")).to_contain_text(
            "1 of 2 left"
        )
        await pay(page, card)
        await expect(from_bot(page, "SOLD OUT: that was the last one")).to_be_visible()
        assert await fits(page)


@pytest.mark.parametrize("way", ["phone", "tab"])
async def test_a_payer_keeps_the_receipt_in_the_chat(
    browser: Browser, demo: Process, tmp_path: Path, way: str
) -> None:
    """The receipt leads to the payer's chat, in the phone beside the seller's or from a tab."""
    async with open_demo(browser, demo, tmp_path, viewport=DESK) as page:
        card = await make_drop(page)
        phone: Page | FrameLocator = page.frame_locator("#phone iframe")
        link = card.get_by_role("link", name="Open")
        if way == "tab":
            phone = paying = await page.context.new_page()
            await paying.goto(await link.get_attribute("href") or "")
            pages: Page | FrameLocator = paying
        else:
            await link.click()
            pages = phone.frame_locator("#in-app iframe")
        await pages.get_by_role("button", name="Pay €2.50").click()
        await pages.get_by_role("link", name="Keep it in Telegram").click()
        await expect(phone.get_by_label("You are")).to_have_value("1002")
        kept = from_bot(phone, "Sticker <b>pack</b>")
        await expect(phone.locator("#in-app")).to_be_hidden()
        opens = kept.get_by_role("link", name="Open receipt")
        await expect(opens).to_be_visible()
        if way == "phone":
            await opens.click()
            await expect(pages.get_by_role("heading", name="Paid")).to_be_visible()


async def test_a_drop_is_shared_into_a_group_and_sold_out_there_too(
    browser: Browser, demo: Process, tmp_path: Path
) -> None:
    """Found while typing, posted as a picture to pay by; when all is sold, every card says so.

    The page is loaded anew before: nothing is lost, and a button of an old message still works.
    """
    async with open_demo(browser, demo, tmp_path, viewport=DESK) as page:
        await make_drop(page)
        await page.reload()
        card = card_of(page)
        await expect(card).to_contain_text("2 of 2 left")
        await card.get_by_role("button", name="Share").click()
        await page.get_by_role("dialog").get_by_role("button", name="Saturday market").click()
        found = page.get_by_role("option", name="Sticker <b>pack</b>")
        await expect(found).to_contain_text("2 of 2 left")
        await found.click()
        posted = page.get_by_role("listitem").filter(has_text="via @PaymentRequestBot")
        await expect(posted.get_by_role("button", name="Open picture")).to_be_visible()
        await pay(page, posted, "Pay €2.50")
        await expect(posted).to_contain_text("1 of 2 left")
        await pay(page, posted, "Pay €2.50")
        await expect(posted).to_contain_text("SOLD OUT")
        await expect(posted.get_by_role("link", name="Pay €2.50")).to_have_count(0)
        await page.get_by_role("button", name="Payment Requests").first.click()
        await expect(card_of(page)).to_contain_text("SOLD OUT: all 2 sold")
        await expect(from_bot(page, "Sold out: all 2 sold.")).to_be_visible()


def card_of(page: Page) -> Locator:
    """Locate the seller's own card: a message with a picture."""
    picture = page.get_by_role("button", name="Open picture")
    return from_bot(page, "Limited drop").filter(has=picture)


async def decoded(picture: Locator) -> str:
    """Decode a QR code as the browser paints it."""
    (code,) = zxingcpp.read_barcodes(Image.open(io.BytesIO(await picture.screenshot())))
    return str(code.text)


async def test_a_payment_told_by_e_mail_is_read_in_the_page(
    browser: Browser, demo: Process, tmp_path: Path
) -> None:
    """An application of one's own, a mail for its payment, the receipt by the mail's link."""
    async with open_demo(browser, demo, tmp_path, viewport=PHONE, color_scheme="dark") as page:
        await page.goto("/chat")
        await page.get_by_role("button", name="Back to chats").click()
        await page.get_by_role("button", name="Emails None sent yet").click()
        await expect(page.get_by_text("payers get a receipt")).to_be_visible()
        paid = await paid_by_form(demo, await told_by_email(demo, tmp_path))
        emails = page.get_by_role("list", name="Emails sent")
        await emails.get_by_role("button", name="$5.00 for Tea & <b>cake</b>").click()
        letter = page.frame_locator("iframe")
        await expect(letter.get_by_role("heading", name="$5.00 received")).to_be_visible()
        await expect(letter.get_by_text("Tea & <b>cake</b>")).to_be_visible()
        assert await fits(page)
        async with page.expect_popup() as opening:
            await letter.get_by_role("link", name="View receipt").click()
        receipt = await opening.value
        await expect(receipt.get_by_role("heading", name="Paid")).to_be_visible()
        assert receipt.url == f"{demo.url}{paid}"


async def told_by_email(demo: Process, folder: Path) -> str:
    """Make a request that sends emails; return its pay path."""
    given = await create_application(folder)
    demo.secrets |= {given["APP_SECRET"], given["WEBHOOK_SECRET"]}
    body = {
        "product": {"name": "Tea & <b>cake</b>"},
        "instrumentCurrencyCode": "USD",
        "receivers": [{"sendAmount": 5, "destination": "alice"}],
        "notifications": {"email": "seller@example.org"},
        "expirationType": "onPaymentCompleted",
    }
    async with patient_client(demo.url, app_headers(given)) as http:
        made = await http.post("/v3/paymentRequests", json=body)
    assert made.status_code == 200, made.text
    return urlsplit(str(made.json()["paymentRequestUrl"])).path
