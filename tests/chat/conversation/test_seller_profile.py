"""The seller's profile in the chat: its buttons, what Telegram knows, and changes of it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bot.chat.forms.seller_texts import offer_key
from bot.chat.model.drafts import Profile
from bot.chat.model.jobs import SendProfile
from bot.chat.store import seller_rows
from bot.core import exact_json
from bot.sandbox.world.people import Person
from tests.support.chat_harness import COFFEE, URL, ChatHarness, service_answer

USE = f"profile:use:{offer_key('Anna Becker')}"


@pytest.fixture
async def anna(chat: ChatHarness) -> Person:
    person = chat.add_person("Anna", last_name="Becker", username="anna_bakes")
    await chat.says(person, "/settings")
    chat.clear_messages()
    return person


def profile(chat: ChatHarness, person: Person) -> Profile:
    found = chat.db.run(lambda tx: seller_rows.find_seller(tx, person.id))
    assert found is not None
    return found.profile


def save(chat: ChatHarness, person: Person, wanted: Profile) -> int:
    return chat.db.run(lambda tx: seller_rows.save_profile(tx, person.id, wanted))


def add_image(chat: ChatHarness, person: Person) -> str:
    return chat.db.run(lambda tx: seller_rows.add_image(tx, person.id, b"jpeg", chat.clock()))


async def answer(chat: ChatHarness, person: Person, step: str, text: str) -> None:
    await chat.presses(person, f"settings:{step}")
    await chat.says(person, text)


async def test_nothing_of_telegram_is_stored_before_its_button_is_pressed(
    chat: ChatHarness, anna: Person
) -> None:
    await chat.says(anna, "/donation 5 USD Tea")
    for data in ("profile", "settings:sellername", "settings:sellercontact", "profile:later"):
        await chat.presses(anna, data)
    (row,) = chat.rows("sellers")
    assert not [value for value in row.values() if "nna" in str(value)]


async def test_the_button_with_the_name_saves_it(chat: ChatHarness, anna: Person) -> None:
    await chat.presses(anna, USE)
    assert profile(chat, anna) == Profile(name="Anna Becker")
    assert "Your links now say they're from <b>Anna Becker</b>." in chat.texts[-1]


async def test_a_button_with_a_former_name_saves_nothing_and_offers_the_present_one(
    chat: ChatHarness, anna: Person
) -> None:
    await chat.presses(anna, f"profile:use:{offer_key('Anna B.')}")
    assert profile(chat, anna) == Profile()
    assert "from <b>Anna Becker</b>?" in chat.texts[-1]


async def test_not_now_leaves_the_profile_and_says_where_it_is(
    chat: ChatHarness, anna: Person
) -> None:
    await chat.presses(anna, "profile:later")
    assert "/settings" in chat.texts[-1]
    assert profile(chat, anna) == Profile()


async def test_a_change_starts_at_the_newest_link_and_is_audited_without_values(
    chat: ChatHarness, anna: Person
) -> None:
    chat.add_link(anna, told=service_answer(id="1" * 24))
    chat.clock.advance(1)
    newest = chat.add_link(anna, told=service_answer())
    await answer(chat, anna, "sellername", "Anna's Bakery")
    assert chat.jobs == [SendProfile(newest.id, version=1, goes_on=True)]
    (entry,) = (row for row in chat.rows("audit") if row["action"] == "profile.changed")
    assert exact_json.loads(entry["details"]) == {"changed": ["name"]}


async def test_nothing_is_sent_for_a_profile_that_payers_don_t_see(
    chat: ChatHarness, anna: Person
) -> None:
    chat.add_link(anna, told=service_answer())
    await answer(chat, anna, "sellerabout", "Bread")
    assert chat.jobs == []
    await answer(chat, anna, "sellername", "Anna")
    assert len(chat.jobs) == 1


async def test_the_same_value_again_changes_nothing(chat: ChatHarness, anna: Person) -> None:
    chat.add_link(anna, told=service_answer())
    for _ in range(3):
        await answer(chat, anna, "sellername", "Anna")
    assert len(chat.jobs) == 1
    (row,) = chat.rows("sellers")
    assert row["profile_version"] == 1


async def test_the_notifications_address_is_offered_and_taken(
    chat: ChatHarness, anna: Person
) -> None:
    chat.add_link(anna, replace(COFFEE, email="anna@example.org"), service_answer())
    await chat.presses(anna, "settings:sellercontact")
    (row,) = chat.rows("drafts")
    draft = exact_json.loads(row["body"])["id"]
    await chat.presses(anna, f"draft:{draft}:offer:{offer_key('anna@example.org')}")
    assert profile(chat, anna).contact == "anna@example.org"


async def test_the_page_opens_the_newest_pay_page(chat: ChatHarness, anna: Person) -> None:
    chat.add_link(anna, told=service_answer())
    await chat.presses(anna, "profile")
    buttons = [button for row in chat.said[-1].keyboard["inline_keyboard"] for button in row]
    assert [button["url"] for button in buttons if "url" in button] == [URL]


async def test_back_leads_from_a_step_to_the_page_and_from_there_to_the_settings(
    chat: ChatHarness, anna: Person
) -> None:
    await chat.presses(anna, "settings:selleraccent")
    (row,) = chat.rows("drafts")
    await chat.presses(anna, f"draft:{exact_json.loads(row['body'])['id']}:back:selleraccent")
    assert chat.texts[-1].startswith("<b>Your profile</b>")
    await chat.presses(anna, "settings")
    assert chat.texts[-1].startswith("<b>Settings</b>")
    assert chat.rows("drafts") == []


async def test_a_removed_picture_is_deleted_at_once_and_a_replaced_one_by_the_sweep(
    chat: ChatHarness, anna: Person
) -> None:
    """Pages show the old one until the new one has reached them; a face must not linger."""
    old, new = add_image(chat, anna), add_image(chat, anna)
    save(chat, anna, Profile("Anna", old))
    chat.db.run(lambda tx: seller_rows.keep_image(tx, old, anna.id))
    await chat.presses(anna, "settings:sellerimage")
    (row,) = chat.rows("drafts")
    draft = exact_json.loads(row["body"])["id"]
    await chat.presses(anna, f"draft:{draft}:clear:sellerimage")
    assert [row["id"] for row in chat.rows("images")] == [new]
    assert profile(chat, anna) == Profile("Anna")


async def test_an_angle_bracket_in_a_name_is_no_markup(chat: ChatHarness, anna: Person) -> None:
    await answer(chat, anna, "sellername", "<b>Anna & Co")
    assert "<b>&lt;b&gt;Anna &amp; Co</b>" in chat.texts[-1]
    await chat.says(anna, "/settings")
    assert "&lt;b&gt;Anna &amp; Co" in chat.texts[-1]
