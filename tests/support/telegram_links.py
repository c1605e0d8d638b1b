"""What Telegram makes active in a plain text, as its library finds it (tdlib, MessageEntity.cpp).

Addresses, mentions, commands, tags, email addresses and phone numbers. General punctuation, such as
a word joiner, belongs to none of them.
"""

from __future__ import annotations

import re

ACTIVE = {
    "url": re.compile(
        r"[a-z]+://[^\s\u2000-\u206f]|(?<![@\w])[\w-]+(?:\.[\w-]+)*\.[^\W\d_]{2,}|\d+(?:\.\d+){3}",
        re.IGNORECASE,
    ),
    "mention": re.compile(r"(?<!\w)@\w{2,32}"),
    "command": re.compile(r"(?<![\w/<>])/\w{1,64}(?![\w/<>])"),
    "hashtag": re.compile(r"(?<!\w)#\w+"),
    "cashtag": re.compile(r"(?<!\w)\$[A-Z]{1,8}(?!\w)"),
    "email": re.compile(r"[\w.+-]+@[\w-]+\.\w+"),
    "phone": re.compile(r"\+?\(?\d(?:[ ().-]{0,2}\d){6,}"),
}


def active_parts(text: str) -> dict[str, list[str]]:
    """Return what a person could tap in a text, by its kind."""
    found = {kind: [part[0] for part in sign.finditer(text)] for kind, sign in ACTIVE.items()}
    return {kind: parts for kind, parts in found.items() if parts}
