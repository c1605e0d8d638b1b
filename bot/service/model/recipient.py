"""An address that is told of payments, and what its holder has said to that."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

CONFIRM, STOP = "/email/confirm/", "/email/stop/"
"""Where the links of letters lead; a token follows."""

DAY = 24 * 3600 * 1000
VALID = 7 * DAY
"""Milliseconds in which a link confirms an address."""

MOST_ASKS = 3
"""Times that a seller may have one mailbox asked, ever: a letter gets lost, seldom two."""

MOST_OPEN = 10
"""Addresses of a seller that may await their confirmation at once."""


class RecipientState(StrEnum):
    """How an address stands: `TRUSTED` where nobody has to confirm it."""

    TRUSTED = "trusted"
    ASKED = "unconfirmed"
    CONFIRMED = "confirmed"
    ENDED = "ended"


@dataclass(frozen=True, slots=True)
class Recipient:
    """An address that `app_id` names for its seller `owner` ('' for itself); times in epoch ms.

    `mailbox` is a digest. `token` is that of the link that confirms it, `stop_token` of the one
    that ends its letters.
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
        """Return when the link that confirms it stops to do so."""
        return (self.asked_at or self.created_at) + VALID

    def may_be_confirmed(self, now: int) -> bool:
        """Whether its link works."""
        return self.state is RecipientState.ASKED and now < self.lapses_at()


@dataclass(frozen=True, slots=True)
class RecipientStatus:
    """What an application is told of the recipient of a request."""

    id: str
    state: RecipientState
    confirmed_at: int | None = None

    @property
    def shown(self) -> RecipientState | None:
        """How it stands, unless nothing about it is out of the ordinary."""
        return None if self.state is RecipientState.TRUSTED else self.state
