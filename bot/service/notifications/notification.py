"""What the service reports by webhook and email, and to whom; pure.

Whoever pays chooses the address of a receipt. So a letter to a payer carries the seller's codes and
numbers, but no text of the seller, which would reach anybody (docs/decisions/0049).
"""

from __future__ import annotations

import hmac
import re
from dataclasses import dataclass
from enum import StrEnum


class Channel(StrEnum):
    """How a payment is reported."""

    WEBHOOK = "webhook"
    EMAIL = "email"
    """To the seller."""

    RECEIPT = "receipt"
    """By email to the payer."""


class NotificationState(StrEnum):
    """State of a delivery. DEAD: given up; JOINED: sent in another delivery's letter.

    ENDED: not sent, because the recipient wants or may get no letters.
    """

    # The docstring is the description in the OpenAPI document.

    WAITING = "waiting"
    SENDING = "sending"
    DELIVERED = "delivered"
    DEAD = "dead"
    JOINED = "joined"
    ENDED = "ended"


@dataclass(frozen=True, slots=True)
class Notification:
    """A report of one payment, or of one claimed checkout, by one channel; times in epoch ms."""

    id: str
    app_id: str
    request_id: str
    transaction_id: str | None
    channel: Channel
    address: str
    state: NotificationState
    attempts: int
    """Attempts since the first one, or since the operator's last retry."""

    created_at: int
    next_at: int | None
    """Time of the next attempt, None unless it waits for one."""

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
    """One attempt to send a notification."""

    at: int
    """When it began, in epoch ms."""

    took: int
    """Duration in ms."""

    status: int | None = None
    """The status of HTTP or SMTP."""

    answer: str | None = None
    """The beginning of the answer."""

    problem: str | None = None
    """Why there was no answer."""


# Recipients: addresses that get letters about payments, and their consent.

CONFIRM_PATH, STOP_PATH = "/email/confirm/", "/email/stop/"
"""Paths of the links in letters; a token follows."""

STOP_RECEIPTS = "receipts/"
"""Stands between STOP_PATH and the token in the links of payers' receipts."""

DAY = 24 * 3600 * 1000
CONFIRMABLE = 7 * DAY
"""Milliseconds for which a confirmation link is valid."""

MOST_ASKS = 3
"""Confirmation letters that one seller may cause to one mailbox, ever; letters get lost."""

MOST_OPEN = 10
"""Addresses of one seller that may be unconfirmed at once."""


class RecipientState(StrEnum):
    """State of an address."""

    TRUSTED = "trusted"
    """Nobody has to confirm it."""

    UNCONFIRMED = "unconfirmed"
    CONFIRMED = "confirmed"
    ENDED = "ended"


@dataclass(frozen=True, slots=True)
class Recipient:
    """An address that an application names for one of its sellers; times in epoch ms."""

    id: str
    app_id: str
    owner: str
    """The seller, "" for the application itself."""

    address: str
    mailbox: str
    """Digest of the address."""

    state: RecipientState
    stop_token: str
    """Token of the unsubscribe link."""

    created_at: int
    token: str | None = None
    """Token of the confirmation link."""

    asks: int = 0
    """Confirmation letters so far."""

    asked_at: int | None = None
    confirmed_at: int | None = None
    ended_at: int | None = None

    def lapses_at(self) -> int:
        """Return when its confirmation link expires."""
        return (self.asked_at or self.created_at) + CONFIRMABLE

    def may_be_confirmed(self, now: int) -> bool:
        """True if its confirmation link is valid."""
        return self.state is RecipientState.UNCONFIRMED and now < self.lapses_at()


@dataclass(frozen=True, slots=True)
class RecipientStatus:
    """The recipient of a request as its application sees it."""

    id: str
    state: RecipientState
    confirmed_at: int | None = None


# Links in payers' receipts: one keeps the receipt in a chat, one ends all receipts to a mailbox.
# Nothing is stored for them.

STOP_TOKEN = re.compile(r"([0-9a-f]{64})([0-9a-f]{32})")
"""A mailbox, which is a digest of its address (core/text/contacts.py), and our signature of it."""

SIGNATURE_BYTES = 16
STOP_PURPOSE = b"stop receipts "
"""Tells these signatures from others with the same key."""


def keep_link(template: str, request_id: str, transaction_id: str) -> str:
    """Return the address that keeps a receipt; `template` names the ids in braces (`keepUrl`)."""
    return template.replace("{requestId}", request_id).replace("{transactionId}", transaction_id)


def stop_token(key: bytes, mailbox: str) -> str:
    """Return the token that ends the receipts to a mailbox."""
    return mailbox + _signature(key, mailbox)


def read_stop_token(key: bytes, token: str) -> str | None:
    """Return the mailbox of a token, None if this service has not signed it."""
    found = STOP_TOKEN.fullmatch(token)
    if found is None or not hmac.compare_digest(_signature(key, found[1]), found[2]):
        return None
    return found[1]


def _signature(key: bytes, mailbox: str) -> str:
    return hmac.digest(key, STOP_PURPOSE + mailbox.encode(), "sha256")[:SIGNATURE_BYTES].hex()


# What a letter to a payer may contain.

LONGEST_CODE = 100
"""Characters of a code or a number in a letter."""

MOST_CODES = 10
"""Codes in a letter: a sentence could be spread over more."""

_CODE = re.compile(rf"(?=[!-~]*[0-9])[!-~]{{1,{LONGEST_CODE}}}")
"""Visible ASCII without spaces, with a digit: codes have one, words have none."""

_LINK = re.compile(r"://|www\.|@|[a-z0-9-]\.[a-z0-9-]", re.IGNORECASE)
"""What mail programs turn into a link: addresses, hosts, mailboxes."""

_DEEP_LINK = re.compile(r"https://t\.me/[A-Za-z][A-Za-z0-9_]{2,31}\?start=[A-Za-z0-9_-]{1,64}")
"""A link that starts a bot of Telegram, and can do nothing else."""


def is_code(text: str) -> bool:
    """True if a text is a code or a number, and can't be read as a message or a link."""
    return bool(_CODE.fullmatch(text)) and not _LINK.search(text)


def is_deep_link(url: str) -> bool:
    """True if a URL starts a bot of Telegram."""
    return _DEEP_LINK.fullmatch(url) is not None


@dataclass(frozen=True, slots=True)
class UnitNumbers:
    """The units of a payment, numbered from `first` to `last`, of `total`."""

    first: int
    last: int
    total: int


@dataclass(frozen=True, slots=True)
class LetterContents:
    """What a letter to a payer says beside its report: read when it is sent, never stored."""

    units: UnitNumbers | None = None
    keep: str | None = None
    """Link that keeps the receipt in a chat."""

    codes: tuple[tuple[int, str], ...] = ()
    """The number and the code of each unit, () if the letter may not carry them."""

    has_goods: bool = False
    """The receipt's page shows what was bought."""

    waits: bool = False
    """A part of what was bought is still to come."""

    has_note: bool = False
    """The seller wrote a note; the receipt's page shows it if `note` is None."""

    note: str | None = None


NO_CONTENTS = LetterContents()
