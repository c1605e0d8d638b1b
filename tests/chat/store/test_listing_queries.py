"""What a seller looks through: as much as is shown is read, and what is typed is taken as typed."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from bot.chat.store import queries
from bot.chat.store.listings import DELETED, LIVE, STOPPED
from tests.support.chat_harness import COFFEE, ChatHarness, answer

if TYPE_CHECKING:
    from bot.sandbox.world.people import Person


@pytest.fixture
def sam(relay: ChatHarness) -> Person:
    return relay.add_person("Sam")


def listed(relay: ChatHarness, person: Person, name: str, state: str = LIVE) -> str:
    relay.clock.advance(0.001)
    told = answer(id=f"{relay.clock():024x}")
    return relay.add_listing(person, replace(COFFEE, name=name), told, state=state).id


def found(
    relay: ChatHarness, person: Person, text: str, limit: int = 9, start: int = 0
) -> list[str]:
    listings = relay.db.run(lambda tx: queries.search(tx, person.id, text, limit, start))
    return [listing.wish.name for listing in listings]


@pytest.mark.parametrize("text", ["%", "_", "!", "0%", "a_b", "!%"])
def test_signs_of_a_pattern_stand_for_themselves(
    relay: ChatHarness, sam: Person, text: str
) -> None:
    """Who types % looks for a per cent sign, not for anything."""
    listed(relay, sam, "Plain 50 axb")
    listed(relay, sam, f"With 5{text}")
    assert found(relay, sam, text) == [f"With 5{text}"]


@pytest.mark.parametrize("text", ["GRÖSSE", "größe", " Grösse ", "ΟΔΌΣ", "οδός"])
def test_letters_of_every_script_are_found_in_either_case(
    relay: ChatHarness, sam: Person, text: str
) -> None:
    """As people mean it: ß is SS, a final sigma is a sigma."""
    listed(relay, sam, "Die Größe, η Οδός")
    assert found(relay, sam, text) == ["Die Größe, η Οδός"]


def test_a_search_gives_the_part_that_is_asked_for(relay: ChatHarness, sam: Person) -> None:
    """Newest first, only what is live, only one's own; an id finds its request."""
    other = relay.add_person("Other")
    ids = [listed(relay, sam, f"Coffee {number}") for number in range(5)]
    listed(relay, sam, "Coffee stopped", STOPPED)
    listed(relay, other, "Coffee of another")
    assert found(relay, sam, "coffee", limit=2, start=1) == ["Coffee 3", "Coffee 2"]
    assert found(relay, sam, "coffee", start=4) == ["Coffee 0"]
    assert found(relay, sam, "coffee", start=5) == []
    assert found(relay, sam, ids[2].upper()) == ["Coffee 2"]


def test_the_list_counts_and_pages_what_stands(relay: ChatHarness, sam: Person) -> None:
    """Live and stopped requests, newest first; what is deleted or not made yet is left out."""
    for number in range(4):
        listed(relay, sam, f"Nr. {number}", STOPPED if number % 2 else LIVE)
    listed(relay, sam, "Deleted", DELETED)
    relay.add_listing(sam, COFFEE)
    assert relay.db.run(lambda tx: queries.count(tx, sam.id)) == 4
    page = relay.db.run(lambda tx: queries.page(tx, sam.id, 2, 1))
    assert [listing.wish.name for listing in page] == ["Nr. 2", "Nr. 1"]
