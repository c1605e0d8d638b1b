"""Payers who use no Telegram, over the whole product: letters, or what stands on the receipt."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.support.letters import SENDER
from tests.support.mail_servers import mail_server
from tests.support.product_process import PATIENCE, running_product, until
from tests.support.sellers_and_payers import link_of, seller_with_destination
from tests.support.web_payers import SPACES, WebPayer, said

if TYPE_CHECKING:
    from email.message import EmailMessage
    from pathlib import Path

    from bot.sandbox.world.model import Message
    from tests.support.mail_servers import MailServerStub
    from tests.support.sellers_and_payers import Seller

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


async def mark_newest(sam: Seller, mark: str, expect: str, note: str = "") -> None:
    """Mark the newest payment by `/payments`, with a note or without."""
    latest = await sam.say("/payments", "Latest payments")
    opened = await sam.press(latest, "🧾 1", "Payment for Ticket")
    question = await sam.press(opened, mark, "Would you like to add")
    if note:
        await sam.say(note, expect)
    else:
        await sam.press(question, "Skip", expect)


async def test_a_payer_with_an_address_gets_code_and_news_by_email(tmp_path: Path) -> None:
    """In the payer's language; a code that comes later has a letter of its own."""
    async with mail_server() as post:
        smtp = f"smtp://127.0.0.1:{post.port}"
        async with running_product(tmp_path, SMTP_URL=smtp, SMTP_FROM=SENDER) as (stage, _):
            sam = await seller_with_destination(stage.world)
            card = await ticket(sam)
            link, german = link_of(card), WebPayer("de")
            receipt = await german.buy(link, email=ADDRESS)
            found, text = await letter(post, 1)
            assert found["Subject"].translate(SPACES) == "Beleg für Ihre Testzahlung über 5,00 €"
            for words in ("A-1", "1 von 3", receipt.transaction, "https://t.me/"):
                assert words in text, text
            await mark_newest(
                sam, "📦 Sent", "marked as sent. The buyer will get an email.", "DHL 7"
            )
            found, text = await letter(post, 2)
            assert "ist unterwegs" in found["Subject"]
            assert receipt.transaction in text
            assert "DHL 7" in await receipt.page()
            await mark_newest(sam, "↩ Paid back", "paid back. The buyer will get an email.")
            assert "5,00 €" in (await letter(post, 3))[0]["Subject"].translate(SPACES)
            assert "A-1" not in await receipt.page()
            assert stage.world.refused == []


async def test_for_a_payer_without_any_address_it_stands_on_the_receipt(tmp_path: Path) -> None:
    async with running_product(tmp_path) as (stage, _):
        sam = await seller_with_destination(stage.world)
        card = await sam.card("/drop 3 5 EUR Ticket", "Ticket")
        receipt = await WebPayer().buy(link_of(card))
        await said(sam, "received for Ticket")
        told = "The buyer left no address, so they'll only see it on their receipt."
        await mark_newest(sam, "📦 Sent", f"marked as sent. {told}", "DHL 7")
        page = await receipt.page()
        assert "Sent" in page
        assert "DHL 7" in page
        await mark_newest(sam, "↩ Paid back", f"marked as paid back. {told}")
        assert "paid you back" in await receipt.page()
        assert stage.world.refused == []
