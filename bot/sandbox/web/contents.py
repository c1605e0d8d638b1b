"""The parameters of a Bot API call in any encoding, file answers, and the contents of messages.

Source: core.telegram.org/bots/api#making-requests: query string, urlencoded, JSON or multipart;
sendMessage (1-4096 characters after entities parsing), sendPhoto (caption 0-1024), in UTF-16 code
units; InlineKeyboardButton, CopyTextButton.
"""

import json
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any

from starlette.datastructures import UploadFile
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from bot.sandbox.world import errors, formatting, model
from bot.sandbox.world.files import DOCUMENT_BYTES, Files, Upload

BODY_BYTES = DOCUMENT_BYTES + 1024 * 1024
FIELD_BYTES = 1024 * 1024

_TRUE = frozenset({"true", "yes", "1"})


class Params:
    """Values by name; unknown names are ignored, empty values count as missing."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        self.values = dict(values)

    def text(self, name: str) -> str:
        """Return a string, "" if it is missing."""
        value = self.values.get(name)
        if isinstance(value, Upload):
            return value.data.decode(errors="replace")
        return "" if value is None else str(value)

    def number(self, name: str, default: int = 0) -> int:
        """Return an integer. Errors: 400 for other text."""
        text = self.text(name).strip()
        if not text:
            return default
        try:
            return int(text)
        except ValueError:
            raise errors.bad_request(f'parameter "{name}" is invalid: must be an Integer') from None

    def flag(self, name: str) -> bool:
        return self.text(name).strip().lower() in _TRUE

    def json(self, name: str, wording: str) -> Any:
        """Return a JSON value, decoded if it is text; None if it is missing. Errors: 400."""
        value = self.values.get(name)
        if not isinstance(value, str):
            return value
        if not value.strip():
            return None
        try:
            return _loaded(value)
        except ValueError:
            raise errors.bad_request(f"can't parse {wording} JSON object") from None

    def markup(self) -> Any:
        return self.json("reply_markup", "reply keyboard markup")

    def upload(self, name: str) -> Upload | None:
        value = self.values.get(name)
        return value if isinstance(value, Upload) else None

    @property
    def chat_id(self) -> int | None:
        """Return the id of the call's chat, for faults; None if it is not a number."""
        text = self.text("chat_id").strip()
        return int(text) if text.removeprefix("-").isdecimal() else None


async def params_of(request: Request) -> Params:
    """Read the query string and the body. Errors: 400 unreadable, 413 too large."""
    if int(request.headers.get("content-length") or 0) > BODY_BYTES:
        raise errors.ApiError(413, "Request Entity Too Large")
    values: dict[str, Any] = dict(request.query_params)
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind == "application/json":
        values |= _decoded(await request.body())
    elif kind in ("application/x-www-form-urlencoded", "multipart/form-data"):
        try:
            async with request.form(max_part_size=FIELD_BYTES) as form:
                for name, value in form.multi_items():
                    values[name] = value
                    if isinstance(value, UploadFile):
                        file, mime = value.filename or "file", value.content_type or ""
                        values[name] = Upload(file, await value.read(), mime)
        except HTTPException as error:
            raise errors.bad_request(f"can't read the form: {error.detail}") from None
    return Params(values)


def _decoded(body: bytes) -> dict[str, Any]:
    try:
        values = _loaded(body or b"{}")
    except ValueError:
        values = None
    if not isinstance(values, dict):
        raise errors.bad_request("can't parse request body as a JSON object")
    return values


def _loaded(source: str | bytes) -> Any:
    """Decode JSON. Errors: ValueError, including for lone surrogates, which UTF-8 can't encode."""
    value = json.loads(source)
    json.dumps(value, ensure_ascii=False).encode()
    return value


SLICE = 64 * 1024
"""Bytes of a file per chunk: a web server with bounded memory truncates larger answers."""


def file_answer(file: Upload, headers: Mapping[str, str] | None = None) -> Response:
    """Return an answer with a file's bytes, sent in slices as the client reads them."""
    length = {"Content-Length": str(len(file.data))}
    return StreamingResponse(_slices(file.data), 200, {**(headers or {}), **length}, file.mime)


async def _slices(data: bytes) -> AsyncIterator[bytes]:
    for start in range(0, len(data), SLICE):
        yield data[start : start + SLICE]


# Keyboards.

MOST_BUTTONS = 100
CALLBACK_DATA_BYTES = range(1, 65)
COPY_TEXT_CHARACTERS = range(1, 257)
SWITCH_QUERY_CHARACTERS = 256
STYLES = ("danger", "success", "primary")


def inline_keyboard(markup: object) -> model.Json | None:
    """Check an inline keyboard; return None for an empty one. Errors: 400."""
    if markup is None or markup in ("", {}):
        return None
    if not isinstance(markup, Mapping) or "inline_keyboard" not in markup:
        raise errors.bad_request("inline keyboard expected")
    wording = 'field "inline_keyboard" of the InlineKeyboardMarkup must be an Array of Arrays'
    rows = markup["inline_keyboard"]
    if not isinstance(rows, list) or not all(isinstance(row, list) for row in rows):
        raise errors.bad_request(wording)
    if sum(map(len, rows)) > MOST_BUTTONS:
        raise errors.bad_request("reply markup is too long")
    checked = [[_button(button) for button in row] for row in rows if row]
    return {"inline_keyboard": checked} if checked else None


def _button(button: object) -> model.Json:
    if not isinstance(button, dict):
        raise errors.bad_request("can't parse inline keyboard button: must be an Object")
    if not isinstance(button.get("text"), str):
        raise errors.bad_request("can't parse inline keyboard button: Can't find field \"text\"")
    if formatting.blank(button["text"]):
        raise errors.bad_request("inline keyboard button text must be non-empty")
    if button.get("style") not in (None, *STYLES):
        raise errors.bad_request("invalid button style specified")
    actions = [name for name in _ACTIONS if button.get(name) is not None]
    if not actions:
        raise errors.bad_request("text buttons are unallowed in the inline keyboard")
    if len(actions) > 1:
        raise errors.bad_request(
            "exactly one action must be specified in an inline keyboard button"
        )
    return button | {actions[0]: _ACTIONS[actions[0]](button[actions[0]])}


def _callback_data(data: object) -> str:
    if not isinstance(data, str) or len(data.encode()) not in CALLBACK_DATA_BYTES:
        raise errors.bad_request("BUTTON_DATA_INVALID")
    return data


def _url(address: object) -> str:
    text = str(address).strip()
    if text.startswith(("tg://", "ton://")):
        return text
    whole = formatting.web_address(text)
    if not whole:
        reason = f"inline keyboard button URL '{text}' is invalid: Wrong HTTP URL"
        raise errors.bad_request(reason)
    return whole


def _copy_text(copied: object) -> model.Json:
    text = copied.get("text") if isinstance(copied, Mapping) else None
    if not isinstance(text, str) or len(text) not in COPY_TEXT_CHARACTERS:
        raise errors.bad_request("BUTTON_COPY_TEXT_INVALID")
    return {"text": text}


def _switch(query: object) -> str:
    if not isinstance(query, str) or len(query) > SWITCH_QUERY_CHARACTERS:
        raise errors.bad_request("BUTTON_DATA_INVALID")
    return query


_ACTIONS: dict[str, Callable[[object], object]] = {
    "callback_data": _callback_data,
    "url": _url,
    "copy_text": _copy_text,
    "switch_inline_query": _switch,
    "switch_inline_query_current_chat": _switch,
}


# Texts, captions and files.

TEXT_UNITS = 4096
CAPTION_UNITS = 1024
MOST_ENTITIES = 100
"""Entities of one text; Telegram ignores further ones."""


def text_content(text: str, parse_mode: str) -> model.Json:
    """Return text and entities. Errors: 400 for an empty, too long or broken text."""
    body = formatting.formatted(text, parse_mode)
    if formatting.blank(body.text):
        raise errors.bad_request("message text is empty")
    if body.units > TEXT_UNITS:
        raise errors.bad_request("message is too long")
    return _fields("text", "entities", body)


def caption_content(caption: str, parse_mode: str) -> model.Json:
    """Return caption and caption_entities; {} if the caption is empty. Errors: 400."""
    body = formatting.formatted(caption, parse_mode)
    if body.units > CAPTION_UNITS:
        raise errors.bad_request("message caption is too long")
    return _fields("caption", "caption_entities", body) if body.text else {}


def text_of(params: Params) -> model.Json:
    return text_content(params.text("text"), params.text("parse_mode"))


def caption_of(params: Params) -> model.Json:
    return caption_content(params.text("caption"), params.text("parse_mode"))


def media_of(files: Files, kind: str, params: Params, name: str) -> model.Json:
    """Return the Message field for the file in the parameter `name`. Errors: 400, 413."""
    if upload := params.upload(name):
        return files.add(kind, upload).content
    value = params.text(name).strip()
    if value.startswith("attach://"):
        attached = params.upload(value.removeprefix("attach://"))
        if not attached:
            raise errors.bad_request(f"there is no {kind} in the request")
        return files.add(kind, attached).content
    if not value:
        raise errors.bad_request(f"there is no {kind} in the request")
    return files.known(kind, value).content


def described_media(item: Any, params: Params) -> tuple[str, Params]:
    """Return kind and parameters of an InputMedia, with attached uploads. Errors: 400."""
    if not isinstance(item, Mapping):
        raise errors.bad_request("media not found")
    kind = str(item.get("type", ""))
    if kind not in ("photo", "document"):
        raise errors.bad_request(
            "can't parse InputMedia: only photo and document are supported here"
        )
    if not item.get("media"):
        raise errors.bad_request("media not found")
    uploads = {name: value for name, value in params.values.items() if params.upload(name)}
    return kind, Params(uploads | {key: item[key] for key in item})


def inline_content(files: Files, result: Mapping[str, Any]) -> model.Json:
    """Return the content that choosing an inline result posts. Errors: 400 as for a message."""
    if result.get("type") == "photo":
        media = files.known("photo", str(result.get("photo_file_id", ""))).content
        mode = str(result.get("parse_mode", ""))
        return media | caption_content(str(result.get("caption", "")), mode)
    described = result.get("input_message_content")
    if not isinstance(described, Mapping) or "message_text" not in described:
        raise errors.bad_request("input message content is not specified")
    return text_content(str(described["message_text"]), str(described.get("parse_mode", "")))


def _fields(name: str, entities: str, body: formatting.Formatted) -> model.Json:
    kept = list(body.entities[:MOST_ENTITIES])
    return {name: body.text} | ({entities: kept} if kept else {})
