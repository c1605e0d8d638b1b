"""Events of Nostr and the filters that ask for them (NIP-01)."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from bot.core.errors import BadAnswer
from bot.service.nostr.keys import is_signed

if TYPE_CHECKING:
    from bot.service.nostr.keys import SecretKey

Tags = tuple[tuple[str, ...], ...]

_FIELDS = ("id", "pubkey", "created_at", "kind", "tags", "content", "sig")


@dataclass(frozen=True, slots=True)
class Event:
    """An event whose id and signature hold; `created_at` in Unix seconds."""

    id: str
    pubkey: str
    created_at: int
    kind: int
    tags: Tags
    content: str
    sig: str

    def values(self, name: str) -> tuple[str, ...]:
        """Return the first value of each tag of this name."""
        return tuple(tag[1] for tag in self.tags if len(tag) > 1 and tag[0] == name)

    def as_json(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in _FIELDS}


@dataclass(frozen=True, slots=True)
class Filter:
    """Which events a relay is asked for; `tags` are names and the values of which one must be."""

    kind: int
    author: str
    tags: tuple[tuple[str, str], ...] = field(default=())

    def matches(self, event: Event) -> bool:
        """Return whether it is an event that was asked for: a relay may send any other."""
        return (
            event.kind == self.kind
            and event.pubkey == self.author
            and all(value in event.values(name) for name, value in self.tags)
        )

    def as_json(self) -> dict[str, Any]:
        # Of stored events, the newest: a wallet may have stored thousands, which would count as a
        # flood of its relay, and cost everybody else there the connection.
        asked = {"kinds": [self.kind], "authors": [self.author], "limit": 1}
        return asked | {f"#{name}": [value] for name, value in self.tags}


def sign_event(key: SecretKey, kind: int, tags: Tags, content: str, created_at: int) -> Event:
    """Make an event of our own."""
    digest = _digest(key.public, created_at, kind, tags, content)
    sig = key.sign(digest)
    return Event(digest.hex(), key.public, created_at, kind, tags, content, sig)


def read_event(data: Any) -> Event:
    """Read an event that a relay sent. Raises BadAnswer unless its id and signature hold."""
    if not _is_well_formed(data):
        raise BadAnswer("The event has a field that is missing or of the wrong type.")
    fields = {name: data[name] for name in _FIELDS} | {"tags": tuple(map(tuple, data["tags"]))}
    event = Event(**fields)
    try:
        digest = _digest(event.pubkey, event.created_at, event.kind, event.tags, event.content)
    except UnicodeEncodeError:
        raise BadAnswer("The event holds half of a surrogate pair.") from None
    if digest.hex() != event.id:
        raise BadAnswer("The event has another id than its content.")
    if not is_signed(event.pubkey, event.sig, digest):
        raise BadAnswer("The event's signature does not hold.")
    return event


def _is_well_formed(data: Any) -> bool:
    return (
        isinstance(data, dict)
        and all(isinstance(data.get(name), str) for name in ("id", "pubkey", "content", "sig"))
        and all(type(data.get(name)) is int for name in ("created_at", "kind"))
        and isinstance(data.get("tags"), list)
        and all(_is_tag(tag) for tag in data["tags"])
    )


def _is_tag(tag: Any) -> bool:
    return isinstance(tag, list) and all(isinstance(value, str) for value in tag)


def _digest(pubkey: str, created_at: int, kind: int, tags: Tags, content: str) -> bytes:
    """Return the SHA-256 of the canonical JSON, which is the event's id."""
    fields = [0, pubkey, created_at, kind, tags, content]
    text = json.dumps(fields, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).digest()
