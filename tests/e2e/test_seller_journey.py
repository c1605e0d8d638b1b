"""The whole product over real HTTP: from a seller's first words to the pay page and the alert."""

from __future__ import annotations

import io
import re
from typing import TYPE_CHECKING

import pytest
import zxingcpp
from PIL import Image

from bot.sandbox.world import people
from tests.support.form_questions import question_of
from tests.support.product_process import PATIENCE, Process, patient_client, until
from tests.support.sample_pictures import photo
from tests.support.sellers_and_payers import (
    SECONDS,
    Seller,
    decoded,
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
from tests.support.web_payers import said

if TYPE_CHECKING:
    from bot.sandbox.world.model import Message
    from bot.sandbox.world.world import World


pytestmark = pytest.mark.asyncio(loop_scope="module")

NASTY = '<b>A&B</b> "q" <script>alert(1)</script> \N{LEFT-TO-RIGHT OVERRIDE}x_*`[y](z)'


async def test_guided_drop_from_start_to_sold_out(world: World, run: Process) -> None:
    """Buttons and typing make a drop; each payment is told with what is left, to the last."""
    async with patient_client(run.url) as browser:
        assert 'href="https://t.me/PaymentRequestBot"' in (await browser.get("/")).text
    sam = seller(world)
    hello = await sam.start()
    assert "Telegram requires Stars" in hello.text
    kind = await sam.press(hello, "New payment link", question_of("ask-kind"))
    await sam.press(kind, "Limited drop", question_of("ask-name"))
    await sam.say("Sticker pack", question_of("ask-amount-drop"))
    await sam.say("2.50 USD", question_of("ask-units"))
    await sam.say("2", question_of("ask-destination"))
    review = await sam.say("$anna", question_of("review"))
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
    assert len(sam.alerts) == 2


async def test_every_option_is_asked_shown_and_sent(world: World, run: Process) -> None:
    """The service has each field as the review said it."""
    sam = await seller_with_destination(world)
    kind = await sam.say("/new", question_of("ask-kind"))
    await sam.press(kind, "Donation", question_of("ask-name"))
    await sam.say("Coffee", question_of("ask-amount-donation"))
    review = await sam.say("5 USD", question_of("review"))
    options = await sam.press(review, "More options", question_of("ask-options"))
    await sam.press(options, "Description", question_of("ask-description"))
    options = await sam.say("Warm & strong", "👍 Description: Warm & strong")
    await sam.press(options, "Split payments", "Who shares each payment of $5.00?")
    options = await sam.say("$anna 60%\n$ben rest", "• $ben $2.00")
    zone = await sam.press(options, "End date", question_of("ask-zone"))
    await sam.press(zone, "London", question_of("ask-ends"))
    options = await sam.say("in 3 days", "London time (in 3 days)")
    asks = await sam.press(options, "Payer details", question_of("ask-asks"))
    asks = await sam.press(asks, "Email", question_of("ask-asks"))
    assert labels(asks)[0] == "✓ Email"
    options = await sam.press(asks, "Done", question_of("ask-options"))
    await sam.press(options, "After payment", question_of("ask-redirect"))
    options = await sam.say("https://example.org/thanks", "👍 After payment")
    await sam.press(options, "Photo", question_of("ask-picture"))
    options = await sam.seen(lambda: sam.person.send_photo(photo()), "👍 Photo added ✓")
    review = await sam.press(options, "Done", question_of("review"))
    assert "Photo added ✓" in lines_of(review)
    card = await sam.press(review, "Create", "Donation · $5.00")
    page = (await open_pay_page(link_of(card))).text
    assert "Warm &amp; strong" in page
    assert 'name="email"' in page
    image = re.search(r"/images/[0-9a-f]{24}", page)
    assert image
    async with patient_client(run.url) as anybody:
        shown = await anybody.get(image[0])
    assert shown.headers["content-type"] == "image/jpeg"
    assert run.rows("SELECT COUNT(*) FROM images WHERE kept = 1") == [(1,)]


async def test_one_line_asks_for_the_destination_first(world: World) -> None:
    """Without a saved destination the one-line form waits for it, and then creates at once."""
    sam = seller(world)
    await sam.say("/donation 5 USD Coffee for the team", question_of("ask-destination"))
    assert sam.cards == []
    card = await sam.say("$anna", "Coffee for the team")
    assert lines_of(card)[:2] == ["Coffee for the team", "Donation · $5.00"]
    oneoff = await sam.card('/oneoff 120 EUR Painting "Dawn"', "Painting")
    assert lines_of(oneoff)[:2] == ['Painting "Dawn"', "One-off · €120.00"]
    assert [decoded(world, one) for one in sam.cards] == [link_of(card), link_of(oneoff)]
    listed = await sam.say("/list", "Your payment links")
    assert labels(listed)[:2] == [
        '🟢 Painting "Dawn" · €120.00',
        "🟢 Coffee for the team · $5.00",
    ]


async def test_a_donation_is_paid_again_and_again(world: World) -> None:
    """A donation has no end; each payer gets a receipt, a repeated form the same one."""
    sam = await seller_with_destination(world)
    link = link_of(await sam.card("/donation 5 USD Coffee", "Coffee"))
    receipts = []
    for token in ("a" * 32, "a" * 32, "b" * 32):
        answer = await pay(link, token=token)
        assert answer.status_code == 303
        receipts.append(answer.headers["location"])
    assert receipts[0] == receipts[1] != receipts[2]
    shown = await open_pay_page(link.partition("/pay/")[0] + receipts[0])
    assert "Your payment went through" in shown.text
    await world.wait_for(lambda: len(sam.alerts) >= 2, SECONDS)
    numbers = [location.rpartition("/")[2] for location in receipts[1:]]
    alert = "💰 $5.00 received for Coffee"
    assert texts(sam.alerts) == [
        f"{alert}\n🧾 {numbers[0]}",
        f"{alert}\n🧾 {numbers[1]}\nTotal: $10.00 from 2 payments",
    ]


async def test_a_double_tap_on_create_makes_one_request(world: World) -> None:
    sam = await seller_with_destination(world)
    kind = await sam.say("/new", question_of("ask-kind"))
    await sam.press(kind, "Donation", question_of("ask-name"))
    await sam.say("Coffee", question_of("ask-amount-donation"))
    review = await sam.say("5 USD", question_of("review"))
    create = review.button("Create")["callback_data"]
    taps = [sam.person.press_old(review, create) for _ in range(3)]
    answers = [(await sam.person.answer(tap, SECONDS))["text"] for tap in taps]
    assert answers == ["Creating…", *["This form is closed. Use /new to start another."] * 2]
    await sam.first_card()
    await sam.say("/help", "In one line")
    assert len(sam.cards) == 1


async def field(sam: Seller, card: Message, button: str, asks: str) -> None:
    """Open the form of one field; the card is itself again."""
    await sam.edit(card)
    await sam.press(card, button, asks)
    await sam.world.wait_for(lambda: "✏ Edit" in labels(card), SECONDS)


async def test_fields_are_edited_and_shown_on_card_and_page(world: World) -> None:
    """The name, the description, where payers go; items are taken out of a drop."""
    sam = await seller_with_destination(world)
    card = await sam.card("/drop 10 5 USD Coffee", "Coffee")
    await field(sam, card, "Name", question_of("ask-name"))
    done = await sam.say("Tea & <cake>", "Saved")
    assert lines_of(done) == ["✅ Saved: Tea & <cake>", "Name updated: Tea & <cake>"]
    await field(sam, card, "Description", question_of("ask-description"))
    await sam.say("With milk", "Description updated: With milk")
    await field(sam, card, "After payment", "Where should payers go")
    thanks = "https://example.org/thanks?a=1"
    await sam.say(thanks, f"payers now go to: {thanks}")
    await field(sam, card, "Remove items", question_of("ask-units-out"))
    await sam.say("2", "2 items removed")
    for words in ("Tea & <cake>", "With milk", "8 of 8 left"):
        await world.wait_for(lambda words=words: words in card.text, SECONDS)  # type: ignore[misc]  # the loop's own value
    page = (await open_pay_page(link_of(card))).text
    assert [words for words in ("Tea &amp; &lt;cake&gt;", "With milk") if words not in page] == []
    answer = await pay(link_of(card))
    assert answer.headers["location"].startswith(f"{thanks}&transactionId=")
    await world.wait_for(lambda: "7 of 8 left" in card.text, SECONDS)
    assert len(sam.cards) == 1
    assert world.refused == []


async def test_a_paused_link_says_so_to_payers_until_it_is_resumed(world: World) -> None:
    sam = await seller_with_destination(world)
    card = await sam.card("/donation 5 USD Coffee", "Coffee")
    link = link_of(card)
    await sam.press(card, "Pause", "Paused")
    await until(lambda: is_closed(link))
    shown = await open_pay_page(link)
    assert shown.status_code == 200
    assert "The seller has paused this link." in shown.text
    assert (await pay(link, token="t" * 32)).status_code == 409
    await sam.press(card, "Resume", "Active")
    await sam.alert(pay(link))


async def test_delete_asks_first_and_is_final(world: World) -> None:
    """No keeps the request; Yes ends its link, its place in the list, and every card's buttons."""
    sam = await seller_with_destination(world)
    card = await sam.card("/donation 5 USD Coffee", "Coffee")
    link, edit = link_of(card), card.button("Edit")["callback_data"]
    second = await sam.press(await sam.say("/list", "Your payment links"), "Coffee", "Donation")
    question = await sam.press(card, "Delete", "Delete “Coffee”?")
    kept = await sam.press(question, "No, keep it", "Donation · $5.00")
    assert kept is card
    assert (await open_pay_page(link)).status_code == 200
    question = await sam.press(kept, "Delete", "Delete “Coffee”?")
    await sam.press(question, "Yes, delete it", "Coffee has been deleted")
    await world.wait_for(lambda: "Coffee has been deleted" in second.text, SECONDS)
    assert (labels(card), labels(second)) == ([], [])
    gone = await open_pay_page(link)
    assert (gone.status_code, "Link not found" in gone.text) == (404, True)
    await sam.say("/list", "You don't have any payment links yet")
    assert "no longer in your list" in await sam.words(card, edit)


async def test_a_foreign_person_can_do_nothing_with_a_sellers_buttons(world: World) -> None:
    """Rights are checked at each action: a pressed button of another's request changes nothing."""
    sam, eve = await seller_with_destination(world), await seller_with_destination(world, "Eve")
    card = await sam.card("/donation 5 USD Coffee", "Coffee")
    own = await eve.card("/donation 1 USD Tea", "Tea")
    link = card.button("Edit")["callback_data"].rpartition(":")[2]
    data = [button["callback_data"] for button in card.buttons if "callback_data" in button]
    for pressed in (*data, f"delete-yes:{link}"):
        assert "no longer in your list" in await eve.words(own, pressed)
    assert (await pay(link_of(card))).status_code == 303
    assert "Coffee" not in " ".join(texts(eve.said))


async def test_typed_text_is_shown_unchanged(world: World) -> None:
    """Markup in a name is text in card, list, alert, question, pay page and inline result."""
    sam = seller(world)
    await sam.say(f"/drop 2 5 USD {NASTY}", question_of("ask-destination"))
    card = await sam.say("<i>$anna</i>", "A&B")
    shown = NASTY.replace("\N{LEFT-TO-RIGHT OVERRIDE}", "")
    assert lines_of(card)[0] == shown
    page = await open_pay_page(link_of(card))
    assert "<script>" not in page.text
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page.text
    alert = await sam.alert(pay(link_of(card)))
    assert lines_of(alert)[0] == f"💰 $5.00 received for {shown}"
    listed = await sam.say("/list", "Your payment links")
    assert labels(listed)[0].startswith("🟢 <b>A&B</b>")
    asked = await sam.person.inline("A&B")
    assert asked.results[0]["title"].startswith("<b>A&B</b>")
    fay = sam.person.dialog(people.join(world, "Fay"))
    posted = sam.person.choose(asked, asked.results[0]["id"], fay)
    assert lines_of(posted)[0] == shown
    await sam.press(card, "Delete", f"Delete “{shown}”?")
    await sam.say("/settings", "Your money goes to <i>$anna</i>.")


async def test_a_poster_is_a_picture_and_a_pdf_with_a_readable_code(world: World) -> None:
    sam = await seller_with_destination(world)
    card = await sam.card("/donation 5 USD Größe & Kaffee", "Kaffee")
    link_id, before = card.button("Edit")["callback_data"].partition(":")[2], len(sam.said)
    await sam.press(card, "Poster", "Payment link:")
    sam.person.press_old(card, f"poster:{link_id}:print-light")

    def files() -> list[dict[str, str]]:
        return [m.content["document"] for m in sam.said[before:] if "document" in m.content]

    await world.wait_for(lambda: len(files()) >= 2, PATIENCE)
    sent = {one["file_name"]: world.files.get(one["file_id"]) for one in files()}
    picture, pdf = (f"grosse-kaffee-print-light.{kind}" for kind in ("png", "pdf"))
    assert [*sent] == [picture, pdf]
    drawn, printed = sent[picture], sent[pdf]
    assert drawn
    assert printed
    assert printed.data.startswith(b"%PDF")
    (code,) = zxingcpp.read_barcodes(Image.open(io.BytesIO(drawn.data)))
    assert code.text == link_of(card)


async def test_test_money_is_confirmed_or_accepted_as_real_money_is(
    world: World, run: Process
) -> None:
    """Also what a payer claims to have sent, and too little of it."""
    sam = await seller_with_destination(world)
    link = link_of(await sam.card("/drop 3 6 USD Mugs", "Mugs"))
    claimed = await pay(link, manner="claimed")
    asked = await said(sam, "$6.00 for Mugs: has it arrived?")
    (reference,) = run.rows("SELECT reference FROM checkouts WHERE claimed_at IS NOT NULL")[-1]
    assert asked.text.startswith("🧪 ")
    assert f"🧾 {reference}" in lines_of(asked)
    await sam.press(asked, "✅ Received", "$6.00 received for Mugs")
    assert "2 of 3 left" in asked.text
    async with patient_client(run.url) as payer:
        page = await payer.get(claimed.headers["location"], follow_redirects=True)
    assert "Thank you!" in page.text
    assert (await pay(link, manner="underpaid")).status_code == 303
    short = await said(sam, "only $3.00 of $6.00 arrived")
    await sam.press(short, "✅ Accept as paid", "$6.00 received for Mugs")
