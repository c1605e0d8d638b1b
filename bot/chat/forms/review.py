"""The review: everything that a new request will have."""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING

from bot.chat.fields.registry import FIELDS
from bot.core.text.translations import t

if TYPE_CHECKING:
    from bot.chat.model.draft import Draft, Seller


def review(draft: Draft, seller: Seller) -> str:
    """Return all fields of the request as it will be created, a line each."""
    lines = (field.line(draft, seller) for field in FIELDS)
    return "\n".join([t(seller.language, "review"), *filter(None, lines)])


def fingerprint(draft: Draft, seller: Seller) -> str:
    """Return a checksum of all that a review shows: an old Create button must not create more."""
    values = [getattr(draft, field.attribute) for field in FIELDS if field.attribute]
    return f"{zlib.crc32(repr((seller.destination, values)).encode()):08x}"
