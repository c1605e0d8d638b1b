"""Bot API methods that answer a press on a button or an inline query."""

import re
from collections.abc import Mapping
from typing import Any

from bot.sandbox.bot_api.contents import inline_content
from bot.sandbox.bot_api.keyboards import inline
from bot.sandbox.bot_api.params import Params
from bot.sandbox.world.entities import blank, web_address
from bot.sandbox.world.errors import bad_request
from bot.sandbox.world.model import START_PAYLOAD, Draft, InlineQuery, Json
from bot.sandbox.world.world import World

# Telegram publishes no figure. Reports range from some ten seconds to a minute; whoever answers
# within this is safe, and whoever counts on more learns it here.
CALLBACK_SECONDS = 30
INLINE_SECONDS = 15
ANSWER_CHARACTERS = 200
MOST_RESULTS = 50
RESULT_ID_BYTES = range(1, 65)
OFFSET_BYTES = 64
CACHE_SECONDS = 300

TOO_OLD = "query is too old and response timeout expired or query ID is invalid"

_TITLED = frozenset({"article", "document"})


async def answer_callback_query(world: World, params: Params) -> bool:
    """`answerCallbackQuery`, once a press and within half a minute. Errors: 400."""
    query = world.callbacks.get(params.text("callback_query_id"))
    if len(params.text("text")) > ANSWER_CHARACTERS:
        raise bad_request("MESSAGE_TOO_LONG")
    if not query or query.answer is not None or world.now() - query.date > CALLBACK_SECONDS:
        raise bad_request(TOO_OLD)
    alert, address = params.flag("show_alert"), params.text("url")
    if address and not _opens(world, address):
        raise bad_request("URL_INVALID")
    query.answer = {"text": params.text("text"), "show_alert": alert, "url": address}
    world.bell.ring()
    return True


async def answer_inline_query(world: World, params: Params) -> bool:
    """`answerInlineQuery`: at most 50 results, each of which could be sent. Errors: 400."""
    results = params.json("results", "inline query results")
    if not isinstance(results, list):
        raise bad_request("expected an Array of InlineQueryResult")
    if len(results) > MOST_RESULTS:
        raise bad_request("RESULTS_TOO_MUCH")
    drafts = [_draft(world, result) for result in results]
    ids = [_result_id(result) for result in results]
    if len(set(ids)) < len(ids):
        raise bad_request("RESULT_ID_DUPLICATE")
    query = _open(world, params)
    query.results, query.drafts = results, dict(zip(ids, drafts, strict=True))
    query.button = _button(params)
    query.next_offset = _next_offset(params)
    query.answered = True
    _remember(world, params, query)
    world.bell.ring()
    return True


def _opens(world: World, address: str) -> bool:
    """Return whether a callback may open it: only this bot's deep links, since it has no game."""
    name = re.escape(world.bot.username)
    links = rf"(https?://)?t\.me/{name}\?start=[\w-]{{1,64}}|tg://resolve\?domain={name}&start=[\w-]{{1,64}}"
    return re.fullmatch(links, address, re.IGNORECASE | re.ASCII) is not None


def _open(world: World, params: Params) -> InlineQuery:
    query = world.inline_queries.get(params.text("inline_query_id"))
    if not query or query.answered or world.now() - query.date > INLINE_SECONDS:
        raise bad_request(TOO_OLD)
    return query


def _remember(world: World, params: Params, query: InlineQuery) -> None:
    """Cache the answer, for everybody unless `is_personal`, as Telegram does."""
    owner = query.sender.id if params.flag("is_personal") else 0
    until = world.now() + params.number("cache_time", CACHE_SECONDS)
    world.inline_cache[query.query, query.offset, owner] = until, query


def _draft(world: World, result: Any) -> Draft:
    if not isinstance(result, Mapping):
        raise bad_request("can't parse inline query result: must be an object")
    if str(result.get("type")) in _TITLED and blank(str(result.get("title", ""))):
        raise bad_request("can't parse inline query result: Can't find field \"title\"")
    _check_thumbnail(result)
    content = inline_content(world.files, result)
    return Draft(content, inline(result.get("reply_markup")))


def _check_thumbnail(result: Mapping[str, Any]) -> None:
    """Refuse a thumbnail that Telegram's servers could not fetch; a photo by address needs one."""
    address = str(result.get("thumbnail_url") or "")
    if address and not web_address(address):
        raise bad_request("WEBDOCUMENT_URL_INVALID")
    if not address and result.get("type") == "photo" and result.get("photo_url"):
        raise bad_request("PHOTO_THUMB_URL_EMPTY")


def _result_id(result: Mapping[str, Any]) -> str:
    identifier = str(result.get("id", ""))
    if len(identifier.encode()) not in RESULT_ID_BYTES:
        raise bad_request("RESULT_ID_INVALID")
    return identifier


def _next_offset(params: Params) -> str:
    offset = params.text("next_offset")
    if len(offset.encode()) > OFFSET_BYTES:
        raise bad_request("NEXT_OFFSET_INVALID")
    return offset


def _button(params: Params) -> Json | None:
    button = params.json("button", "InlineQueryResultsButton")
    if button is None:
        return None
    if not isinstance(button, Mapping) or blank(str(button.get("text", ""))):
        raise bad_request("InlineQueryResultsButton must be an Object")
    payload = str(button.get("start_parameter", ""))
    if "web_app" not in button and not START_PAYLOAD.fullmatch(payload):
        raise bad_request("START_PARAM_INVALID" if payload else "START_PARAM_EMPTY")
    return dict(button)
