"""What a letter to a payer may carry of the seller's: codes and numbers, and never a message.

Whoever pays chooses the address, so free text would be a way to write anything to anybody
(docs/decisions/0049-receipts-by-e-mail.md).
"""

from __future__ import annotations

import re
from dataclasses import dataclass

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
