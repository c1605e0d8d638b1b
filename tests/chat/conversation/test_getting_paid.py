"""Where a seller gets paid: its pages, and what happens to a message with a secret."""

from __future__ import annotations

import json
from typing import Any

import pytest

from bot.chat.conversation.conversation import Chat
from bot.chat.model.drafts import PayoutService
from bot.chat.model.payloads import SecretRemoval, TextMessage
from bot.chat.model.queues import JOBS_AT_ONCE, MOST_IN_GROUP
from bot.chat.store import seller_rows
from bot.core.database.database import Database
from bot.core.outbox import outbox
from bot.core.text.translations import t
from bot.sandbox.world.people import Person
from tests.support.chat_harness import BOT_NAME, VAULT, ChatHarness
from tests.support.form_harness import CONNECTION, IBAN, KEY, LIGHTNING, RAILS, SEPA
from tests.support.outbox_queue import handle_all
from tests.support.sender_harness import SenderHarness
from tests.support.service_harness import Clock


@pytest.fixture
def chat(db: Database, clock: Clock) -> ChatHarness:
    return ChatHarness(db, clock, rails=RAILS)


def save(chat: ChatHarness, person: Person, *accounts: Any) -> None:
    def work(tx: Any) -> None:
        seller_rows.ensure_seller(tx, person.id, "en", chat.clock())
        seller_rows.save_accounts(tx, person.id, accounts)

    chat.db.run(work)


def removals(chat: ChatHarness) -> list[int]:
    return [body.message_id for body in chat.said if isinstance(body, SecretRemoval)]


def answers(chat: ChatHarness) -> list[str]:
    return [body.text for body in chat.said if isinstance(body, TextMessage)]


def stored(chat: ChatHarness) -> str:
    """Return everything that the chat has stored."""
    return str([chat.rows(table) for table in ("outbox", "drafts", "audit", "sellers")])


async def test_getpaid_offers_each_kind_with_what_it_needs_and_costs(
    chat: ChatHarness, sam: Person
) -> None:
    await chat.says(sam, "/getpaid")
    (page,) = chat.said
    for kind in RAILS:
        assert t("en", f"payout-about-{kind}") in page.text
    data = [row[0]["callback_data"] for row in page.keyboard["inline_keyboard"]]
    assert data == [f"getpaid:{kind}" for kind in RAILS]


async def test_only_the_kinds_that_the_service_takes_are_offered(
    db: Database, clock: Clock
) -> None:
    chat = ChatHarness(db, clock, rails=("bank",))
    sam = chat.add_person()
    await chat.presses(sam, "getpaid:lnbits")
    assert t("en", "payout-page-none") in chat.texts[-1]
    assert "LNbits" not in chat.texts[-1]
    assert chat.rows("drafts") == []


@pytest.mark.parametrize(
    ("service", "words"),
    [(PayoutService(), "test money"), (PayoutService("pay.example.org"), "pay.example.org")],
)
async def test_without_real_money_getpaid_says_why_there_is_nothing_to_connect(
    db: Database, clock: Clock, service: PayoutService, words: str
) -> None:
    chat = ChatHarness(db, clock)
    chat.dialogue = Chat(db, chat.queues, clock, VAULT, bot_name=lambda: BOT_NAME, paid_at=service)
    sam = chat.add_person()
    await chat.says(sam, "/getpaid")
    assert "nothing to connect" in chat.texts[-1]
    assert words in chat.texts[-1]
    for data in ("getpaid:bank", "getpaid:bank-sepa", "account:lightning"):
        await chat.presses(sam, data)
        assert "nothing to connect" in chat.texts[-1]


async def test_the_accounts_are_listed_and_shown_in_the_settings(
    chat: ChatHarness, sam: Person
) -> None:
    save(chat, sam, LIGHTNING, SEPA)
    await chat.says(sam, "/getpaid")
    lines = chat.texts[-1].splitlines()
    way, bank = t("en", "payout-way-lightning"), t("en", "payout-way-bank-sepa")
    first = lines.index(f"{way} <code>{LIGHTNING.label}</code>")
    assert lines[first + 1] == f"{bank} <code>{SEPA.label}</code> (you confirm each payment)"
    await chat.says(sam, "/settings")
    assert LIGHTNING.label in chat.texts[-1]
    assert SEPA.label in chat.texts[-1]
    await chat.presses(sam, "account:lightning")
    assert t("en", "payout-automatic") in chat.texts[-1]


async def test_a_seller_who_may_not_create_connects_nothing(db: Database, clock: Clock) -> None:
    chat = ChatHarness(db, clock, rails=RAILS, allowed=frozenset([1]))
    sam = chat.add_person()
    await chat.says(sam, "/getpaid")
    assert chat.texts[-1] == t("en", "not-allowed")
    await chat.presses(sam, "getpaid:lightning")
    assert chat.answers[-1].text == t("en", "not-allowed")


async def test_a_message_with_a_key_is_deleted_and_kept_nowhere(
    chat: ChatHarness, sam: Person
) -> None:
    await chat.presses(sam, "getpaid:lnbits")
    await chat.says(sam, "https://lnbits.example.org")
    assert removals(chat) == []
    sent = sam.send(KEY)
    await chat.take()
    assert removals(chat) == [sent.id]
    assert KEY not in stored(chat)


async def test_a_key_that_is_refused_is_deleted_all_the_same(
    chat: ChatHarness, sam: Person
) -> None:
    await chat.presses(sam, "getpaid:nwc")
    wrong = CONNECTION.replace("secret=", "word=")
    sent = sam.send(wrong)
    await chat.take()
    assert removals(chat) == [sent.id]
    assert wrong not in stored(chat)
    assert answers(chat)[-1].startswith(t("en", "payout-wrong-connectionForm"))


@pytest.mark.parametrize("before", ["", "here you are: ", "/start ", "/nwc ", "/new "])
async def test_a_connection_string_is_deleted_wherever_it_is_typed(
    chat: ChatHarness, sam: Person, before: str
) -> None:
    sent = sam.send(f"{before}{CONNECTION}")
    await chat.take()
    assert removals(chat) == [sent.id]
    assert CONNECTION not in stored(chat)
    assert answers(chat)[-1] == t("en", "payout-connection-elsewhere")


@pytest.mark.parametrize("way", ["", "bank-sepa", "lnbits"])
async def test_a_connection_string_is_no_answer_to_another_question(
    chat: ChatHarness, sam: Person, way: str
) -> None:
    """It would stand on a payment link, or be kept unsealed as a name."""
    save(chat, sam, LIGHTNING)
    if way:
        await chat.presses(sam, f"getpaid:{way}")
    else:
        await chat.says(sam, "/new")
        (draft,) = chat.rows("drafts")
        await chat.presses(sam, f"draft:{json.loads(draft['body'])['id']}:kind:product")
    before = chat.rows("drafts")
    sent = sam.send(CONNECTION)
    await chat.take()
    assert removals(chat) == [sent.id]
    assert CONNECTION not in stored(chat)
    assert answers(chat)[-1] == t("en", "payout-connection-elsewhere")
    assert [row["body"] for row in chat.rows("drafts")] == [row["body"] for row in before]


@pytest.mark.parametrize(
    "text", [KEY, f"https://lnbits.example.org/wallet?usr={KEY}&wal={KEY[::-1]}", f"{KEY} is it"]
)
async def test_a_key_that_comes_with_or_before_the_address_is_deleted(
    chat: ChatHarness, sam: Person, text: str
) -> None:
    """The address of a wallet's own page logs anybody in who has it."""
    await chat.presses(sam, "getpaid:lnbits")
    sent = sam.send(text)
    await chat.take()
    assert removals(chat) == [sent.id]
    assert KEY not in stored(chat)


async def test_of_a_connection_string_in_a_group_nothing_is_kept(
    chat: ChatHarness, sam: Person
) -> None:
    sam.send(f"/getpaid {CONNECTION}", sam.new_group("Market"))
    await chat.take()
    assert CONNECTION not in stored(chat)


async def test_an_answer_that_comes_too_late_is_deleted_too(chat: ChatHarness, sam: Person) -> None:
    await chat.presses(sam, "getpaid:lnbits")
    await chat.says(sam, "https://lnbits.example.org")
    chat.clock.advance(2 * 24 * 3600)
    sent = sam.send(KEY)
    await chat.take()
    assert removals(chat) == [sent.id]
    assert KEY not in stored(chat)


async def test_a_command_at_a_secret_question_is_a_command(chat: ChatHarness, sam: Person) -> None:
    await chat.presses(sam, "getpaid:nwc")
    await chat.says(sam, "/cancel")
    assert removals(chat) == []
    assert t("en", "cancelled-edit") in chat.texts[-1]


async def test_of_an_update_that_cannot_be_handled_no_secret_is_kept(
    chat: ChatHarness, sam: Person
) -> None:
    await chat.presses(sam, "getpaid:lnbits")
    await chat.says(sam, "https://lnbits.example.org")
    sam.send(KEY)
    await chat.store()
    queue = chat.queues.updates
    (message,) = chat.db.run(lambda tx: outbox.claim(tx, queue, chat.clock(), 1))

    def dead_letter(tx: Any) -> None:
        outbox.dead_letter(tx, queue, message, chat.clock(), "failed three times")
        chat.dialogue.on_dead_letter(tx, message)

    chat.db.run(dead_letter)
    assert KEY not in stored(chat)


async def test_telegram_deletes_the_message(
    chat: ChatHarness, sam: Person, sending: SenderHarness
) -> None:
    await chat.presses(sam, "getpaid:nwc")
    sent = sam.send(CONNECTION)
    await chat.take()
    await handle_all(chat.db, chat.queues.messages, sending.sender.send, chat.clock)
    assert sent.deleted


async def test_wallets_that_never_answer_leave_room_for_all_other_jobs(
    chat: ChatHarness, sam: Person
) -> None:
    """A few sellers could otherwise let nobody create a payment link."""
    for _ in range(JOBS_AT_ONCE):
        seller = chat.add_person()
        await chat.presses(seller, "getpaid:lightning")
        await chat.says(seller, "anna@example.org")
    await chat.presses(sam, "getpaid:bank-sepa")
    for text in (IBAN, "Anna Ott"):
        await chat.says(sam, text)
    queue, now = chat.queues.jobs, chat.clock()
    claimed = chat.db.run(lambda tx: outbox.claim(tx, queue, now, JOBS_AT_ONCE))
    ways = sorted(message.body.way for message in claimed)
    assert ways == ["bank-sepa", *["lightning"] * MOST_IN_GROUP]
