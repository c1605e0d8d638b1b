"""Web addresses in the seller's texts on a receipt, as links."""

from __future__ import annotations

import re
from dataclasses import dataclass

from bot.core.text import links
from bot.service.model import redirects

_ADDRESS = re.compile(r"https?://[^\s<>\"\u200e\u200f\u202a-\u202e\u2066-\u2069]+", re.IGNORECASE)
_SENTENCE = ".,;:!?…'’”»،؛؟。，、"  # noqa: RUF001 - marks of several scripts
"""Marks that end a sentence or a quotation, and no address."""

_BRACKETS = {")": "(", "]": "[", "}": "{"}


@dataclass(frozen=True, slots=True)
class TextPart:
    """A part of a text; `url` where it is an address."""

    text: str
    url: str | None = None


def linked(text: str) -> tuple[TextPart, ...]:
    """Split a text at its web addresses. An address that no browser can open stays text."""
    parts, done = [], 0
    for found in _ADDRESS.finditer(text):
        address = _without_marks(found[0])
        url = _url(address)
        if url is None:
            continue
        start = found.start()
        parts += [TextPart(text[done:start]), TextPart(address, url)]
        done = start + len(address)
    return tuple(part for part in (*parts, TextPart(text[done:])) if part.text)


def _without_marks(address: str) -> str:
    """Remove the marks behind an address, and brackets that it doesn't open itself."""
    while address:
        last = address[-1]
        opening = _BRACKETS.get(last)
        closes = opening is not None and address.count(last) > address.count(opening)
        if last not in _SENTENCE and not closes:
            break
        address = address[:-1]
    return address


def _url(address: str) -> str | None:
    try:
        return redirects.ascii_url(links.check_redirect(address, schemes=links.WEB))
    except ValueError:
        return None
