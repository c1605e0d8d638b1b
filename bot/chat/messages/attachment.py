"""A file in a message of Telegram."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Attachment:
    """A file in a message of Telegram; `sent_as` is its field of the message (Bot API, Message).

    `size` in bytes and `name` are those that Telegram names; `album_id` is None for a message of
    its own. `has_words`: the message has a caption.
    """

    file_id: str
    sent_as: str
    name: str
    media_type: str
    size: int | None = None
    album_id: str | None = None
    has_words: bool = False
