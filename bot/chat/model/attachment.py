"""A file in a message of Telegram, and what came with the words of a message."""

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

    @property
    def is_picture(self) -> bool:
        """Return whether it can be a photo too."""
        return self.sent_as in ("photo", "document") and self.media_type.startswith("image/")


@dataclass(frozen=True, slots=True)
class Enclosure:
    """What came with the words of a message.

    `photo` is the file_id of a picture, which may be a `file` too. Neither: it has no use here.
    """

    photo: str | None = None
    file: Attachment | None = None

    @property
    def is_photo(self) -> bool:
        """Return whether it can only be a photo: any file may be what buyers get."""
        return self.photo is not None and (self.file is None or self.file.sent_as == "photo")
