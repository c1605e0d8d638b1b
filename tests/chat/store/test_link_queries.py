"""What a seller looks through: as much as is shown is read, and what is typed is taken as typed."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from bot.chat.store import link_rows
from bot.chat.store.link_rows import DELETED, LIVE, STOPPED
from tests.support.chat_harness import COFFEE, ChatHarness, service_answer

if TYPE_CHECKING:
    from bot.sandbox.world.people import Person


def listed(chat: ChatHarness, person: Person, name: str, state: str = LIVE) -> str:
    chat.clock.advance(0.001)
    told = service_answer(id=f"{chat.clock():024x}")
    return chat.add_link(person, replace(COFFEE, name=name), told, state=state).id


def found(
    chat: ChatHarness, person: Person, text: str, limit: int = 9, start: int = 0
) -> list[str]:
    links = chat.db.run(
        lambda tx: link_rows.search_links(tx, person.id, text, limit, start, only_live=True)
    )
    return [link.spec.name for link in links]


@pytest.mark.parametrize("text", ["%", "_", "!", "0%", "a_b", "!%"])
def test_pattern_characters_are_searched_literally(
    chat: ChatHarness, sam: Person, text: str
) -> None:
    """A % in a search means a per cent sign."""
    listed(chat, sam, "Plain 50 axb")
    listed(chat, sam, f"With 5{text}")
    assert found(chat, sam, text) == [f"With 5{text}"]


@pytest.mark.parametrize("text", ["GRÖSSE", "größe", " Grösse ", "ΟΔΌΣ", "οδός"])
def test_letters_of_every_script_are_found_in_either_case(
    chat: ChatHarness, sam: Person, text: str
) -> None:
    """ß matches SS, and a final sigma matches a sigma."""
    listed(chat, sam, "Die Größe, η Οδός")
    assert found(chat, sam, text) == ["Die Größe, η Οδός"]


def test_a_search_returns_the_requested_page(chat: ChatHarness, sam: Person) -> None:
    """It returns the seller's own live requests, newest first; an id finds its request."""
    other = chat.add_person("Other")
    ids = [listed(chat, sam, f"Coffee {number}") for number in range(5)]
    listed(chat, sam, "Coffee stopped", STOPPED)
    listed(chat, other, "Coffee of another")
    assert found(chat, sam, "coffee", limit=2, start=1) == ["Coffee 3", "Coffee 2"]
    assert found(chat, sam, "coffee", start=4) == ["Coffee 0"]
    assert found(chat, sam, "coffee", start=5) == []
    assert found(chat, sam, ids[2].upper()) == ["Coffee 2"]


def test_the_list_counts_and_pages_live_and_stopped_requests(
    chat: ChatHarness, sam: Person
) -> None:
    """Newest first; deleted requests and those being created are left out."""
    for number in range(4):
        listed(chat, sam, f"Nr. {number}", STOPPED if number % 2 else LIVE)
    listed(chat, sam, "Deleted", DELETED)
    chat.add_link(sam, COFFEE)
    assert chat.db.run(lambda tx: link_rows.count_links(tx, sam.id)) == 4
    page = chat.db.run(lambda tx: link_rows.links_page(tx, sam.id, 2, 1))
    assert [link.spec.name for link in page] == ["Nr. 2", "Nr. 1"]
