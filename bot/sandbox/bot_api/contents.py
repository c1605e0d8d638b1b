"""What a bot's message may hold: the checks shared by sending, editing and inline results.

Source: core.telegram.org/bots/api, sendMessage (1-4096 characters after entities parsing),
sendPhoto (caption 0-1024), in UTF-16 code units.
"""

from collections.abc import Mapping
from typing import Any

from bot.sandbox.bot_api.params import Params
from bot.sandbox.world.entities import Formatted, blank, formatted, web_address
from bot.sandbox.world.errors import bad_request
from bot.sandbox.world.files import Files, fetched
from bot.sandbox.world.model import Json

TEXT_UNITS = 4096
CAPTION_UNITS = 1024


def text_content(text: str, parse_mode: str, entities: Any) -> Json:
    """Return text and entities. Errors: 400 for an empty, too long or broken text."""
    body = formatted(text, parse_mode, _listed(entities))
    if blank(body.text):
        raise bad_request("message text is empty")
    if body.units > TEXT_UNITS:
        raise bad_request("message is too long")
    return _fields("text", "entities", body)


def caption_content(caption: str, parse_mode: str, entities: Any) -> Json:
    """Return caption and caption_entities, {} for an empty one. Errors: 400."""
    body = formatted(caption, parse_mode, _listed(entities))
    if body.units > CAPTION_UNITS:
        raise bad_request("message caption is too long")
    return _fields("caption", "caption_entities", body) if body.text else {}


def text_of(params: Params) -> Json:
    entities = params.json("entities", "message entities")
    return text_content(params.text("text"), params.text("parse_mode"), entities)


def caption_of(params: Params) -> Json:
    entities = params.json("caption_entities", "message entities")
    shown = caption_content(params.text("caption"), params.text("parse_mode"), entities)
    above = {"show_caption_above_media": True} if params.flag("show_caption_above_media") else {}
    return shown | above


async def media_of(files: Files, kind: str, params: Params, name: str) -> Json:
    """Take the photo, document or other file that the parameter `name` brings. Errors: 400, 413."""
    if upload := params.upload(name):
        return files.add(kind, upload).content
    value = params.text(name).strip()
    if value.startswith("attach://"):
        attached = params.upload(value.removeprefix("attach://"))
        if not attached:
            raise bad_request(f"there is no {kind} in the request")
        return files.add(kind, attached).content
    if not value:
        raise bad_request(f"there is no {kind} in the request")
    if "://" in value:
        return files.add(kind, await fetched(value)).content
    return files.known(kind, value).content


def described_media(item: Any, params: Params) -> tuple[str, Params]:
    """Return kind and parameters of an InputMedia, with attached uploads. Errors: 400."""
    if not isinstance(item, Mapping):
        raise bad_request("media not found")
    kind = str(item.get("type", ""))
    if kind not in ("photo", "document"):
        raise bad_request("can't parse InputMedia: only photo and document are supported here")
    if not item.get("media"):
        raise bad_request("media not found")
    uploads = {name: value for name, value in params.values.items() if params.upload(name)}
    return kind, Params(uploads | {key: item[key] for key in item})


def inline_content(files: Files, result: Mapping[str, Any]) -> Json:
    """Return what choosing an inline result would post. Errors: 400 as for a message."""
    described = result.get("input_message_content")
    mode = str(result.get("parse_mode", ""))
    if isinstance(described, Mapping) and "message_text" in described:
        mode = str(described.get("parse_mode", ""))
        return text_content(str(described["message_text"]), mode, described.get("entities"))
    kind = str(result.get("type", ""))
    if described is not None or kind not in ("photo", "document"):
        raise bad_request("input message content is not specified")
    caption = str(result.get("caption", ""))
    media = _inline_media(files, kind, result)
    return media | caption_content(caption, mode, result.get("caption_entities"))


def _inline_media(files: Files, kind: str, result: Mapping[str, Any]) -> Json:
    if file_id := result.get(f"{kind}_file_id"):
        return files.known(kind, str(file_id)).content
    address = web_address(str(result.get(f"{kind}_url", "")))
    if not address:
        raise bad_request(f"{kind.upper()}_CONTENT_URL_EMPTY")
    size = {"width": result.get("photo_width", 512), "height": result.get("photo_height", 512)}
    remote = {"file_id": address, "file_unique_id": str(hash(address)), "url": address}
    return {kind: [remote | size] if kind == "photo" else remote}


def _listed(entities: Any) -> list[Any]:
    if entities and not isinstance(entities, list):
        raise bad_request("expected an Array of MessageEntity")
    return entities or []


def _fields(name: str, entities: str, body: Formatted) -> Json:
    return {name: body.text} | ({entities: list(body.entities)} if body.entities else {})
