"""Notifications by webhook and email, and their recipients. This module does no I/O.

The payer chooses the address of a receipt and may enter a stranger's. So a letter to a payer
contains codes and numbers from the seller, but no other text:
docs/decisions/notifications.md#0049.
"""

from __future__ import annotations

import hmac
import re
from dataclasses import dataclass
from enum import StrEnum

from bot.interface import vocabulary


class Channel(StrEnum):
    """How a payment is reported."""

    WEBHOOK = "webhook"
    EMAIL = "email"
    """To the seller."""

    RECEIPT = "receipt"
    """By email to the payer."""


@dataclass(frozen=True, slots=True)
class Notification:
    """A report about one payment or one claimed checkout by one channel; times in epoch ms."""

    id: str
    app_id: str
    request_id: str
    transaction_id: str | None
    channel: Channel
    address: str
    state: vocabulary.NotificationState
    attempts: int
    """The number of attempts since the start or since the operator's last retry."""

    created_at: int
    next_at: int | None
    """Time of the next attempt, None if there is none."""

    settled_at: int | None
    note: str | None
    checkout_id: str | None = None


@dataclass(frozen=True, slots=True)
class ReceiptLetter:
    """The emailed receipt of a payment, as the payer's page may show it."""

    address: str
    state: vocabulary.NotificationState


@dataclass(frozen=True, slots=True)
class Attempt:
    """One attempt to send a notification."""

    at: int
    """When it began, in epoch ms."""

    took: int
    """Duration in ms."""

    status: int | None = None
    """The HTTP or SMTP status."""

    answer: str | None = None
    """The beginning of the answer."""

    problem: str | None = None
    """Why there was no answer."""


# Recipients: addresses that receive letters about payments, and their consent.

CONFIRM_PATH, STOP_PATH = "/email/confirm/", "/email/stop/"
"""Paths of the links in letters; a token follows."""

STOP_RECEIPTS = "receipts/"
"""Follows STOP_PATH in the unsubscribe links of receipts; the token comes after it."""

DAY = 24 * 3600 * 1000
CONFIRMABLE = 7 * DAY
"""Milliseconds for which a confirmation link is valid."""

MOST_ASKS = 3
"""Maximum confirmation letters from one seller to one mailbox, ever. A few, because letters get
lost.
"""

MOST_OPEN = 10
"""Maximum unconfirmed addresses of one seller."""


class RecipientState(StrEnum):
    """State of an address."""

    TRUSTED = "trusted"
    """The address needs no confirmation."""

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
    """The recipient of a request's letters, as its application sees it."""

    id: str
    state: RecipientState
    confirmed_at: int | None = None


# Links in payers' receipts: one saves the receipt in a chat, the other ends all receipts to a
# mailbox. Nothing is stored for these links.

STOP_TOKEN = re.compile(r"([0-9a-f]{64})([0-9a-f]{32})")
"""A mailbox, which is the digest of an address (core/text/contacts.py), and its signature."""

SIGNATURE_BYTES = 16
STOP_PURPOSE = b"stop receipts "
"""Distinguishes these signatures from others made with the same key."""


def keep_link(template: str, request_id: str, transaction_id: str) -> str:
    """Return the link that saves a receipt; `template` has the ids in braces (`keepUrl`)."""
    return template.replace("{requestId}", request_id).replace("{transactionId}", transaction_id)


def stop_token(key: bytes, mailbox: str) -> str:
    """Return the token that ends the receipts to a mailbox."""
    return mailbox + _signature(key, mailbox)


def read_stop_token(key: bytes, token: str) -> str | None:
    """Return the mailbox of a token, or None if the signature is wrong."""
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
"""Maximum codes in a letter: more codes could spell out a sentence."""

_CODE = re.compile(rf"(?=[!-~]*[0-9])[!-~]{{1,{LONGEST_CODE}}}")
"""Visible ASCII with a digit and without spaces: codes usually contain a digit, words don't."""

_LINK = re.compile(r"://|www\.|@|[a-z0-9-]\.[a-z0-9-]", re.IGNORECASE)
"""Text that mail programs turn into a link: addresses, hosts, mailboxes."""

_DEEP_LINK = re.compile(r"https://t\.me/[A-Za-z][A-Za-z0-9_]{2,31}\?start=[A-Za-z0-9_-]{1,64}")
"""A link that starts a Telegram bot and can do nothing else."""


def is_code(text: str) -> bool:
    """True if a text is a code or a number that can't be read as a message or a link."""
    return bool(_CODE.fullmatch(text)) and not _LINK.search(text)


def is_deep_link(url: str) -> bool:
    """True if a URL starts a Telegram bot."""
    return _DEEP_LINK.fullmatch(url) is not None


@dataclass(frozen=True, slots=True)
class UnitNumbers:
    """The units of a payment, numbered from `first` to `last`, of `total`."""

    first: int
    last: int
    total: int


@dataclass(frozen=True, slots=True)
class LetterContents:
    """Contents of a letter to a payer in addition to its report: read on sending, never stored."""

    units: UnitNumbers | None = None
    keep: str | None = None
    """Link that saves the receipt in a chat."""

    codes: tuple[tuple[int, str], ...] = ()
    """The number and the code of each unit, () if the letter may not contain them."""

    has_goods: bool = False
    """True if the receipt's page shows the goods."""

    waits: bool = False
    """True if some of the goods are still to come."""

    has_note: bool = False
    """True if the seller wrote a note. If `note` is None, only the receipt's page shows it."""

    note: str | None = None


NO_CONTENTS = LetterContents()
