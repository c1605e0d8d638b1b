"""Managing a request in the whole product: edits, units, posters, payments, delete."""

from __future__ import annotations

import io
import re
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

import pytest
import zxingcpp
from PIL import Image

from tests.support.product_process import PATIENCE, Process, patient_client, until
from tests.support.sample_pictures import photo
from tests.support.sellers_and_payers import (
    SECONDS,
    Seller,
    is_closed,
    labels,
    lines_of,
    link_of,
    open_pay_page,
    pay,
    seller_with_destination,
    texts,
)

if TYPE_CHECKING:
    from bot.sandbox.world.model import Message
    from bot.sandbox.world.world import World


pytestmark = pytest.mark.asyncio(loop_scope="module")

DIGEST = 10


@pytest.fixture(autouse=True)
async def _nothing_refused(world: World) -> AsyncIterator[None]:
    """Check that Telegram has refused no call."""
    yield
    assert world.refused == []


def link_id_of(card: Message) -> str:
    return str(card.button("Edit")["callback_data"]).partition(":")[2]


async def shows(sam: Seller, card: Message, words: str) -> None:
    """Wait until a card says this where it stands."""
    await sam.world.wait_for(lambda: words in card.text, SECONDS)


async def field(sam: Seller, card: Message, button: str, asks: str) -> Message:
    """Open the form of one field; the question. The card is itself again."""
    await sam.edit(card)
    question = await sam.press(card, button, asks)
    await sam.world.wait_for(lambda: "✏ Edit" in labels(card), SECONDS)
    return question


async def test_each_field_is_edited_by_its_button_and_shown_on_the_card(
    world: World,
) -> None:
    """The name, the description, where payers go, the end: on the card and on the pay page."""
    sam = await seller_with_destination(world)
    card = await sam.card("/donation 5 USD Coffee", "Coffee")
    await field(sam, card, "Name", "What's it called")
    done = await sam.say("Tea & <cake>", "Saved")
    assert lines_of(done) == ["✅ Saved: Tea & <cake>", "Name updated: Tea & <cake>"]
    await shows(sam, card, "Tea & <cake>")
    await field(sam, card, "Description", "Describe it")
    await sam.say("With milk", "Description updated: With milk")
    await shows(sam, card, "With milk")
    await field(sam, card, "After payment", "Where should payers go")
    await sam.say(
        "https://example.org/thanks?a=1", "payers now go to: https://example.org/thanks?a=1"
    )
    page = (await open_pay_page(link_of(card))).text
    assert "Tea &amp; &lt;cake&gt;" in page
    assert "With milk" in page
    answer = await pay(link_of(card))
    assert answer.headers["location"].startswith("https://example.org/thanks?a=1&transactionId=")
    assert len(sam.cards) == 1


async def test_an_end_stops_a_request_and_a_later_end_resumes_it(world: World) -> None:
    sam = await seller_with_destination(world)
    card = await sam.card("/donation 5 USD Coffee", "Coffee")
    zone = await field(sam, card, "End date", "Which time zone")
    await sam.say("UTC", "When should it end")
    assert zone.text
    await sam.say("in 2 h", "End date updated:")
    await shows(sam, card, "UTC")
    await sam.press(card, "Pause", "Paused")
    await until(lambda: is_closed(link_of(card)), PATIENCE)
    await field(sam, card, "End date", "When should it end")
    await sam.say("in 3 days", "End date updated:")
    await shows(sam, card, "Active")
    assert not await is_closed(link_of(card))


async def test_a_picture_is_sent_as_a_photo_and_shown_on_the_page(
    world: World, run: Process
) -> None:
    sam = await seller_with_destination(world)
    card = await sam.card("/donation 5 USD Coffee", "Coffee")
    before = card.photo
    await field(sam, card, "Photo", "Send a photo")
    await sam.seen(lambda: sam.person.send_photo(photo()), "Photo updated.")
    await world.wait_for(lambda: card.photo != before, SECONDS)
    page = (await open_pay_page(link_of(card))).text
    found = re.search(r"/images/[0-9a-f]{24}", page)
    assert found
    async with patient_client() as http:
        picture = await http.get(f"{run.url}{found[0]}")
    assert (picture.status_code, picture.headers["content-type"]) == (200, "image/jpeg")


async def test_an_email_address_without_a_mail_server_is_refused_with_a_text(world: World) -> None:
    """No mail server is set here; the next answer is another address, until it is cancelled."""
    sam = await seller_with_destination(world)
    card = await sam.card("/donation 5 USD Coffee", "Coffee")
    await field(sam, card, "Payment emails", "Who should get an email")
    refused = await sam.say("sam@example.org", "The payment service didn't accept this")
    assert refused.text
    await sam.say("ben@example.org", "The payment service didn't accept this")
    await sam.say("/cancel", "Cancelled. Nothing was changed.")
    await sam.say("hello", "not sure what to do")


async def test_removed_units_lower_the_total_and_the_rest_is_sold(
    world: World, run: Process
) -> None:
    """On the card, on the page and in the next alert; more than is left is not taken."""
    sam = await seller_with_destination(world)
    card = await sam.card("/drop 10 2.50 USD Sticker", "Sticker")
    await sam.alert(pay(link_of(card)))
    await shows(sam, card, "9 of 10 left")
    await field(sam, card, "Remove items", "How many items")
    await sam.say("2", "2 items removed")
    await shows(sam, card, "7 of 8 left")
    assert "7 of 8" in (await open_pay_page(link_of(card))).text
    alert = await sam.alert(pay(link_of(card)))
    assert "6 of 8 left" in alert.text
    await field(sam, card, "Remove items", "How many items")
    await sam.say("7", "Only 6 items are left")
    await sam.say("6", "6 items removed")
    await shows(sam, card, "SOLD OUT: all 2 sold")
    await sam.edit(card)
    assert "There's nothing left to remove." in await sam.toast(card, "Remove items")
    (row,) = run.rows("SELECT COUNT(*) FROM received_payments WHERE listing_id = "
                      f"'{link_id_of_menu(card)}'")  # fmt: skip
    assert row == (2,)


def link_id_of_menu(card: Message) -> str:
    return str(card.button("Back")["callback_data"]).partition(":")[2]


async def test_a_field_that_cannot_be_edited_is_changed_in_a_duplicate(world: World) -> None:
    sam = await seller_with_destination(world)
    card = await sam.card("/drop 4 2.50 USD Sticker", "Sticker")
    await sam.edit(card)
    why = await sam.press(card, "Price, receivers", "Your link is already out there")
    assert why is card
    review = await sam.press(card, "Duplicate", "Does everything look right")
    assert "Quantity: 4" in review.text
    twin = await sam.press(review, "Create", "4 of 4 left")
    assert link_of(twin) != link_of(card)
    await sam.world.wait_for(lambda: "✏ Edit" in labels(card), SECONDS)


async def test_stop_and_resume_by_double_taps_and_old_buttons(world: World) -> None:
    sam = await seller_with_destination(world)
    card = await sam.card("/donation 5 USD Coffee", "Coffee")
    link_id = link_id_of(card)
    await sam.press(card, "Pause", "Paused")
    for data in (f"stop:{link_id}", f"stop:{link_id}", f"resume:{link_id}", f"resume:{link_id}"):
        sam.person.press_old(card, data)
    await shows(sam, card, "Active")
    assert not await is_closed(link_of(card))


async def test_after_a_delete_every_card_is_marked_and_every_old_button_is_answered(
    world: World,
) -> None:
    sam = await seller_with_destination(world)
    card = await sam.card("/donation 5 USD Coffee", "Coffee")
    link_id, link = link_id_of(card), link_of(card)
    listed = await sam.say("/list", "Your payment links")
    second = await sam.press(listed, "Coffee", "Donation")
    await sam.alert(pay(link))
    await sam.press(second, "Delete", "Delete “Coffee”?")
    assert "You keep any money you've received" in second.text
    await sam.press(second, "Yes, delete it", "Coffee has been deleted")
    await shows(sam, card, "Coffee has been deleted")
    assert (labels(card), labels(second)) == ([], [])
    assert (await open_pay_page(link)).status_code == 404
    for word in ("edit:{}", "edit:{}:name", "poster:{}", "poster:{}:print-dark", "payments:{}:0",
                 "duplicate:{}", "stop:{}", "delete-yes:{}", "alerts:{}"):  # fmt: skip
        assert "no longer in your list" in await sam.words(card, word.format(link_id))


async def test_posters_are_files_with_a_readable_code(world: World) -> None:
    """Print gives a picture and a PDF, a square a picture; five presses give one set."""
    sam = await seller_with_destination(world)
    card = await sam.card("/donation 5 USD Größe & Kaffee", "Kaffee")
    link, link_id = link_of(card), link_id_of(card)
    menu = await sam.press(card, "Poster", "Payment link:")
    assert f"?start=r_{link_id}" in menu.text
    await sam.press(menu, "Add text", "What should the poster say")
    await sam.say("Open daily", "Poster text updated: Open daily")
    before = len(sam.said)
    for _ in range(5):
        sam.person.press_old(card, f"poster:{link_id}:print-light")
    await world.wait_for(lambda: len(files(sam, before)) >= 2, PATIENCE)
    assert "on its way" in await sam.words(card, f"poster:{link_id}:square-dark")
    await world.wait_for(lambda: len(files(sam, before)) >= 3, PATIENCE)
    found = {one["file_name"]: world.files.get(one["file_id"]) for one in files(sam, before)}
    sent = {name: file.data for name, file in found.items() if file}
    assert [*sent] == [
        "grosse-kaffee-print-light.png",
        "grosse-kaffee-print-light.pdf",
        "grosse-kaffee-square-dark.png",
    ]
    assert sent["grosse-kaffee-print-light.pdf"].startswith(b"%PDF")
    for name, data in sent.items():
        if name.endswith("png"):
            codes = zxingcpp.read_barcodes(Image.open(io.BytesIO(data)))
            assert [code.text for code in codes] == [link]


def files(sam: Seller, start: int) -> list[dict[str, str]]:
    return [m.content["document"] for m in sam.said[start:] if "document" in m.content]


async def test_payments_are_listed_in_pages(world: World) -> None:
    """In a message beside the card; back leads to it."""
    sam = await seller_with_destination(world)
    card = await sam.card("/donation 5 USD Coffee", "Coffee")
    await sam.press(card, "Payments", "No payments yet")
    for _ in range(DIGEST + 1):
        assert (await pay(link_of(card))).status_code == 303
    await shows(sam, card, "$55.00")
    page = await sam.press(card, "Payments", "(page 1 of 2)")
    assert "Total: $55.00 from 11 payments" in page.text
    assert page.text.count("$5.00") == DIGEST
    assert page is not card
    rest = await sam.press(page, "Next", "(page 2 of 2)")
    assert (rest is page, rest.text.count("$5.00")) == (True, 1)
    await sam.press(page, "Previous", "(page 1 of 2)")
    assert texts(sam.said).count(page.text) == 1
