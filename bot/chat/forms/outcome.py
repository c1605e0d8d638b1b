"""What the conversation is given, and what follows from it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bot.chat.messages.reply import Action, Reply
    from bot.chat.model.draft import Draft
    from bot.chat.model.wish import Wish


@dataclass(frozen=True, slots=True)
class MessageInput:
    """A message that the person sent: its text, empty for none, and Telegram's id of its photo."""

    text: str
    photo: str | None = None


@dataclass(frozen=True, slots=True)
class ButtonInput:
    """A button that the person pressed."""

    action: Action


Input = MessageInput | ButtonInput


@dataclass(frozen=True, slots=True)
class Change:
    """What is to be another at a request; None clears it.

    `field` is one of `STEPS["edit"]`: an `end` is in epoch ms, `units` are those to be taken out,
    a `picture` is its id.
    """

    listing_id: str
    field: str
    value: str | int | None


@dataclass(frozen=True, slots=True)
class Setting:
    """What is to be saved with the seller; None switches it off.

    A `zone` is an IANA name, `quiet` from which to which and `summary` at which minute of its day.
    """

    name: str
    value: str | tuple[int, int] | int | None


@dataclass(frozen=True, slots=True)
class Photo:
    """A photo to be fetched from Telegram for a form."""

    file_id: str
    draft_id: str


@dataclass(frozen=True, slots=True)
class Outcome:
    """What follows from an input.

    `draft` is what to store from now on, None to store none. `wish` is to be created, `change`
    made, `destination` and `setting` saved as the seller's, `photo` fetched: in the transaction
    that stores the draft. `then` is a button to act on next, as if it had been pressed.
    """

    draft: Draft | None
    replies: tuple[Reply, ...] = ()
    toast: str | None = None
    wish: Wish | None = None
    destination: str | None = None
    change: Change | None = None
    setting: Setting | None = None
    photo: Photo | None = None
    then: Action | None = None
