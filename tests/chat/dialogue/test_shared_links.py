"""A request shown to others: who may post it where, and what a deep link shows to whom."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from bot.chat.store import listings
from bot.chat.store.listings import CREATING, DELETED, FAILED, LIVE
from bot.chat.store.posts import VISITED
from bot.sandbox.world.model import Draft
from tests.support.chat_harness import DROP, URL, answer

if TYPE_CHECKING:
    from bot.chat.store.listings import Listing
    from bot.sandbox.world.model import Message
    from bot.sandbox.world.people import Person
    from tests.support.chat_harness import ChatHarness
    from tests.support.shared_cards import SharedCards

GONE = "There is nothing to pay under this link."


@pytest.fixture
def sam(relay: ChatHarness) -> Person:
    return relay.add_person("Sam")


@pytest.fixture
def pat(relay: ChatHarness) -> Person:
    return relay.add_person("Pat")


@pytest.fixture
def drop(relay: ChatHarness, sam: Person) -> Listing:
    wish = replace(DROP, destination="$samssecret")
    return relay.add_listing(sam, wish, answer(total_units=5, remaining_units=5))


async def follow(show: SharedCards, person: Person, listing_id: str) -> Message:
    """Follow a deep link; what the bot says last."""
    person.start(f"r_{listing_id}")
    await show.relay.take()
    await show.work()
    return person.chat.from_bot()[-1]


async def press(show: SharedCards, person: Person, message: Message, data: str) -> str | None:
    """Press a button there; the words of the answer to be given."""
    person.press_old(message, data)
    await show.relay.take()
    await show.work()
    return show.relay.answers[-1].get("text")


async def test_a_chosen_result_of_anothers_request_is_left_alone(
    show: SharedCards, relay: ChatHarness, pat: Person, drop: Listing
) -> None:
    """A result's id is not to be trusted: only one's own requests are offered."""
    chosen = {"result_id": f"{drop.id}-0123", "from": pat.user.json(), "query": ""}
    relay.world.push("chosen_inline_result", {**chosen, "inline_message_id": "forged"})
    await relay.take()
    assert (show.posts(), relay.refreshes) == ([], [])


@pytest.mark.parametrize("result_id", ["", "-", "nonsense", "aaaaaaaaaa-1", "x" * 64])
async def test_a_chosen_result_that_is_none_of_ours_is_left_alone(
    show: SharedCards, relay: ChatHarness, sam: Person, result_id: str
) -> None:
    chosen = {"result_id": result_id, "from": sam.user.json(), "inline_message_id": "x"}
    relay.world.push("chosen_inline_result", chosen)
    await relay.take()
    assert show.posts() == []
    assert relay.states(relay.queues.updates) == ["done"]


async def test_a_message_that_telegram_does_not_name_is_not_followed(
    show: SharedCards, relay: ChatHarness, sam: Person, drop: Listing
) -> None:
    """It has no buttons, as where the pay page's host has no dot."""
    told = relay.listing(drop.id).answer
    assert told
    local = replace(told, url="http://localhost:8080/pay/1")
    show.change(drop, lambda tx: listings.set_answer(tx, drop.id, local))
    posted = await show.share(sam, sam.dialog(relay.add_person("Pat")))
    assert "http://localhost:8080/pay/1" in posted.text
    assert show.posts() == []


async def test_what_is_posted_into_the_bots_own_chat_is_no_word_of_its_seller(
    show: SharedCards, relay: ChatHarness, sam: Person, drop: Listing
) -> None:
    posted = await show.share(sam, sam.chat)
    assert relay.said == []
    await show.card(drop)
    await show.work_later(3)
    assert posted.photo


async def test_who_follows_a_link_sees_the_public_card(
    show: SharedCards, pat: Person, drop: Listing
) -> None:
    """Picture, words and a way to pay; nothing of the takings, the seller, the destination."""
    await show.pays(drop)
    card = await follow(show, pat, drop.id)
    assert card.photo
    assert card.text.splitlines() == [
        "Stickers", "A pack", "", "Limited drop · $2.50", "4 of 5 left", URL,
    ]  # fmt: skip
    assert [button["text"] for button in card.buttons] == ["Pay $2.50", "🔄 Refresh"]
    told = str(card.json())
    assert not [secret for secret in ("samssecret", str(drop.seller_id), "Taken") if secret in told]


async def test_a_visitors_card_is_brought_up_to_date_in_its_place(
    show: SharedCards, pat: Person, drop: Listing
) -> None:
    card = await follow(show, pat, drop.id)
    assert await press(show, pat, card, f"look:{drop.id}") is None
    assert show.edits() == 0
    await show.pays(drop, 2)
    await press(show, pat, card, f"look:{drop.id}")
    assert "3 of 5 left" in card.text
    await show.pays(drop, 3)
    await press(show, pat, card, f"look:{drop.id}")
    assert "SOLD OUT" in card.text
    assert [button["text"] for button in card.buttons] == ["🔄 Refresh"]
    show.state(drop, DELETED)
    await press(show, pat, card, f"look:{drop.id}")
    assert (card.text, card.buttons) == ("Stickers is no longer available.", [])


async def test_a_visitors_card_is_in_the_visitors_language(
    show: SharedCards, relay: ChatHarness, drop: Listing
) -> None:
    max_ = relay.add_person("Max", language_code="de")
    await show.pays(drop, 5)
    card = await follow(show, max_, drop.id)
    assert "AUSVERKAUFT" in card.text
    assert [post["own"] for post in show.posts()] == [VISITED]


async def test_its_seller_gets_their_own_card(
    show: SharedCards, sam: Person, drop: Listing
) -> None:
    card = await follow(show, sam, drop.id)
    assert [button["text"] for button in card.buttons][-2] == "⏸ Stop"


@pytest.mark.parametrize("who", ["Sam", "Pat"])
@pytest.mark.parametrize("state", [CREATING, FAILED, DELETED, None])
async def test_a_link_that_leads_nowhere_says_so_and_not_why(
    show: SharedCards, relay: ChatHarness, state: str | None, who: str
) -> None:
    sam = relay.add_person("Sam")
    told = None if state == CREATING else answer()
    listing = relay.add_listing(sam, DROP, told, state=state or LIVE)
    person = sam if who == "Sam" else relay.add_person("Pat")
    said = await follow(show, person, listing.id if state else "aaaaaaaaaa")
    assert said.text.startswith(GONE)
    assert listing.wish.name not in said.text


async def test_a_refresh_of_nobodys_request_is_answered(
    show: SharedCards, relay: ChatHarness, pat: Person
) -> None:
    shown = relay.world.post(pat.chat, relay.world.bot, Draft({"text": "x"}, None))
    said = await press(show, pat, shown, "look:aaaaaaaaaa")
    assert said
    assert said.startswith(GONE)
