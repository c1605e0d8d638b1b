"""What follows from an input to a form."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bot.chat.messages.reply import Action, Reply
    from bot.chat.model.attachment import Attachment
    from bot.chat.model.draft import Draft, Seller
    from bot.chat.model.wish import Wish


@dataclass(frozen=True, slots=True)
class Change:
    """An edit of one field of a request, named by `field` (one of EDITS); None clears it.

    An `end` is in epoch ms, `units` are those to take out, a `picture` is its id, `goods` are JSON.
    """

    listing_id: str
    field: str
    value: str | int | None


@dataclass(frozen=True, slots=True)
class Setting:
    """A setting to save with the seller; None switches it off.

    A `destination` is where the seller's money goes, a `zone` an IANA name; `quiet` hours and the
    `summary` are minutes of the zone's day. The steps of the profile (PROFILE_STEPS) are settings
    too, and so is `payoutlater`: the seller chose to connect no payout account yet.
    """

    name: str
    value: str | tuple[int, int] | int | None


PROBE, SAVE = "probe", "save"
"""What a form has the service do with a payout account."""


@dataclass(frozen=True, slots=True)
class MarkNote:
    """A seller's note on a payment that they marked, None where they skipped it.

    `payment` is its key, as in buttons, `mark` one of NOTED (model/payment_marks.py).
    """

    payment: str
    mark: str
    text: str | None


@dataclass(frozen=True, slots=True)
class NewCodes:
    """More codes for the buyers of a request."""

    listing_id: str
    codes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What follows from an input.

    The caller stores `draft` (None: no draft), sends `replies`, creates `wish`, makes `change`,
    saves the `setting` of the seller, has the service check (PROBE) or save (SAVE) the payout
    account of the draft as `connect` says, and fetches the file `photo` for the draft (empty: the
    seller's profile photo at Telegram) or for the `wish`, which is then created once it is here,
    fetches the file `fetch` for what buyers get, sends the new `codes` and saves the `note` on a
    payment, all in one transaction.
    Then it acts on `then` as if that button had been pressed.
    """

    draft: Draft | None
    replies: tuple[Reply, ...] = ()
    toast: str | None = None
    wish: Wish | None = None
    change: Change | None = None
    setting: Setting | None = None
    photo: str | None = None
    then: Action | None = None
    note: MarkNote | None = None
    connect: str | None = None
    fetch: Attachment | None = None
    codes: NewCodes | None = None


Press = Callable[["Draft", "Action", "Seller", int], Outcome | None]
"""Performs a button, given its words and the time (epoch ms); None where they make no sense."""
