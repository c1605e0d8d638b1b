"""What the chat does with an event: once, whole, and only what the person may."""

from __future__ import annotations

import pytest
from structlog.testing import capture_logs

from bot.chat.conversation.actions import BUTTONS, COMMANDS
from bot.chat.model.jobs import (
    CardJob,
    CreateRequest,
    DeleteRequest,
    PauseRequest,
    RefreshCard,
    ReplyTo,
    ResumeRequest,
    SendCard,
)
from bot.chat.model.payloads import CallbackAnswer
from bot.chat.store import seller_rows
from bot.core import exact_json
from bot.core.database.database import Database
from bot.core.errors import ConstraintError
from bot.core.outbox.outbox import Message
from bot.core.outbox.worker import QueueHandler, Worker
from bot.core.text.translations import t
from bot.sandbox.world.people import Person
from tests.support.chat_harness import COFFEE, ChatHarness, service_answer
from tests.support.form_questions import question_of
from tests.support.outbox_queue import handle_all
from tests.support.service_harness import Clock

REASON = "the power is gone"
FUNCTION = f"""
    CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN RAISE EXCEPTION '{REASON}' USING ERRCODE = 'integrity_constraint_violation'; END $$
"""
ACTIONS = {
    "sqlite": f"BEGIN SELECT RAISE(ABORT, '{REASON}'); END",
    "postgresql": "EXECUTE FUNCTION refuse()",
}


def refuse_rows(db: Database, table: str, condition: str = "1 = 1") -> None:
    """Make each INSERT fail whose row (`NEW`) fulfils the condition."""
    each_row = "FOR EACH ROW" if db.engine == "postgresql" else ""
    if db.engine == "postgresql":
        db.run(lambda tx: tx.execute(FUNCTION))
    trigger = f"CREATE TRIGGER refuse BEFORE INSERT ON {table} {each_row} WHEN ({condition})"
    db.run(lambda tx: tx.execute(f"{trigger} {ACTIONS[db.engine]}"))


def accept_rows(db: Database, table: str) -> None:
    on_table = f" ON {table}" if db.engine == "postgresql" else ""
    db.run(lambda tx: tx.execute(f"DROP TRIGGER refuse{on_table}"))


def about(command: str) -> str:
    """Return the answer to /privacy or /paysupport if no operator is named."""
    return t("en", command, operator=t("en", "operator"))


async def with_destination(chat: ChatHarness, person: Person) -> None:
    await chat.says(person, "/start")
    chat.db.run(lambda tx: seller_rows.change(tx, person.id, destination="$anna"))
    chat.clear_messages()


ANSWERS = {
    "/list": "list-empty",
    "/settings": "settings-none",
    "/cancel": "nothing-to-cancel",
    "/unknown": "command-unknown",
    "hello": "not-understood",
}


async def test_every_command_gets_one_answer(chat: ChatHarness, sam: Person) -> None:
    for command in ANSWERS:
        await chat.says(sam, command)
    assert chat.texts == [t("en", key) for key in ANSWERS.values()]


def test_the_answer_to_privacy_names_what_is_stored() -> None:
    for word in ("Telegram ID", "payout", "links", "form", "Payments", "How long", "delet"):
        assert word in about("privacy")
    assert "seller" in about("paysupport")


@pytest.mark.parametrize("command", ["/privacy", "/paysupport"])
@pytest.mark.parametrize(
    ("contact", "named"),
    [
        (None, "whoever runs this bot"),
        ("https://help.example/?a=1&b", "https://help.example/?a=1&amp;b"),
    ],
)
async def test_help_names_the_operators_contact(
    db: Database, clock: Clock, command: str, contact: str | None, named: str
) -> None:
    chat = ChatHarness(db, clock, operator_contact=contact)
    await chat.says(chat.add_person(), command)
    (text,) = chat.texts
    assert f"ontact {named}" in text


async def test_the_rule_for_digital_goods_is_said_once_to_each_new_seller(
    chat: ChatHarness, sam: Person, pat: Person
) -> None:
    for person in (sam, sam, pat):
        await chat.says(person, "/start")
    assert ["Stars" in text for text in chat.texts] == [True, False, True]


async def test_a_new_person_who_wants_a_form_gets_it_and_one_greeting(
    chat: ChatHarness, sam: Person
) -> None:
    for _ in range(2):
        await chat.says(sam, "/start new")
    assert [text.startswith("<b>Hello!</b>") for text in chat.texts] == [True, False, False]


async def test_one_line_makes_a_link_and_asks_the_service_once(
    chat: ChatHarness, sam: Person
) -> None:
    await with_destination(chat, sam)
    await chat.says(sam, "/drop 100 2.50 USD Sticker pack")
    (row,) = chat.rows("listings")
    assert (row["state"], row["seller_id"], row["request_id"]) == ("creating", sam.id, None)
    assert exact_json.loads(row["wish"])["amount"] == 250
    assert chat.jobs == [CreateRequest(row["id"], ReplyTo(sam.id, "en"), seller_name="Sam")]


@pytest.mark.parametrize("saved", ["account:seller-888", "Account:seller-888"])
async def test_a_saved_destination_that_names_accounts_is_asked_for_again(
    chat: ChatHarness, sam: Person, saved: str
) -> None:
    """An earlier version took it, and it may name the accounts of another seller."""
    await with_destination(chat, sam)
    chat.db.run(lambda tx: seller_rows.change(tx, sam.id, destination=saved))
    await chat.says(sam, "/oneoff 9 EUR Book")
    assert (chat.rows("listings"), chat.jobs) == ([], [])
    assert question_of("ask-destination") in chat.texts[-1]
    await chat.says(sam, "$anna")
    (row,) = chat.rows("listings")
    assert exact_json.loads(row["wish"])["destination"] == "$anna"


async def test_a_plain_line_offers_a_link(chat: ChatHarness, sam: Person) -> None:
    await chat.says(sam, "5 USD Coffee")
    assert chat.texts[-1].startswith("👍 <b>Coffee</b> for <b>$5.00</b>.")
    await chat.says(sam, "4 USD Tea")
    assert "Tea" not in "".join(chat.texts), "a form under way takes the text as its answer"


async def test_an_impossible_amount_on_a_button_asks_for_the_kind_again(
    chat: ChatHarness, sam: Person
) -> None:
    """No button of ours has one, but clients can send any."""
    await chat.says(sam, "5 USD Coffee")
    form = exact_json.loads(chat.rows("drafts")[0]["body"])["id"]
    await chat.presses(sam, f"draft:{form}:amount:0")
    assert exact_json.loads(chat.rows("drafts")[0]["body"])["step"] == "kind"


async def test_a_repeated_update_is_handled_once(chat: ChatHarness, sam: Person) -> None:
    await with_destination(chat, sam)
    sam.send("/donation 5 USD Coffee")
    raw = await chat.store()
    for _ in range(2):
        await chat.intake.take(raw)
        await handle_all(chat.db, chat.queues.updates, chat.dialogue.handle, chat.clock)
    assert (len(chat.rows("listings")), len(chat.jobs)) == (1, 1)


async def test_draft_replies_and_the_settled_update_commit_together(
    chat: ChatHarness, sam: Person
) -> None:
    """Here the last of the writes fails, as in a crash between them."""
    await chat.says(sam, "/new")
    chat.clear_messages()
    before = chat.rows("drafts")
    refuse_rows(chat.db, "outbox", "NEW.queue = 'messages'")
    sam.send("/cancel")
    with pytest.raises(ConstraintError, match=REASON):
        await chat.take()
    assert (chat.rows("drafts"), chat.said) == (before, [])
    assert chat.states(chat.queues.updates)[-1] == "leased"
    accept_rows(chat.db, "outbox")
    chat.clock.advance(60)
    await handle_all(chat.db, chat.queues.updates, chat.dialogue.handle, chat.clock)
    assert (chat.rows("drafts"), len(chat.said)) == ([], 1)


async def test_a_form_goes_on_after_a_restart(chat: ChatHarness, sam: Person) -> None:
    await with_destination(chat, sam)
    await chat.says(sam, "/new")
    draft = exact_json.loads(chat.rows("drafts")[0]["body"])
    again = ChatHarness(chat.db, chat.clock)
    again.world = chat.world
    await again.presses(sam, f"draft:{draft['id']}:kind:donation")
    assert exact_json.loads(again.rows("drafts")[0]["body"])["step"] == "name"


async def fails_as_in_a_worker(chat: ChatHarness) -> list[int]:
    """Handle until nothing is due, as the worker does; the attempts."""
    attempts = []
    queue, dialogue = chat.queues.updates, chat.dialogue
    worker = Worker(
        chat.db,
        QueueHandler(queue, dialogue.handle, on_dead_letter=dialogue.on_dead_letter),
        chat.clock,
    )

    async def handle(message: Message) -> None:
        attempts.append(message.attempts)
        await worker._handle_batch([message])

    for _ in range(4):
        await handle_all(chat.db, queue, handle, chat.clock)
        chat.clock.advance(60)
    return attempts


async def test_an_update_that_always_fails_is_a_dead_letter_after_three_attempts(
    chat: ChatHarness, sam: Person, pat: Person
) -> None:
    refuse_rows(chat.db, "drafts")
    sam.send("/new")
    sam.send("/privacy")
    pat.send("/paysupport")
    await chat.store()
    with capture_logs() as logs:
        attempts = await fails_as_in_a_worker(chat)
    assert sorted(attempts) == [1, 1, 1, 2, 3]
    assert sorted(chat.states(chat.queues.updates)) == ["dead", "done", "done"]
    assert chat.texts == [about("paysupport"), t("en", "update-failed"), about("privacy")]
    assert [line["event"] for line in logs] == ["message failed"] * 3


async def test_a_known_person_gets_the_apology_in_their_language(
    chat: ChatHarness, sam: Person
) -> None:
    sam.send("/privacy")
    await chat.store()
    await fails_as_in_a_worker(chat)
    chat.db.run(lambda tx: tx.execute("UPDATE sellers SET language = 'de'"))
    refuse_rows(chat.db, "drafts")
    sam.send("/new")
    await chat.store()
    with capture_logs():
        await fails_as_in_a_worker(chat)
    assert chat.texts[-1] == t("de", "update-failed")


async def test_a_press_that_cannot_be_handled_is_answered(chat: ChatHarness, sam: Person) -> None:
    query = sam.press_old(sam.send("x"), "list:0")
    chat.world.updates.pending.popleft()
    chat.world.updates.pending[0]["callback_query"]["from"] = {}
    await chat.store()
    with capture_logs():
        await fails_as_in_a_worker(chat)
    assert chat.answers == [CallbackAnswer(query.id)]


async def test_an_unreadable_update_is_a_dead_letter_at_once_without_an_apology(
    chat: ChatHarness, sam: Person
) -> None:
    """What was asked is unknown, so an apology makes no sense; the chat continues."""
    sam.send("poison")
    sam.send("/privacy")
    chat.world.updates.pending[0]["message"]["from"] = {}
    await chat.store()
    with capture_logs() as logs:
        await handle_all(chat.db, chat.queues.updates, chat.dialogue.handle, chat.clock)
    assert sorted(chat.states(chat.queues.updates)) == ["dead", "done"]
    assert chat.texts == [about("privacy")]
    assert [(line["event"], line["log_level"]) for line in logs] == [
        ("update set aside", "warning")
    ]


JOBS: dict[str, type[CardJob]] = {
    "card": SendCard,
    "refresh": RefreshCard,
    "stop": PauseRequest,
    "resume": ResumeRequest,
    "delete-yes": DeleteRequest,
}


async def test_a_button_asks_the_service_and_knows_its_message(
    chat: ChatHarness, sam: Person
) -> None:
    link = chat.add_link(sam, COFFEE, service_answer())
    for word, kind in JOBS.items():
        chat.clear_messages()
        query = await chat.presses(sam, f"{word}:{link.id}")
        reply_to = ReplyTo(sam.id, "en", query.message.id, is_picture=False)
        assert chat.jobs == [kind(link.id, reply_to)]
        assert chat.answers == [CallbackAnswer(query.id)]


async def test_deleting_asks_first_and_says_what_is_lost(chat: ChatHarness, sam: Person) -> None:
    link = chat.add_link(sam, COFFEE, service_answer())
    await chat.presses(sam, f"delete:{link.id}")
    assert chat.jobs == []
    (question,) = chat.said
    assert t("en", "delete-question", name="Coffee") in question.text
    buttons = [row[0]["callback_data"] for row in question.keyboard["inline_keyboard"]]
    assert buttons == [f"delete-yes:{link.id}", f"refresh:{link.id}"]


async def test_in_a_group_commands_are_answered_with_where_to_go(
    chat: ChatHarness, sam: Person
) -> None:
    group = sam.new_group("Market")
    for text in ("/donation 5 USD Coffee", "/new@PaymentRequestBot", "/unknown", "hello"):
        sam.send(text, group)
    await chat.take()
    words = t("en", "only-in-private", bot="PaymentRequestBot")
    assert chat.texts == [words, words]
    lanes_used = {row["lane"] for row in chat.rows("outbox") if row["queue"] == "messages"}
    assert lanes_used == {str(group.id)}
    assert (chat.rows("listings"), chat.rows("drafts"), chat.jobs) == ([], [], [])


async def test_in_a_group_a_press_is_answered_and_does_nothing(
    chat: ChatHarness, sam: Person
) -> None:
    link = chat.add_link(sam, COFFEE, service_answer())
    group = sam.new_group("Market")
    sam.press_old(sam.send("/help", group), f"delete-yes:{link.id}")
    await chat.take()
    words = t("en", "only-in-private", bot="PaymentRequestBot")
    assert [one.text for one in chat.answers] == [words]
    assert chat.jobs == []


DATA = {"new": "new", "getpaid": "getpaid", "account": "account:lnbits"}
"""The data of the buttons that create and are of no request."""


@pytest.fixture
def shop(db: Database, clock: Clock) -> ChatHarness:
    """Only the person 1001 may create."""
    return ChatHarness(db, clock, allowed=frozenset({1001}))


async def test_a_person_who_is_not_allowed_cannot_create(shop: ChatHarness) -> None:
    """By no command and no button, and a plain line gets no offer."""
    pat = shop.add_person("Pat", user_id=1002)
    await with_destination(shop, pat)
    told = {name: "not-allowed" for name, command in COMMANDS.items() if command.creates}
    told |= {"drop 3 5 USD Coffee": "not-allowed"}
    for text in (*(f"/{name}" for name in told), "5 USD Coffee"):
        await shop.says(pat, text)
    assert shop.texts == [t("en", key) for key in (*told.values(), "not-understood")]
    link = shop.add_link(pat, COFFEE, service_answer())
    pressed = [word for word, button in BUTTONS.items() if button.creates]
    for word in pressed:
        await shop.presses(pat, f"{word}:{link.id}" if BUTTONS[word].of_link else DATA[word])
    assert [one.text for one in shop.answers] == [t("en", "not-allowed")] * len(pressed)
    assert (len(shop.rows("listings")), shop.rows("drafts"), shop.jobs) == (1, [], [])


async def test_an_allowed_person_can_create(shop: ChatHarness) -> None:
    sam = shop.add_person("Sam", user_id=1001)
    await with_destination(shop, sam)
    await shop.says(sam, "/donation 5 USD Coffee")
    assert len(shop.jobs) == 1


async def test_a_person_no_longer_allowed_cannot_finish_a_form(
    shop: ChatHarness, chat: ChatHarness
) -> None:
    pat = chat.add_person("Pat", user_id=1002)
    await chat.says(pat, "/donation 5 USD Coffee")
    assert len(chat.rows("drafts")) == 1
    chat.clear_messages()
    shop.world = chat.world
    await shop.says(pat, "$pat")
    assert shop.texts == [t("en", "not-allowed")]
    assert (shop.rows("listings"), shop.jobs) == ([], [])
