"""Updates as what a person did, and what is said as Telegram's calls."""

from __future__ import annotations

from typing import Any

import pytest

from bot.chat.conversation.events import (
    BlockEvent,
    Event,
    MessageEvent,
    Person,
    PostedEvent,
    PressEvent,
    SearchEvent,
    read,
)
from bot.chat.model.drafts import Attachment
from bot.chat.model.replies import Button
from bot.core.errors import Unreadable
from bot.core.images import qr
from bot.sandbox.world.model import Draft
from tests.support.chat_harness import BOT_NAME, ChatHarness

ROWS = ((Button("Show", action=("list", "0")),),)
MARKUP = {"inline_keyboard": [[{"text": "Show", "callback_data": "list:0"}]]}
LINK = "abcdefghij"


def events(chat: ChatHarness) -> list[Event | None]:
    """What the bot reads in what the world's people just did."""
    pending = [*chat.world.updates.pending]
    chat.world.updates.pending.clear()
    return [read(update, BOT_NAME) for update in pending]


@pytest.mark.parametrize(
    ("text", "command", "rest"),
    [
        ("hello", None, "hello"),
        ("/start", "start", ""),
        ("/start new", "start", "new"),
        ("/HELP", "help", ""),
        ("/donation 5 USD  Coffee for two ", "donation", "5 USD  Coffee for two"),
        ("/donation@PaymentRequestBot 5 USD Tea", "donation", "5 USD Tea"),
        ("/donation@paymentrequestBOT 5 USD Tea", "donation", "5 USD Tea"),
        ("/donation\n5 USD Tea", "donation", "5 USD Tea"),
        ("/", "", ""),
        ("not /a command", None, "not /a command"),
    ],
)
def test_a_message_is_a_text_or_a_command_with_its_arguments(
    chat: ChatHarness, text: str, command: str | None, rest: str
) -> None:
    sam = chat.add_person("Sam")
    sent = sam.send(text)
    who = Person(sam.id, sam.id, private=True, tag="en", first_name="Sam")
    assert events(chat) == [MessageEvent(who, rest, command, message_id=sent.id)]


def test_a_command_for_another_bot_is_ignored(chat: ChatHarness) -> None:
    chat.add_person().send("/help@OtherBot")
    assert events(chat) == [None]


def test_a_picture_is_a_message_with_the_text_below_it(
    chat: ChatHarness, qr_picture: bytes
) -> None:
    sam = chat.add_person()
    sam.send_photo(qr_picture)
    sam.send_photo(qr_picture, "below")
    assert [event.text for event in events(chat) if isinstance(event, MessageEvent)] == [
        "",
        "below",
    ]


def test_a_picture_is_named_by_the_largest_of_its_sizes_also_when_sent_as_a_file(
    chat: ChatHarness, qr_picture: bytes
) -> None:
    sam = chat.add_person()
    photo, file = sam.send_photo(qr_picture), sam.send_document("a.png", qr_picture)
    sam.send_document("a.txt", b"words")
    whole = max(photo.content["photo"], key=lambda size: size["width"])["file_id"]
    read_as = [event.photo for event in events(chat) if isinstance(event, MessageEvent)]
    assert read_as == [whole, file.content["document"]["file_id"], None]


@pytest.mark.parametrize(
    "message",
    [
        {"photo": 5},
        {"photo": [5, {}]},
        {"photo": [{"width": "x"}]},
        {"document": {"mime_type": "image/png", "file_id": 5}},
        {"voice": {"file_id": ""}},
    ],
)
def test_a_picture_that_cannot_be_read_is_none(message: dict[str, Any]) -> None:
    who = {"from": {"id": 7}, "chat": {"id": 7}}
    event = read({"update_id": 1, "message": {**who, **message, "caption": "x"}}, BOT_NAME)
    assert isinstance(event, MessageEvent)
    assert (event.text, event.photo, event.file) == ("x", None, None)


@pytest.mark.parametrize(
    ("message", "file"),
    [
        (
            {"document": {"file_id": "x", "file_name": "a.zip", "mime_type": "application/zip"}},
            Attachment("x", "document", "a.zip", "application/zip"),
        ),
        (
            {"document": {"mime_type": 5, "file_id": "x"}},
            Attachment("x", "document", "document", "application/octet-stream"),
        ),
        (
            {"animation": {"file_id": "x"}, "document": {"file_id": "x"}, "caption": "Look"},
            Attachment("x", "animation", "animation.mp4", "video/mp4", has_words=True),
        ),
        (
            {"voice": {"file_id": "x", "file_size": 9}, "media_group_id": "5"},
            Attachment("x", "voice", "voice.ogg", "audio/ogg", size=9, album_id="5"),
        ),
        (
            {
                "photo": [
                    {"file_id": "s", "width": 9, "height": 9},
                    {"file_id": "x", "width": 90, "height": 90, "file_size": 7},
                ]
            },
            Attachment("x", "photo", "photo.jpg", "image/jpeg", size=7),
        ),
    ],
)
def test_any_file_of_a_message_is_named(message: dict[str, Any], file: Attachment) -> None:
    who = {"from": {"id": 7}, "chat": {"id": 7}}
    event = read({"update_id": 1, "message": {**who, **message}}, BOT_NAME)
    assert isinstance(event, MessageEvent)
    assert event.file == file


def test_the_addresses_of_hidden_links_follow_their_words() -> None:
    """A buyer would get words without the link."""
    said = {
        "from": {"id": 7},
        "chat": {"id": 7},
        "text": "👍 Album here, and there",
        "entities": [
            {"type": "bold", "offset": 0, "length": 2},
            {"type": "text_link", "offset": 9, "length": 4, "url": "https://a.example/1"},
            {"type": "text_link", "offset": 19, "length": 5, "url": "https://a.example/2"},
            {"type": "text_link", "offset": "x", "url": 5},
            5,
        ],
    }
    event = read({"update_id": 1, "message": said}, BOT_NAME)
    assert isinstance(event, MessageEvent)
    assert event.text == "👍 Album here, and there"
    words = "👍 Album here https://a.example/1 , and there https://a.example/2 "
    assert event.linked == words


def test_a_message_posted_inline_by_the_bot_is_ignored() -> None:
    """A request shared inline into the bot's own chat comes back as that person's message."""
    said = {"from": {"id": 7}, "chat": {"id": 7}, "text": "Coffee"}
    ours = {"via_bot": {"id": 42, "username": BOT_NAME}}
    others = {"via_bot": {"id": 43, "username": "gif"}}
    assert read({"update_id": 1, "message": said | ours}, BOT_NAME) is None
    assert read({"update_id": 1, "message": said | others}, BOT_NAME) is not None


@pytest.fixture
def qr_picture() -> bytes:
    return qr.png("x")


@pytest.mark.parametrize("tag", ["en", "pt-br", None])
def test_the_language_is_telegrams_and_may_be_missing(chat: ChatHarness, tag: str | None) -> None:
    chat.add_person(language_code=tag).send("x")
    (event,) = events(chat)
    assert event is not None
    assert event.person.tag == tag


def test_in_a_group_the_chat_is_the_group(chat: ChatHarness) -> None:
    sam = chat.add_person()
    group = sam.new_group("Market")
    chat.world.updates.pending.clear()
    sent = sam.send("/help", group)
    who = Person(sam.id, group.id, private=False, tag="en", first_name="Sam")
    assert events(chat) == [MessageEvent(who, "", "help", message_id=sent.id)]


def test_a_press_knows_its_query_its_action_and_the_message(chat: ChatHarness) -> None:
    sam = chat.add_person()
    shown = chat.world.post(sam.chat, chat.world.bot, Draft({"text": "x"}, None))
    query = sam.press_old(shown, "list:3")
    assert events(chat) == [
        PressEvent(
            Person(sam.id, sam.id, private=True, tag="en", first_name="Sam"),
            query.id, ("list", "3"), shown.id, picture=False,
        )
    ]  # fmt: skip


@pytest.mark.parametrize("data", ["", "nonsense", "list:x", "draft:1", "card:../etc"])
def test_unknown_callback_data_has_no_action(chat: ChatHarness, data: str) -> None:
    sam = chat.add_person()
    shown = chat.world.post(sam.chat, chat.world.bot, Draft({"text": "x"}, None))
    sam.press_old(shown, data)
    (event,) = events(chat)
    assert isinstance(event, PressEvent)
    assert event.action is None


def callback(**message: Any) -> dict[str, Any]:
    person = {"id": 7, "is_bot": False, "first_name": "Sam"}
    query = {"id": "1", "from": person, "chat_instance": "1", "data": "list:0"}
    return {"update_id": 1, "callback_query": query | message}


def test_a_message_too_old_to_edit_has_no_id() -> None:
    """Telegram gives such a message the date 0."""
    old = {"chat": {"id": 7, "type": "private"}, "message_id": 5, "date": 0}
    event = read(callback(message=old), BOT_NAME)
    assert isinstance(event, PressEvent)
    assert (event.message_id, event.person.chat_id) == (None, 7)


def test_a_press_below_an_inline_message_is_answered_to_its_person_in_private() -> None:
    event = read(callback(inline_message_id="abc"), BOT_NAME)
    assert isinstance(event, PressEvent)
    assert (event.message_id, event.person) == (
        None,
        Person(7, 7, private=True, tag=None, first_name="Sam"),
    )


def test_an_inline_query_is_what_was_typed(chat: ChatHarness) -> None:
    sam = chat.add_person()
    asked = sam.ask_inline("cof")
    assert events(chat) == [
        SearchEvent(
            Person(sam.id, sam.id, private=True, tag="en", first_name="Sam"), asked.id, "cof", ""
        )
    ]


def test_a_chosen_result_names_what_was_posted_and_the_message_if_it_has_buttons() -> None:
    chosen = {"result_id": "abc-1", "from": {"id": 7}, "query": "x"}
    person = Person(7, 7, private=True, tag=None)
    for told, message_id in (({"inline_message_id": "AAA"}, "AAA"), ({}, None)):
        raw = {"update_id": 1, "chosen_inline_result": chosen | told}
        assert read(raw, BOT_NAME) == PostedEvent(person, "abc-1", message_id)


def test_blocking_and_unblocking_are_block_events(chat: ChatHarness) -> None:
    sam = chat.add_person()
    sam.block()
    sam.unblock()
    blocked, back = events(chat)
    assert isinstance(blocked, BlockEvent)
    assert isinstance(back, BlockEvent)
    assert (blocked.open, back.open) == (False, True)
    assert blocked.person.chat_id == sam.id


@pytest.mark.parametrize(
    ("status", "is_open"),
    [("kicked", False), ("left", False), ("member", True), ("administrator", True)],
)
def test_the_bot_may_not_write_once_it_left_or_was_banned(
    chat: ChatHarness, status: str, *, is_open: bool
) -> None:
    chat.add_person().block()
    raw = chat.world.updates.pending.pop()
    raw["my_chat_member"]["new_chat_member"]["status"] = status
    event = read(raw, BOT_NAME)
    assert isinstance(event, BlockEvent)
    assert event.open is is_open


@pytest.mark.parametrize("kind", ["edited_message", "channel_post", "something_new"])
def test_other_updates_are_ignored(kind: str) -> None:
    channel = {"id": 7, "type": "channel", "title": "News"}
    post = {"message_id": 1, "date": 1, "chat": channel, "text": "/help"}
    assert read({"update_id": 1, kind: post}, BOT_NAME) is None


SPARSE: list[tuple[dict[str, Any], Event | None]] = [
    (
        {"message": {"from": {"id": 7}, "chat": {"id": 7}, "text": "hi"}},
        MessageEvent(Person(7, 7, private=True, tag=None), "hi"),
    ),
    (
        {"message": {"from": {"id": 7}, "chat": {"id": -7}, "text": "/help"}},
        MessageEvent(Person(7, -7, private=False, tag=None), "", "help"),
    ),
    (
        {
            "message": {
                "from": {"id": 7, "language_code": 5}, "chat": {"id": 7, "type": 1}, "text": "hi",
            }
        },
        MessageEvent(Person(7, 7, private=True, tag=None), "hi"),
    ),
    (
        {
            "message": {
                "from": {"id": 7}, "chat": {"id": 7}, "date": 10**20, "text": "hi", "entities": 5,
            }
        },
        MessageEvent(Person(7, 7, private=True, tag=None), "hi"),
    ),
    ({"message": {"from": {"id": 7}, "chat": {"id": 7}, "text": 5}}, None),
    ({"message": {"from": {"id": 7}, "chat": {"id": 7}, "poll": {}}}, None),
    ({"message": {"chat": {"id": 7}, "text": "from nobody"}}, None),
    (
        {"callback_query": {"id": "1", "from": {"id": 7}, "message": {"chat": {"id": 7}}}},
        PressEvent(Person(7, 7, private=True, tag=None), "1", None, None, picture=False),
    ),
    (
        {
            "callback_query": {
                "id": "1", "from": {"id": 7}, "data": "help",
                "message": {"chat": {"id": 7}, "date": 10**15, "message_id": 5, "photo": [{}]},
            }
        },
        PressEvent(Person(7, 7, private=True, tag=None), "1", ("help",), 5, picture=True),
    ),
    (
        {"inline_query": {"id": "1", "from": {"id": 7}}},
        SearchEvent(Person(7, 7, private=True, tag=None), "1", "", ""),
    ),
    (
        {
            "my_chat_member": {
                "from": {"id": 7}, "chat": {"id": 7}, "new_chat_member": {"status": "kicked"},
            }
        },
        BlockEvent(Person(7, 7, private=True, tag=None), open=False),
    ),
]  # fmt: skip


@pytest.mark.parametrize(("raw", "event"), SPARSE, ids=range(len(SPARSE)))
def test_fields_that_other_bot_api_servers_leave_out_are_optional(
    raw: dict[str, Any], event: Event | None
) -> None:
    assert read({"update_id": 1, **raw}, BOT_NAME) == event


WHO = {"from": {"id": 7}, "chat": {"id": 7}}
UNREADABLE: list[dict[str, Any]] = [
    {"message": {"from": {}, "chat": {"id": 7}, "text": "x"}},
    {"message": {"from": {"id": 7}, "text": "x"}},
    {"message": {"from": {"id": "7"}, "chat": {"id": 7}, "text": "x"}},
    {"message": {"from": {"id": True}, "chat": {"id": 7}, "text": "x"}},
    {"message": {"from": {"id": 7}, "chat": {"id": 10**30}, "text": "x"}},
    {"callback_query": {"from": {"id": 7}, "data": "help"}},
    {"callback_query": {"id": "1", "from": {"id": 7}, "message": {"date": 1}}},
    {"inline_query": {"id": "1"}},
    {"chosen_inline_result": {"result_id": "1"}},
    {"my_chat_member": WHO},
    {"my_chat_member": WHO | {"new_chat_member": {"status": 5}}},
]


@pytest.mark.parametrize("raw", UNREADABLE, ids=range(len(UNREADABLE)))
def test_an_update_without_person_chat_or_id_cannot_be_read(raw: dict[str, Any]) -> None:
    with pytest.raises(Unreadable):
        read({"update_id": 1, **raw}, BOT_NAME)


def test_a_bot_without_a_name_is_not_the_one_that_a_command_names(chat: ChatHarness) -> None:
    sam = chat.add_person()
    sam.send("/help@PaymentRequestBot")
    sent = sam.send("/help")
    addressed, plain = (read(update, "") for update in chat.world.updates.pending)
    assert addressed is None
    who = Person(sam.id, sam.id, private=True, tag="en", first_name="Sam")
    assert plain == MessageEvent(who, "", "help", message_id=sent.id)
