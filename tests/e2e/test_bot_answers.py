"""The bot's answers to any typed text: clear, and without creating anything unasked."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from bot.sandbox.world import people
from tests.support.product_process import Process, patient_client
from tests.support.sellers_and_payers import (
    labels,
    lines_of,
    link_of,
    open_pay_page,
    pay,
    seller,
    seller_with_destination,
    texts,
)

if TYPE_CHECKING:
    from bot.sandbox.world.world import World


pytestmark = pytest.mark.asyncio(loop_scope="module")

NASTY = '<b>A&B</b> "q" <script>alert(1)</script> \N{LEFT-TO-RIGHT OVERRIDE}x_*`[y](z)'


def made(run: Process, seller_id: int) -> int:
    """Count the requests that this seller has ever begun."""
    return int(run.rows(f"SELECT COUNT(*) FROM listings WHERE seller_id = {seller_id}")[0][0])


@pytest.mark.parametrize(
    ("command", "expect"),
    [
        ("/settings", "You haven't set a payout address yet."),
        ("/help", "/donation 5 USD Coffee for the team"),
        ("/cancel", "There's nothing to cancel."),
        ("/privacy", "What I store and why"),
        ("/paysupport", "Help with a payment"),
        ("/list", "You don't have any payment links yet."),
        ("/HELP@PaymentRequestBot", "/donation 5 USD Coffee for the team"),
        ("/nonsense", "I don't know that command."),
        ("/", "I don't know that command."),
        ("hello", "I'm not sure what to do with that."),
    ],
)
async def test_each_command_answers_and_an_unknown_one_lists_them(
    world: World, command: str, expect: str
) -> None:
    answer = await seller(world).say(command, expect)
    assert expect in answer.text


@pytest.mark.parametrize(
    ("line", "expect"),
    [
        ("/donation", "The amount is missing."),
        ("/donation 5", "The currency is missing."),
        ("/donation 5 USD", "It needs a name"),
        ("/donation 5 Cup of tea", "The currency is missing."),
        ("/donation 0 USD Tea", "more than zero"),
        ("/donation -5 USD Tea", "more than zero"),
        ("/donation five USD Tea", "I couldn't find an amount"),
        ("/donation 1e3 USD Tea", "I couldn't find an amount"),
        ("/donation NaN USD Tea", "I couldn't find an amount"),
        ("/donation 5.0001 USD Tea", "at most 2 decimals"),
        ("/donation 5.001 USD Tea", "Did you mean $5,001.00?"),
        ("/donation 5 XYZ Tea", "I don't recognise “XYZ”"),
        ("/donation 9999999999 USD Tea", "That's too much"),
        ("/donation $5 EUR Tea", "Use only one currency"),
        ("/donation 5 USD " + "x" * 101, "101 characters; the limit is 100"),
        ("/donation 5 USD \u2063", "It needs a name"),
        ("/donation 5 USD <b>" + "&" * 100, "103 characters"),
        ("/oneoff 5 USD", '/oneoff 120 EUR Painting "Dawn"'),
        ("/drop 5 USD Tea", "/drop 100 2.50 USD Sticker pack"),
        ("/drop 0 5 USD Tea", "a whole number of items"),
        ("/drop 1000001 5 USD Tea", "The limit is 1,000,000 items"),
        ("/drop 10", "The amount is missing."),
        ("/donation " + "9" * 4000, "I couldn't find an amount"),
        ("/donation " + "<" * 4000, "I couldn't find an amount"),
        ("/donation 5 " + "&" * 4000, "I don't recognise"),
        ("/" + "x" * 4095, "I don't know that command."),
    ],
    ids=lambda value: value[:28],
)
async def test_a_malformed_line_is_explained_and_creates_nothing(
    world: World, run: Process, line: str, expect: str
) -> None:
    sam = await seller_with_destination(world)
    await sam.say(line, expect)
    assert made(run, sam.person.id) == 0
    assert sam.cards == []


async def test_an_ambiguous_amount_is_asked_about(world: World, run: Process) -> None:
    sam = await seller_with_destination(world)
    asked = await sam.say("/donation 1.000 KWD Tea", "Which amount do you mean?")
    assert labels(asked) == ["KWD\xa01.000", "KWD\xa01,000.000", "✖ Cancel"]
    assert made(run, sam.person.id) == 0
    card = await sam.press(asked, "KWD\xa01,000.000", "Tea")
    assert made(run, sam.person.id) == 1
    assert lines_of(card)[1] == "Donation · KWD 1,000.000"


async def test_each_question_explains_a_wrong_answer(world: World, run: Process) -> None:
    """The form stays where it is until the answer can be used."""
    sam = await seller_with_destination(world)
    kind = await sam.say("/new", "What kind of payment link")
    await sam.say("a donation please", "Please tap one of the buttons below.")
    await sam.press(kind, "Limited drop", "What's it called")
    await sam.say("y" * 101, "That's 101 characters; the limit is 100")
    await sam.say("y" * 4096, "4,096 characters")
    await sam.say("Mug", "How much does one item cost")
    await sam.say("cheap", "I couldn't find an amount")
    await sam.say("1,00,0 USD", "Is that one price, or several to choose from?")
    await sam.say("2,50 €", "How many items")
    await sam.say("1.5", "a whole number of items")
    review = await sam.say("1 000", "Does everything look right")
    options = await sam.press(review, "More options", "Anything else?")
    await sam.press(options, "Description", "Describe it")
    await sam.say("z" * 501, "That's 501 characters; the limit is 500")
    options = await sam.say("z" * 500, "Anything else?")
    review = await sam.press(options, "Done", "Does everything look right")
    assert "Quantity: 1,000" in lines_of(review)
    assert "Amount: €2.50" in lines_of(review)
    assert made(run, sam.person.id) == 0
    card = await sam.press(review, "Create", "1,000 of 1,000 left")
    assert card.photo
    assert len(card.text) <= 1024


async def test_typed_text_is_shown_unchanged(world: World) -> None:
    """Markup in a name is text in card, list, alert, question, pay page and inline result."""
    sam = seller(world)
    await sam.say(f"/drop 2 5 USD {NASTY}", "Where should the money go")
    card = await sam.say("<i>$anna</i>", "A&B")
    shown = NASTY.replace("\N{LEFT-TO-RIGHT OVERRIDE}", "")
    assert lines_of(card)[0] == shown
    page = await open_pay_page(link_of(card))
    assert "<script>" not in page.text
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page.text
    alert = await sam.alert(pay(link_of(card)))
    assert alert.text.splitlines()[0] == f"💰 $5.00 received for {shown}"
    listed = await sam.say("/list", "Your payment links")
    assert labels(listed)[0].startswith("🟢 <b>A&B</b>")
    asked = await sam.person.inline("A&B")
    assert asked.results[0]["title"].startswith("<b>A&B</b>")
    posted = sam.person.choose(asked, asked.results[0]["id"], sam.person.dialog(sam_friend(world)))
    assert posted.text.splitlines()[0] == shown
    await sam.press(card, "Delete", f"Delete “{shown}”?")
    await sam.say("/settings", "Your money goes to <i>$anna</i>.")


def sam_friend(world: World) -> people.Person:
    return people.join(world, "Fay")


async def test_a_new_destination_is_used_for_later_requests(world: World) -> None:
    """What is no handle is refused; the form that was under way goes on afterwards."""
    sam = await seller_with_destination(world)
    kind = await sam.say("/new", "What kind of payment link")
    await sam.press(kind, "Donation", "What's it called")
    page = await sam.say("/settings", "Your money goes to $anna.")
    await sam.press(page, "Change payout address", "Where should your money go from now on?")
    await sam.say("two words", "can't contain spaces")
    await sam.say("$bert", "From now on, your money goes to $bert.")
    await sam.say("Coffee", "How much is each donation")
    review = await sam.say("5 USD", "Does everything look right")
    assert "Money goes to: $bert" in lines_of(review)


async def test_an_open_form_is_offered_again(world: World) -> None:
    """A second /new asks: go on, or start over."""
    sam = await seller_with_destination(world)
    kind = await sam.say("/new", "What kind of payment link")
    await sam.press(kind, "Donation", "What's it called")
    await sam.say("Coffee", "How much is each donation")
    again = await sam.say("/new", "You've already started a payment link: Coffee.")
    await sam.press(again, "Continue", "How much is each donation")
    again = await sam.say("/new", "You've already started a payment link: Coffee.")
    first = await sam.press(again, "Start over", "What kind of payment link")
    assert "What kind of payment link" in first.text


async def test_a_file_that_nobody_asked_for_is_answered_with_how_to_sell_it(
    world: World, run: Process
) -> None:
    sam = await seller_with_destination(world)
    await sam.seen(
        lambda: sam.person.send_document("a.pdf", b"%PDF"), "I'm not sure what that's for."
    )
    kind = await sam.say("/new", "What kind of payment link")
    await sam.press(kind, "Donation", "What's it called")
    await sam.seen(lambda: sam.person.send_document("a.pdf", b"%PDF"), "I have your file")
    assert made(run, sam.person.id) == 0


async def test_in_a_group_requests_are_made_in_private_only(world: World, run: Process) -> None:
    sam = await seller_with_destination(world)
    group = sam.person.new_group("Market")
    sam.person.send("/donation 5 USD Tea", group)
    told_there = await world.bot_message(group, "private", seconds=10)
    assert "@PaymentRequestBot" in told_there.text
    sam.person.send("/donation@OtherBot 5 USD Tea", group)
    await sam.say("/list", "You don't have any payment links yet")
    assert texts(group.from_bot()) == [told_there.text]
    assert made(run, sam.person.id) == 0


async def test_a_seller_without_a_language_is_answered_in_english(world: World) -> None:
    sam = seller(world, language=None)
    assert "Hello!" in (await sam.start()).text
    assert "Telegram requires Stars" in sam.said[0].text
    again = await sam.start()
    assert "Telegram requires Stars" not in again.text


async def test_every_callback_is_answered_with_any_data(world: World) -> None:
    sam = await seller_with_destination(world)
    card = await sam.card("/donation 5 USD Tea", "Tea")
    for data in ("x", "card:", "draft:zzzzzz:create:00000000", "list:99999999999", "\N{SNOWMAN}"):
        answer = await sam.person.answer(sam.person.press_old(card, data), 10)
        assert answer["show_alert"] is False
    assert "recognise that button" in await sam.words(card, "nonsense")
    assert "This form is closed" in await sam.words(card, "draft:zzzzzz:cancel")


async def test_the_front_page_leads_to_the_bot_that_telegram_named(run: Process) -> None:
    async with patient_client(run.url) as browser:
        page = await browser.get("/")
    assert page.status_code == 200
    assert 'href="https://t.me/PaymentRequestBot"' in page.text
