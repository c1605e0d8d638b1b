"""A guided request with every field, over the whole product: asked, shown, created, paid."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import pytest
from PIL import Image

from tests.support.product_process import Process, patient_client
from tests.support.sellers_and_payers import (
    Seller,
    labels,
    lines_of,
    link_of,
    open_pay_page,
    seller_with_destination,
)

if TYPE_CHECKING:
    from bot.sandbox.world.model import Message
    from bot.sandbox.world.world import World


pytestmark = pytest.mark.asyncio(loop_scope="module")


def photo() -> bytes:
    """Make a picture as a phone sends it."""
    made = io.BytesIO()
    Image.new("RGB", (200, 150), "teal").save(made, "JPEG")
    return made.getvalue()


async def reviewed(sam: Seller) -> Message:
    kind = await sam.say("/new", "What kind of payment link")
    await sam.press(kind, "Donation", "What's it called")
    await sam.say("Coffee", "How much is each donation")
    return await sam.say("5 USD", "Does everything look right")


async def test_every_option_is_asked_shown_and_sent(world: World, run: Process) -> None:
    """The service has each field as the review said it."""
    sam = await seller_with_destination(world)
    review = await reviewed(sam)
    options = await sam.press(review, "More options", "Anything else?")
    await sam.press(options, "Description", "Describe it")
    options = await sam.say("Warm & strong", "👍 Description: Warm & strong")
    await sam.press(options, "Split payments", "Who shares each payment of $5.00?")
    options = await sam.say("$anna 60%\n$ben rest", "• $ben $2.00")
    zone = await sam.press(options, "End date", "Which time zone are you in?")
    await sam.press(zone, "London", "When does it end?")
    options = await sam.say("in 3 days", "London time (in 3 days)")
    asks = await sam.press(options, "Payer details", "What do you need from payers?")
    asks = await sam.press(asks, "Email", "What do you need from payers?")
    assert labels(asks)[0] == "✓ Email"
    options = await sam.press(asks, "Done", "Anything else?")
    await sam.press(options, "After payment", "Where should payers go after paying?")
    options = await sam.say("https://example.org/thanks", "👍 After payment")
    await sam.press(options, "Photo", "Send a photo of it.")
    options = await sam.seen(lambda: sam.person.send_photo(photo()), "👍 Photo added ✓")
    review = await sam.press(options, "Done", "Does everything look right")
    assert "Photo added ✓" in lines_of(review)
    card = await sam.press(review, "Create", "Donation · $5.00")
    page = (await open_pay_page(link_of(card))).text
    assert "Warm &amp; strong" in page
    assert "/images/" in page
    assert 'name="email"' in page
    rows = run.rows("SELECT COUNT(*) FROM images WHERE kept = 1")
    assert rows == [(1,)]
    image = run.rows("SELECT id FROM images")[0][0]
    async with patient_client() as anybody:
        shown = await anybody.get(f"{run.url}/images/{image}")
    assert shown.headers["content-type"] == "image/jpeg"


async def test_a_refused_option_is_asked_for_at_its_step(world: World) -> None:
    """No SMTP_URL is set: the service takes no email address, and the seller leaves it out."""
    sam = await seller_with_destination(world)
    review = await reviewed(sam)
    options = await sam.press(review, "More options", "Anything else?")
    await sam.press(options, "Payment emails", "Who should get an email")
    options = await sam.say("anna@example.org", "👍 Payment emails go to")
    review = await sam.press(options, "Done", "Does everything look right")
    asked = await sam.press(review, "Create", "didn't accept this: It doesn't send emails.")
    assert "Who should get an email about each payment?" in asked.text
    review = await sam.press(asked, "Remove", "Does everything look right")
    await sam.press(review, "Create", "Donation · $5.00")


async def test_settings_are_asked_for_and_shown(world: World) -> None:
    sam = await seller_with_destination(world)
    page = await sam.say("/settings", "Your money goes to $anna.")
    zone = await sam.press(page, "Quiet hours", "Which time zone are you in?")
    back = await sam.press(zone, "Back", "Your money goes to $anna.")
    zone = await sam.press(back, "Quiet hours", "Which time zone are you in?")
    await sam.say("Berlin", "When should I be quiet?")
    await sam.say("22:00-7:00", "Saved. During your quiet hours, ")
    page = await sam.say("/settings", "Time zone: Berlin")
    await sam.press(page, "Daily summary", "When should I send the daily summary?")
    await sam.say("8 pm", "You'll get the summary every day at 20:00.")
    assert "Daily summary: 20:00" in (await sam.say("/settings", "Your money goes to")).text


async def test_start_offers_an_open_form(world: World) -> None:
    sam = await seller_with_destination(world)
    kind = await sam.say("/new", "What kind of payment link")
    await sam.press(kind, "Donation", "What's it called")
    hello = await sam.seen(
        lambda: sam.person.send("/start"), "You've already started a payment link"
    )
    await sam.press(hello, "Continue", "What's it called")
