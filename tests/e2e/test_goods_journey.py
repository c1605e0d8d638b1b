"""What buyers get, over the whole product: files, codes, and the receipts that they keep."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import pytest

from bot.sandbox.world.files import DOWNLOAD_BYTES
from tests.support.form_questions import question_of
from tests.support.sellers_and_payers import Seller, labels, link_of, seller_with_destination
from tests.support.web_payers import WebPayer, buyer, said, shown, waited

if TYPE_CHECKING:
    from bot.sandbox.world.model import Message
    from bot.sandbox.world.world import World


pytestmark = pytest.mark.asyncio(loop_scope="module")

QUESTION = question_of("ask-goods")
TAKEN = "already kept in another Telegram account"


async def goods_asked(sam: Seller, card: Message) -> None:
    await sam.edit(card)
    await sam.press(card, "What buyers get", QUESTION)


def has_file(who: Seller, kind: str, data: bytes) -> bool:
    """Check whether the bot has sent somebody a file of this kind."""
    ids = [one.content[kind]["file_id"] for one in who.said if kind in one.content]
    stored = who.world.files.get(ids[-1]) if ids else None
    return stored is not None and stored.data == data


async def test_a_file_of_20_mb_reaches_browser_and_chat_and_one_byte_more_is_refused(
    world: World,
) -> None:
    sam, pat = await seller_with_destination(world), buyer(world)
    card = await sam.card("/drop 2 5 USD Album", "Album")
    await goods_asked(sam, card)
    data = bytes(range(256)) * (DOWNLOAD_BYTES // 256)
    refused = await sam.seen(
        lambda: sam.person.send_document("album.zip", data + b"!"), "That file is larger than 20 MB"
    )
    assert "Send a smaller one, or a message with a link to it." in refused.text
    await sam.seen(lambda: sam.person.send_document("album.zip", data), "Buyers now get: album.zip")
    receipt = await WebPayer().buy(link_of(card))
    assert await receipt.download() == data
    kept = await receipt.keep(pat, "📎 album.zip")
    assert "Yours: 1 of 2" in kept.text
    assert await waited(pat, lambda: has_file(pat, "document", data))
    assert world.refused == []


async def test_what_was_sent_as_a_voice_message_comes_to_the_buyer_as_one(world: World) -> None:
    sam, pat = await seller_with_destination(world), buyer(world)
    card = await sam.card("/donation 5 USD Song", "Song")
    await goods_asked(sam, card)
    send = partial(sam.person.send_file, "voice", "voice.ogg", b"a song")
    await sam.seen(send, "Buyers now get: voice.ogg")
    await (await WebPayer().buy(link_of(card))).keep(pat, "📎 voice.ogg")
    assert await waited(pat, lambda: has_file(pat, "voice", b"a song"))
    assert world.refused == []


async def test_a_receipt_belongs_to_one_account_which_hears_of_its_marks(world: World) -> None:
    """Another account is told so, and shown nothing; the seller reads who has heard of what."""
    sam, pat = await seller_with_destination(world), buyer(world, language="de")
    eve = buyer(world, "Eve")
    card = await sam.card("/drop 5 12 EUR Vase", "Vase")
    receipt = await WebPayer().buy(link_of(card))
    alert = await said(sam, "€12.00 received for Vase")
    await receipt.keep(pat, "1 von 5")
    told = await receipt.keep(eve, TAKEN)
    assert "Vase" not in "".join(one.text for one in eve.said)
    assert receipt.transaction not in told.text
    await eve.say("/bought", "You haven't kept any receipts yet.")
    bought = await pat.say("/bought", "Deine Käufe")
    assert labels(bought)[0].startswith("✅ Vase · 12,00")
    await sam.press(alert, "📦 Sent", "Marked as sent.")
    await sam.say("DHL 0034", "I've let the buyer know in Telegram.")
    news = await said(pat, "Vase wurde verschickt.")
    assert "DHL 0034" in news.text
    assert "DHL 0034" in await receipt.page()
    opened = await sam.press(alert, "Details", "Payment for Vase")
    question = await sam.press(opened, "↩ Paid back", question_of("ask-paidback"))
    await sam.press(question, "Skip", "I've let the buyer know in Telegram.")
    news = await said(pat, "für Vase als zurückgezahlt vermerkt.")
    shown_again = await pat.press(news, "Beleg zeigen", "↩ Zurückgezahlt:")
    assert "Für dich" not in shown_again.text
    assert labels(await pat.say("/bought", "Deine Käufe"))[0].startswith("↩ Vase")
    assert "Vase" not in "".join(one.text for one in eve.said)
    assert world.refused == []


async def test_a_buyer_who_waits_for_a_code_hears_when_it_comes(world: World) -> None:
    """Every code is sold; the code that is sent then is the waiting buyer's, and nobody else's."""
    sam, pat, kim = await seller_with_destination(world), buyer(world), buyer(world, "Kim")
    card = await sam.card("/drop 4 5 USD Ticket", "Ticket")
    await goods_asked(sam, card)
    which = await sam.say("TICKET-A1\nTICKET-B2", question_of("ask-which-goods"))
    await sam.press(which, "Codes, one per line", "Buyers now get: 2 codes")
    link = link_of(card)
    first = await WebPayer().buy(link)
    kept = await first.keep(kim, "Your code (tap to copy)")
    assert "TICKET-A1" in kept.text
    await WebPayer().buy(link)
    late = await WebPayer().buy(link)
    alert = await said(sam, "1 buyer is waiting")
    await shown(sam, card, "1 buyer is waiting for a code")
    assert "Yours is on its way" in await late.page()
    waiting = await late.keep(pat, "Yours is on its way.")
    assert "Yours: 3 of 4" in waiting.text
    await sam.press(alert, "Send codes", "Send me more codes.")
    await sam.say("TICKET-C3", "1 code added.\nEveryone who has paid has their code.")
    news = await said(pat, "Your code has arrived.")
    assert "TICKET-C3" in news.text
    assert "TICKET-C3" in await late.page()
    assert not [one for one in kim.said if "arrived" in one.text or "TICKET-C3" in one.text]
    assert world.refused == []
