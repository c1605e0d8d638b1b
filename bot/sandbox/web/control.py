"""The control API for the chat page and external tests: `/chat/api/…`, JSON in and out.

A refused action is answered with 400 `{"error": …}`, a wait that times out with 504.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import fields
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from bot.sandbox.web.contents import params_of
from bot.sandbox.world import errors, files, model, people
from bot.sandbox.world.world import Call, World

SHOWN_MESSAGES = 200


def message_view(viewer: people.Person, message: model.Message) -> model.Json:
    """Return a Message object with client-side data: direction, keyboard, silence, notices."""
    extra: model.Json = {
        "out": message.sender.id == viewer.id,
        "sender_name": message.sender.name,
    }
    if message.options.get("disable_notification"):
        extra["silent"] = True
    if "migrate_to_chat_id" in message.content or "migrate_from_chat_id" in message.content:
        extra["service"] = "The group has become a supergroup"
    return message.json() | extra


def _chats_of(world: World, viewer: people.Person) -> list[model.Chat]:
    """Return the chats of a person, the chat with the bot first."""
    found = [
        chat
        for chat in world.chats.values()
        if viewer.id in chat.members and chat.migrated_to is None
    ]
    return sorted(found, key=lambda chat: chat.kind != "private")


def _chat_view(world: World, viewer: people.Person, chat: model.Chat) -> model.Json:
    language = viewer.user.language_code or ""
    is_with_bot = chat.kind == "private" or (chat.is_group and chat.bot_status == "member")
    others = [member.name for number, member in chat.members.items() if number != viewer.id]
    title = world.bot.first_name if chat.kind == "private" else chat.title or ", ".join(others)
    return {
        "id": chat.id,
        "kind": chat.kind,
        "title": title,
        "members": [member.name for member in chat.members.values()],
        "bot_status": chat.bot_status,
        "commands": world.profile.commands_for(language) if is_with_bot else [],
        "messages": [message_view(viewer, shown) for shown in chat.visible[-SHOWN_MESSAGES:]],
    }


def _event(world: World, viewer: people.Person, event: model.Json) -> model.Json:
    """Fill in the current message of an event, which has only its id."""
    if event["type"] != "message":
        return event
    message = world.chats[event["chat_id"]].messages[event["message"]]
    if message.deleted:
        return event | {"type": "deleted"}
    return event | {"message": message_view(viewer, message)}


# The actions of people, and the switches of the world.
#
# Each action takes a JSON object. `user_id` is the acting person, `chat_id` the chat (default: the
# chat with the bot). Errors: WorldError, LookupError, ValueError, TimeoutError.

Body = Mapping[str, Any]
Act = Callable[[World, Body], Awaitable[model.Json]]

ANSWER_SECONDS = 15.0
INLINE_SECONDS = 10.0


async def _send(world: World, body: Body) -> model.Json:
    actor = _actor(world, body)
    chat = _chat_of(actor, body)
    reply_to = chat.messages.get(int(body.get("reply_to") or 0))
    return message_view(actor, actor.send(str(body["text"]), chat, reply_to))


async def _start(world: World, body: Body) -> model.Json:
    actor = _actor(world, body)
    return message_view(actor, actor.start(str(body.get("payload", ""))))


async def _edit(world: World, body: Body) -> model.Json:
    actor = _actor(world, body)
    message = _message(actor, body)
    actor.edit(message, str(body["text"]))
    return message_view(actor, message)


async def _press(world: World, body: Body) -> model.Json:
    """Press `button` (its text or data), or the button at `row`, `column`; wait for the answer."""
    actor = _actor(world, body)
    message = _message(actor, body)
    if "button" in body:
        query = actor.press(message, str(body["button"]))
    else:
        query = actor.press_at(message, int(body["row"]), int(body["column"]))
    await world.bell.until(lambda: query.answer, float(body.get("seconds", ANSWER_SECONDS)))
    return {"answer": query.answer}


async def _inline(world: World, body: Body) -> model.Json:
    """Return the results of `query` from `offset` on; empty if no answer comes in ten seconds."""
    actor = _actor(world, body)
    offset = str(body.get("offset", ""))
    query = actor.ask_inline(str(body.get("query", "")), _chat_of(actor, body), offset)
    await world.bell.until(lambda: query.answered, INLINE_SECONDS)
    return {
        "query_id": query.id,
        "answered": query.answered,
        "results": query.results,
        "next_offset": query.next_offset,
        "button": query.button,
    }


async def _choose(world: World, body: Body) -> model.Json:
    actor = _actor(world, body)
    query = world.inline_queries[str(body["query_id"])]
    chosen = actor.choose(query, str(body["result_id"]), _chat_of(actor, body))
    return message_view(actor, chosen)


async def _migrate(world: World, body: Body) -> model.Json:
    actor = _actor(world, body)
    return {"chat_id": actor.migrate(_chat_of(actor, body)).id}


async def _join(world: World, body: Body) -> model.Json:
    """Add a person known to all others, or rename the person with `user_id`."""
    given = body.get("user_id")
    if not str(body["first_name"]).strip():
        raise errors.WorldError("a person needs a name")
    joined = people.join(
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


async def _group(world: World, body: Body) -> model.Json:
    """Create a group `title` of the actor, `members` (user ids) and, if `with_bot`, the bot."""
    others = [people.person(world, int(number)) for number in body.get("members", [])]
    title = str(body["title"]).strip()
    if not title:
        raise errors.WorldError("a group needs a name")
    with_bot = bool(body.get("with_bot", True))
    group = _actor(world, body).new_group(title, *others, with_bot=with_bot)
    return {"chat_id": group.id}


async def _dialog(world: World, body: Body) -> model.Json:
    """Open the chat of the actor and the person `with`, which the bot can't see."""
    return {"chat_id": _actor(world, body).dialog(people.person(world, int(body["with"]))).id}


async def _faults(world: World, body: Body) -> model.Json:
    """Schedule a Fault from its fields; `{"clear": true}` drops all planned faults."""
    if body.get("clear"):
        world.faults.clear()
        return {}
    unknown = set(body) - {field.name for field in fields(errors.Fault)}
    if unknown:
        raise errors.WorldError(f"no such fields of a fault: {', '.join(sorted(unknown))}")
    world.faults.add(errors.Fault(**body))
    return {}


async def _limits(world: World, body: Body) -> model.Json:
    """Switch Telegram's limits: `{"on": false}`."""
    world.limiter.limits = errors.Limits() if body.get("on", True) else errors.NO_LIMITS
    return {}


def _silent(act: Callable[[people.Person, model.Chat], None]) -> Act:
    """Return an action in a chat that answers nothing."""

    async def perform(world: World, body: Body) -> model.Json:
        actor = _actor(world, body)
        act(actor, _chat_of(actor, body))
        return {}

    return perform


def _actor(world: World, body: Body) -> people.Person:
    return people.person(world, int(body["user_id"]))


def _chat_of(actor: people.Person, body: Body) -> model.Chat:
    given = body.get("chat_id")
    if given is None:
        return actor.chat
    chat = actor.world.chats.get(int(given))
    if chat is None or actor.id not in chat.members:
        raise LookupError(f"no chat {given} with this person in it")
    return chat


def _message(actor: people.Person, body: Body) -> model.Message:
    message = _chat_of(actor, body).messages.get(int(body["message_id"]))
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
    "block": _silent(lambda actor, _: actor.block()),
    "unblock": _silent(lambda actor, _: actor.unblock()),
    "migrate": _migrate,
    "add-bot": _silent(people.Person.add_bot),  # even if it was removed before
    "remove-bot": _silent(people.Person.remove_bot),
    "dialog": _dialog,
    "people": _join,
    "groups": _group,
    "faults": _faults,
    "limits": _limits,
}


# What the page reads, and the routes.

Read = Callable[[World, Request], Awaitable[Any]]

POLL_SECONDS = 25.0
_OWN_PAGES = (None, "same-origin", "none")  # Sec-Fetch-Site; only browsers send it


def routes(world: World) -> list[Route]:
    """Return the routes below `/chat/api/`."""
    reads: dict[str, Read] = {"state": _state, "events": _events, "calls": _calls, "mails": _mails}
    listed = [
        Route(f"/chat/api/{name}", _handler(world, read), methods=["GET"])
        for name, read in reads.items()
    ]
    for kind in ("photo", "document"):
        handler = _handler(world, _uploaded(kind))
        listed.append(Route(f"/chat/api/{kind}", handler, methods=["POST"]))
    listed.append(Route("/chat/api/{act:str}", _handler(world, _act), methods=["POST"]))
    return listed


def _handler(world: World, answer: Read) -> Callable[[Request], Any]:
    async def handle(request: Request) -> Response:
        if request.headers.get("sec-fetch-site") not in _OWN_PAGES:
            return JSONResponse({"error": "asked from another site"}, 403)
        try:
            return JSONResponse(await answer(world, request), headers={"Cache-Control": "no-store"})
        except TimeoutError as error:
            return JSONResponse({"error": str(error)}, 504)
        except KeyError as error:
            return JSONResponse({"error": f"missing or unknown: {error}"}, 400)
        except (errors.ApiError, errors.WorldError, LookupError, ValueError, TypeError) as error:
            return JSONResponse({"error": str(error)}, 400)

    return handle


async def _state(world: World, request: Request) -> model.Json:
    """Return everything that the page shows to a person; an unknown id means the first person."""
    user_id = int(request.query_params.get("user") or 0)
    viewer = people.person(world, user_id if user_id in world.users else min(world.users))
    language = viewer.user.language_code or ""
    return {
        "seq": world.feed.seq,
        "user_id": viewer.id,
        "people": [{"id": user.id, "name": user.name} for user in world.users.values()],
        "bot": {
            "id": world.bot.id,
            "username": world.bot.username,
            "name": world.bot.first_name,
            "description": world.profile.text("description", language),
        },
        "chats": [_chat_view(world, viewer, chat) for chat in _chats_of(world, viewer)],
    }


async def _events(world: World, request: Request) -> model.Json:
    """Return the events in a person's chats after `since`; `reset` if they are no longer kept.

    If there are none yet, wait up to 25 seconds for one.
    """
    since, user_id = int(request.query_params["since"]), int(request.query_params["user"])
    seconds = float(request.query_params.get("seconds", POLL_SECONDS))
    await world.bell.until(lambda: world.feed.seq != since, min(seconds, POLL_SECONDS))
    viewer, happened = people.person(world, user_id), world.feed.since(since)
    own = {chat.id for chat in _chats_of(world, viewer)} | {0}
    return {
        "seq": world.feed.seq,
        "reset": happened is None,
        "events": [_event(world, viewer, one) for one in happened or () if one["chat_id"] in own],
        "closed": world.bell.closed,
    }


async def _calls(world: World, request: Request) -> model.Json:
    """Return the recorded calls of each `method`; an upload is shown as its name and size."""
    methods = request.query_params.getlist("method")

    def shown(value: Any) -> Any:
        if isinstance(value, files.Upload):
            return {"file_name": value.name, "file_size": len(value.data)}
        return value

    def chosen(calls: list[Call]) -> list[model.Json]:
        return [
            {
                "method": call.method,
                "params": {name: shown(value) for name, value in call.params.items()},
                "time": call.time,
                "code": call.code,
                **({"reason": call.reason} if call.reason else {}),
            }
            for call in calls
            if not methods or call.method in methods
        ]

    return {"calls": chosen(world.calls), "refused": chosen(world.refused)}


async def _mails(world: World, _request: Request) -> model.Json:
    return world.mails.json()


def _uploaded(kind: str) -> Read:
    """Return the action that sends a picture or a file, with an optional `caption`."""

    async def send(world: World, request: Request) -> model.Json:
        params = await params_of(request)
        body, upload = params.values, params.upload(kind)
        if upload is None:
            raise errors.WorldError(f"there is no {kind} in the request")
        actor = _actor(world, body)
        chat, caption = _chat_of(actor, body), str(body.get("caption", ""))
        sent = actor.send_file(kind, upload.name, upload.data, chat, caption)
        return message_view(actor, sent)

    return send


async def _act(world: World, request: Request) -> Any:
    act = ACTS.get(request.path_params["act"])
    if act is None:
        raise errors.WorldError(f"no such act; there are {', '.join(sorted(ACTS))}")
    params = await params_of(request)
    return await act(world, params.values)
