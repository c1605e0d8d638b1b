"""References: what a payer writes on a bank transfer, so that the seller finds the payment.

A reference is a creditor reference of ISO 11649 (`RF`, two check digits) with six characters of
our own: ten in all, which fit each format of a bank code. The apps of many banks check it, so that
a mistyped one is noticed before the money leaves.
"""

from __future__ import annotations

import secrets

from stdnum import iso11649
from stdnum.exceptions import ValidationError
from stdnum.iso7064 import mod_97_10

ALPHABET = "23456789CDFHJKMNPQRTVWXY"
"""No two characters look alike, and without vowels there are no words."""

LENGTH = 6
PREFIX = "RF"

_LOOK_ALIKES = str.maketrans("BGSZ", "8652")
_DIGITS = str.maketrans("OILBGSZ", "0118652")
_SEPARATORS = str.maketrans("", "", " -.\u00a0")


def new_reference() -> str:
    """Return a random reference such as `RF424K7MXQ`: one of 190 million."""
    return _with_check_digits("".join(secrets.choice(ALPHABET) for _ in range(LENGTH)))


def read(text: str) -> str | None:
    """Return the reference that a person copied, None if it is none or has a mistake.

    Spaces, lower case and look-alikes (`S` for `5`, `O` in the check digits) are forgiven.
    """
    plain = text.upper().translate(_SEPARATORS)
    start = len(PREFIX) + 2
    digits = plain[len(PREFIX) : start].translate(_DIGITS)
    copied = plain[: len(PREFIX)] + digits + plain[start:].translate(_LOOK_ALIKES)
    if len(copied) != start + LENGTH:
        return None
    try:
        return iso11649.validate(copied)
    except ValidationError:
        return None


def _with_check_digits(body: str) -> str:
    return f"{PREFIX}{mod_97_10.calc_check_digits(body + PREFIX)}{body}"
