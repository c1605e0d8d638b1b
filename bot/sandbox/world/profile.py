"""The bot's profile: commands, name, descriptions.

Source: core.telegram.org/bots/api, setMyCommands, BotCommandScope, setMyName, setMyDescription.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from bot.sandbox.world import errors

MOST_COMMANDS = 100
COMMAND_DESCRIPTION = range(1, 257)
TEXT_LIMITS = {"name": 64, "description": 512, "short_description": 120}

_COMMAND = re.compile(r"[a-z0-9_]{1,32}")
_LANGUAGE = re.compile(r"([a-z]{2})?")
_PLAIN_SCOPES = (
    "default",
    "all_private_chats",
    "all_group_chats",
    "all_chat_administrators",
)

Json = dict[str, Any]
Scope = tuple[str, int, int]  # type, chat id, user id; 0 where the type has none

DEFAULT_SCOPE: Scope = ("default", 0, 0)


def scope_of(scope: object) -> Scope:
    """Return a BotCommandScope as a key, the default scope for None. Errors: 400."""
    if scope is None:
        return DEFAULT_SCOPE
    if not isinstance(scope, Mapping):
        raise errors.bad_request("can't parse BotCommandScope: BotCommandScope must be an Object")
    kind = str(scope.get("type", ""))
    if kind in _PLAIN_SCOPES:
        return kind, 0, 0
    if kind not in ("chat", "chat_administrators", "chat_member"):
        raise errors.bad_request("can't parse BotCommandScope: Unsupported type specified")
    try:
        user_id = int(scope["user_id"]) if kind == "chat_member" else 0
        return kind, int(scope["chat_id"]), user_id
    except (KeyError, TypeError, ValueError):
        raise errors.bad_request("can't parse BotCommandScope: Empty chat_id specified") from None


def language_of(code: str) -> str:
    """Check a two-letter language code, "" for everybody. Errors: 400."""
    if not _LANGUAGE.fullmatch(code):
        raise errors.bad_request("invalid language code specified")
    return code


def commands_of(commands: object) -> list[Json]:
    """Check BotCommand objects; a leading slash is dropped. Errors: 400."""
    if not isinstance(commands, list):
        raise errors.bad_request("can't parse commands: expected an Array of BotCommand")
    if len(commands) > MOST_COMMANDS:
        raise errors.bad_request("BOT_COMMANDS_TOO_MUCH")
    return [_command(command) for command in commands]


def _command(command: object) -> Json:
    if not isinstance(command, Mapping):
        raise errors.bad_request("can't parse commands: BotCommand must be an Object")
    name = str(command.get("command", "")).removeprefix("/")
    description = str(command.get("description", "")).strip()
    if not _COMMAND.fullmatch(name):
        raise errors.bad_request("BOT_COMMAND_INVALID")
    if len(description) not in COMMAND_DESCRIPTION:
        raise errors.bad_request("BOT_COMMAND_DESCRIPTION_INVALID")
    return {"command": name, "description": description}


@dataclass(slots=True)
class Profile:
    """The bot's texts and commands by language code, "" for everybody else."""

    texts: dict[tuple[str, str], str] = field(default_factory=dict)
    commands: dict[tuple[Scope, str], list[Json]] = field(default_factory=dict)

    def set_text(self, kind: str, language: str, text: str) -> None:
        """Set the text of a kind of TEXT_LIMITS; an empty text removes it. Errors: 400 too long."""
        if len(text) > TEXT_LIMITS[kind]:
            raise errors.bad_request(f"bot {kind.replace('_', ' ')} is too long")
        if text:
            self.texts[kind, language] = text
        else:
            self.texts.pop((kind, language), None)

    def text(self, kind: str, language: str) -> str:
        """Return the text for a language, else the text for everybody, else ""."""
        return self.texts.get((kind, language)) or self.texts.get((kind, ""), "")

    def shown_to(self, chat_id: int, user_id: int, language: str, *, group: bool) -> list[Json]:
        """Return the commands that a person sees in a chat: the narrowest scope that has any."""
        everywhere = "all_group_chats" if group else "all_private_chats"
        scopes: list[Scope] = [("chat", chat_id, 0), (everywhere, 0, 0), DEFAULT_SCOPE]
        if group:
            scopes.insert(0, ("chat_member", chat_id, user_id))
        for scope in scopes:
            for code in (language, ""):
                if found := self.commands.get((scope, code)):
                    return found
        return []
