"""Shared requests stay up to date through a burst, a restart and the end of the drop."""

from __future__ import annotations

import asyncio
import signal
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from bot.sandbox.world.errors import Fault
from tests.support.product_process import sandbox_telegram
from tests.support.sellers_and_payers import (
    Seller,
    decoded,
    labels,
    link_of,
    pay,
    seller,
    seller_with_destination,
)

if TYPE_CHECKING:
    from bot.sandbox.world.model import Chat, Message
    from bot.sandbox.world.world import World


pytestmark = pytest.mark.asyncio(loop_scope="module")

SECONDS = 20.0


@pytest.fixture(autouse=True)
def feedback(world: World) -> None:
    world.inline_feedback = True


async def share(sam: Seller, chat: Chat, name: str) -> Message:
    """Search after the bot's name and post the result."""
    asked = await sam.person.inline(name, chat)
    (result,) = asked.results
    return sam.person.choose(asked, result["id"], chat)


async def shown(world: World, words: str, *messages: Message) -> None:
    """Wait until all of these messages say that."""

    def look() -> bool:
        return all(words in message.text for message in messages)

    try:
        await world.wait_for(look, SECONDS)
    except TimeoutError:
        raise AssertionError([message.text for message in messages]) from None


async def five_chats(world: World, sam: Seller) -> list[Chat]:
    """Return two groups and three dialogs, of which the bot is in two at most."""
    others = [seller(world, name).person for name in ("Pat", "Kim", "Lee")]
    group = sam.person.new_group("Market", *others)
    grown = sam.person.migrate(sam.person.new_group("Fans", *others, with_bot=False))
    return [*(sam.person.dialog(other) for other in others), group, grown]


async def test_a_drop_shared_in_five_chats_shows_sold_out_in_all_five(world: World) -> None:
    sam = await seller_with_destination(world)
    card = await sam.card("/drop 12 2.50 USD Sticker sheet", "Sticker sheet")
    posted = [await share(sam, chat, "sticker sheet") for chat in await five_chats(world, sam)]
    await world.wait_for(lambda: all(message.photo for message in posted), SECONDS)
    assert {message.photo for message in posted} == {card.photo}
    assert [decoded(world, message) for message in posted] == [link_of(card)] * 5
    assert [labels(message) for message in posted] == [["Pay $2.50"]] * 5
    await pay(link_of(card))
    await shown(world, "11 of 12 left", card, *posted)
    await shown(world, "1 payment · $2.50", card)
    await asyncio.gather(*(pay(link_of(card)) for _ in range(11)))
    await shown(world, "SOLD OUT", card, *posted)
    await shown(world, "12 payments · $30.00", card)
    await world.wait_for(lambda: {message.photo for message in posted} == {card.photo}, SECONDS)
    assert [message.buttons for message in posted] == [[]] * 5
    assert not [message for message in posted if "Taken" in message.text]
    assert world.refused == []


async def test_a_pause_and_a_delete_show_in_every_chat(world: World) -> None:
    """The code of a deleted request can no longer be read from its pictures."""
    sam = await seller_with_destination(world)
    card = await sam.card("/donation 5 USD Coffee round", "Coffee round")
    posted = [await share(sam, chat, "coffee round") for chat in await five_chats(world, sam)]
    await world.wait_for(lambda: all(message.photo for message in posted), SECONDS)
    await sam.press(card, "Pause", "Paused")
    await shown(world, "This can't be paid right now.", *posted)
    assert [message.buttons for message in posted] == [[]] * 5
    await sam.press(card, "Resume", "🟢 Active")
    await world.wait_for(lambda: labels(posted[0]) == ["Pay $5.00"], SECONDS)
    question = await sam.press(card, "Delete", "Delete “Coffee round”?")
    await sam.press(question, "Yes, delete it", "Coffee round has been deleted")
    await shown(world, "Coffee round is no longer available.", *posted)
    await world.wait_for(lambda: {message.photo for message in posted} == {card.photo}, SECONDS)
    with pytest.raises(ValueError, match="unpack"):
        decoded(world, card)
    assert world.refused == []


async def test_a_deep_link_shows_a_payer_the_card_which_they_can_refresh(world: World) -> None:
    sam, pat = await seller_with_destination(world), seller(world, "Pat")
    card = await sam.card("/drop 3 2.50 USD Mug", "Mug")
    payload = f"r_{card.button('Share')['switch_inline_query']}"
    public = await pat.seen(lambda: pat.person.start(payload), "Mug")
    assert decoded(world, public) == link_of(card)
    assert labels(public) == ["Pay $2.50", "🔄 Refresh"]
    await pay(link_of(card))
    await shown(world, "2 of 3 left", card)
    fresh = await pat.press(public, "Refresh", "2 of 3 left")
    assert (fresh.id, "1 payment" in fresh.text) == (public.id, False)
    assert world.refused == []


async def test_waiting_refreshes_are_made_after_a_restart(tmp_path: Path) -> None:
    """The process dies right after a payment, before any card was changed."""
    async with sandbox_telegram(tmp_path) as stage:
        stage.world.inline_feedback = True
        async with stage.started() as run:
            sam = await seller_with_destination(stage.world)
            card = await sam.card("/drop 3 2.50 USD Print", "Print")
            posted = [
                await share(sam, chat, "print") for chat in await five_chats(stage.world, sam)
            ]
            await stage.world.wait_for(lambda: all(one.photo for one in posted), SECONDS)
            port = run.port
            for method in ("editMessageCaption", "editMessageMedia"):
                stage.world.faults.add(Fault("drop", method, times=1_000))
            await sam.alert(pay(link_of(card)))
            await run.stop(signal.SIGKILL)
            assert "3 of 3 left" in card.text
            stage.world.faults.clear()
        async with stage.started(PORT=port) as run:
            await shown(stage.world, "2 of 3 left", card, *posted)
            for _ in range(2):
                await pay(link_of(card))
            await shown(stage.world, "SOLD OUT", card, *posted)
        polls = "getUpdates"  # that of the process which died is ended by the next one's
        assert [call for call in stage.world.refused if call.method != polls] == []
