"""Keyboards under messages, checked as Telegram checks them.

Source: core.telegram.org/bots/api, InlineKeyboardButton, CopyTextButton, ReplyKeyboardMarkup.
"""

from collections.abc import Callable, Mapping
from typing import Any

from bot.sandbox.world.entities import blank, web_address
from bot.sandbox.world.errors import bad_request

MOST_BUTTONS = 100
CALLBACK_DATA_BYTES = range(1, 65)
COPY_TEXT_CHARACTERS = range(1, 257)
SWITCH_QUERY_CHARACTERS = 256
STYLES = ("danger", "success", "primary")

Json = dict[str, Any]


def checked(markup: object) -> Json | None:
    """Check a reply_markup of any kind; None for none. Errors: 400."""
    if markup is None or markup in ("", {}):
        return None
    if not isinstance(markup, Mapping):
        raise bad_request("object expected as reply markup")
    if "inline_keyboard" in markup:
        return inline(markup)
    if "keyboard" in markup:
        rows = _rows(markup["keyboard"], 'field "keyboard" must be an Array of Arrays', _key)
        return {**markup, "keyboard": rows}
    if markup.get("remove_keyboard") or markup.get("force_reply"):
        return dict(markup)
    return None


def inline(markup: object) -> Json | None:
    """Check an inline keyboard; None for an empty one. Errors: 400."""
    if markup is None or markup in ("", {}):
        return None
    if not isinstance(markup, Mapping) or "inline_keyboard" not in markup:
        raise bad_request("inline keyboard expected")
    wording = 'field "inline_keyboard" of the InlineKeyboardMarkup must be an Array of Arrays'
    rows = _rows(markup["inline_keyboard"], wording, _button)
    return {"inline_keyboard": rows} if rows else None


def _rows(rows: object, wording: str, check: Callable[[object], Json]) -> list[list[Json]]:
    if not isinstance(rows, list) or not all(isinstance(row, list) for row in rows):
        raise bad_request(wording)
    if sum(map(len, rows)) > MOST_BUTTONS:
        raise bad_request("reply markup is too long")
    return [[check(button) for button in row] for row in rows if row]


def _key(button: object) -> Json:
    named = {"text": button} if isinstance(button, str) else button
    if not isinstance(named, dict):
        raise bad_request("KeyboardButton must be a String or an Object")
    if blank(str(named.get("text", ""))):
        raise bad_request("keyboard button text must be non-empty")
    return named


def _button(button: object) -> Json:
    if not isinstance(button, dict):
        raise bad_request("can't parse inline keyboard button: must be an Object")
    if not isinstance(button.get("text"), str):
        raise bad_request("can't parse inline keyboard button: Can't find field \"text\"")
    if blank(button["text"]):
        raise bad_request("inline keyboard button text must be non-empty")
    if button.get("style") not in (None, *STYLES):
        raise bad_request("invalid button style specified")
    actions = [name for name in _ACTIONS if button.get(name) is not None]
    if not actions:
        raise bad_request("text buttons are unallowed in the inline keyboard")
    if len(actions) > 1:
        raise bad_request("exactly one action must be specified in an inline keyboard button")
    return button | {actions[0]: _ACTIONS[actions[0]](button[actions[0]])}


def _callback_data(data: object) -> str:
    if not isinstance(data, str) or len(data.encode()) not in CALLBACK_DATA_BYTES:
        raise bad_request("BUTTON_DATA_INVALID")
    return data


def _url(address: object) -> str:
    text = str(address).strip()
    if text.startswith(("tg://", "ton://")):
        return text
    whole = web_address(text)
    if not whole:
        reason = f"inline keyboard button URL '{text}' is invalid: Wrong HTTP URL"
        raise bad_request(reason)
    return whole


def _copy_text(copied: object) -> Json:
    text = copied.get("text") if isinstance(copied, Mapping) else None
    if not isinstance(text, str) or len(text) not in COPY_TEXT_CHARACTERS:
        raise bad_request("BUTTON_COPY_TEXT_INVALID")
    return {"text": text}


def _switch(query: object) -> str:
    if not isinstance(query, str) or len(query) > SWITCH_QUERY_CHARACTERS:
        raise bad_request("BUTTON_DATA_INVALID")
    return query


def _chosen_chat(choice: object) -> Json:
    if not isinstance(choice, dict):
        raise bad_request("SwitchInlineQueryChosenChat must be an Object")
    _switch(choice.get("query", ""))
    return choice


def _as_is(value: object) -> object:
    return value


_ACTIONS: dict[str, Callable[[object], object]] = {
    "callback_data": _callback_data,
    "url": _url,
    "copy_text": _copy_text,
    "switch_inline_query": _switch,
    "switch_inline_query_current_chat": _switch,
    "switch_inline_query_chosen_chat": _chosen_chat,
    "web_app": _as_is,
    "login_url": _as_is,
    "callback_game": _as_is,
    "pay": _as_is,
}
