"""People, and what they can do in a Telegram client.

Each action changes the world, and sends the bot the updates that Telegram would send.
"""

import secrets
from dataclasses import dataclass
from pathlib import Path

from bot.sandbox.world import errors, files, formatting, model
from bot.sandbox.world.world import World

SAMS_PHOTO = Path(__file__).with_name("sam.jpg")
INLINE_SECONDS = 10.0
QUERY_CHARACTERS = 256
FIRST_PERSON = 1001
_GROUPS = -4_000_000_000
_SUPERGROUPS = -1_002_000_000_000
_DIALOGS = 10_000_000_000_000


@dataclass(frozen=True, slots=True)
class Person:
    """A person at a Telegram client, and the private chat with the bot."""

    world: World
    user: model.User
    chat: model.Chat

    @property
    def id(self) -> int:
        return self.user.id

    def start(self, payload: str = "") -> model.Message:
        """Press Start, or follow a deep link. Errors: WorldError for an invalid payload."""
        if payload and not model.START_PAYLOAD.fullmatch(payload):
            raise errors.WorldError("a start payload has 1 to 64 of A-Z, a-z, 0-9, _ and -")
        if self.chat.bot_status == "kicked":
            self.unblock()
        if self.chat.bot_status != "member":
            self.chat.bot_status = "member"
            self.world.changed("chat", self.chat)
        return self.send(f"/start {payload}".strip())

    def send(
        self,
        text: str,
        chat: model.Chat | None = None,
        reply_to: model.Message | None = None,
        topic: int = 0,
    ) -> model.Message:
        """Send a text. Errors: WorldError if a client would not let this person write."""
        content = _text(text)
        if not content["text"]:
            raise errors.WorldError("the message is empty")
        return self._say(chat or self.chat, content, reply_to, topic=topic)

    def send_photo(
        self, data: bytes, caption: str = "", chat: model.Chat | None = None
    ) -> model.Message:
        """Send a picture. Errors: ApiError as for a bot's picture."""
        return self.send_file("photo", "photo", data, chat, caption)

    def send_document(
        self, name: str, data: bytes, chat: model.Chat | None = None, caption: str = ""
    ) -> model.Message:
        """Send a file, or a picture without compression."""
        return self.send_file("document", name, data, chat, caption)

    def send_file(
        self, kind: str, name: str, data: bytes, chat: model.Chat | None = None, caption: str = ""
    ) -> model.Message:
        """Send a file as one of OTHER_KINDS: a video, a voice message. Errors: as `send_photo`."""
        media = self.world.files.add(kind, files.Upload(name, data))
        return self._say(chat or self.chat, media.content | _caption(caption), None)

    def send_album(self, *parts: tuple[str, str, bytes, str]) -> list[model.Message]:
        """Send files together, each as kind, name, data and caption. Errors: as `send_photo`.

        As in Telegram, each is a message of its own; they have the same media_group_id.
        """
        album = {"media_group_id": _query_id()}
        contents = []
        for kind, name, data, caption in parts:
            media = self.world.files.add(kind, files.Upload(name, data))
            contents.append(media.content | _caption(caption) | album)
        return [self._say(self.chat, content, None) for content in contents]

    def send_content(self, content: model.Json, chat: model.Chat | None = None) -> model.Message:
        """Send content that a client composes: a service message, a sticker, a place."""
        return self._say(chat or self.chat, content, None, service=True)

    def edit(self, message: model.Message, text: str) -> None:
        """Edit an own message; the bot gets edited_message."""
        if message.sender.id != self.id:
            raise errors.WorldError("only one's own messages can be edited")
        self.world.revise(message, model.Draft(_text(text), message.markup))
        if _heard(self.world, message):
            self.world.push("edited_message", message.json())

    def press(self, message: model.Message, button: str) -> model.CallbackQuery:
        """Press the callback button with a text or data; the answer is stored in the query.

        Errors: LookupError if there is no such button, WorldError if it isn't a callback button.
        """
        data = message.button(button).get("callback_data")
        if data is None:
            raise errors.WorldError(f"{button!r} is no callback button")
        return self._callback(message, data)

    def press_at(self, message: model.Message, row: int, column: int) -> model.CallbackQuery:
        """Press the callback button at a place, counted from 0. Errors: as `press`."""
        try:
            data = message.keyboard[row][column].get("callback_data")
        except IndexError:
            raise LookupError(f"no button at row {row}, column {column}") from None
        if data is None:
            raise errors.WorldError("that is no callback button")
        return self._callback(message, data)

    def press_old(self, message: model.Message, data: str) -> model.CallbackQuery:
        """Press a button that the message no longer has, like a client with an outdated view."""
        return self._callback(message, data)

    async def answer(self, query: model.CallbackQuery, seconds: float = 5.0) -> model.Json:
        """Wait for the bot's answer to a press: text, show_alert, url. Errors: TimeoutError."""
        found = await self.world.wait_for(lambda: query.answer, seconds)
        return found or {}

    async def inline(
        self,
        query: str,
        chat: model.Chat | None = None,
        offset: str = "",
        seconds: float = INLINE_SECONDS,
    ) -> model.InlineQuery:
        """Send `@bot query` as an inline query and wait for the answer. Errors: TimeoutError.

        An answer that Telegram still caches for this person is returned without asking the bot.
        """
        asked = self.ask_inline(query, chat, offset)
        await self.world.wait_for(lambda: asked.answered, seconds)
        return asked

    def ask_inline(
        self, query: str, chat: model.Chat | None = None, offset: str = ""
    ) -> model.InlineQuery:
        """Send `@bot query` as an inline query without waiting for the answer."""
        query = query.strip()[:QUERY_CHARACTERS]
        if cached := self._cached(query, offset):
            return cached
        place = (chat or self.chat).kind
        kind = {"private": "sender", "dialog": "private"}.get(place, place)
        asked = model.InlineQuery(_query_id(), self.user, query, offset, kind, self.world.now())
        self.world.inline_queries[asked.id] = asked
        self.world.push("inline_query", asked.json())
        return asked

    def choose(self, query: model.InlineQuery, result_id: str, chat: model.Chat) -> model.Message:
        """Post an inline result into a chat, via the bot. Errors: LookupError, WorldError."""
        draft = query.drafts.get(result_id)
        if draft is None:
            raise LookupError(f"no result {result_id!r} among {list(query.drafts)}")
        self._may_write(chat)
        message = self.world.post(chat, self.user, draft, via_bot=self.world.bot)
        chosen: model.Json = {
            "result_id": result_id,
            "from": self.user.json(),
            "query": query.query,
        }
        if draft.markup:
            chosen["inline_message_id"] = self.world.remember_inline(message)
        if self.world.inline_feedback:
            self.world.push("chosen_inline_result", chosen)
        if _heard(self.world, message):
            self.world.push("message", message.json())
        return message

    def set_profile_photo(self, data: bytes) -> None:
        """Set a square profile photo, which bots may see. Errors: ApiError as for any photo."""
        sizes = self.world.files.add_profile_photo(data)
        self.world.profile_photos.setdefault(self.id, []).insert(0, sizes)

    def hide_profile_photos(self) -> None:
        """Hide the profile photos from bots, as in the privacy settings."""
        self.world.profile_photos.pop(self.id, None)

    def block(self) -> None:
        """Block the bot: it gets my_chat_member, and 403 from now on."""
        if self.chat.bot_status == "member":
            _bot_status(self, self.chat, "kicked")

    def unblock(self) -> None:
        if self.chat.bot_status == "kicked":
            _bot_status(self, self.chat, "member")

    def new_group(self, title: str, *others: "Person", with_bot: bool = True) -> model.Chat:
        """Create a group with others and, by default, the bot."""
        number = sum(chat.is_group for chat in self.world.chats.values()) + 1
        members = [self.user, *(other.user for other in others)]
        group = self.world.add_chat(_GROUPS - number, "group", members, title)
        group.bot_status = "left"
        if with_bot:
            self.add_bot(group)
        return group

    def add_bot(self, group: model.Chat) -> None:
        _bot_status(self, group, "member")

    def remove_bot(self, group: model.Chat) -> None:
        """Remove the bot from a group: it gets my_chat_member, and 403 from now on."""
        _bot_status(self, group, "kicked")

    def migrate(self, group: model.Chat) -> model.Chat:
        """Migrate a group to a supergroup; the old id answers 400 with the new one."""
        if group.kind != "group" or group.migrated_to is not None:
            raise errors.WorldError("only a group can become a supergroup")
        members = list(group.members.values())
        new = self.world.add_chat(_SUPERGROUPS + group.id, "supergroup", members, group.title)
        new.bot_status = group.bot_status
        group.migrated_to = new.id
        self._say(group, {"migrate_to_chat_id": new.id}, None, service=True)
        self._say(new, {"migrate_from_chat_id": group.id}, None, service=True)
        return new

    def open_topic(self, forum: model.Chat, name: str) -> int:
        """Open a topic in a supergroup; return its message_thread_id."""
        if forum.kind != "supergroup":
            raise errors.WorldError("only a supergroup can have topics")
        started = self._say(forum, {"forum_topic_created": {"name": name}}, None, service=True)
        forum.topics.add(started.id)
        return started.id

    def dialog(self, other: "Person") -> model.Chat:
        """Return the chat of two people, which the bot can't see; create it if necessary."""
        pair = {self.id, other.id}
        for chat in self.world.chats.values():
            if chat.kind == "dialog" and set(chat.members) == pair:
                return chat
        number = _DIALOGS + sum(chat.kind == "dialog" for chat in self.world.chats.values())
        return self.world.add_chat(number, "dialog", [self.user, other.user], "")

    def introduce(self) -> None:
        """Introduce a new person, as if they had been there from the start.

        They get a dialog with each other person, and join the bot's groups that all others are in.
        """
        others = self.world.users.keys() - {self.id}
        for number in sorted(others):
            self.dialog(person(self.world, number))
        for chat in self.world.chats.values():
            if chat.is_group and chat.bot_status == "member" and others == chat.members.keys():
                chat.members[self.id] = self.user
                self.world.changed("chat", chat)

    def _say(
        self,
        chat: model.Chat,
        content: model.Json,
        reply_to: model.Message | None,
        *,
        service: bool = False,
        topic: int = 0,
    ) -> model.Message:
        if not service:
            self._may_write(chat)
        draft = model.Draft(content, None, model.topic_options(topic))
        message = self.world.post(chat, self.user, draft, reply_to=reply_to)
        if service or _heard(self.world, message):
            self.world.push("message", message.json())
        return message

    def _may_write(self, chat: model.Chat) -> None:
        if self.id not in chat.members:
            raise errors.WorldError("not a member of this chat")
        if chat.migrated_to is not None:
            raise errors.WorldError("this group has become a supergroup")
        if chat.kind == "private" and chat.bot_status != "member":
            raise errors.WorldError("press Start first, or unblock the bot")

    def _callback(self, message: model.Message, data: str) -> model.CallbackQuery:
        query = model.CallbackQuery(_query_id(), self.user, message, data, self.world.now())
        self.world.callbacks[query.id] = query
        self.world.push("callback_query", query.json())
        return query

    def _cached(self, query: str, offset: str) -> model.InlineQuery | None:
        for owner in (self.id, 0):
            until, answer = self.world.inline_cache.get((query, offset, owner), (0.0, None))
            if answer and self.world.now() < until:
                return answer
        return None


def join(
    world: World,
    first_name: str,
    *,
    user_id: int | None = None,
    last_name: str = "",
    username: str = "",
    language_code: str | None = "en",
    started: bool = False,
) -> Person:
    """Add a person, or rename the person with this id.

    With `started` the bot may write to them at once, as if they had pressed Start.
    """
    number = user_id or max(world.users, default=FIRST_PERSON - 1) + 1
    user = world.add_user(model.User(number, first_name, last_name, username, language_code))
    chat = world.chats.get(number) or world.add_chat(number, "private", [user], "")
    chat.members[number] = user
    if started:
        chat.bot_status = "member"
    world.feed.add("people", 0)
    world.bell.ring()
    return Person(world, user, chat)


def person(world: World, user_id: int) -> Person:
    """Return the person with this id. Errors: LookupError."""
    user, chat = world.users.get(user_id), world.chats.get(user_id)
    if user is None or chat is None:
        raise LookupError(f"no person {user_id}")
    return Person(world, user, chat)


def cast(world: World) -> tuple[Person, Person, model.Chat]:
    """Add the people of the demo: a seller, a payer, and a group with both and the bot."""
    sam = join(world, "Sam", last_name="Seller", username="sam_seller")
    pat = join(world, "Pat", last_name="Payer", username="pat_payer")
    sam.set_profile_photo(SAMS_PHOTO.read_bytes())
    sam.dialog(pat)
    return sam, pat, sam.new_group("Saturday market", pat)


def _bot_status(actor: Person, chat: model.Chat, status: str) -> None:
    old, chat.bot_status = chat.bot_status, "member" if status == "member" else "kicked"
    bot = actor.world.bot.json()
    actor.world.push(
        "my_chat_member",
        {
            "chat": chat.json(),
            "from": actor.user.json(),
            "date": int(actor.world.now()),
            "old_chat_member": _membership(bot, "left" if old == "new" else old),
            "new_chat_member": _membership(bot, chat.bot_status),
        },
    )
    actor.world.changed("chat", chat)


def _membership(bot: model.Json, status: str) -> model.Json:
    until = {"until_date": 0} if status == "kicked" else {}
    return {"user": bot, "status": status} | until


def _heard(world: World, message: model.Message) -> bool:
    """True if the bot gets a message: in groups only commands, replies to it and messages via it.

    Source: core.telegram.org/bots/features#privacy-mode.
    """
    chat = message.chat
    if chat.kind == "private" or not chat.is_group:
        return chat.kind == "private"
    if chat.bot_status != "member":
        return False
    is_reply = message.reply_to is not None and message.reply_to.sender.is_bot
    first = message.text.split(maxsplit=1)[0] if message.text.strip() else ""
    is_addressed = first.lower().endswith(f"@{world.bot.username.lower()}")
    is_command = first.startswith("/") and ("@" not in first or is_addressed)
    return is_command or is_reply or message.via_bot is not None


def _text(text: str) -> model.Json:
    body = formatting.written(text)
    return {"text": body.text} | ({"entities": [*body.entities]} if body.entities else {})


def _caption(caption: str) -> model.Json:
    body = formatting.written(caption)
    return {"caption": body.text} if body.text else {}


def _query_id() -> str:
    return str(secrets.randbits(62))
