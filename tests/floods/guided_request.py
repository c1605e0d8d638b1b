"""A request made step by step in the chat: with a picture, or an address that gets letters."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from PIL import Image

from tests.support.sellers_and_payers import Seller, link_of

if TYPE_CHECKING:
    from bot.sandbox.world.model import Message


async def request(seller: Seller, email: str | None) -> str:
    """Make a donation; the path of its pay page."""
    kind = await seller.say("/new", "What kind of payment link")
    await seller.press(kind, "Donation", "What's it called")
    await seller.say("Coffee", "How much is each donation")
    review = await seller.say("5 USD", "Does everything look right")
    options = await seller.press(review, "More options", "")
    if email:
        await seller.press(options, "Payment emails", "")
        await seller.say(email, "")
    else:
        await seller.press(options, "Photo", "")
        await seller.seen(lambda: seller.person.send_photo(_photo()), "👍")
    review = await seller.press(await _with(seller, "Done"), "Done", "")
    cards = len(seller.cards)
    seller.person.press(await _with(seller, "Create"), "Create")
    await seller.world.wait_for(lambda: len(seller.cards) > cards)
    return urlsplit(link_of(seller.cards[-1])).path


async def _with(seller: Seller, button: str) -> Message:
    """Wait for the newest message that has a button with these words."""

    def look() -> Message | None:
        for message in reversed(seller.said):
            if any(button in one.get("text", "") for one in message.buttons):
                return message
        return None

    found = await seller.world.wait_for(look)
    assert found
    return found


def _photo() -> bytes:
    made = io.BytesIO()
    Image.effect_noise((1600, 1200), 64).convert("RGB").save(made, "JPEG")
    return made.getvalue()
