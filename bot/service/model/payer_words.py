"""What a payer may tell the seller: a name and a message."""

from __future__ import annotations

from dataclasses import dataclass

LONGEST_NAME, LONGEST_MESSAGE = 80, 280
"""Characters."""


@dataclass(frozen=True, slots=True)
class PayerWords:
    """A payer's name and message; None for what the payer left out."""

    name: str | None = None
    message: str | None = None


NO_WORDS = PayerWords()
