"""The world as one person sees it in the chat page, as JSON."""

from typing import Any

from bot.sandbox.world.files import Upload
from bot.sandbox.world.model import Chat, InlineQuery, Json, Message
from bot.sandbox.world.people import Person, person
from bot.sandbox.world.world import Call, World

SHOWN_MESSAGES = 200


def state(world: World, user_id: int) -> Json:
    """Return all that the page shows to this person; to the first one for an unknown id."""
    viewer = person(world, user_id if user_id in world.users else min(world.users))
    language = viewer.user.language_code or ""
    profile = world.profile
    return {
        "seq": world.feed.seq,
        "user_id": viewer.id,
        "people": [{"id": user.id, "name": user.name} for user in world.users.values()],
        "bot": {
            "id": world.bot.id,
            "username": world.bot.username,
            "name": profile.text("name", language) or world.bot.first_name,
            "description": profile.text("description", language),
        },
        "chats": [_chat(world, viewer, one) for one in _chats_of(world, viewer)],
    }


def events(world: World, viewer: Person, since: int) -> Json:
    """Return what happened after `since` in this person's chats; `reset` if that is lost."""
    happened = world.feed.since(since)
    if happened is None:
        return {"seq": world.feed.seq, "reset": True, "events": []}
    own = {chat.id for chat in _chats_of(world, viewer)} | {0}
    shown = [_event(world, viewer, one) for one in happened if one["chat_id"] in own]
    return {"seq": world.feed.seq, "reset": False, "events": shown}


def message(viewer: Person, one: Message) -> Json:
    """Return a Message object with what a client adds: whose, keyboards, silence, service words."""
    extra: Json = {"out": one.sender.id == viewer.id, "sender_name": one.sender.name}
    if one.options.get("disable_notification"):
        extra["silent"] = True
    if one.markup and "inline_keyboard" not in one.markup:
        extra["reply_keyboard"] = one.markup
    if "migrate_to_chat_id" in one.content or "migrate_from_chat_id" in one.content:
        extra["service"] = "The group has become a supergroup"
    return one.json() | extra


def inline_answer(query: InlineQuery) -> Json:
    return {
        "query_id": query.id,
        "answered": query.answered,
        "results": query.results,
        "next_offset": query.next_offset,
        "button": query.button,
    }


def call(one: Call) -> Json:
    """Return a recorded call; an upload shows as its name and size in bytes."""
    params = {name: _shown(value) for name, value in one.params.items()}
    shown = {"method": one.method, "params": params, "time": one.time, "code": one.code}
    return shown | ({"reason": one.reason} if one.reason else {})


def _shown(value: Any) -> Any:
    if isinstance(value, Upload):
        return {"file_name": value.name, "file_size": len(value.data)}
    return value


def _chats_of(world: World, viewer: Person) -> list[Chat]:
    """Return the chats of a person, the one with the bot first."""
    found = [
        chat
        for chat in world.chats.values()
        if viewer.id in chat.members and chat.migrated_to is None
    ]
    return sorted(found, key=lambda chat: chat.kind != "private")


def _chat(world: World, viewer: Person, chat: Chat) -> Json:
    language = viewer.user.language_code or ""
    group = chat.is_group
    commands = world.profile.shown_to(chat.id, viewer.id, language, group=group)
    heard = chat.bot_status == "member" or chat.kind == "private"
    return {
        "id": chat.id,
        "kind": chat.kind,
        "title": _title(world, viewer, chat),
        "members": [member.name for member in chat.members.values()],
        "bot_status": chat.bot_status,
        "commands": commands if heard and chat.kind != "dialog" else [],
        "keyboard": chat.keyboard,
        "messages": [message(viewer, one) for one in chat.visible[-SHOWN_MESSAGES:]],
    }


def _title(world: World, viewer: Person, chat: Chat) -> str:
    if chat.kind == "private":
        language = viewer.user.language_code or ""
        return world.profile.text("name", language) or world.bot.first_name
    others = [member.name for number, member in chat.members.items() if number != viewer.id]
    return chat.title or ", ".join(others)


def _event(world: World, viewer: Person, event: Json) -> Json:
    """Fill in the message as it is now; an event itself names only its id."""
    if event["type"] != "message":
        return event
    one = world.chats[event["chat_id"]].messages[event["message"]]
    if one.deleted:
        return event | {"type": "deleted"}
    return event | {"message": message(viewer, one), "keyboard": one.chat.keyboard}
