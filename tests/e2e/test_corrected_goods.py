"""What buyers get is changed once it was sold, over the whole product: who sees and hears what."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tests.support.letters import SENDER
from tests.support.mail_servers import mail_server
from tests.support.product_process import running_product
from tests.support.sellers_and_payers import Seller, labels, link_of, seller_with_destination
from tests.support.ticket_sales import ADDRESS, letter, ticket
from tests.support.web_payers import WebPayer, buyer, said, shown, waited

if TYPE_CHECKING:
    from bot.sandbox.world.model import Message


QUESTION = "What does the buyer get after paying?"


async def goods_asked(sam: Seller, card: Message) -> Message:
    await sam.edit(card)
    return await sam.press(card, "What buyers get", QUESTION)


async def replaced(sam: Seller, name: str, data: bytes) -> None:
    await sam.seen(lambda: sam.person.send_document(name, data), f"Buyers now get: {name}")


def files_of(who: Seller) -> list[bytes]:
    """Return the files that the bot has sent somebody."""
    sent = [one.content["document"] for one in who.said if "document" in one.content]
    return [found.data for one in sent if (found := who.world.files.get(one["file_id"]))]


async def test_who_waits_for_a_code_hears_once_of_the_file_in_its_place_and_sees_its_correction(
    tmp_path: Path,
) -> None:
    """Codes that were given stay; what buyers wait for can't just be removed."""
    async with mail_server() as post:
        smtp = f"smtp://127.0.0.1:{post.port}"
        async with running_product(tmp_path, SMTP_URL=smtp, SMTP_FROM=SENDER) as (stage, _):
            sam = await seller_with_destination(stage.world)
            pat = buyer(stage.world, language="de")
            card = await ticket(sam)
            link, german = link_of(card), WebPayer("de")
            first, _, last = [await german.buy(link, email=ADDRESS) for _ in range(3)]
            await letter(post, 3)
            await last.keep(pat, "3 von 3")
            await shown(sam, card, "1 buyer is waiting for a code")

            question = await goods_asked(sam, card)
            assert "anyone who is still waiting will get what you send now" in question.text
            await sam.press(question, "Remove", "are still waiting for codes")
            await said(sam, QUESTION)
            await replaced(sam, "album.zip", b"the album")
            news = await said(pat, "Dein Kauf ist da.")
            assert "album.zip" in news.text
            assert await waited(pat, lambda: files_of(pat) == [b"the album"])
            found, text = await letter(post, 4)
            assert found["Subject"] == "Ihr Kauf ist da"
            assert last.transaction in text
            assert "album.zip" not in text
            assert await last.download() == b"the album"
            assert "A-1" in await first.page()
            assert await waited(sam, lambda: "waiting" not in card.text)
            assert labels(await pat.say("/bought", "Deine Käufe"))[0].startswith("✅")

            question = await goods_asked(sam, card)
            assert "replaces this one on the receipts of everyone" in question.text
            await replaced(sam, "album-2.zip", b"the right album")
            assert await last.download() == b"the right album"
            assert "A-1" in await first.page()
            again = await pat.press(await pat.say("/bought", "Deine Käufe"), "✅", "album-2.zip")
            assert "Dein Kauf ist da" not in again.text
            assert len([one for one in pat.said if "Dein Kauf ist da" in one.text]) == 1
            assert len(post.letters) == 4
            assert stage.world.refused == []
