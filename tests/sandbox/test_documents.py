"""Documents and other files: sent by people and the bot, refused beyond Telegram's limits."""

from __future__ import annotations

import json
from typing import Any

import pytest

from bot.sandbox.world import people
from bot.sandbox.world.files import DOCUMENT_BYTES, DOWNLOAD_BYTES
from tests.support.sandbox_server import A, Bot, button_row, png_header

TEXT, WHOLE = (str,), (int,)

TYPES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "Document": (
        {"file_id": TEXT, "file_unique_id": TEXT},
        {"thumbnail": (dict,), "file_name": TEXT, "mime_type": TEXT, "file_size": WHOLE},
    ),
    "Video": (
        {
            "file_id": TEXT,
            "file_unique_id": TEXT,
            "width": WHOLE,
            "height": WHOLE,
            "duration": WHOLE,
        },
        {"file_name": TEXT, "mime_type": TEXT, "file_size": WHOLE},
    ),
    "Audio": (
        {"file_id": TEXT, "file_unique_id": TEXT, "duration": WHOLE},
        {"file_name": TEXT, "mime_type": TEXT, "file_size": WHOLE},
    ),
    "Voice": (
        {"file_id": TEXT, "file_unique_id": TEXT, "duration": WHOLE},
        {"mime_type": TEXT, "file_size": WHOLE},
    ),
    "PhotoSize": (
        {"file_id": TEXT, "file_unique_id": TEXT, "width": WHOLE, "height": WHOLE},
        {"file_size": WHOLE},
    ),
    "File": (
        {"file_id": TEXT, "file_unique_id": TEXT},
        {"file_size": WHOLE, "file_path": TEXT},
    ),
}
"""Required and optional fields with their types (core.telegram.org/bots/api, Bot API 10.3)."""


def check_type(name: str, found: dict[str, Any]) -> None:
    required, optional = TYPES[name]
    assert required.keys() <= found.keys() <= required.keys() | optional.keys()
    for field, value in found.items():
        assert isinstance(value, (required | optional)[field]), (field, value)


async def test_documents_have_the_fields_of_the_bot_api(bot: Bot, sam: people.Person) -> None:
    for name, data in (("song.mp3", b"x"), ("cake.png", png_header(900, 600))):
        sam.send_document(name, data, caption="for the shop")
        message = (await bot.update())["message"]
        found = message["document"]
        check_type("Document", found)
        assert (found["file_name"], found["file_size"]) == (name, len(data))
        assert message["caption"] == "for the shop"
        if "thumbnail" in found:
            check_type("PhotoSize", found["thumbnail"])
        check_type("File", await bot.done("getFile", file_id=found["file_id"]))


async def test_a_bot_downloads_exactly_20_mb_and_not_a_byte_more(
    bot: Bot, sam: people.Person
) -> None:
    largest = sam.send_document("largest.zip", b"z" * DOWNLOAD_BYTES).content["document"]
    file = await bot.done("getFile", file_id=largest["file_id"])
    path = f"/file/bot{bot.world.token}/{file['file_path']}"
    assert len((await bot.http.get(path)).content) == DOWNLOAD_BYTES
    larger = sam.send_document("larger.zip", b"z" * (DOWNLOAD_BYTES + 1)).content["document"]
    refusal = await bot.refused("getFile", file_id=larger["file_id"])
    assert refusal == (400, "Bad Request: file is too big")
    bot.world.refused.clear()


async def test_a_document_is_uploaded_with_caption_and_buttons(
    bot: Bot, sam: people.Person
) -> None:
    answer = await bot.upload(
        "sendDocument",
        {"document": ("album.zip", b"PK", "application/zip")},
        chat_id=sam.id,
        caption="<b>Album</b>",
        parse_mode="HTML",
        reply_markup=json.dumps(button_row(A)),
    )
    sent = answer["result"]
    check_type("Document", sent["document"])
    assert (sent["document"]["file_name"], sent["document"]["mime_type"]) == (
        "album.zip",
        "application/zip",
    )
    assert sent["caption_entities"] == [{"type": "bold", "offset": 0, "length": 5}]
    assert [(shown.text, shown.buttons) for shown in sam.chat.visible] == [("Album", [A])]


async def test_what_a_person_sent_is_passed_on_by_its_file_id(bot: Bot, sam: people.Person) -> None:
    pat = people.join(bot.world, "Pat", started=True)
    document = sam.send_document("album.zip", b"PK").content["document"]
    sent = await bot.done("sendDocument", chat_id=pat.id, document=document["file_id"])
    assert sent["document"] == document
    shown = await bot.http.get(f"/chat/files/{sent['document']['file_id']}")
    assert shown.content == b"PK"
    photo = sam.send_photo(png_header(9, 9)).photo
    refusal = await bot.refused("sendDocument", chat_id=pat.id, document=photo)
    assert refusal == (400, "Bad Request: can't use file of type Photo as Document")


KINDS = {
    "video": ("clip.mp4", "Video", "video/mp4"),
    "animation": ("loop.mp4", "Video", "video/mp4"),
    "audio": ("song.mp3", "Audio", "audio/mpeg"),
    "voice": ("voice.ogg", "Voice", "audio/ogg"),
}
"""Each kind with a name, the type of its fields and the media type."""


@pytest.mark.parametrize(("kind", "sent_as"), KINDS.items())
async def test_a_file_keeps_its_kind_and_no_other_method_sends_it(
    bot: Bot, sam: people.Person, kind: str, sent_as: tuple[str, str, str]
) -> None:
    """An animation has the fields of a video, and comes as a document too."""
    name, fields, media_type = sent_as
    sam.send_file(kind, name, b"bytes", caption="mine")
    message = (await bot.update())["message"]
    file = message[kind]
    check_type(fields, file)
    assert (message["caption"], file["mime_type"], file["file_size"]) == ("mine", media_type, 5)
    assert message.get("document") == (file if kind == "animation" else None)
    pat = people.join(bot.world, "Pat", started=True)
    sent = await bot.done(f"send{kind.title()}", chat_id=pat.id, **{kind: file["file_id"]})
    assert sent[kind] == file
    refusal = await bot.refused("sendDocument", chat_id=pat.id, document=file["file_id"])
    assert refusal == (400, f"Bad Request: can't use file of type {kind.title()} as Document")
    other = next(one for one in KINDS if one != kind)
    refusal = await bot.refused(f"send{other.title()}", chat_id=pat.id, **{other: file["file_id"]})
    assert refusal[0] == 400
    bot.world.refused.clear()


@pytest.mark.parametrize(
    ("data", "refusal"),
    [
        (b"", "file must be non-empty"),
        (b"x" * (DOCUMENT_BYTES + 1), "Request Entity Too Large"),
    ],
)
async def test_an_upload_is_neither_empty_nor_above_50_mb(
    bot: Bot, sam: people.Person, data: bytes, refusal: str
) -> None:
    answer = await bot.upload("sendDocument", {"document": ("a.zip", data)}, chat_id=sam.id)
    assert refusal in answer["description"]
    assert sam.chat.from_bot() == []


async def test_a_person_attaches_20_mb_on_the_chat_page(bot: Bot, sam: people.Person) -> None:
    sent = await bot.http.post(
        "/chat/api/document",
        data={"user_id": sam.id},
        files={"document": ("album.zip", b"z" * DOWNLOAD_BYTES)},
    )
    assert sent.json()["document"]["file_size"] == DOWNLOAD_BYTES
    assert (await bot.update())["message"]["document"]["file_name"] == "album.zip"
