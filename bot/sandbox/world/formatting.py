"""Telegram's HTML, parsed strictly: what Telegram refuses is refused with its words.

Source: core.telegram.org/bots/api#html-style.
"""

import re
from dataclasses import dataclass, field
from typing import Any

from bot.sandbox.world.errors import ApiError, bad_request

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
    "tg-emoji": "custom_emoji",
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
class _Open:
    """A tag that waits for its end: name, what it makes, where its text starts."""

    tag: str
    entity: Entity
    start: int


@dataclass(slots=True)
class _Parser:
    source: str
    at: int = 0
    offset: int = 0  # UTF-16 units written so far
    text: list[str] = field(default_factory=list)
    open: list[_Open] = field(default_factory=list)
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
            tag = self.open[-1].tag
            raise _broken(f'can\'t find end tag corresponding to start tag "{tag}"')
        return "".join(self.text), [_merged(entity) for entity in self._outermost()]

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
        self.open.append(_Open(tag, _entity(tag, attributes, place), self.offset))

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
        expected, found = self.open[-1].tag, end[1].lower()
        if found not in ("", expected):
            raise _broken(
                f"unmatched end tag at byte offset {place}, "
                f'expected "</{expected}>", found "</{found}>"'
            )
        self._close(self.open.pop())
        self.at = end.end()

    def _close(self, opened: _Open) -> None:
        entity = opened.entity
        if entity["type"] == "text_link" and not entity["url"]:
            entity["url"] = self._written_since(opened.start)
        if self.offset > opened.start:
            place = {"offset": opened.start, "length": self.offset - opened.start}
            self.entities.append({"type": entity.pop("type"), **place, **entity})

    def _written_since(self, start: int) -> str:
        whole = "".join(self.text).encode("utf-16-le")
        return whole[start * 2 :].decode("utf-16-le")

    def _outermost(self) -> list[Entity]:
        """Merge `<pre><code class=…>` into one entity with a language."""
        pres = {(e["offset"], e["length"]): e for e in self.entities if e["type"] == "pre"}
        kept = []
        for entity in self.entities:
            outer = pres.get((entity["offset"], entity["length"]))
            if entity["type"] == "code" and outer is not None:
                outer.update({k: v for k, v in entity.items() if k == "language"})
            else:
                kept.append(entity)
        return kept

    def _place(self) -> int:
        return len(self.source[: self.at].encode())


def _merged(entity: Entity) -> Entity:
    """Drop a language outside a `pre`, where it has no meaning."""
    return {k: v for k, v in entity.items() if k != "language" or entity["type"] == "pre"}


def _entity(tag: str, attributes: dict[str, str], place: int) -> Entity:
    entity: Entity = {"type": _TYPES[tag]}
    if tag == "span" and attributes.get("class") != "tg-spoiler":
        raise _broken(f'tag "span" must have class "tg-spoiler" at byte offset {place}')
    if tag == "a":
        entity["url"] = attributes.get("href", "")
    if tag == "tg-emoji":
        entity["custom_emoji_id"] = attributes.get("emoji-id", "")
    if tag == "blockquote" and "expandable" in attributes:
        entity["type"] = "expandable_blockquote"
    if tag == "code" and attributes.get("class", "").startswith("language-"):
        entity["language"] = attributes["class"].removeprefix("language-")
    return entity


def _character(reference: re.Match[str]) -> str | None:
    if reference[3]:
        return _NAMED[reference[3].lower()]
    code = int(reference[1], 16) if reference[1] else int(reference[2])
    if not 0 < code <= _LAST_CODE_POINT or code in _SURROGATES:
        return None
    return chr(code)


def _broken(reason: str) -> ApiError:
    return bad_request(f"can't parse entities: {reason}")
