"""Formatted text: what Telegram makes of a text, its parse mode and its entities.

Source: core.telegram.org/bots/api, "Formatting options" and "MessageEntity". Offsets and lengths
are counted in UTF-16 code units, as Telegram counts them.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from bot.sandbox.world.errors import bad_request
from bot.sandbox.world.formatting import parse_html

Entity = dict[str, Any]

_HOST = re.compile(
    r"[\w-]+(\.[\w-]+)*\.[^\W\d_]{2,}|\d{1,3}(\.\d{1,3}){3}|\[[0-9a-f:.]+\]", re.IGNORECASE
)
# What Telegram makes of characters, as its library tdlib does in td/telegram/misc.cpp.
_SPACED = re.compile("[\x00-\x09\x0b\x0c\x0e-\x1f]")
_REMOVED = re.compile("[\r\u2028-\u202e\u030a\u0333\u033f]")
_MARK_BEFORE_MARK = re.compile("[\u200e\u200f](?=[\u200e\u200f])")
_EMPTY = re.compile(
    "[ \n\xa0\u1680\u180e\u2000-\u200f\u202e\u202f\u205f\u2800\u3000\ufeff\ufffc"
    "\U000e0000-\U000e007f]*"
)
_FOUND = (
    ("url", re.compile(r"\bhttps?://[^\s<>\"]*[^\s<>\".,;:!?)'\]]", re.IGNORECASE)),
    ("url", re.compile(r"(?<![\w/.@-])t\.me/[\w+/?=&-]+", re.IGNORECASE)),
    ("email", re.compile(r"(?<![\w.+-])[\w.+-]+@[\w-]+(?:\.[\w-]+)+\b")),
    ("mention", re.compile(r"(?<![\w@/.])@[A-Za-z]\w{3,31}\b", re.ASCII)),
    ("bot_command", re.compile(r"(?<![\w/<>:.])/[A-Za-z0-9_]{1,64}(?:@\w{3,32})?\b", re.ASCII)),
)


@dataclass(frozen=True, slots=True)
class Formatted:
    """A text and its entities, trimmed, sorted, with links and commands found."""

    text: str
    entities: tuple[Entity, ...]

    @property
    def units(self) -> int:
        return units(self.text)


def units(text: str) -> int:
    """Return the length in UTF-16 code units."""
    return len(text) + sum(character > "\uffff" for character in text)


def cleaned(text: str) -> str:
    """Take out of a text what Telegram doesn't let through: controls, line and bidi breaks."""
    return _MARK_BEFORE_MARK.sub("\u200c", _SPACED.sub(" ", _REMOVED.sub("", text)))


def blank(text: str) -> bool:
    """Return whether nothing is visible: spaces of every kind, zero-width characters, tags."""
    return _EMPTY.fullmatch(text) is not None


def web_address(address: str) -> str | None:
    """Return the full http(s) address that Telegram links to; None for any other.

    A host needs a dot or must be an IP address: Telegram answers "Wrong HTTP URL" to others.
    """
    whole = address if "://" in address else f"http://{address}"
    try:
        parts = urlsplit(whole)
        host = parts.hostname or ""
    except ValueError:
        return None
    bracketed = f"[{host}]" if ":" in host else host
    sound = parts.scheme.lower() in ("http", "https") and _HOST.fullmatch(bracketed)
    return whole if sound and not re.search(r"\s", whole) else None


def written(text: str) -> Formatted:
    """Take what a person typed: no markup is read, links and commands are found."""
    return _finished(cleaned(text), [])


def formatted(text: str, parse_mode: str, given: Sequence[Mapping[str, Any]]) -> Formatted:
    """Take what a bot sent. Errors: 400 for an unknown mode, broken markup, bad entities."""
    taken = cleaned(text)
    if not parse_mode:
        return _finished(taken, [_sound(entity, units(taken)) for entity in given])
    if parse_mode.lower() != "html":
        raise bad_request("unsupported parse_mode")
    plain, entities = parse_html(taken)
    return _finished(plain, [kept for entity in entities if (kept := _linked(entity))])


def _sound(entity: Mapping[str, Any], length: int) -> Entity:
    try:
        offset, size = int(entity["offset"]), int(entity["length"])
        kind = str(entity["type"])
    except (KeyError, TypeError, ValueError):
        raise bad_request("can't parse entities: wrong MessageEntity") from None
    if not 0 <= offset <= offset + size <= length:
        raise bad_request(f"receive an entity with incorrect offset {offset}")
    return {**entity, "type": kind, "offset": offset, "length": size}


def _linked(entity: Entity) -> Entity | None:
    """Keep a text link only where Telegram would make one; the text stays either way."""
    if entity["type"] != "text_link":
        return entity
    if entity["url"].startswith(("tg://", "ton://", "mailto:", "tel:")):
        return entity
    address = web_address(entity["url"])
    return {**entity, "url": address} if address else None


def _finished(text: str, entities: list[Entity]) -> Formatted:
    kept = text.strip(" \n")
    shift = units(text[: len(text) - len(text.lstrip(" \n"))])
    inside = [cut for entity in entities if (cut := _clipped(entity, shift, units(kept)))]
    found = [entity for entity in _found(kept) if not any(_overlap(entity, o) for o in inside)]
    ordered = sorted([*inside, *found], key=lambda one: (one["offset"], -one["length"]))
    return Formatted(kept, tuple(ordered))


def _clipped(entity: Entity, shift: int, length: int) -> Entity | None:
    start = max(entity["offset"] - shift, 0)
    end = min(entity["offset"] + entity["length"] - shift, length)
    return {**entity, "offset": start, "length": end - start} if start < end else None


def _found(text: str) -> Iterator[Entity]:
    taken: list[Entity] = []
    for kind, pattern in _FOUND:
        for match in pattern.finditer(text):
            if kind == "url" and not web_address(match[0]):
                continue
            entity = {"type": kind, "offset": units(text[: match.start()])}
            entity["length"] = units(match[0])
            if not any(_overlap(entity, other) for other in taken):
                taken.append(entity)
                yield entity


_OPAQUE = frozenset({"code", "pre", "text_link", "url", "email", "mention", "bot_command"})


def _overlap(one: Entity, other: Entity) -> bool:
    if other["type"] not in _OPAQUE:
        return False
    ends = one["offset"] + one["length"], other["offset"] + other["length"]
    return bool(one["offset"] < ends[1] and other["offset"] < ends[0])
