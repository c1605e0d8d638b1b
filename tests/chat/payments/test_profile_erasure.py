"""Erasure of a seller's profile from the chat, and the export that shows what is stored."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from bot.app.maintenance import exports, payer_erasure
from bot.app.maintenance.payer_erasure import Erased
from bot.chat.model.drafts import NO_PROFILE, Profile
from bot.chat.model.jobs import SendProfile
from bot.chat.store import seller_rows
from bot.core.database.database import Transaction
from bot.core.erasure import Scope
from bot.interface import fields
from bot.sandbox.world.people import Person
from tests.support.chat_harness import ChatHarness, service_answer
from tests.support.form_harness import IBAN, LIGHTNING, connecting


def save(chat: ChatHarness, name: str, contact: str | None = None) -> Person:
    """Add a seller with a profile and a picture of their own."""
    person = chat.add_person(name)

    def store(tx: Transaction) -> None:
        seller_rows.ensure_seller(tx, person.id, "en", chat.clock())
        image = seller_rows.add_image(tx, person.id, name.encode(), chat.clock())
        seller_rows.keep_image(tx, image, person.id)
        seller_rows.save_profile(tx, person.id, Profile(name, image, "Bread", contact, "red"))

    chat.db.run(store)
    return person


def profile(chat: ChatHarness, person: Person) -> Profile:
    return chat.db.run(lambda tx: seller_rows.profile_state(tx, person.id)).profile


async def erase(chat: ChatHarness, *who: str, before: int | None = None) -> Erased:
    scope = chat.db.run(lambda tx: payer_erasure.parse_scope(tx, who, before, None))
    found = await payer_erasure.survey(chat.db, scope)
    done = await payer_erasure.erase(chat.db, found, chat.clock())
    assert (await payer_erasure.survey(chat.db, scope)).rows == 0
    return done


async def test_accounts_and_the_form_of_one_are_erased(chat: ChatHarness) -> None:
    """The other sellers keep theirs, and Anna's other forms are no accounts."""
    anna, ben = chat.add_person("Anna"), chat.add_person("Ben")

    def store(tx: Transaction) -> None:
        for person in (anna, ben):
            seller_rows.ensure_seller(tx, person.id, "en", chat.clock())
            seller_rows.save_accounts(tx, person.id, [LIGHTNING])
            form = connecting("bank-sepa").say(IBAN).form
            seller_rows.save_draft(tx, person.id, person.id, form, chat.clock())

    chat.db.run(store)
    await erase(chat, f"seller-{anna.id}")
    assert [row["seller_id"] for row in chat.rows("seller_accounts")] == [ben.id]
    assert [row["seller_id"] for row in chat.rows("drafts")] == [ben.id]


async def test_the_open_form_of_a_payer_or_a_seller_is_erased(chat: ChatHarness) -> None:
    """By their Telegram account or contact, also if nothing else of them is stored."""
    anna = save(chat, "Anna", "anna@example.org")
    ben, cleo = chat.add_person("Ben"), chat.add_person("Cleo")
    for person in (anna, ben, cleo):
        await chat.says(person, "/new")
    named = [f"buyer-{ben.id}", "anna@example.org"]
    await erase(chat, *named, before=chat.clock() + 1)
    assert len(chat.rows("drafts")) == 3, "a scope of payments leaves forms alone"
    await erase(chat, *named)
    assert [row["seller_id"] for row in chat.rows("drafts")] == [cleo.id]
    (line,) = (row for row in chat.rows("audit") if "forms" in row["details"])
    assert json.loads(line["details"])["forms"] == 2


@pytest.mark.parametrize("who", ["ANNA@example.org", "seller-1001"])
async def test_a_profile_and_its_picture_are_erased_and_taken_off_the_links(
    chat: ChatHarness, who: str
) -> None:
    anna, ben = save(chat, "Anna", "anna@example.org"), save(chat, "Ben", "ben@example.org")
    link = chat.add_link(anna, told=service_answer())
    await erase(chat, who)
    assert (profile(chat, anna), profile(chat, ben).name) == (NO_PROFILE, "Ben")
    assert [bytes(row["data"]) for row in chat.rows("images")] == [b"Ben"]
    assert chat.jobs == [SendProfile(link.id, version=2, goes_on=True)]


async def test_a_scope_of_payments_leaves_profiles_alone(chat: ChatHarness) -> None:
    anna = save(chat, "Anna", "anna@example.org")
    await erase(chat, "anna@example.org", before=chat.clock() + 1)
    assert profile(chat, anna).name == "Anna"


async def test_a_payers_erasure_leaves_other_sellers_alone(chat: ChatHarness) -> None:
    anna = save(chat, "Anna")
    await erase(chat, "payer@example.org")
    assert profile(chat, anna).name == "Anna"
    named = frozenset(["seller-1001"])
    scope = chat.db.run(lambda tx: payer_erasure.parse_scope(tx, [*named], None, None))
    assert scope == Scope(named, sellers=named)


async def test_an_export_has_all_that_sellers_told(chat: ChatHarness) -> None:
    anna = save(chat, "Anna", "@anna_bakes")
    save(chat, "Ben")
    wanted = exports.ExportFilter(
        chat.clock() + 1, until=chat.clock() + 1, url="https://bot.example"
    )
    found = [it async for it in exports.read(chat.db, exports.EXPORTS["sellers"], wanted)]
    assert [record["name"] for record in found] == ["Anna", "Ben"]
    assert json.loads(json.dumps(found[0])) == {
        "telegramId": anna.id,
        "createdAt": fields.iso(chat.clock()),
        "language": "en",
        "timeZone": None,
        "destination": None,
        "currencyCode": None,
        "name": "Anna",
        "about": "Bread",
        "contact": "@anna_bakes",
        "accentColor": "red",
        "imageUrl": f"https://bot.example/images/{profile(chat, anna).image}",
    }
    later = replace(wanted, since=chat.clock() + 1, until=exports.FOREVER)
    assert [it async for it in exports.read(chat.db, exports.EXPORTS["sellers"], later)] == []
