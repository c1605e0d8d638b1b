"""Payers choose amount, quantity and words, over the whole product, in English and German."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.support.form_questions import question_of
from tests.support.product_process import Process
from tests.support.sellers_and_payers import (
    Seller,
    has_button,
    link_of,
    open_pay_page,
    seller_with_destination,
)
from tests.support.web_payers import WebPayer, buyer, read, said, shown

if TYPE_CHECKING:
    from bot.sandbox.world.model import Message
    from bot.sandbox.world.world import World


pytestmark = pytest.mark.asyncio(loop_scope="module")

MOST = "1-5000 5/10/20 EUR"
ACTIVE = {"url", "text_link", "mention", "text_mention", "bot_command", "email", "phone_number"}
"""Entities that lead somewhere."""


async def test_amounts_are_read_in_the_payers_language_within_the_bounds(
    world: World, run: Process
) -> None:
    """Too little, too much and what can be read in two ways is asked about, never guessed."""
    sam = await seller_with_destination(world)
    card = await sam.card(f"/donation {MOST} Tip jar", "Tip jar")
    german, link = WebPayer("de-DE"), link_of(card)
    found = run.rows("SELECT id, amount_choice, keep_url FROM payment_requests")
    ((choice, keep_url),) = (row[1:] for row in found if row[0] == link.rpartition("/")[2])
    assert json.loads(choice) == {
        "minimum": 100,
        "maximum": 500_000,
        "suggested": [500, 1000, 2000],
    }
    assert keep_url.startswith("https://t.me/")
    assert keep_url.endswith("?start=r-{requestId}-{transactionId}")
    for typed, words in (
        ("0,99", "Der Mindestbetrag ist 1,00 €."),
        ("5000,01", "Der Höchstbetrag ist 5.000,00 €."),
        ("1.000", 'value="1000.00"><span>'),
    ):
        page = await german.asked(link, amount=["other", typed])
        assert words in page, typed
        assert 'aria-invalid="true"' in page
    for typed, sum_of in (("7,50", "€7.50"), ("5.000,00", "€5,000.00")):
        receipt = await german.buy(link, amount=["other", typed])
        await said(sam, f"💰 {sum_of} received for Tip jar")
        assert "Bezahlt" in await receipt.page()
    suggested = await german.buy(link, amount=["10.00", ""])
    assert "10,00 €" in await suggested.page()
    await shown(sam, card, "3 payments · €5,017.50")
    assert world.refused == []


async def fund(sam: Seller) -> Message:
    """Make a donation with a goal of 100 EUR by chatting; the card."""
    kind = await sam.say("/new", question_of("ask-kind"))
    await sam.press(kind, "Donation", question_of("ask-name"))
    await sam.say("New drums", question_of("ask-amount-donation"))
    review = await sam.say("5/10/20 EUR", question_of("review"))
    options = await sam.press(review, "More options", question_of("ask-options"))
    await sam.press(options, "Goal", question_of("ask-goal"))
    options = await sam.say("100", "👍 Goal: ")
    await sam.press(options, "Thank-you message", question_of("ask-thanks"))
    options = await sam.say("Thank you!\nSee you", "👍 Thank-you message: ")
    review = await sam.press(options, "Done", question_of("review"))
    return await sam.press(review, "Create", "New drums")


async def test_a_goal_is_passed_and_falls_with_money_paid_back(world: World) -> None:
    """Page, card and shared card say so; nothing ends. Thanks are on the receipt and in the chat"""
    world.inline_feedback = True
    sam, pat = await seller_with_destination(world), buyer(world)
    card = await fund(sam)
    link, group = link_of(card), sam.person.new_group("Band", pat.person)
    asked = await sam.person.inline(card.button("Share")["switch_inline_query"], group)
    shared = sam.person.choose(asked, asked.results[0]["id"], group)
    english, german = WebPayer(), WebPayer("de")
    thanked = await english.buy(link, amount="50")
    await german.buy(link, amount="54,00")
    for message in (card, shared):
        await shown(sam, message, "104%")
    assert "€104 of €100" in card.text
    assert has_button(shared, "amount")
    page = (await open_pay_page(link)).text
    assert "Goal reached! You can still add to it." in page
    assert 'name="token"' in page
    kept = await thanked.keep(pat, "New drums")
    assert "Thank you!\nSee you" in kept.text
    assert "Thank you!\nSee you" in await thanked.page()
    latest = await sam.say("/payments", "€54.00")
    opened = await sam.press(latest, "🧾 1", "Payment for New drums")
    question = await sam.press(opened, "↩ Paid back", question_of("ask-paidback"))
    await sam.press(question, "Skip", "The buyer left no email address")
    for message in (card, shared):
        await shown(sam, message, "50%")
    assert "€50 of €100" in read((await open_pay_page(link)).text)
    assert "Zurückgezahlt" in await german.receipts[0].page()
    assert world.refused == []


async def test_three_units_of_two_left_are_refused_and_two_taken(world: World) -> None:
    sam, pat = await seller_with_destination(world), buyer(world, language="de")
    kind = await sam.say("/new", question_of("ask-kind"))
    await sam.press(kind, "Limited drop", question_of("ask-name"))
    await sam.say("Print", question_of("ask-amount-drop"))
    await sam.say("5 EUR", question_of("ask-units"))
    review = await sam.say("3", question_of("review"))
    options = await sam.press(review, "More options", question_of("ask-options"))
    await sam.press(options, "Items per purchase", question_of("ask-perbuyer"))
    options = await sam.say("3", "👍 ")
    review = await sam.press(options, "Done", question_of("review"))
    card = await sam.press(review, "Create", "3 of 3 left")
    link = link_of(card)
    await WebPayer().buy(link)
    alert = await said(sam, "€5.00 received for Print")
    assert "2 of 3 left" in alert.text
    assert "Only 2 left" in await WebPayer().asked(link, quantity="3")
    german = WebPayer("de")
    assert "Nur noch 2 verfügbar" in await german.asked(link, quantity="3")
    receipt = await german.buy(link, quantity="2")
    last = await said(sam, "2 × Print")
    assert last.text.startswith("💰 €10.00 received for")
    assert "SOLD OUT" in last.text
    assert "Total: €15.00 from 2 payments" in last.text
    assert (await receipt.json())["units"] == {"first": 2, "last": 3, "total": 3}
    assert "2 und 3 von 3" in await receipt.page()
    assert "2 und 3 von 3" in (await receipt.keep(pat, "Print")).text
    await shown(sam, card, "SOLD OUT: all 3 sold")
    assert world.refused == []


async def test_a_payers_words_lead_nowhere_and_are_hidden_with_one_tap(world: World) -> None:
    sam = await seller_with_destination(world)
    card = await sam.card("/donation 5/10 EUR Coffee", "Coffee")
    message = "For the drums!\nhttps://thief.example /start @thief a@thief.example +49 30 1234567"
    receipt = await WebPayer().buy(
        link_of(card), amount="10.00", name="Mia t.me/x", message=message
    )
    alert = await said(sam, "For the drums!")
    assert alert.text.startswith("💰 €10.00 from Mia t.")
    assert "For Coffee" in alert.text
    assert not {one["type"] for one in alert.entities} & ACTIVE
    assert message.splitlines()[1] not in alert.text
    assert "thief" not in await receipt.page()
    listed = await sam.say("/payments", "For the drums!")
    assert not {one["type"] for one in listed.entities} & ACTIVE
    await sam.press(alert, "Hide message", "€10.00 received for Coffee")
    for text in (alert.text, (await sam.say("/payments", "€10.00")).text):
        assert "Mia" not in text
        assert "drums" not in text
    payments = await sam.press(card, "Payments", "€10.00")
    assert "Mia" not in payments.text
    assert not has_button(payments, "🙈")
    assert world.refused == []
