"""What a letter to a payer may carry of the seller's: codes and numbers, and never a message.

Whoever pays chooses the address, so free text would be a way to write anything to anybody
(docs/decisions/0049-receipts-by-e-mail.md).
"""

from __future__ import annotations

import hmac
import re
from dataclasses import dataclass
from enum import StrEnum

# A delivery: a payment or a claim reported by webhook or email, in one or more attempts.


class Channel(StrEnum):
    """How a payment is reported; RECEIPT: by email to its payer."""

    WEBHOOK = "webhook"
    EMAIL = "email"
    RECEIPT = "receipt"


class NotificationState(StrEnum):
    """State of a delivery. DEAD: given up; JOINED: sent in another delivery's letter.

    ENDED: not sent, because the recipient wants or may get no letters.
    """

    WAITING = "waiting"
    SENDING = "sending"
    DELIVERED = "delivered"
    DEAD = "dead"
    JOINED = "joined"
    ENDED = "ended"


@dataclass(frozen=True, slots=True)
class Notification:
    """A report of one payment, or of one claimed checkout, by one channel; times in UTC epoch ms.

    `attempts` counts from the first one, or from the last retry of the operator. `next_at` is set
    while it waits, `settled_at` afterwards.
    """

    id: str
    app_id: str
    request_id: str
    transaction_id: str | None
    channel: Channel
    address: str
    state: NotificationState
    attempts: int
    created_at: int
    next_at: int | None
    settled_at: int | None
    note: str | None
    checkout_id: str | None = None


@dataclass(frozen=True, slots=True)
class ReceiptLetter:
    """A payment's receipt by email, as the payer's page may show it."""

    address: str
    state: NotificationState


@dataclass(frozen=True, slots=True)
class Attempt:
    """One attempt: begun at `at` (epoch ms), ended after `took` ms.

    `status` and the beginning of the `answer` are those of HTTP or SMTP; without an answer,
    `problem` has the reason.
    """

    at: int
    took: int
    status: int | None = None
    answer: str | None = None
    problem: str | None = None


# A recipient: an email address that gets letters about payments, and its consent.


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


# Links in payers' receipts: one keeps the receipt, one ends all receipts to their mailbox.
#
# Nothing is stored for them.


TOKEN = re.compile(r"([0-9a-f]{64})([0-9a-f]{32})")
TAG = 16
"""Bytes of the signature."""

PURPOSE = b"stop receipts "
"""Tells these signatures from others with the same key."""


def keep_link(template: str, request_id: str, transaction_id: str) -> str:
    """Return the address that keeps a receipt; `template` names the ids in braces (`keepUrl`)."""
    return template.replace("{requestId}", request_id).replace("{transactionId}", transaction_id)


def stop_token(key: bytes, mailbox: str) -> str:
    """Return the token of a mailbox, a digest of its address (core/text/contacts.py)."""
    return mailbox + _signature(key, mailbox)


def read_stop_token(key: bytes, token: str) -> str | None:
    """Return the mailbox of a token, None for one that this service has not signed."""
    found = TOKEN.fullmatch(token)
    if found is None or not hmac.compare_digest(_signature(key, found[1]), found[2]):
        return None
    return found[1]


def _signature(key: bytes, mailbox: str) -> str:
    return hmac.digest(key, PURPOSE + mailbox.encode(), "sha256")[:TAG].hex()


LONGEST_TOKEN = 100
"""Characters of a code or a number in a letter."""

MOST_CODES = 10
"""Codes in a letter: words of a sentence could be spread over more."""

_TOKEN = re.compile(rf"(?=[!-~]*[0-9])[!-~]{{1,{LONGEST_TOKEN}}}")
"""Visible ASCII in one piece, with a digit: codes have one, words have none."""

_LINK = re.compile(r"://|www\.|@|[a-z0-9-]\.[a-z0-9-]", re.IGNORECASE)
"""What mail programs make a link of: addresses, hosts, mailboxes."""

_DEEP_LINK = re.compile(r"https://t\.me/[A-Za-z][A-Za-z0-9_]{2,31}\?start=[A-Za-z0-9_-]{1,64}")
"""A link that starts a bot of Telegram, which is all that it can do."""


def is_token(text: str) -> bool:
    """Return whether a text is a code or a number and can't be read as a message or a link."""
    return bool(_TOKEN.fullmatch(text)) and not _LINK.search(text)


def is_deep_link(url: str) -> bool:
    """Return whether a URL starts a bot of Telegram."""
    return _DEEP_LINK.fullmatch(url) is not None


@dataclass(frozen=True, slots=True)
class UnitNumbers:
    """The units of a payment, numbered from `first` to `last`, of `total`."""

    first: int
    last: int
    total: int


@dataclass(frozen=True, slots=True)
class LetterContents:
    """What a letter to a payer says beside its report: read when it is sent, and never stored.

    `codes` are those of the payment's units, by number; none where a letter may not carry them.
    `has_goods`: the receipt shows what was bought; `waits`: a part of it is to come. `has_note`:
    there is a note, which only the receipt shows unless it is in `note`.
    """

    units: UnitNumbers | None = None
    keep: str | None = None
    codes: tuple[tuple[int, str], ...] = ()
    has_goods: bool = False
    waits: bool = False
    has_note: bool = False
    note: str | None = None


NO_CONTENTS = LetterContents()
