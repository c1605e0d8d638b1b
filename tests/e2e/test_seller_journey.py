"""The whole product over real HTTP: from a seller's words to the pay page and the alert."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from bot.sandbox.world import people
from tests.support.product_process import Process, until
from tests.support.sellers_and_payers import (
    Seller,
    decoded,
    inline_button,
    is_closed,
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


NEW = "\N{HEAVY PLUS SIGN} New payment link"

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def test_guided_drop_from_start_to_sold_out(world: World, run: Process) -> None:
    """Buttons and typing make a drop; each payment is told with what is left, to the last."""
    sam = seller(world)
    hello = await sam.start()
    assert "Hello!" in hello.text
    assert "Telegram requires Stars" in hello.text
    kind = await sam.press(hello, "New payment link", "What kind of payment link")
    name = await sam.press(kind, "Limited drop", "What's it called")
    assert name.text.startswith("Step 2 of 6")
    await sam.say("Sticker pack", "How much does one item cost")
    await sam.say("2.50 USD", "How many items")
    await sam.say("2", "Where should the money go")
    review = await sam.say("$anna", "Does everything look right")
    assert review.text.splitlines()[2:] == [
        "Does everything look right?",
        "Name: Sticker pack",
        "Type: Limited drop",
        "Amount: $2.50",
        "Quantity: 2",
        "Money goes to: $anna",
    ]
    card = await sam.press(review, "Create", "2 of 2 left")
    link = link_of(card)
    assert link.startswith(f"{run.url}/pay/")
    assert decoded(world, card) == link
    assert lines_of(card) == ["Sticker pack", "Limited drop · $2.50", "🟢 2 of 2 left", link]
    first = lines_of(await sam.alert(pay(link)))
    assert first[:2] == ["💰 $2.50 received for Sticker pack", "1 of 2 left"]
    second = lines_of(await sam.alert(pay(link)))
    assert [second[1], second[-1]] == [
        "🏁 SOLD OUT: that was the last one.",
        "Total: $5.00 from 2 payments",
    ]
    await sam.refresh(card, "🏁 SOLD OUT: all 2 sold")
    too_late = await pay(link, token="t" * 32)
    assert (too_late.status_code, "Sold out" in too_late.text) == (409, True)
    assert len([text for text in texts(sam.said) if "received for" in text]) == 2


async def test_guided_oneoff_with_back_keep_and_a_description(world: World) -> None:
    """Back shows the earlier answer, Keep keeps it, a new word replaces it."""
    sam = await seller_with_destination(world)
    kind = await sam.say("/new", "What kind of payment link")
    await sam.press(kind, "One-off", "What's it called")
    amount = await sam.say("Paintin", "How much does it cost")
    name = await sam.press(amount, "Back", "What's it called")
    assert "Keep: Paintin" in labels(name)
    amount = await sam.say('Painting "Dawn"', "How much does it cost")
    name = await sam.press(amount, "Back", "What's it called")
    await sam.press(name, 'Keep: Painting "Dawn"', "How much does it cost")
    review = await sam.say("120 €", "Does everything look right")
    options = await sam.press(review, "More options", "Anything else?")
    await sam.press(options, "Description", "Describe it")
    options = await sam.say("Oil on canvas & <wood>", "Anything else?")
    review = await sam.press(options, "Done", "Does everything look right")
    assert "Description: Oil on canvas & <wood>" in review.text
    card = await sam.press(review, "Create", "One-off · €120.00")
    assert lines_of(card)[:3] == ['Painting "Dawn"', "Oil on canvas & <wood>", ""]
    alert = await sam.alert(pay(link_of(card)))
    assert lines_of(alert)[:2] == [
        '💰 €120.00 received for Painting "Dawn"',
        "✅ Paid and closed",
    ]
    over = await open_pay_page(link_of(card))
    assert (over.status_code, "Already paid" in over.text) == (200, True)


async def test_guided_donation_is_paid_again_and_again(world: World) -> None:
    """A donation has no end; each payer gets a receipt, a repeated form the same one."""
    sam = await seller_with_destination(world)
    kind = await sam.say("/new", "What kind of payment link")
    await sam.press(kind, "Donation", "What's it called")
    await sam.say("Coffee", "How much is each donation")
    review = await sam.say("5 usd", "Does everything look right")
    card = await sam.press(review, "Create", "Donation · $5.00")
    link = link_of(card)
    receipts = []
    for token in ("a" * 32, "a" * 32, "b" * 32):
        answer = await pay(link, token=token)
        assert answer.status_code == 303
        receipts.append(answer.headers["location"])
    assert receipts[0] == receipts[1] != receipts[2]
    shown = await open_pay_page(link.partition("/pay/")[0] + receipts[0])
    assert "Your payment went through" in shown.text
    await world.wait_for(lambda: len(sam.alerts) >= 2, 10)
    await sam.refresh(card, "2 payments")
    numbers = [location.rpartition("/")[2] for location in receipts[1:]]
    alert = "💰 $5.00 received for Coffee"
    assert texts(sam.alerts) == [
        f"{alert}\n🧾 {numbers[0]}",
        f"{alert}\n🧾 {numbers[1]}\nTotal: $10.00 from 2 payments",
    ]


async def test_cancel_and_back_at_every_step_create_nothing(world: World, run: Process) -> None:
    """Each question can be left by its button, and by /cancel."""
    sam = await seller_with_destination(world)
    answers = (None, "Coffee", "5 USD", "10")
    for steps in range(5):
        form = await sam.say("/new", "What kind of payment link")
        if steps > 0:
            form = await sam.press(form, "Limited drop", "Step 2")
        for number, word in enumerate(answers[1:steps], start=3):
            form = await sam.say(str(word), f"Step {number}")
        assert [label for label in labels(form) if "Back" in label] == ["⬅ Back"] * (steps > 0)
        if steps % 2:
            await sam.say("/cancel", "Cancelled. Nothing was created")
        else:
            await sam.press(form, "Cancel", "Cancelled. Nothing was created")
    await sam.say("/list", "You don't have any payment links yet")
    assert run.rows(f"SELECT COUNT(*) FROM listings WHERE seller_id = {sam.person.id}") == [(0,)]


async def test_one_line_asks_for_the_destination_first(world: World) -> None:
    """Without a saved destination the one-line form waits for it, and then creates at once."""
    sam = seller(world)
    await sam.say("/donation 5 USD Coffee for the team", "Where should the money go")
    assert sam.cards == []
    card = await sam.say("$anna", "Coffee for the team")
    assert lines_of(card)[:2] == ["Coffee for the team", "Donation · $5.00"]
    oneoff = await sam.card('/oneoff 120 EUR Painting "Dawn"', "Painting")
    assert lines_of(oneoff)[:2] == ['Painting "Dawn"', "One-off · €120.00"]
    drop = await sam.card("/drop 100 2.50 USD Sticker pack", "Sticker pack")
    assert lines_of(drop)[:3] == ["Sticker pack", "Limited drop · $2.50", "🟢 100 of 100 left"]
    assert len({link_of(one) for one in (card, oneoff, drop)}) == 3
    assert [decoded(world, one) for one in sam.cards] == [link_of(one) for one in sam.cards]


async def test_a_stopped_request_shows_it_to_payers_until_resumed(world: World) -> None:
    """A stopped request explains itself and takes no money; resumed, it is paid as before."""
    sam = await seller_with_destination(world)
    card = await sam.card("/donation 5 USD Coffee", "Coffee")
    link = link_of(card)
    await sam.press(card, "Pause", "Paused")
    await until(lambda: is_closed(link))
    shown = await open_pay_page(link)
    assert shown.status_code == 200
    assert "The seller has paused this link." in shown.text
    refused = await pay(link, token="t" * 32)
    assert refused.status_code == 409
    await sam.press(card, "Resume", "Active")
    await sam.alert(pay(link))
    assert len(sam.alerts) == 1


async def test_delete_asks_first_and_is_final(world: World) -> None:
    """No keeps the request; Yes ends its link, its buttons and its place in the list."""
    sam = await seller_with_destination(world)
    card = await sam.card("/donation 5 USD Coffee", "Coffee")
    link = link_of(card)
    question = await sam.press(card, "Delete", "Delete “Coffee”?")
    kept = await sam.press(question, "No, keep it", "Donation · $5.00")
    assert kept is card
    assert (await open_pay_page(link)).status_code == 200
    await sam.reach(card, "Refresh")
    refresh = card.button("Refresh")["callback_data"]
    question = await sam.press(kept, "Delete", "Delete “Coffee”?")
    await sam.press(question, "Yes, delete it", "Coffee has been deleted")
    gone = await open_pay_page(link)
    assert (gone.status_code, "Link not found" in gone.text) == (404, True)
    await sam.say("/list", "You don't have any payment links yet")
    assert "no longer in your list" in await sam.words(card, refresh)


async def test_the_list_has_pages_and_opens_cards(world: World) -> None:
    """Eight requests a page, newest first, each a button to its card with link and QR."""
    sam = await seller_with_destination(world)
    for number in range(9):
        await sam.card(f"/donation {number + 1} USD Cup {number}", f"Cup {number}")
    page = await sam.say("/list", "page 1 of 2")
    assert labels(page)[:2] == ["🟢 Cup 8 · $9.00", "🟢 Cup 7 · $8.00"]
    assert labels(page)[8:] == ["Next ➡", NEW]
    page = await sam.press(page, "Next", "page 2 of 2")
    assert labels(page)[:2] == ["🟢 Cup 0 · $1.00", "⬅ Previous"]
    card = await sam.press(page, "Cup 0", "Donation · $1.00")
    assert decoded(world, card) == link_of(card)
    await sam.press(page, "Previous", "page 1 of 2")


async def test_a_card_is_shared_into_another_chat_and_paid_there(world: World) -> None:
    """The seller finds the own request inline and posts it; somebody else pays from there."""
    sam, pat = await seller_with_destination(world), people.join(world, "Pat")
    card = await sam.card("/drop 3 5 USD Mug", "Mug")
    asked = await sam.person.inline(card.button("Share")["switch_inline_query"])
    (article,) = asked.results
    assert (article["title"], article["description"]) == ("Mug", "$5.00 · 3 of 3 left")
    posted = sam.person.choose(asked, article["id"], sam.person.dialog(pat))
    assert posted.text.splitlines() == ["Mug", "Limited drop · $5.00", "3 of 3 left", link_of(card)]
    pay_button = {"text": "Pay $5.00", "url": link_of(card), "style": "success"}
    assert inline_button(article) == pay_button
    await sam.alert(pay(inline_button(article)["url"]))
    nothing = await pat.inline("Mug")
    assert nothing.results == []
    assert nothing.button
    word = str(nothing.button["start_parameter"])
    await Seller(pat).seen(lambda: pat.start(word), "What kind of payment link")


async def test_a_foreign_person_can_do_nothing_with_a_sellers_buttons(world: World) -> None:
    """Rights are checked at each action: a pressed button of another's request changes nothing."""
    sam, eve = await seller_with_destination(world), await seller_with_destination(world, "Eve")
    card = await sam.card("/donation 5 USD Coffee", "Coffee")
    own = await eve.card("/donation 1 USD Tea", "Tea")
    for data in [b["callback_data"] for b in card.buttons if "callback_data" in b]:
        assert "no longer in your list" in await eve.words(own, data)
    link = card.button("Edit")["callback_data"].rpartition(":")[2]
    assert "no longer in your list" in await eve.words(own, f"delete-yes:{link}")
    assert (await pay(link_of(card))).status_code == 303
    assert "Coffee" not in " ".join(texts(eve.said))


async def test_old_buttons_work_and_double_taps_act_once(world: World) -> None:
    """A second tap on Create makes no second request; buttons of a finished form say so."""
    sam = await seller_with_destination(world)
    kind = await sam.say("/new", "What kind of payment link")
    await sam.press(kind, "Donation", "What's it called")
    amount = await sam.say("Coffee", "How much is each donation")
    back = amount.button("Back")["callback_data"]
    review = await sam.say("5 USD", "Does everything look right")
    create = review.button("Create")["callback_data"]
    taps = [sam.person.press_old(review, create) for _ in range(3)]
    answers = [(await sam.person.answer(tap, 10))["text"] for tap in taps]
    assert answers == ["Creating…", *["This form is closed. Use /new to start another."] * 2]
    card = await sam.first_card()
    assert await sam.words(amount, back) == answers[1]
    await sam.reach(card, "Pause")
    stops = [sam.person.press(card, "Pause") for _ in range(2)]
    for stop in stops:
        await sam.person.answer(stop, 10)
    await world.wait_for(lambda: "Paused" in card.text, 10)
    page = await sam.say("/list", "Your payment links")
    assert labels(page) == ["⏸ Coffee · $5.00", NEW]
