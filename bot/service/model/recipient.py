"""A recipient: an email address that gets letters about payments, and its consent."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

CONFIRM, STOP = "/email/confirm/", "/email/stop/"
"""Paths of the links in letters; a token follows."""

STOP_RECEIPTS = "receipts/"
"""What follows STOP in the link of a payer's receipt, before its token."""

DAY = 24 * 3600 * 1000
VALID = 7 * DAY
"""Milliseconds for which a confirmation link is valid."""

MOST_ASKS = 3
"""Confirmation letters that one seller may cause to one mailbox, ever; letters get lost."""

MOST_OPEN = 10
"""Addresses of one seller that may be unconfirmed at once."""


class RecipientState(StrEnum):
    """State of an address; TRUSTED: nobody has to confirm it."""

    TRUSTED = "trusted"
    UNCONFIRMED = "unconfirmed"
    CONFIRMED = "confirmed"
    ENDED = "ended"


@dataclass(frozen=True, slots=True)
class Recipient:
    """An address that `app_id` names for its seller `owner` ('' for itself); times in epoch ms.

    `mailbox` is a digest. `token` belongs to the confirmation link, `stop_token` to the unsubscribe
    link.
    """

    id: str
    app_id: str
    owner: str
    address: str
    mailbox: str
    state: RecipientState
    stop_token: str
    created_at: int
    token: str | None = None
    asks: int = 0
    asked_at: int | None = None
    confirmed_at: int | None = None
    ended_at: int | None = None

    def lapses_at(self) -> int:
        """Return when its confirmation link expires."""
        return (self.asked_at or self.created_at) + VALID

    def may_be_confirmed(self, now: int) -> bool:
        """Return whether its confirmation link is valid."""
        return self.state is RecipientState.UNCONFIRMED and now < self.lapses_at()


@dataclass(frozen=True, slots=True)
class RecipientStatus:
    """The recipient of a request as its application sees it."""

    id: str
    state: RecipientState
    confirmed_at: int | None = None
