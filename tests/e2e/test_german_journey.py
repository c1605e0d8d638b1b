"""The whole product in German, for the seller and the payer."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.form_questions import question_of
from tests.support.product_process import Process, patient_client
from tests.support.sellers_and_payers import (
    SECONDS,
    Seller,
    has_button,
    inline_button,
    labels,
    lines_of,
    link_of,
    pay,
    seller,
)
from tests.support.web_payers import WebPayer, buyer, said, shown

if TYPE_CHECKING:
    from bot.sandbox.world.model import Message
    from bot.sandbox.world.world import World


pytestmark = pytest.mark.asyncio(loop_scope="module")


async def paid(sam: Seller, card: Message) -> Message:
    """Pay a card and return the alert."""

    def alerts() -> list[Message]:
        return [message for message in sam.said if "erhalten" in message.text]

    before = len(alerts())
    assert (await pay(link_of(card))).status_code == 303
    await sam.world.wait_for(lambda: len(alerts()) > before, SECONDS)
    return alerts()[-1]


async def test_a_german_seller_reads_german_from_start_to_sold_out(
    world: World,
) -> None:
    sam = seller(world, language="de")
    hello = await sam.start()
    assert "Ich erstelle Zahlungslinks für dich." in hello.text
    kind = await sam.press(hello, "Neuer Zahlungslink", "Was für ein Zahlungslink")
    await sam.press(kind, "Limitierte Auflage", "Wie heißt dein Angebot")
    await sam.say("Sticker", "Was kostet ein Stück")
    await sam.say("2,50 €", "Wie viele Stück")
    await sam.say("2", "Wohin soll das Geld gehen")
    review = await sam.say("$anna", "Stimmt alles?")
    options = await sam.press(review, "Mehr Angaben", "Noch etwas?")
    zone = await sam.press(options, "Ende", "In welcher Zeitzone bist du?")
    await sam.press(zone, "Wien", "Bis wann kann gezahlt werden?")
    options = await sam.say("31.12.", "Ende: ")
    assert "31. Dezember" in lines_of(options)[0]
    ends = await sam.press(options, "Ende", "Bis wann kann gezahlt werden?")
    options = await sam.press(ends, "Entfernen", "Noch etwas?")
    review = await sam.press(options, "Fertig", "Stimmt alles?")
    assert lines_of(review)[3:] == [
        "Name: Sticker",
        "Art: Limitierte Auflage",
        "Betrag: 2,50 €",
        "Stückzahl: 2",
        "Das Geld geht an: $anna",
    ]
    assert await sam.toast(review, "Erstellen") == "Wird erstellt …"
    card = await sam.first_card()
    assert lines_of(card)[1:3] == ["Limitierte Auflage · 2,50 €", "🟢 2 von 2 übrig"]
    assert labels(card)[-3:] == ["📣 Teilen", "✏ Bearbeiten", "⋯ Mehr"]
    first = lines_of(await paid(sam, card))
    assert first[:2] == ["💰 2,50 € für Sticker erhalten", "1 von 2 übrig"]
    assert first[2].startswith("🧾 ")
    assert lines_of(await paid(sam, card))[1] == "🏁 AUSVERKAUFT: Das war das letzte Stück."


async def test_a_giver_and_their_seller_read_german(world: World) -> None:
    sam, pat = seller(world, "Anna", language="de"), buyer(world, language="de")
    await sam.say("/donation 3+ 5/10/20 EUR Kaffeekasse", "Wohin soll das Geld gehen")
    card = await sam.say("$anna", "Spende · Ab")
    menu = await sam.press(card, "Bearbeiten", "Kaffeekasse")
    await sam.press(menu, "Dankeschön", "Was möchtest du allen sagen")
    await sam.say("Danke dir!", "Dankeschön geändert: Danke dir!")
    await sam.press(card, "Bearbeiten", "Kaffeekasse")
    await sam.press(card, "Spendenziel", "Wie viel soll zusammenkommen")
    await sam.say("7,50", "Spendenziel geändert: 7,50")
    receipt = await WebPayer("de").buy(
        link_of(card), amount="7,50", name="Mia", message="Für alle!"
    )
    alert = await said(sam, "💰 7,50 € von Mia: Für alle!")
    await shown(sam, card, "100 %")
    await sam.press(alert, "Nachricht ausblenden", "für Kaffeekasse erhalten")
    assert "Danke dir!" in await receipt.page()
    kept = await receipt.keep(pat, "Danke dir!")
    assert has_button(kept, "Beleg öffnen")
    group = sam.person.new_group("Markt")
    found = await sam.person.inline("Kaffeekasse", group)
    assert inline_button(found.results[0])["text"] == "Betrag wählen"
    sam.person.send("/new", group)
    assert await world.bot_message(group, "nur im privaten Chat", seconds=SECONDS)
    assert "Diesen Knopf kenne ich nicht" in await sam.words(card, "nonsense")
    assert world.refused == []


async def test_a_german_payer_sees_a_german_page_of_an_english_seller(
    world: World, run: Process
) -> None:
    sam = seller(world)
    await sam.say("/oneoff 1234.5 EUR Painting", question_of("ask-destination"))
    card = await sam.say("$anna", "Painting")
    german = {"Accept-Language": "de-CH,de;q=0.9,en;q=0.8"}
    async with patient_client(headers=german) as payer:
        page = await payer.get(link_of(card))
        assert page.headers["content-language"] == "de"
        assert '<html lang="de"' in page.text
        assert "Testgeld zahlen" in page.text
        answer = await pay(link_of(card))
        receipt = await payer.get(f"{run.url}{answer.headers['location']}")
        assert "Die Zahlung ist angekommen." in receipt.text
        assert "Schon bezahlt" in (await payer.get(link_of(card))).text
        missing = await payer.get(f"{run.url}/pay/{'0' * 24}")
        assert (missing.status_code, "Link nicht gefunden" in missing.text) == (
            404,
            True,
        )
