"""What buyers get, over the whole product: set up by chatting, delivered, refilled."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from bot.sandbox.world.files import DOWNLOAD_BYTES
from tests.support.product_process import Process, patient_client
from tests.support.sample_pictures import photo
from tests.support.sellers_and_payers import (
    SECONDS,
    Seller,
    labels,
    link_of,
    pay,
    seller_with_destination,
)
from tests.support.web_payers import said

if TYPE_CHECKING:
    from bot.sandbox.world.model import Message
    from bot.sandbox.world.world import World


pytestmark = pytest.mark.asyncio(loop_scope="module")

QUESTION = "What does the buyer get after paying?"
ANYTHING = "Anything else?"


async def asked(sam: Seller, kind: str = "Limited drop") -> Message:
    """Answer the questions of a request of two units, and open the question about its goods."""
    shown = await sam.say("/new", "What kind of payment link")
    await sam.press(shown, kind, "What's it called")
    await sam.say("Album", "How much")
    if kind == "Limited drop":
        await sam.say("5 USD", "How many")
        review = await sam.say("2", "Does everything look right")
    else:
        review = await sam.say("5 USD", "Does everything look right")
    options = await sam.press(review, "More options", ANYTHING)
    return await sam.press(options, "What buyers get", QUESTION)


async def created(sam: Seller, options: Message) -> Message:
    review = await sam.press(options, "Done", "Does everything look right")
    assert "Buyers get: " in review.text
    return await sam.press(review, "Create", "Album")


async def bought(run: Process, link: str) -> dict[str, Any]:
    """Pay, and return what the receipt delivers."""
    answer = await pay(link)
    assert answer.status_code == 303, answer.text
    return await receipt(run, answer.headers["location"])


async def receipt(run: Process, place: str) -> dict[str, Any]:
    request_id, _, transaction = place.partition("/pay/")[2].partition("/receipt/")
    path = f"/v3/paymentRequests/public/{request_id}/receipts/{transaction}"
    async with patient_client() as payer:
        found: dict[str, Any] = (await payer.get(f"{run.url}{path}")).json()["delivery"]
        if "file" in found:
            url = found["file"]["url"]
            found["bytes"] = (await payer.get(f"{run.url}/pay/{url.partition('/pay/')[2]}")).content
    return found


async def test_a_message_with_a_link_is_shown_on_the_receipt(world: World, run: Process) -> None:
    sam = await seller_with_destination(world)
    await asked(sam, "One-off")
    options = await sam.say("https://example.org/album?key=4711", "👍 Buyers get: https://")
    card = await created(sam, options)
    assert (await bought(run, link_of(card)))["text"] == "https://example.org/album?key=4711"
    assert world.refused == []


async def test_a_file_of_20_mb_arrives_whole(world: World, run: Process) -> None:
    sam = await seller_with_destination(world)
    await asked(sam)
    data = bytes(range(256)) * (DOWNLOAD_BYTES // 256)
    options = await sam.seen(
        lambda: sam.person.send_document("album.zip", data), "👍 Buyers get: album.zip, 20 MB"
    )
    found = await bought(run, link_of(await created(sam, options)))
    assert found["bytes"] == data
    assert "Getting your file" not in "".join(message.text for message in sam.said)
    assert world.refused == []


async def test_a_photo_arrives_as_a_file(world: World, run: Process) -> None:
    sam = await seller_with_destination(world)
    await asked(sam)
    picture = photo()
    options = await sam.seen(lambda: sam.person.send_photo(picture), "👍 Buyers get: photo.jpg")
    assert (await bought(run, link_of(await created(sam, options))))["bytes"] == picture
    assert world.refused == []


async def test_typed_codes_fit_and_are_replaced_by_a_message(world: World) -> None:
    sam = await seller_with_destination(world)
    await asked(sam)
    which = await sam.say("SONG-A1\nSONG-B2\nSONG-B2", "How should buyers get this?")
    options = await sam.press(which, "Codes, one per line", "2 codes for 2 items: fits")
    card = await created(sam, options)
    await sam.person.answer(sam.person.press(card, "Edit"), SECONDS)
    await world.wait_for(lambda: "What buyers get" in labels(card), SECONDS)
    await sam.press(card, "What buyers get", QUESTION)
    await sam.say("SONG-A1", "Buyers now get: SONG-A1")
    assert world.refused == []


async def test_codes_from_a_file_run_out_and_the_next_buyer_waits(
    world: World, run: Process
) -> None:
    sam = await seller_with_destination(world)
    await asked(sam)
    which = await sam.seen(
        lambda: sam.person.send_document("codes.txt", b"SONG-A1\n\n"),
        "How should buyers get this?",
    )
    options = await sam.press(which, "Codes", "1 code for 2 items: you'll need 1 more")
    card = await created(sam, options)
    assert "Codes left: 1 of 1" in card.text
    link = link_of(card)
    assert (await bought(run, link))["codes"] == ["SONG-A1"]
    place = (await pay(link)).headers["location"]
    assert (await receipt(run, place))["state"] == "waiting"
    alert = await said(sam, "1 buyer is waiting")
    await sam.refresh(card, "1 buyer is waiting for a code")
    await sam.press(alert, "Send codes", "Send me more codes.")
    await sam.say(
        "SONG-B2\nSONG-C3",
        "2 codes added.\nEveryone who has paid has their code.\nCodes left: 1 of 3",
    )
    assert (await receipt(run, place))["codes"] == ["SONG-B2"]
    assert world.refused == []
