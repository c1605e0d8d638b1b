"""Texts that name the seller: by the profile's name, or as "the seller" where there is none."""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bot.service.model.request import PaymentRequest
    from bot.service.page.forms import Reader

FIRST_STRONG_ISOLATE, POP_ISOLATE = "\u2068", "\u2069"
SENTENCE_END = ". "


def named(reader: Reader, request: PaymentRequest, key: str, **values: object) -> str:
    """Return the text of `key` with the seller's name as `$seller`."""
    if request.seller:
        return reader.t(key, seller=isolated(request.seller.name), **values)
    nobody = reader.t("page-the-seller")
    text = reader.t(key, seller=nobody, **values)
    return _capitalized(text, nobody)


def isolated(name: str) -> str:
    """Return a name so that its direction doesn't change that of the text around it."""
    if any(unicodedata.bidirectional(letter) in {"R", "AL"} for letter in name):
        return f"{FIRST_STRONG_ISOLATE}{name}{POP_ISOLATE}"
    return name


def _capitalized(text: str, words: str) -> str:
    """Write these words with a capital where a sentence begins with them."""
    first = words[0].upper() + words[1:]
    if text.startswith(words):
        text = first + text.removeprefix(words)
    return text.replace(SENTENCE_END + words, SENTENCE_END + first)
