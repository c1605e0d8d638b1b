"""Payers who use no Telegram, over the whole product: letters, or what stands on the receipt."""

from __future__ import annotations

from pathlib import Path

from tests.support.letters import SENDER
from tests.support.mail_servers import mail_server
from tests.support.product_process import running_product
from tests.support.sellers_and_payers import Seller, link_of, seller_with_destination
from tests.support.ticket_sales import ADDRESS, letter, ticket
from tests.support.web_payers import SPACES, WebPayer, said


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
        told = "The buyer left no email address, so they'll only see it on their receipt."
        await mark_newest(sam, "📦 Sent", f"marked as sent. {told}", "DHL 7")
        page = await receipt.page()
        assert "Sent" in page
        assert "DHL 7" in page
        await mark_newest(sam, "↩ Paid back", f"marked as paid back. {told}")
        assert "marked your payment as paid back" in await receipt.page()
        assert stage.world.refused == []
