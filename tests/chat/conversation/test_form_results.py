"""What follows from a form: settings saved, photos fetched, pictures kept, old forms offered."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import pytest

from bot.chat.conversation.actions import PAGE
from bot.chat.conversation.event_context import EventContext
from bot.chat.conversation.events import Person as Who
from bot.chat.conversation.form_effects import apply_result
from bot.chat.forms.flow import FormResult, Setting
from bot.chat.model import moments
from bot.chat.model.drafts import NewDraft, Seller
from bot.chat.model.payloads import TextMessage
from bot.chat.model.request_spec import RequestSpec
from bot.chat.store import seller_rows
from bot.chat.store.link_rows import CREATING, DELETED, FAILED, STOPPED
from bot.core.database.database import Transaction
from bot.core.text.translations import t
from bot.sandbox.world.people import Person
from tests.support.chat_harness import COFFEE, VAULT, ChatHarness, service_answer

SPEC = RequestSpec("donation", "Coffee", None, 500, "USD", None, "$anna")


def act(chat: ChatHarness, sam: Person, *outcomes: FormResult) -> None:
    """Follow outcomes one after the other, each in its transaction."""

    def work(tx: Transaction, outcome: FormResult) -> None:
        seller = seller_rows.ensure_seller(tx, sam.id, "en", chat.clock())
        who = Who(sam.id, sam.id, private=True, tag=None)
        apply_result(EventContext(tx, chat.queues, who, seller, None, chat.clock(), VAULT), outcome)

    for outcome in outcomes:
        chat.db.run(partial(work, outcome=outcome))


def saved(chat: ChatHarness, sam: Person) -> Seller:
    found = chat.db.run(lambda tx: seller_rows.find_seller(tx, sam.id))
    assert found is not None
    return found


def setting(name: str, value: str | tuple[int, int] | int | None) -> FormResult:
    return FormResult(None, setting=Setting(name, value))


async def test_settings_are_saved_and_switched_off(chat: ChatHarness, sam: Person) -> None:
    act(chat, sam, setting("zone", "Europe/Berlin"), setting("quiet", (1320, 420)))
    assert (saved(chat, sam).zone, saved(chat, sam).quiet) == ("Europe/Berlin", (1320, 420))
    act(chat, sam, setting("quiet", None))
    assert saved(chat, sam).quiet is None


async def test_the_next_summary_follows_its_hour_and_the_zone(
    chat: ChatHarness, sam: Person
) -> None:
    def due() -> int | None:
        found: int | None = chat.rows("sellers")[0]["summary_at"]
        return found

    act(chat, sam, setting("zone", "Europe/Berlin"), setting("summary", 1200))
    assert due() == moments.next_epoch_at(1200, chat.clock(), "Europe/Berlin")
    act(chat, sam, setting("zone", "Asia/Tokyo"))
    assert due() == moments.next_epoch_at(1200, chat.clock(), "Asia/Tokyo")
    assert saved(chat, sam).summary == 1200
    act(chat, sam, setting("summary", None))
    assert (saved(chat, sam).summary, due()) == (None, None)


async def test_the_picture_of_a_spec_is_kept(chat: ChatHarness, sam: Person) -> None:
    image = chat.db.run(lambda tx: seller_rows.add_image(tx, sam.id, b"jpeg", chat.clock()))
    spec = replace(SPEC, image=image)
    act(chat, sam, FormResult(None, spec=spec))
    assert [row["kept"] for row in chat.rows("images")] == [1]


async def test_a_text_a_day_after_is_no_answer(chat: ChatHarness, sam: Person) -> None:
    """The row says when the form was last touched."""
    await chat.says(sam, "/new")
    draft = chat.db.run(lambda tx: seller_rows.find_draft(tx, sam.id, sam.id))
    assert draft is not None
    await chat.presses(sam, f"draft:{draft.id}:kind:donation")
    chat.clock.advance(24 * 3600 + 1)
    chat.clear_messages()
    await chat.says(sam, "Coffee")
    assert "You've already started a payment link" in chat.texts[0]
    stored = chat.db.run(lambda tx: seller_rows.find_draft(tx, sam.id, sam.id))
    assert isinstance(stored, NewDraft)
    assert (stored.step, stored.name, stored.must_resume) == ("name", None, True)
    chat.clear_messages()
    await chat.says(sam, "/start")
    assert "You've already started a payment link" in chat.texts[0]


@pytest.mark.parametrize("body", ['{"form":"gone","id":"ab2c3d","step":"name"}', "{}", "not JSON"])
async def test_a_form_that_cannot_be_read_is_closed(
    chat: ChatHarness, sam: Person, body: str
) -> None:
    """Another version may have stored it: every answer says so, and a new form begins at once."""
    await chat.says(sam, "/new")
    chat.db.run(lambda tx: tx.execute("UPDATE drafts SET body = :body", body=body))
    chat.clear_messages()
    await chat.says(sam, "Coffee")
    await chat.presses(sam, "draft:ab2c3d:kind:donation")
    await chat.says(sam, "/cancel")
    await chat.says(sam, "/start")
    assert [text.partition("\n")[0] for text in chat.texts] == [
        t("en", "not-understood"),
        t("en", "nothing-to-cancel"),
        t("en", "start").partition("\n")[0],
    ]
    assert [answer.text for answer in chat.answers] == [t("en", "toast-finished")]
    await chat.says(sam, "/new")
    draft = chat.db.run(lambda tx: seller_rows.find_draft(tx, sam.id, sam.id))
    assert isinstance(draft, NewDraft)
    await chat.presses(sam, f"draft:{draft.id}:kind:donation")
    await chat.says(sam, "Coffee")
    assert {*chat.states(chat.queues.updates)} == {"done"}
    draft = chat.db.run(lambda tx: seller_rows.find_draft(tx, sam.id, sam.id))
    assert isinstance(draft, NewDraft)
    assert (draft.step, draft.name) == ("amount", "Coffee")


# The list of a seller's payment links.


async def test_the_list_is_newest_first_and_in_pages(chat: ChatHarness, sam: Person) -> None:
    made = []
    for number in range(PAGE + 1):
        chat.clock.advance(1)
        made.append(chat.add_link(sam, COFFEE, service_answer(id=f"{number}")).id)
    await chat.says(sam, "/list")
    await chat.presses(sam, "list:1")
    await chat.presses(sam, "list:999999")
    pages = [cards_of(body) for body in chat.said]
    assert pages == [made[:0:-1], made[:1], made[:1]]


def cards_of(body: TextMessage) -> list[str]:
    rows = body.keyboard["inline_keyboard"] if body.keyboard else []
    data = [button.get("callback_data", "") for row in rows for button in row]
    return [one.removeprefix("card:") for one in data if one.startswith("card:")]


async def test_requests_that_are_not_live_are_not_listed(chat: ChatHarness, sam: Person) -> None:
    for state in (CREATING, FAILED, DELETED):
        chat.add_link(sam, COFFEE, service_answer(id=state), state=state)
    stopped = chat.add_link(sam, COFFEE, service_answer(), state=STOPPED)
    await chat.says(sam, "/list")
    assert cards_of(chat.said[0]) == [stopped.id]
