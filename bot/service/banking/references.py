"""References: what a payer writes on a bank transfer, so that the seller finds the payment.

A reference is a creditor reference of ISO 11649 (`RF`, two check digits) with six characters of
our own: ten in all, which fit each format of a bank code. The apps of many banks check it, so that
a mistyped one is noticed before the money leaves.
"""

from __future__ import annotations

import secrets

from stdnum.iso7064 import mod_97_10

ALPHABET = "23456789CDFHJKMNPQRTVWXY"
"""No two characters look alike, and without vowels there are no words."""

LENGTH = 6
PREFIX = "RF"


def new_reference() -> str:
    """Return a random reference such as `RF564K7MXQ`: one of 190 million."""
    body = "".join(secrets.choice(ALPHABET) for _ in range(LENGTH))
    return f"{PREFIX}{mod_97_10.calc_check_digits(body + PREFIX)}{body}"
