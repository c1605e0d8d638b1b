"""What people type is sealed before it is stored if it may have a key: no file ever has the key."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.app.maintenance import payer_erasure
from bot.chat.conversation.conversation import Chat
from bot.chat.model.jobs import ConnectAccount
from bot.chat.store import sealed_updates
from bot.core import erasure, errors, exact_json
from bot.core.database.database import Database
from bot.core.database.vault import Vault
from bot.sandbox.world.people import Person
from tests.support.chat_harness import BOT_NAME, VAULT, ChatHarness
from tests.support.databases import SQLITE, sqlite
from tests.support.form_harness import CONNECTION, KEY, RAILS
from tests.support.service_harness import Clock


@pytest.fixture
def chat(db: Database, clock: Clock) -> ChatHarness:
    return ChatHarness(db, clock, rails=RAILS)


def bodies(chat: ChatHarness) -> str:
    return str([row["body"] for row in chat.rows("outbox")])


def file_bytes(chat: ChatHarness) -> bytes:
    """Return all bytes of the database's files, what was written over included."""
    folder = Path(sqlite(chat.db).path).parent
    found = [path for path in folder.iterdir() if path.name.startswith("bot.db")]
    assert len(found) >= 2, "the -wal is one of them"
    return b"".join(path.read_bytes() for path in found)


async def ask_for_key(chat: ChatHarness, person: Person) -> None:
    await chat.presses(person, "getpaid:lnbits")
    await chat.says(person, "https://lnbits.example.org")


@pytest.mark.only(SQLITE, "files")
async def test_no_byte_of_a_key_is_ever_in_the_files_of_the_database(
    chat: ChatHarness, sam: Person
) -> None:
    """Not while it waits, not in the -wal, not in the free parts of pages."""
    await chat.says(sam, "An open word")
    await ask_for_key(chat, sam)
    sam.send(KEY)
    sam.send(f"or this: {CONNECTION}")
    await chat.store()
    for _ in ("stored", "handled"):
        found = file_bytes(chat)
        assert b"An open word" in found
        assert KEY.encode() not in found
        assert CONNECTION.rpartition("secret=")[2].encode() not in found
        await chat.take()
    assert [type(job) for job in chat.jobs] == [ConnectAccount]


async def test_a_waiting_key_is_not_stored_as_it_is(chat: ChatHarness, sam: Person) -> None:
    """A PostgreSQL keeps what it wrote in its log, its standbys and archives."""
    await ask_for_key(chat, sam)
    sam.send(KEY)
    await chat.store()
    assert KEY not in bodies(chat)
    assert sealed_updates.SEALED in bodies(chat)


@pytest.mark.parametrize("text", [f"/start {CONNECTION}", "https://shop.example.org/picture.png"])
async def test_any_long_word_may_be_a_key(chat: ChatHarness, sam: Person, text: str) -> None:
    sam.send(text)
    await chat.store()
    assert text not in bodies(chat)


async def test_other_updates_are_stored_as_they_are(chat: ChatHarness, sam: Person) -> None:
    """An erasure searches them."""
    sam.send("Coffee for anna@a.example")
    (update,) = await chat.store()
    (row,) = chat.rows("outbox")
    assert exact_json.loads(row["body"]) == update


async def test_a_sealed_text_is_handled_as_any_other(chat: ChatHarness, sam: Person) -> None:
    await chat.presses(sam, "getpaid:lnbits")
    await chat.says(sam, "https://lnbits.example.org")
    (draft,) = chat.rows("drafts")
    assert "https://lnbits.example.org" in draft["body"]


async def test_an_update_that_another_key_sealed_is_set_aside(
    chat: ChatHarness, sam: Person
) -> None:
    """As after a restore with another SECRET_KEY, while it waited."""
    sam.send(KEY)
    await chat.store()
    chat.dialogue = Chat(
        chat.db, chat.queues, chat.clock, Vault("another"), bot_name=lambda: BOT_NAME
    )
    await chat.take()
    (row,) = chat.rows("outbox")
    assert row["state"] == "dead"
    assert row["note"] == "can't be read: it was sealed with another SECRET_KEY"


async def test_an_erasure_keeps_no_sealed_text(chat: ChatHarness, sam: Person) -> None:
    """Nobody could find the payer in it."""
    await chat.says(sam, "anna@a.example and Donaudampfschifffahrt")
    await chat.says(sam, "not her")
    scope = erasure.Scope(frozenset({"anna@a.example"}))
    found = await payer_erasure.survey(chat.db, scope)
    await payer_erasure.erase(chat.db, found, chat.clock())
    handled = [
        exact_json.loads(row["body"])
        for row in sorted(chat.rows("outbox"), key=lambda row: str(row["id"]))
        if row["queue"] == "updates"
    ]
    assert [one["message"].get("text") for one in handled] == [None, "not her"]
    assert sealed_updates.SEALED not in bodies(chat)


TEXTS = st.text(max_size=40) | st.text("ab \ud800\x00", min_size=16, max_size=40)
MESSAGES = st.fixed_dictionaries(
    {"chat": st.just({"id": 7})},
    optional={
        "text": TEXTS,
        "caption": TEXTS | st.none(),
        "entities": st.lists(st.fixed_dictionaries({"url": TEXTS, "offset": st.integers(0, 9)})),
        "photo": st.just([{"file_id": "a" * 20}]),
    },
)


@given(MESSAGES | st.text() | st.none())
def test_what_is_sealed_is_read_again(message: Any) -> None:
    update = {"update_id": 1, "message": message}
    stored = sealed_updates.seal(update, VAULT)
    assert sealed_updates.unseal(stored, VAULT) == update


@pytest.mark.parametrize("sealed", ["no token", 7, None])
def test_a_field_of_that_name_from_outside_opens_nothing(sealed: Any) -> None:
    update = {"update_id": 1, "message": {"text": "Hi"}, sealed_updates.SEALED: sealed}
    if isinstance(sealed, str):
        with pytest.raises(errors.Unreadable):
            sealed_updates.unseal(update, VAULT)
    else:
        assert sealed_updates.unseal(update, VAULT) == update
