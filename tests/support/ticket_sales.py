"""A drop of tickets with two codes for three, and the letters that its payers get."""

from __future__ import annotations

from email.message import EmailMessage
from typing import TYPE_CHECKING

from tests.support.mail_servers import MailServerStub
from tests.support.product_process import PATIENCE, until
from tests.support.sellers_and_payers import Seller
from tests.support.web_payers import SPACES

if TYPE_CHECKING:
    from bot.sandbox.world.model import Message


ADDRESS = "pat@payer.example"


async def letter(post: MailServerStub, number: int) -> tuple[EmailMessage, str]:
    """Wait for so many letters; the last of them, and its words."""

    async def all_here() -> bool:
        return len(post.letters) >= number

    await until(all_here, PATIENCE)
    last = post.letters[-1]
    text = last.get_body(("plain",))
    assert text
    assert (len(post.letters), last["To"]) == (number, ADDRESS)
    return last, text.get_content().translate(SPACES)


async def ticket(sam: Seller) -> Message:
    """Make a drop of codes that asks its payers for an email address; the card."""
    kind = await sam.say("/new", "What kind of payment link")
    await sam.press(kind, "Limited drop", "What's it called")
    await sam.say("Ticket", "How much")
    await sam.say("5 EUR", "How many")
    review = await sam.say("3", "Does everything look right")
    options = await sam.press(review, "More options", "Anything else?")
    asks = await sam.press(options, "Payer details", "What do you need from payers?")
    asks = await sam.press(asks, "Email", "What do you need from payers?")
    options = await sam.press(asks, "Done", "Anything else?")
    await sam.press(options, "What buyers get", "What does the buyer get")
    which = await sam.say("A-1\nB-2", "How should buyers get this?")
    options = await sam.press(which, "Codes, one per line", "2 codes for 3 items")
    review = await sam.press(options, "Done", "Does everything look right")
    return await sam.press(review, "Create", "3 of 3 left")
