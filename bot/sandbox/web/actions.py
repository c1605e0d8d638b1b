"""What can be done through the control API: people's acts, and the world's own switches.

Each act takes a JSON object; `user_id` says who acts, `chat_id` where (absent: the chat with
the bot). Errors: WorldError, LookupError, ValueError, TimeoutError.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import fields
from typing import Any

from bot.sandbox.web import views
from bot.sandbox.world.errors import WorldError
from bot.sandbox.world.faults import Fault
from bot.sandbox.world.files import Upload
from bot.sandbox.world.limits import NO_LIMITS, Limits
from bot.sandbox.world.model import Chat, Json, Message
from bot.sandbox.world.people import Person, join, person
from bot.sandbox.world.world import World

Body = Mapping[str, Any]
Act = Callable[[World, Body], Awaitable[Json]]

ANSWER_SECONDS = 15.0
INLINE_SECONDS = 10.0


def photo(world: World, body: Body, upload: Upload) -> Json:
    """Send a picture with an optional `caption`."""
    actor = _actor(world, body)
    sent = actor.send_photo(upload.data, str(body.get("caption", "")), _chat(actor, body))
    return views.message(actor, sent)


def document(world: World, body: Body, upload: Upload) -> Json:
    """Send a file, or a picture as one, with an optional `caption`."""
    actor = _actor(world, body)
    caption = str(body.get("caption", ""))
    sent = actor.send_document(upload.name, upload.data, _chat(actor, body), caption)
    return views.message(actor, sent)


async def _send(world: World, body: Body) -> Json:
    actor = _actor(world, body)
    chat = _chat(actor, body)
    reply_to = chat.messages.get(int(body.get("reply_to") or 0))
    return views.message(actor, actor.send(str(body["text"]), chat, reply_to))


async def _start(world: World, body: Body) -> Json:
    actor = _actor(world, body)
    return views.message(actor, actor.start(str(body.get("payload", ""))))


async def _edit(world: World, body: Body) -> Json:
    actor = _actor(world, body)
    message = _message(actor, body)
    actor.edit(message, str(body["text"]))
    return views.message(actor, message)


async def _press(world: World, body: Body) -> Json:
    """Press `button` (text or data) or the one at `row`, `column`; wait for the answer."""
    actor = _actor(world, body)
    message = _message(actor, body)
    if "button" in body:
        query = actor.press(message, str(body["button"]))
    else:
        query = actor.press_at(message, int(body["row"]), int(body["column"]))
    await world.bell.until(lambda: query.answer, float(body.get("seconds", ANSWER_SECONDS)))
    return {"answer": query.answer}


async def _inline(world: World, body: Body) -> Json:
    """Ask for `query` from `offset` on; unanswered within ten seconds it has no results."""
    actor = _actor(world, body)
    offset = str(body.get("offset", ""))
    query = actor.ask_inline(str(body.get("query", "")), _chat(actor, body), offset)
    await world.bell.until(lambda: query.answered, INLINE_SECONDS)
    return views.inline_answer(query)


async def _choose(world: World, body: Body) -> Json:
    actor = _actor(world, body)
    query = world.inline_queries[str(body["query_id"])]
    chosen = actor.choose(query, str(body["result_id"]), _chat(actor, body))
    return views.message(actor, chosen)


async def _block(world: World, body: Body) -> Json:
    _actor(world, body).block()
    return {}


async def _unblock(world: World, body: Body) -> Json:
    _actor(world, body).unblock()
    return {}


async def _migrate(world: World, body: Body) -> Json:
    actor = _actor(world, body)
    return {"chat_id": actor.migrate(_chat(actor, body)).id}


async def _add_bot(world: World, body: Body) -> Json:
    """Add the bot to a group, again if it was removed."""
    actor = _actor(world, body)
    actor.add_bot(_chat(actor, body))
    return {}


async def _remove_bot(world: World, body: Body) -> Json:
    actor = _actor(world, body)
    actor.remove_bot(_chat(actor, body))
    return {}


async def _join(world: World, body: Body) -> Json:
    """Add a person whom the others know, or rename the one with `user_id`."""
    given = body.get("user_id")
    if not str(body["first_name"]).strip():
        raise WorldError("a person needs a name")
    joined = join(
        world,
        str(body["first_name"]).strip(),
        user_id=int(given) if given is not None else None,
        last_name=str(body.get("last_name", "")),
        username=str(body.get("username", "")),
        language_code=body.get("language_code"),
        started=bool(body.get("started")),
    )
    if given is None:
        joined.introduce()
    return {"user_id": joined.id}


async def _group(world: World, body: Body) -> Json:
    """Make a group `title` of the actor and `members` (user ids); `with_bot` false: without it."""
    others = [person(world, int(number)) for number in body.get("members", [])]
    title = str(body["title"]).strip()
    if not title:
        raise WorldError("a group needs a name")
    with_bot = bool(body.get("with_bot", True))
    group = _actor(world, body).new_group(title, *others, with_bot=with_bot)
    return {"chat_id": group.id}


async def _dialog(world: World, body: Body) -> Json:
    """Open the chat of the actor and the person `with`, which the bot can't see."""
    return {"chat_id": _actor(world, body).dialog(person(world, int(body["with"]))).id}


async def _faults(world: World, body: Body) -> Json:
    """Schedule a Fault from its fields; `{"clear": true}` drops those still planned."""
    if body.get("clear"):
        world.faults.clear()
        return {}
    unknown = set(body) - {field.name for field in fields(Fault)}
    if unknown:
        raise WorldError(f"no such fields of a fault: {', '.join(sorted(unknown))}")
    world.faults.add(Fault(**body))
    return {}


async def _limits(world: World, body: Body) -> Json:
    """Switch Telegram's limits: `{"on": false}`."""
    world.limiter.limits = Limits() if body.get("on", True) else NO_LIMITS
    return {}


def _actor(world: World, body: Body) -> Person:
    return person(world, int(body["user_id"]))


def _chat(actor: Person, body: Body) -> Chat:
    given = body.get("chat_id")
    if given is None:
        return actor.chat
    chat = actor.world.chats.get(int(given))
    if chat is None or actor.id not in chat.members:
        raise LookupError(f"no chat {given} with this person in it")
    return chat


def _message(actor: Person, body: Body) -> Message:
    message = _chat(actor, body).messages.get(int(body["message_id"]))
    if message is None or message.deleted:
        raise LookupError("no such message")
    return message


ACTS: dict[str, Act] = {
    "send": _send,
    "start": _start,
    "edit": _edit,
    "press": _press,
    "inline": _inline,
    "choose": _choose,
    "block": _block,
    "unblock": _unblock,
    "migrate": _migrate,
    "add-bot": _add_bot,
    "remove-bot": _remove_bot,
    "dialog": _dialog,
    "people": _join,
    "groups": _group,
    "faults": _faults,
    "limits": _limits,
}
