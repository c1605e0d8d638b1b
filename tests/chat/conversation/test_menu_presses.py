"""What becomes of presses on a request's menus: whose it is, what is asked, sent, looked up."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from bot.chat.conversation.sharing import FILES, PAYMENTS_PAGE
from bot.chat.model.jobs import EditRequest, RemoveUnits, ReplyTo
from bot.chat.model.payloads import CardMessage, PosterFile
from bot.chat.store import link_rows, payment_marks, payment_rows
from bot.chat.store.link_rows import CREATING, DELETED, PaymentLink
from bot.chat.store.payment_rows import Payment
from bot.core.text.translations import t
from bot.sandbox.world.model import Draft
from tests.support.chat_harness import COFFEE, DROP, ChatHarness, service_answer
from tests.support.databases import SQLITE

if TYPE_CHECKING:
    from bot.sandbox.world.people import Person


WORDS = (
    *("more", "edit", "edit-not", "duplicate", "poster", "alerts"),
    *("edit:{}:name", "edit:{}:units", "poster:{}:print-light", "payments:{}:0", "alerts:{}:off"),
)


def data(word: str, link_id: str) -> str:
    return word.format(link_id) if "{}" in word else f"{word}:{link_id}"


@pytest.mark.parametrize("word", WORDS)
async def test_a_request_of_somebody_else_is_neither_seen_nor_touched(
    chat: ChatHarness, sam: Person, pat: Person, word: str
) -> None:
    link = chat.add_link(sam, DROP, service_answer())
    await chat.presses(pat, data(word, link.id))
    assert [one.text for one in chat.answers] == [t("en", "listing-gone")]
    assert (chat.jobs, chat.said, chat.rows("drafts")) == ([], [], [])


@pytest.mark.parametrize("word", WORDS)
@pytest.mark.parametrize("state", [CREATING, DELETED])
async def test_a_press_on_a_missing_request_is_answered_with_the_reason(
    chat: ChatHarness, sam: Person, word: str, state: str
) -> None:
    known = service_answer() if state == DELETED else None
    link = chat.add_link(sam, DROP, known, state=state)
    await chat.presses(sam, data(word, link.id))
    key = "listing-gone" if state == DELETED else "listing-not-ready"
    assert [one.text for one in chat.answers] == [t("en", key)]
    assert (chat.jobs, chat.said) == ([], [])


@pytest.mark.parametrize("word", WORDS)
async def test_every_press_is_answered_once_and_says_something(
    chat: ChatHarness, sam: Person, word: str
) -> None:
    link = chat.add_link(sam, DROP, service_answer(remaining_units=4))
    query = await chat.presses(sam, data(word, link.id))
    assert [one.query_id for one in chat.answers] == [query.id]
    assert chat.said


async def test_a_field_that_nobody_knows_is_an_unknown_button(
    chat: ChatHarness, sam: Person
) -> None:
    link = chat.add_link(sam, DROP, service_answer())
    await chat.presses(sam, f"edit:{link.id}:price")
    assert [one.text for one in chat.answers] == [t("en", "button-unknown")]


@pytest.mark.parametrize(
    ("spec", "told", "key"),
    [
        (COFFEE, {}, "toast-no-units"),
        (DROP, {"remaining_units": 0}, "toast-none-left"),
    ],
)
async def test_removing_units_of_a_request_without_units_is_answered_with_the_reason(
    chat: ChatHarness, sam: Person, spec: Any, told: dict[str, int], key: str
) -> None:
    link = chat.add_link(sam, spec, service_answer(**told))
    await chat.presses(sam, f"edit:{link.id}:units")
    assert [one.text for one in chat.answers] == [t("en", key)]
    assert chat.rows("drafts") == []


async def editing(chat: ChatHarness, sam: Person, link: PaymentLink, field: str, said: str) -> None:
    await chat.presses(sam, f"edit:{link.id}:{field}")
    chat.clear_messages()
    await chat.says(sam, said)


async def test_an_edit_becomes_a_job(chat: ChatHarness, sam: Person) -> None:
    link = chat.add_link(sam, COFFEE, service_answer())
    await editing(chat, sam, link, "name", "Tea")
    assert chat.jobs == [EditRequest(link.id, ReplyTo(sam.id, "en"), "name", "Tea")]
    assert chat.link(link.id).spec == COFFEE


async def test_the_poster_text_is_stored_in_the_chat(chat: ChatHarness, sam: Person) -> None:
    """The service knows none."""
    link = chat.add_link(sam, COFFEE, service_answer())
    await editing(chat, sam, link, "postertext", "Today only")
    assert (chat.link(link.id).poster_text, chat.jobs) == ("Today only", [])
    assert "Today only" in chat.texts[0]


async def test_the_form_of_the_poster_text_shows_the_current_one(
    chat: ChatHarness, sam: Person
) -> None:
    link = chat.add_link(sam, COFFEE, service_answer())
    await editing(chat, sam, link, "postertext", "Today only")
    chat.clear_messages()
    await chat.presses(sam, f"edit:{link.id}:postertext")
    assert chat.texts[-1].endswith("\n\nYour text: <i>Today only</i>")


async def test_removing_too_many_units_is_refused_at_the_step(
    chat: ChatHarness, sam: Person
) -> None:
    """By what is left, not by what there was; a smaller number is then enough."""
    link = chat.add_link(sam, DROP, service_answer(remaining_units=3))
    await editing(chat, sam, link, "units", "4")
    assert chat.jobs == []
    assert "Only 3 items are left." in chat.texts[-1]
    assert chat.texts[-1].endswith("\n\n3 left")
    await chat.says(sam, "3")
    assert [job.number for job in chat.jobs if isinstance(job, RemoveUnits)] == [3]


async def test_units_sold_while_the_form_was_open_are_not_removed(
    chat: ChatHarness, sam: Person
) -> None:
    """Whoever is told so can try again from there."""
    link = chat.add_link(sam, DROP, service_answer(remaining_units=3))
    await chat.presses(sam, f"edit:{link.id}:units")
    chat.db.run(lambda tx: link_rows.set_answer(tx, link.id, service_answer(remaining_units=2)))
    chat.clear_messages()
    await chat.says(sam, "3")
    assert chat.texts == [t("en", "units-too-many", name="Stickers", left=2)]
    assert chat.jobs == []
    keys = chat.said[-1].keyboard["inline_keyboard"]
    assert [key["callback_data"] for row in keys for key in row] == [
        f"card:{link.id}",
        f"edit:{link.id}",
    ]


async def test_an_edit_of_a_request_deleted_meanwhile_is_refused(
    chat: ChatHarness, sam: Person
) -> None:
    link = chat.add_link(sam, COFFEE, service_answer())
    await chat.presses(sam, f"edit:{link.id}:name")
    chat.db.run(lambda tx: link_rows.set_state(tx, link.id, DELETED))
    chat.clear_messages()
    await chat.says(sam, "Tea")
    assert (chat.jobs, chat.texts) == ([], [t("en", "listing-gone")])


async def test_a_person_who_may_not_create_cannot_duplicate(chat: ChatHarness, sam: Person) -> None:
    shop = ChatHarness(chat.db, chat.clock, allowed=frozenset({1}))
    shop.world = chat.world
    link = chat.add_link(sam, COFFEE, service_answer())
    await shop.presses(sam, f"duplicate:{link.id}")
    assert [one.text for one in shop.answers] == [t("en", "not-allowed")]
    assert shop.rows("drafts") == []


@pytest.mark.parametrize("design", FILES)
async def test_a_poster_comes_as_files_that_are_drawn_when_they_are_sent(
    chat: ChatHarness, sam: Person, design: str
) -> None:
    link = chat.add_link(sam, COFFEE, service_answer())
    await chat.presses(sam, f"poster:{link.id}:{design}")
    assert chat.said == [
        PosterFile(link.id, "en", file, f"coffee-{file}") for file in FILES[design]
    ]
    assert [one.text for one in chat.answers] == [t("en", "toast-poster")]


async def test_a_poster_is_queued_once_however_often_it_is_pressed(
    chat: ChatHarness, sam: Person
) -> None:
    """Another design or request is another poster; once it has come it can be had again."""
    link, other = (chat.add_link(sam, COFFEE, service_answer(id=name)) for name in "ab")
    for _ in range(5):
        await chat.presses(sam, f"poster:{link.id}:print-light")
    assert len(chat.said) == 2
    coming = [one.text for one in chat.answers].count(t("en", "toast-poster-coming"))
    assert coming == 4
    await chat.presses(sam, f"poster:{link.id}:square-dark")
    await chat.presses(sam, f"poster:{other.id}:print-light")
    assert len(chat.said) == 5
    chat.clear_messages()
    await chat.presses(sam, f"poster:{link.id}:print-light")
    assert len(chat.said) == 2


def paid(
    chat: ChatHarness, link: PaymentLink, number: int, payer: dict[str, Any] | None = None
) -> None:
    payment = Payment("r", f"t{number:06d}", number, "USD", payer or {})
    now = chat.clock() + number
    chat.db.run(lambda tx: payment_rows.add_payment(tx, link.id, payment, now))


async def test_payments_are_paged_newest_first_with_what_they_come_to(
    chat: ChatHarness, sam: Person
) -> None:
    link = chat.add_link(sam, COFFEE, service_answer())
    for number in range(1, PAYMENTS_PAGE + 3):
        paid(chat, link, number)
    for press in (0, 1, 99):
        await chat.presses(sam, f"payments:{link.id}:{press}")
    pages = [text.splitlines() for text in chat.texts]
    amounts = [[line.rpartition("<b>")[2] for line in page if " · " in line] for page in pages]
    assert amounts[0] == [f"$0.{number:02d}</b>" for number in range(PAYMENTS_PAGE + 2, 2, -1)]
    assert amounts[1] == amounts[2] == ["$0.02</b>", "$0.01</b>"]
    assert all("$0.78" in page[1] for page in pages)


async def test_payments_are_a_new_message_below_a_card_which_closes_its_menu(
    chat: ChatHarness, sam: Person
) -> None:
    """A caption has no room for them, and a card with a menu in it would not be refreshed."""
    link = chat.add_link(sam, COFFEE, service_answer())
    photo = {"file_id": "card", "width": 4, "height": 3}
    shown = chat.world.post(
        sam.chat, chat.world.bot, Draft({"photo": [photo], "caption": "Coffee"}, None)
    )
    sam.press_old(shown, f"payments:{link.id}:0")
    await chat.take()
    page, card = chat.said
    assert (page.message_id, page.text.splitlines()[0]) == (None, "<b>Payments for Coffee</b>")
    assert card == CardMessage(link.id, "en", shown.id)


@pytest.mark.only(SQLITE, "its query plans; PostgreSQL's are in test_query_plans.py")
def test_a_page_among_ten_thousand_payments_is_read_by_its_index(
    chat: ChatHarness, sam: Person
) -> None:
    link = chat.add_link(sam, COFFEE, service_answer())
    plan = chat.db.run(
        lambda tx: tx.query(
            f"EXPLAIN QUERY PLAN {payment_marks.PAYMENTS}", listing=link.id, limit=10, start=0
        )
    )
    assert "received_payments_listing" in str(plan)
