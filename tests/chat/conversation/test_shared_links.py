"""A request shown to others: who may post it where, and what a deep link shows to whom."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bot.chat.store import link_rows
from bot.chat.store.link_rows import CREATING, DELETED, FAILED, LIVE, PaymentLink
from bot.chat.store.post_rows import VISITED
from bot.sandbox.world.model import Draft, Message
from bot.sandbox.world.people import Person
from tests.support.chat_harness import DROP, URL, ChatHarness, service_answer
from tests.support.shared_cards import SharedCards

GONE = "Link not found."


@pytest.fixture
def drop(chat: ChatHarness, sam: Person) -> PaymentLink:
    spec = replace(DROP, destination="$samssecret")
    return chat.add_link(sam, spec, service_answer(total_units=5, remaining_units=5))


async def follow(cards: SharedCards, person: Person, link_id: str) -> Message:
    """Follow a deep link; what the bot says last."""
    person.start(f"r_{link_id}")
    await cards.chat.take()
    await cards.work()
    return person.chat.from_bot()[-1]


async def press(cards: SharedCards, person: Person, message: Message, data: str) -> str | None:
    """Press a button there; the words of the answer to be given."""
    person.press_old(message, data)
    await cards.chat.take()
    await cards.work()
    return cards.chat.answers[-1].text


async def test_a_chosen_result_of_another_sellers_request_is_ignored(
    cards: SharedCards, chat: ChatHarness, pat: Person, drop: PaymentLink
) -> None:
    """A result's id is not to be trusted: only one's own requests are offered."""
    chosen = {"result_id": f"{drop.id}-0123", "from": pat.user.json(), "query": ""}
    chat.world.push("chosen_inline_result", {**chosen, "inline_message_id": "forged"})
    await chat.take()
    assert (cards.posts(), chat.refreshes) == ([], [])


@pytest.mark.parametrize("result_id", ["", "-", "nonsense", "aaaaaaaaaa-1", "x" * 64])
async def test_a_chosen_result_of_no_request_is_ignored(
    cards: SharedCards, chat: ChatHarness, sam: Person, result_id: str
) -> None:
    chosen = {"result_id": result_id, "from": sam.user.json(), "inline_message_id": "x"}
    chat.world.push("chosen_inline_result", chosen)
    await chat.take()
    assert cards.posts() == []
    assert chat.states(chat.queues.updates) == ["done"]


async def test_a_posted_message_without_an_id_is_not_refreshed(
    cards: SharedCards, chat: ChatHarness, sam: Person, drop: PaymentLink
) -> None:
    """It has no buttons, as where the pay page's host has no dot."""
    told = chat.link(drop.id).answer
    assert told
    local = replace(told, url="http://localhost:8080/pay/1")
    cards.change(drop, lambda tx: link_rows.set_answer(tx, drop.id, local))
    posted = await cards.share(sam, sam.dialog(chat.add_person("Pat")))
    assert "http://localhost:8080/pay/1" in posted.text
    assert cards.posts() == []


async def test_a_request_posted_into_the_bots_own_chat_is_no_message_of_its_seller(
    cards: SharedCards, chat: ChatHarness, sam: Person, drop: PaymentLink
) -> None:
    posted = await cards.share(sam, sam.chat)
    assert chat.said == []
    await cards.card(drop)
    await cards.work_later(3)
    assert posted.photo


async def test_a_visitor_of_a_link_sees_the_public_card(
    cards: SharedCards, pat: Person, drop: PaymentLink
) -> None:
    """Picture, words and a way to pay; nothing of the revenue, the seller, the destination."""
    await cards.pay(drop)
    card = await follow(cards, pat, drop.id)
    assert card.photo
    assert card.text.splitlines() == [
        "Stickers", "A pack", "", "Limited drop · $2.50", "4 of 5 left", URL,
    ]  # fmt: skip
    assert [button["text"] for button in card.buttons] == ["Pay $2.50", "🔄 Refresh"]
    told = str(card.json())
    assert not [secret for secret in ("samssecret", str(drop.seller_id), "Taken") if secret in told]


async def test_a_visitors_card_is_refreshed_in_its_place(
    cards: SharedCards, pat: Person, drop: PaymentLink
) -> None:
    card = await follow(cards, pat, drop.id)
    assert await press(cards, pat, card, f"look:{drop.id}") is None
    assert cards.edits() == 0
    await cards.pay(drop, 2)
    await press(cards, pat, card, f"look:{drop.id}")
    assert "3 of 5 left" in card.text
    await cards.pay(drop, 3)
    await press(cards, pat, card, f"look:{drop.id}")
    assert "SOLD OUT" in card.text
    assert [button["text"] for button in card.buttons] == ["🔄 Refresh"]
    cards.state(drop, DELETED)
    await press(cards, pat, card, f"look:{drop.id}")
    assert (card.text, card.buttons) == ("Stickers is no longer available.", [])


async def test_a_visitors_card_is_in_the_visitors_language(
    cards: SharedCards, chat: ChatHarness, drop: PaymentLink
) -> None:
    max_ = chat.add_person("Max", language_code="de")
    await cards.pay(drop, 5)
    card = await follow(cards, max_, drop.id)
    assert "AUSVERKAUFT" in card.text
    assert [post["own"] for post in cards.posts()] == [VISITED]


async def test_its_seller_gets_their_own_card(
    cards: SharedCards, sam: Person, drop: PaymentLink
) -> None:
    card = await follow(cards, sam, drop.id)
    assert [button["text"] for button in card.buttons][-1] == "⋯ More"


@pytest.mark.parametrize("who", ["Sam", "Pat"])
@pytest.mark.parametrize("state", [CREATING, FAILED, DELETED, None])
async def test_the_reply_to_a_dead_link_gives_no_reason(
    cards: SharedCards, chat: ChatHarness, state: str | None, who: str
) -> None:
    sam = chat.add_person("Sam")
    told = None if state == CREATING else service_answer()
    link = chat.add_link(sam, DROP, told, state=state or LIVE)
    person = sam if who == "Sam" else chat.add_person("Pat")
    said = await follow(cards, person, link.id if state else "aaaaaaaaaa")
    assert said.text.startswith(GONE)
    assert link.spec.name not in said.text


async def test_a_refresh_of_an_unknown_request_is_answered(
    cards: SharedCards, chat: ChatHarness, pat: Person
) -> None:
    shown = chat.world.post(pat.chat, chat.world.bot, Draft({"text": "x"}, None))
    said = await press(cards, pat, shown, "look:aaaaaaaaaa")
    assert said
    assert said.startswith(GONE)
