"""The contents of a bot's message: the checks that sending, editing and inline results share.

Source: core.telegram.org/bots/api: sendMessage (1-4096 characters after entities parsing),
sendPhoto (caption 0-1024), in UTF-16 code units; InlineKeyboardButton, CopyTextButton.
"""

from collections.abc import Callable, Mapping
from typing import Any

from bot.sandbox.web.params import Params
from bot.sandbox.world import errors, formatting, model
from bot.sandbox.world.files import Files

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
