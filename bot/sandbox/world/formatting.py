"""Formatted text: how Telegram processes a text with its parse mode.

HTML is parsed as strictly as by Telegram, with the same error messages. Offsets and lengths are in
UTF-16 code units, as in Telegram.

Source: core.telegram.org/bots/api, "Formatting options", "HTML style" and "MessageEntity".
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from bot.sandbox.world import errors

_TYPES = {
    "b": "bold",
    "strong": "bold",
    "i": "italic",
    "em": "italic",
    "u": "underline",
    "ins": "underline",
    "s": "strikethrough",
    "strike": "strikethrough",
    "del": "strikethrough",
    "span": "spoiler",
    "tg-spoiler": "spoiler",
    "a": "text_link",
    "code": "code",
    "pre": "pre",
    "blockquote": "blockquote",
}
_NAMED = {"lt": "<", "gt": ">", "amp": "&", "quot": '"'}
_REFERENCE = re.compile(r"&(?:#x([0-9a-f]{1,6})|#([0-9]{1,7})|(lt|gt|amp|quot));?", re.IGNORECASE)
_TAG_NAME = re.compile(r"<([^\s>]*)")
_ATTRIBUTE = re.compile(r"""\s*([^\s=>"']+)(?:\s*=\s*("[^"]*"|'[^']*'|[a-zA-Z0-9.\-]+))?""")
_END_OF_TAG = re.compile(r"\s*>")
_END_TAG = re.compile(r"</([^\s>]*)\s*>")
_LAST_CODE_POINT = 0x10FFFF
_SURROGATES = range(0xD800, 0xE000)

Entity = dict[str, Any]


def parse_html(source: str) -> tuple[str, list[Entity]]:
    """Return text and entities. Errors: 400 "can't parse entities: …" with the byte offset."""
    return _Parser(source).run()


@dataclass(slots=True)
class _Parser:
    source: str
    at: int = 0
    offset: int = 0  # UTF-16 units written so far
    text: list[str] = field(default_factory=list)
    open: list[tuple[str, Entity, int]] = field(default_factory=list)  # tag, entity, its offset
    entities: list[Entity] = field(default_factory=list)

    def run(self) -> tuple[str, list[Entity]]:
        while self.at < len(self.source):
            if self.source.startswith("</", self.at):
                self._end_tag()
            elif self.source[self.at] == "<":
                self._start_tag()
            else:
                self._characters()
        if self.open:
            raise _broken(f'can\'t find end tag corresponding to start tag "{self.open[-1][0]}"')
        return "".join(self.text), self.entities

    def _characters(self) -> None:
        reference = _REFERENCE.match(self.source, self.at)
        character = _character(reference) if reference else None
        if reference and character:
            self.at = reference.end()
        else:
            character = self.source[self.at]
            self.at += 1
        self.text.append(character)
        self.offset += 1 + (character > "\uffff")

    def _start_tag(self) -> None:
        start, place = self.at, self._place()
        name = _TAG_NAME.match(self.source, start)
        tag = name[1].lower() if name else ""
        if name is None or name.end() == len(self.source):
            raise _broken(f"unclosed start tag at byte offset {place}")
        if tag not in _TYPES:
            raise _broken(f'unsupported start tag "{tag}" at byte offset {place}')
        self.at = name.end()
        attributes = self._attributes(tag, place)
        self.open.append((tag, _entity(tag, attributes, place), self.offset))

    def _attributes(self, tag: str, place: int) -> dict[str, str]:
        found: dict[str, str] = {}
        while not (end := _END_OF_TAG.match(self.source, self.at)):
            attribute = _ATTRIBUTE.match(self.source, self.at)
            if self.source[self.at :].lstrip().startswith("="):
                raise _broken(f'empty attribute name in the tag "{tag}" at byte offset {place}')
            if not attribute:
                raise _broken(f"unclosed start tag at byte offset {place}")
            value = (attribute[2] or "").strip("\"'")
            found[attribute[1].lower()] = _REFERENCE.sub(lambda m: _character(m) or m[0], value)
            self.at = attribute.end()
        self.at = end.end()
        return found

    def _end_tag(self) -> None:
        place = self._place()
        if not self.open:
            raise _broken(f"unexpected end tag at byte offset {place}")
        end = _END_TAG.match(self.source, self.at)
        if not end:
            raise _broken(f"unclosed end tag at byte offset {place}")
        (expected, entity, start), found = self.open[-1], end[1].lower()
        if found not in ("", expected):
            raise _broken(
                f"unmatched end tag at byte offset {place}, "
                f'expected "</{expected}>", found "</{found}>"'
            )
        self.open.pop()
        self.at = end.end()
        if self.offset > start:
            self.entities.append({**entity, "offset": start, "length": self.offset - start})

    def _place(self) -> int:
        return len(self.source[: self.at].encode())


def _entity(tag: str, attributes: dict[str, str], place: int) -> Entity:
    entity: Entity = {"type": _TYPES[tag]}
    if tag == "span" and attributes.get("class") != "tg-spoiler":
        raise _broken(f'tag "span" must have class "tg-spoiler" at byte offset {place}')
    if tag == "a":
        entity["url"] = attributes.get("href", "")
    if tag == "blockquote" and "expandable" in attributes:
        entity["type"] = "expandable_blockquote"
    return entity


def _character(reference: re.Match[str]) -> str | None:
    if reference[3]:
        return _NAMED[reference[3].lower()]
    code = int(reference[1], 16) if reference[1] else int(reference[2])
    if not 0 < code <= _LAST_CODE_POINT or code in _SURROGATES:
        return None
    return chr(code)


def _broken(reason: str) -> errors.ApiError:
    return errors.bad_request(f"can't parse entities: {reason}")


_HOST = re.compile(
    r"[\w-]+(\.[\w-]+)*\.[^\W\d_]{2,}|\d{1,3}(\.\d{1,3}){3}|\[[0-9a-f:.]+\]", re.IGNORECASE
)
# How Telegram changes characters, as its library tdlib does in td/telegram/misc.cpp.
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
    """A trimmed text and its sorted entities, with the links and commands that it contains."""

    text: str
    entities: tuple[Entity, ...]

    @property
    def units(self) -> int:
        return units(self.text)


def units(text: str) -> int:
    """Return the length in UTF-16 code units."""
    return len(text) + sum(character > "\uffff" for character in text)


def cleaned(text: str) -> str:
    """Remove the characters that Telegram removes: controls, line separators, bidi marks."""
    return _MARK_BEFORE_MARK.sub("\u200c", _SPACED.sub(" ", _REMOVED.sub("", text)))


def blank(text: str) -> bool:
    """True if nothing in a text is visible: spaces of every kind, zero-width characters, tags."""
    return _EMPTY.fullmatch(text) is not None


def web_address(address: str) -> str | None:
    """Return the full http(s) address that Telegram links to; None if it refuses the address.

    A host needs a dot or must be an IP address: Telegram answers "Wrong HTTP URL" to others.
    """
    whole = address if "://" in address else f"http://{address}"
    try:
        parts = urlsplit(whole)
        host = parts.hostname or ""
    except ValueError:
        return None
    bracketed = f"[{host}]" if ":" in host else host
    is_valid = parts.scheme.lower() in ("http", "https") and _HOST.fullmatch(bracketed)
    return whole if is_valid and not re.search(r"\s", whole) else None


def written(text: str) -> Formatted:
    """Return a text as a person typed it: without markup, with links and commands."""
    return _finished(cleaned(text), [])


def formatted(text: str, parse_mode: str) -> Formatted:
    """Return a text as a bot sent it. Errors: 400 for an unknown mode or bad markup."""
    taken = cleaned(text)
    if not parse_mode:
        return _finished(taken, [])
    if parse_mode.lower() != "html":
        raise errors.bad_request("unsupported parse_mode")
    plain, entities = parse_html(taken)
    return _finished(plain, [kept for entity in entities if (kept := _linked(entity))])


def _linked(entity: Entity) -> Entity | None:
    """Return an entity; None if Telegram would drop the link and keep only its text."""
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
    ordered = sorted([*inside, *found], key=lambda entity: (entity["offset"], -entity["length"]))
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
