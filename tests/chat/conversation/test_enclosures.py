"""Photos, files and albums that come with words, and messages that bring nothing of a person's."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest

from bot.chat.conversation.conversation import NEAR_ALBUM
from bot.chat.model.payloads import FileDownload, PhotoDownload
from bot.chat.model.replies import TEXT_LIMIT
from bot.chat.model.request_spec import MAX_FILE
from bot.chat.store import seller_rows
from bot.chat.telegram.intake import ALBUM_WAIT
from bot.core import exact_json
from bot.core.outbox import lanes, outbox
from bot.core.outbox.queries import waiting_near
from bot.core.text.translations import t
from bot.sandbox.world.model import Json
from bot.sandbox.world.people import Person
from tests.support.chat_harness import ChatHarness
from tests.support.form_questions import question_of
from tests.support.outbox_queue import bodies
from tests.support.sample_pictures import photo

PDF = b"%PDF-1.7"
LINES = ["/donation 5 USD Coffee", "/oneoff 9 EUR E-book", "/drop 3 2.50 USD Pack"]
KINDS_OF_FILE = [
    ("document", "book.pdf"),
    ("video", "v.mp4"),
    ("audio", "a.mp3"),
    ("voice", "voice.ogg"),
    ("animation", "a.mp4"),
]
OTHER_COMMANDS = ["/cancel", "/list", "/find 42", "/find", "/help", "/settings", "/start", "/what"]
UNUSED = t("en", "file-unused-command")


@pytest.fixture
async def sam(chat: ChatHarness) -> Person:
    """A seller who has a payout address."""
    person = chat.add_person("Sam")
    await chat.says(person, "/start")
    chat.db.run(lambda tx: seller_rows.change(tx, person.id, destination="$anna"))
    chat.clear_messages()
    return person


async def album(chat: ChatHarness) -> None:
    """Handle an album, whose first message waits for the others."""
    await chat.take()
    chat.clock.advance(ALBUM_WAIT / 1000)
    await chat.take()


def draft(chat: ChatHarness) -> dict[str, Any]:
    (row,) = chat.rows("drafts")
    found: dict[str, Any] = exact_json.loads(row["body"])
    return found


def nothing_made(chat: ChatHarness) -> bool:
    return (chat.rows("listings"), chat.jobs) == ([], [])


def photos(chat: ChatHarness) -> list[PhotoDownload]:
    return bodies(chat.db, chat.queues.photos)


def largest(message_content: Json) -> str:
    sizes: list[Json] = message_content["photo"]
    return str(max(sizes, key=lambda size: size["width"])["file_id"])


async def test_a_command_with_a_file_makes_no_link_but_asks_whether_buyers_get_it(
    chat: ChatHarness, sam: Person
) -> None:
    for line, (kind, name) in product(LINES, KINDS_OF_FILE):
        chat.clear_messages()
        sam.send_file(kind, name, PDF, caption=line)
        await chat.take()
        (text,) = chat.texts
        assert text.startswith(f"<b>{question_of('ask-file')}</b>"), (line, kind)
        assert (draft(chat)["form"], draft(chat)["step"]) == ("new", "file")
        data = [row[0]["callback_data"] for row in chat.said[0].keyboard["inline_keyboard"][:2]]
        assert [one.rpartition(":")[2] for one in data] == ["yes", "no"]
        await chat.says(sam, "/cancel")
    assert nothing_made(chat)


async def test_the_file_is_fetched_for_buyers_on_yes(chat: ChatHarness, sam: Person) -> None:
    sam.send_document("book.pdf", PDF, caption="/oneoff 9 EUR E-book")
    await chat.take()
    await chat.presses(sam, f"draft:{draft(chat)['id']}:file:yes")
    (wanted,) = bodies(chat.db, chat.queues.files)
    assert isinstance(wanted, FileDownload)
    assert (wanted.file.name, wanted.draft_id) == ("book.pdf", draft(chat)["id"])
    assert draft(chat)["step"] == "goods"
    assert nothing_made(chat)


async def test_the_name_of_a_file_is_escaped_and_cut(chat: ChatHarness, sam: Person) -> None:
    sam.send_document(f"<b>&{'x' * 5_000}.pdf", PDF, caption="/oneoff 9 EUR E-book")
    await chat.take()
    (text,) = chat.texts
    assert "<code>&lt;b&gt;&amp;xxx" in text
    assert len(text) < TEXT_LIMIT


async def test_on_no_the_line_is_reviewed_without_the_file(chat: ChatHarness, sam: Person) -> None:
    sam.send_document("book.pdf", PDF, caption="/oneoff 9 EUR E-book")
    await chat.take()
    await chat.presses(sam, f"draft:{draft(chat)['id']}:file:no")
    assert (draft(chat)["step"], draft(chat).get("file")) == ("review", None)
    assert bodies(chat.db, chat.queues.files) == []
    assert nothing_made(chat)


async def test_an_old_answer_about_a_file_does_nothing(chat: ChatHarness, sam: Person) -> None:
    sam.send_document("book.pdf", PDF, caption="/oneoff 9 EUR E-book")
    await chat.take()
    data = f"draft:{draft(chat)['id']}:file:yes"
    await chat.presses(sam, f"draft:{draft(chat)['id']}:file:no")
    await chat.presses(sam, data)
    assert chat.answers[-1].text == t("en", "toast-unknown")
    assert bodies(chat.db, chat.queues.files) == []


async def test_a_picture_sent_as_a_file_may_be_the_photo_or_what_buyers_get(
    chat: ChatHarness, sam: Person
) -> None:
    sent = sam.send_document("wall.png", photo(), caption="/oneoff 9 EUR Wallpaper")
    await chat.take()
    data = [row[0]["callback_data"] for row in chat.said[0].keyboard["inline_keyboard"][:2]]
    assert [one.rpartition(":")[2] for one in data] == ["yes", "photo"]
    assert (nothing_made(chat), photos(chat)) == (True, [])
    await chat.presses(sam, data[1])
    (wanted,) = photos(chat)
    assert wanted.file_id == sent.content["document"]["file_id"]
    assert draft(chat)["step"] == "review"


async def test_a_file_that_is_too_large_is_named_and_makes_no_link(
    chat: ChatHarness, sam: Person
) -> None:
    sam.send_document("film.zip", bytes(MAX_FILE + 1), caption="/oneoff 9 EUR Film")
    await chat.take()
    (text,) = chat.texts
    assert text.startswith(t("en", "problem-goods-too-large"))
    assert (nothing_made(chat), draft(chat)["step"]) == (True, "review")


@pytest.mark.parametrize("content", [{"paid_media": {"star_count": 5, "paid_media": []}}])
async def test_what_cannot_be_fetched_at_all_makes_no_link_either(
    chat: ChatHarness, sam: Person, content: dict[str, Any]
) -> None:
    sam.send_content(content | {"caption": "/oneoff 9 EUR Film"})
    await chat.take()
    (text,) = chat.texts
    assert text.startswith(t("en", "file-unused"))
    assert (nothing_made(chat), draft(chat)["step"]) == (True, "review")


@pytest.mark.parametrize("line", LINES)
async def test_a_photo_with_a_complete_command_is_fetched_before_the_link_is_made(
    chat: ChatHarness, sam: Person, line: str
) -> None:
    sent = sam.send_photo(photo(), line)
    await chat.take()
    (wanted,) = photos(chat)
    assert wanted.file_id == largest(sent.content)
    assert wanted.spec is not None
    assert (nothing_made(chat), chat.rows("drafts"), chat.texts) == (True, [], [])


async def test_two_lines_with_photos_wait_for_their_own(chat: ChatHarness, sam: Person) -> None:
    """Neither takes the place of the other, nor of the form under way."""
    await chat.says(sam, "/new")
    before = chat.rows("drafts")[0]["body"]
    for line in LINES[:2]:
        sam.send_photo(photo(), line)
    await chat.take()
    specs = [one.spec for one in photos(chat)]
    assert [spec and spec.name for spec in specs] == ["Coffee", "E-book"]
    assert chat.rows("drafts")[0]["body"] == before


async def test_a_photo_with_a_line_that_is_asked_about_is_kept_for_its_review(
    chat: ChatHarness, sam: Person
) -> None:
    sam.send_photo(photo(), "/oneoff 1.000 EUR Chair")
    await chat.take()
    assert (draft(chat)["form"], draft(chat)["photos_due"]) == ("new", 1)
    await chat.presses(sam, f"draft:{draft(chat)['id']}:amount:1000:EUR")
    create = chat.said[-1].keyboard["inline_keyboard"][0][0]["callback_data"]
    await chat.presses(sam, create)
    assert chat.answers[-1].text == t("en", "toast-photo-coming")
    assert nothing_made(chat)


@pytest.mark.parametrize("line", ["/oneoff", "/drop x", "/donation five Coffee", "/oneoff 9 EUR"])
async def test_a_command_that_cannot_be_read_names_what_was_not_used(
    chat: ChatHarness, sam: Person, line: str
) -> None:
    sam.send_document("book.pdf", PDF, caption=line)
    sam.send_photo(photo(), line)
    await chat.take()
    assert [text.endswith(t("en", "file-unused-line")) for text in chat.texts] == [True, True]
    assert (nothing_made(chat), photos(chat), chat.rows("drafts")) == (True, [], [])


async def test_a_command_that_takes_no_file_says_so_and_is_answered(
    chat: ChatHarness, sam: Person
) -> None:
    for command in OTHER_COMMANDS:
        chat.clear_messages()
        await chat.says(sam, command)
        usual = chat.texts
        chat.clear_messages()
        sam.send_photo(photo(), command)
        sam.send_document("book.pdf", PDF, caption=command)
        await chat.take()
        assert chat.texts == [UNUSED, *usual] * 2, command
    assert (photos(chat), chat.rows("drafts")) == ([], [])


async def test_a_new_form_takes_what_came_with_its_command(chat: ChatHarness, sam: Person) -> None:
    sam.send_photo(photo(), "/new")
    await chat.take()
    assert (photos(chat)[0].draft_id, draft(chat)["photos_due"]) == (draft(chat)["id"], 1)
    before = draft(chat)
    sam.send_document("book.pdf", PDF, caption="/new")
    await chat.take()
    assert chat.texts[-1].startswith(t("en", "file-unused"))
    assert draft(chat) == before, "the form under way is left as it is"
    await chat.says(sam, "/cancel")
    sam.send_document("book.pdf", PDF, caption="/new")
    await chat.take()
    assert draft(chat)["file"]["name"] == "book.pdf"


async def test_a_file_below_a_plain_line_is_asked_about(chat: ChatHarness, sam: Person) -> None:
    sam.send_document("book.pdf", PDF, caption="5 EUR E-book")
    await chat.take()
    assert draft(chat)["step"] == "kind"
    await chat.presses(sam, f"draft:{draft(chat)['id']}:kind:oneoff")
    assert chat.texts[-1].startswith(f"<b>{question_of('ask-file')}</b>")


async def test_a_complete_plain_line_asks_about_its_file_before_the_review(
    chat: ChatHarness, sam: Person
) -> None:
    sam.send_document("book.pdf", PDF, caption="100 2.50 USD Pack")
    await chat.take()
    assert draft(chat)["step"] == "file"


async def test_a_file_without_a_form_is_answered_with_what_to_do(
    chat: ChatHarness, sam: Person
) -> None:
    sam.send_document("book.pdf", PDF)
    sam.send_photo(photo(), "Look!")
    await chat.take()
    assert chat.texts == [t("en", "file-first")] * 2
    assert nothing_made(chat)


ALBUM = [("photo", "a.jpg"), ("photo", "b.jpg"), ("photo", "c.jpg")]


@pytest.mark.parametrize("is_apart", [True, False])
async def test_of_an_album_the_captioned_photo_counts_and_one_answer_is_given(
    chat: ChatHarness, sam: Person, *, is_apart: bool
) -> None:
    """In whatever order its messages come, together or apart."""
    counted = []
    for captioned, order in product((0, 1, 2), ((0, 1, 2), (2, 1, 0), (1, 2, 0))):
        colours = zip(ALBUM, ("red", "green", "blue"), strict=True)
        sent = sam.send_album(
            *(
                (kind, name, photo(colour=colour), "5 EUR E-book" * (number == captioned))
                for number, ((kind, name), colour) in enumerate(colours)
            )
        )
        updates = [*chat.world.updates.pending]
        chat.world.updates.pending.clear()
        for number in order:
            await chat.intake.take([updates[number]])
            if is_apart:
                await chat.take()
        await album(chat)
        counted.append(largest(sent[captioned].content))
        assert [one.file_id for one in photos(chat)] == counted, (captioned, order)
        (text,) = chat.texts
        assert text.startswith("👍 <b>E-book</b>")
        await chat.says(sam, "/cancel")
        chat.clear_messages()
    assert set(chat.states(chat.queues.updates)) == {"done"}


async def test_of_an_album_without_words_the_first_photo_counts(
    chat: ChatHarness, sam: Person
) -> None:
    await chat.says(sam, "/new")
    chat.clear_messages()
    sent = sam.send_album(*((kind, name, photo(), "") for kind, name in ALBUM))
    await album(chat)
    assert [one.file_id for one in photos(chat)] == [largest(sent[0].content)]
    assert (chat.texts, draft(chat)["photos_due"]) == ([], 1)


async def test_an_album_without_a_form_is_answered_once(chat: ChatHarness, sam: Person) -> None:
    sam.send_album(*((kind, name, photo(), "") for kind, name in ALBUM))
    await album(chat)
    assert chat.texts == [t("en", "file-first")]


async def test_a_late_message_of_an_album_is_not_answered_again(
    chat: ChatHarness, sam: Person
) -> None:
    sam.send_album(*((kind, name, photo(), "") for kind, name in ALBUM))
    late = chat.world.updates.pending.pop()
    await album(chat)
    await chat.intake.take([late])
    await album(chat)
    assert chat.texts == [t("en", "file-first")]


async def test_a_command_that_comes_late_in_its_album_still_counts(
    chat: ChatHarness, sam: Person
) -> None:
    sam.send_album(("photo", "a.jpg", photo(), ""), ("photo", "b.jpg", photo(), LINES[1]))
    late = chat.world.updates.pending.pop()
    await album(chat)
    await chat.intake.take([late])
    await album(chat)
    assert [one.spec is not None for one in photos(chat)] == [True]


async def test_of_an_album_of_files_one_is_asked_about_as_one_of_several(
    chat: ChatHarness, sam: Person
) -> None:
    parts = [("document", f"{n}.pdf", PDF, LINES[1] * (n == 1)) for n in range(3)]
    sam.send_album(*parts)
    await album(chat)
    (text,) = chat.texts
    assert "<code>1.pdf</code>" in text
    assert text.endswith(t("en", "ask-file-album"))
    assert nothing_made(chat)


async def test_an_album_of_hundreds_that_wait_is_read_with_its_neighbours_alone(
    chat: ChatHarness, sam: Person
) -> None:
    """After hours without the bot, each message would else read all that wait in its chat."""
    updates = chat.queues.updates
    for _ in range(30):
        sam.send_album(("photo", "a.jpg", photo(), ""), ("photo", "b.jpg", photo(), LINES[1]))
    first, *others = [update["update_id"] for update in await chat.store()]
    chat.clock.advance(ALBUM_WAIT / 1000)
    (taken,) = chat.db.run(lambda tx: outbox.claim(tx, updates, chat.clock(), 1))
    near = chat.db.run(lambda tx: waiting_near(tx, updates, taken, most=NEAR_ALBUM))
    assert taken.body["update_id"] == first
    assert [body["update_id"] for body in near] == others[:NEAR_ALBUM]
    await chat.dialogue.handle(taken)
    await chat.take()
    assert [one.spec is not None for one in photos(chat)] == [True] * 30


async def test_two_albums_in_a_row_are_two_answers(chat: ChatHarness, sam: Person) -> None:
    for line in LINES[:2]:
        sam.send_album(("photo", "a.jpg", photo(), line), ("photo", "b.jpg", photo(), ""))
    await album(chat)
    await album(chat)
    assert [one.spec is not None for one in photos(chat)] == [True, True]


async def test_a_file_at_a_text_question_is_kept_and_its_caption_is_the_answer(
    chat: ChatHarness, sam: Person
) -> None:
    for kind, name in KINDS_OF_FILE:
        await chat.says(sam, "/new")
        await chat.presses(sam, f"draft:{draft(chat)['id']}:kind:oneoff")
        sam.send_file(kind, name, PDF, caption="E-book")
        await chat.take()
        assert (draft(chat)["name"], draft(chat)["step"]) == ("E-book", "amount"), kind
        assert draft(chat)["file"]["name"] == name
        assert chat.texts[-1].startswith(t("en", "file-later"))
        await chat.says(sam, "9 EUR")
        assert chat.texts[-1].startswith(f"<b>{question_of('ask-file')}</b>")
        await chat.says(sam, "/cancel")


async def test_a_photo_at_a_text_question_is_taken_and_its_caption_is_the_answer(
    chat: ChatHarness, sam: Person
) -> None:
    await chat.says(sam, "/new")
    await chat.presses(sam, f"draft:{draft(chat)['id']}:kind:oneoff")
    sam.send_photo(photo(), "E-book")
    await chat.take()
    assert (draft(chat)["name"], draft(chat)["step"]) == ("E-book", "amount")
    assert len(photos(chat)) == 1


async def test_a_caption_that_answers_nothing_is_named(chat: ChatHarness, sam: Person) -> None:
    await chat.says(sam, "100 2.50 USD Pack")
    assert draft(chat)["step"] == "review"
    chat.clear_messages()
    sam.send_photo(photo(), "Dawn, oil on canvas")
    await chat.take()
    assert chat.texts == [t("en", "caption-unused")]
    assert len(photos(chat)) == 1


@pytest.mark.parametrize("caption", ["", "Europe/Berlin"])
async def test_a_photo_that_a_short_form_has_no_use_for_is_named(
    chat: ChatHarness, sam: Person, caption: str
) -> None:
    await chat.presses(sam, "settings:zone")
    chat.clear_messages()
    sam.send_photo(photo(), caption)
    await chat.take()
    assert chat.texts[0].startswith(t("en", "file-unused"))
    assert (len(chat.texts), photos(chat)) == (1, [])
    assert len(chat.rows("drafts")) == (not caption)


SERVICE: list[dict[str, Any]] = [
    {"pinned_message": {"message_id": 5, "date": 1, "text": "pinned"}},
    {"message_auto_delete_timer_changed": {"message_auto_delete_time": 86_400}},
    {"chat_background_set": {"type": {"type": "fill"}}},
    {"users_shared": {"request_id": 1, "users": [{"user_id": 7}]}},
    {"chat_shared": {"request_id": 1, "chat_id": -7}},
    {"write_access_allowed": {"from_request": True}},
    {"forum_topic_created": {"name": "x", "icon_color": 1}},
    {"forum_topic_closed": {}},
    {"gift": {"gift": {"id": "1"}}},
    {"unique_gift": {"origin": "transfer"}},
    {"boost_added": {"boost_count": 1}},
    {"web_app_data": {"data": "x", "button_text": "y"}},
    {"successful_payment": {"currency": "XTR", "total_amount": 5}},
    {"refunded_payment": {"currency": "XTR", "total_amount": 5}},
    {"connected_website": "example.org"},
    {"new_chat_members": [{"id": 7}]},
    {"left_chat_member": {"id": 7}},
    {"new_chat_title": "x"},
    {"new_chat_photo": [{"file_id": "p", "width": 1, "height": 1}]},
    {"delete_chat_photo": True},
    {"group_chat_created": True},
    {"migrate_to_chat_id": -1001},
    {"video_chat_started": {}},
    {"giveaway_created": {}},
    {"giveaway": {"chats": []}},
    {"passport_data": {"data": []}},
    {"invoice": {"title": "x"}},
    {"suggested_post_info": {"state": "approved"}},
    {"a_kind_that_is_not_known_yet": {"x": 1}},
    {},
]


async def test_a_service_message_changes_nothing(chat: ChatHarness, sam: Person) -> None:
    """Neither without a form nor within one, in private or in a group."""
    group = sam.new_group("Market")
    for step in ("", "/new", "9 EUR E-book"):
        if step:
            await chat.says(sam, step)
        chat.clear_messages()
        before = chat.rows("drafts"), chat.rows("sellers")
        for content in SERVICE:
            for where in (sam.chat, group):
                sam.send_content(content, where)
            await chat.take()
            assert (chat.said, chat.answers, chat.jobs) == ([], [], []), content
            assert (chat.rows("drafts"), chat.rows("sellers")) == before, content
    assert set(chat.states(chat.queues.updates)) == {"done"}


async def test_a_service_message_opens_no_closed_chat(chat: ChatHarness, sam: Person) -> None:
    lane = str(sam.chat.id)
    chat.db.run(lambda tx: lanes.pause(tx, chat.queues.messages, lane, "closed"))
    sam.send_content({"pinned_message": {"message_id": 5}})
    await chat.take()
    assert chat.db.run(lambda tx: lanes.is_paused(tx, chat.queues.messages, lane))


async def test_a_service_message_of_nobody_is_no_dead_letter(
    chat: ChatHarness, sam: Person
) -> None:
    sam.send_content({"pinned_message": {"message_id": 5}})
    chat.world.updates.pending[-1]["message"]["from"] = {}
    await chat.take()
    assert set(chat.states(chat.queues.updates)) == {"done"}


OTHERS: list[dict[str, Any]] = [
    {"sticker": {"file_id": "s", "width": 1, "height": 1}},
    {"location": {"latitude": 1, "longitude": 2}},
    {"venue": {"title": "x"}, "location": {"latitude": 1, "longitude": 2}},
    {"contact": {"phone_number": "+49", "first_name": "x"}},
    {"poll": {"id": "1", "question": "x"}},
    {"dice": {"emoji": "🎲", "value": 1}},
    {"game": {"title": "x"}},
    {"story": {"id": 1}},
    {"checklist": {"title": "x"}},
    {"paid_media": {"star_count": 1}},
    {"document": {"mime_type": "image/png"}},
]


async def test_what_has_no_use_gets_a_hint_and_leaves_the_form_as_it_was(
    chat: ChatHarness, sam: Person
) -> None:
    for content in OTHERS:
        sam.send_content(content)
    await chat.take()
    assert chat.texts == [t("en", "not-understood")] * len(OTHERS)
    await chat.says(sam, "/new")
    await chat.presses(sam, f"draft:{draft(chat)['id']}:kind:oneoff")
    asked, before = chat.texts[-1], draft(chat)
    chat.clear_messages()
    for content in OTHERS:
        sam.send_content(content)
    await chat.take()
    assert chat.texts == [f"{t('en', 'file-unused')}\n\n{asked}"] * len(OTHERS)
    assert draft(chat) == before


async def test_an_edited_caption_changes_nothing(chat: ChatHarness, sam: Person) -> None:
    sent = sam.send_document("book.pdf", PDF, caption="hello")
    await chat.take()
    chat.clear_messages()
    edited = {**sent.json(), "caption": LINES[1], "edit_date": 5}
    chat.world.push("edited_message", edited)
    await chat.take()
    assert (chat.said, nothing_made(chat)) == ([], True)


async def test_a_forwarded_file_with_a_command_is_asked_about_too(
    chat: ChatHarness, sam: Person
) -> None:
    sam.send_document("book.pdf", PDF, caption=LINES[1])
    origin = {"type": "hidden_user", "sender_user_name": "x", "date": 1}
    chat.world.updates.pending[-1]["message"]["forward_origin"] = origin
    await chat.take()
    assert draft(chat)["step"] == "file"
    assert nothing_made(chat)


async def test_a_caption_with_a_command_in_a_group_is_answered_with_where_to_go(
    chat: ChatHarness, sam: Person
) -> None:
    group = sam.new_group("Market")
    sam.send_photo(photo(), LINES[1], group)
    await chat.take()
    assert chat.texts == [t("en", "only-in-private", bot="PaymentRequestBot")]
    assert (nothing_made(chat), photos(chat)) == (True, [])
