"""Buttons of messages that were sent before: they stay in chats for years."""

from __future__ import annotations

from typing import Any

import pytest

from bot.chat.conversation.actions import BUTTONS
from bot.chat.conversation.sharing import FILES, PAYMENTS_PAGE
from bot.chat.forms.inputs import VERBS
from bot.chat.model.jobs import EditRequest, RemoveUnits, ReplyTo
from bot.chat.model.payloads import CardMessage, PosterFile
from bot.chat.store import link_rows, payment_marks, payment_rows
from bot.chat.store.link_rows import CREATING, DELETED, PaymentLink
from bot.chat.store.payment_rows import Payment
from bot.core.text.translations import t
from bot.sandbox.world.model import Draft
from bot.sandbox.world.people import Person
from tests.support.chat_harness import COFFEE, DROP, ChatHarness, service_answer
from tests.support.databases import SQLITE

PAYMENT = "{link}:1790000000000:0123abcd"

SENT = [
    "draft:abc123:cancel",
    *("new", "help", "settings", "settings:zone", "settings:sellername"),
    *("profile", "profile:later", "profile:use:0123abcd"),
    *("getpaid", "getpaid:bank", "getpaid:lnbits"),
    *("account:lnbits", "account:lnbits:remove", "account:lnbits:remove:0123abcd"),
    *("card:{link}", "refresh:{link}", "stop:{link}", "resume:{link}"),
    *("delete:{link}", "delete-yes:{link}", "more:{link}"),
    *("edit:{link}", "edit:{link}:name", "edit-not:{link}", "duplicate:{link}", "codes:{link}"),
    *("poster:{link}", "poster:{link}:print-dark", "payments:{link}:0"),
    *("alerts:{link}", "alerts:{link}:off", "look:{link}"),
    *("list:0", "incoming:0", "bought", "bought:0", "undelivered:again"),
    *("claim:abcde12345", "missing:abcde12345", "missing:abcde12345:list"),
    *("missing-yes:abcde12345", "received:abcde12345", "received:abcde12345:digest"),
    *(f"payment:{PAYMENT}", f"sent:{PAYMENT}", f"sent:{PAYMENT}:a", f"sent-undo:{PAYMENT}"),
    *(f"paid-back:{PAYMENT}", f"paid-back-undo:{PAYMENT}"),
    *(f"hide:{PAYMENT}", f"hide:{PAYMENT}:p0", f"hide-undo:{PAYMENT}"),
    *("receipt:abcde12345", "receipt-remove:abcde12345"),
]
"""The data of a button of each kind, as version 0.1 sends it. Lines are only added here."""

TIMES = "zone moment"
SENT_IN_FORMS = {
    "new": (
        f"kind keep back amount currency choose goal create continue restart cancel options open"
        f" clear done instrument ask later goods file {TIMES}"
    ),
    "line": "amount currency choose continue cancel",
    "settings": "zone hours minute off back continue cancel clear offer accent telegram-photo",
    "payback": "clear continue cancel",
    "codes": "continue cancel",
    "payout": "back keep skip land save change continue cancel",
    "edit": f"goal goods clear back continue cancel {TIMES}",
}
"""The verbs of each form's buttons, as version 0.1 sends them."""


OF_REQUEST = [data for data in SENT if BUTTONS[data.partition(":")[0]].of_link]
UNKNOWN, GONE = t("en", "button-unknown"), t("en", "listing-gone")


async def test_a_button_that_was_sent_before_is_known_and_answered_once(
    chat: ChatHarness, sam: Person
) -> None:
    """It does what it did, or says why it can't; "no longer works" is for data of a stranger."""
    link = chat.add_link(sam, DROP, service_answer(remaining_units=4))
    wrong = []
    for data in SENT:
        chat.clear_messages()
        query = await chat.presses(sam, data.format(link=link.id))
        is_answered = [one.query_id for one in chat.answers] == [query.id]
        toast = chat.answers[0].text
        if not is_answered or toast == UNKNOWN or not (toast or chat.said or chat.jobs):
            wrong.append(data)
    assert wrong == []


async def test_data_of_no_button_is_answered_as_unknown(chat: ChatHarness, sam: Person) -> None:
    link = chat.add_link(sam, DROP, service_answer())
    for data in ("", "nonsense", f"edit:{link.id}:price"):
        await chat.presses(sam, data)
    assert [one.text for one in chat.answers] == [UNKNOWN] * 3
    assert (chat.said, chat.jobs) == ([], [])


async def test_the_buttons_of_a_request_are_its_sellers_alone(
    chat: ChatHarness, sam: Person, pat: Person
) -> None:
    link = chat.add_link(sam, DROP, service_answer())
    for data in OF_REQUEST:
        await chat.presses(pat, data.format(link=link.id))
    assert [one.text for one in chat.answers] == [GONE] * len(OF_REQUEST)
    assert (chat.jobs, chat.said, chat.rows("drafts")) == ([], [], [])
    assert chat.link(link.id) == link


@pytest.mark.parametrize("state", ["unknown", CREATING, DELETED])
async def test_a_button_of_a_missing_request_is_answered_with_the_reason(
    chat: ChatHarness, sam: Person, state: str
) -> None:
    link_id, why = "abcdefghij", t("en", "listing-not-ready") if state == CREATING else GONE
    if state != "unknown":
        told = service_answer() if state == DELETED else None
        link_id = chat.add_link(sam, DROP, told, state=state).id
    pressed = [data for data in OF_REQUEST if state != DELETED or not data.startswith("codes")]
    for data in pressed:
        await chat.presses(sam, data.format(link=link_id))
    assert [one.text for one in chat.answers] == [why] * len(pressed)
    assert (chat.jobs, chat.said) == ([], [])


def test_each_kind_of_button_was_sent() -> None:
    assert {data.partition(":")[0] for data in SENT} == BUTTONS.keys()


def test_each_button_of_a_form_was_sent() -> None:
    assert {form: {*verbs} for form, verbs in VERBS.items()} == {
        form: {*verbs.split()} for form, verbs in SENT_IN_FORMS.items()
    }


# What becomes of presses on a request's menus: whose it is, what is asked, sent, looked up.


@pytest.mark.parametrize(
    ("spec", "told", "key"),
    [(COFFEE, {}, "toast-no-units"), (DROP, {"remaining_units": 0}, "toast-none-left")],
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
