"""Names and media types of files: which are accepted, and how a download names its file."""

from __future__ import annotations

import re
import unicodedata
from urllib.parse import quote

LONGEST_NAME = 200
"""Characters of a file's name."""

UNKNOWN_TYPE = "application/octet-stream"

MEDIA_TYPE = re.compile(r"[a-z0-9][a-z0-9!#$&^_.+-]{0,62}/[a-z0-9][a-z0-9!#$&^_.+-]{0,62}")
"""A type and subtype (RFC 6838, section 4.2)."""

OF_CLIENTS = frozenset({"application/x-www-form-urlencoded"})
"""What clients name by themselves where nobody named a type."""

PATH_PARTS = frozenset("/\\")
FOLDERS = frozenset({".", ".."})
HIDING = frozenset({"Cc", "Cf", "Cs", "Co", "Zl", "Zp"})
"""Unicode categories of characters that break a line, or make a name look like another."""

REFUSED_IN_QUOTES = re.compile(r"[^ !#$&\'()+,\-.0-9;=@A-Z\[\]^_`a-z{}~]")
"""What the plain form of a name does without (RFC 6266, appendix D)."""


def check_name(name: str) -> str:
    """Return the name of a file without the spaces around it. Raises ValueError."""
    stripped = name.strip()
    if not stripped:
        raise ValueError("is empty")
    if len(stripped) > LONGEST_NAME:
        raise ValueError(f"has more than {LONGEST_NAME} characters")
    if PATH_PARTS.intersection(stripped) or stripped in FOLDERS:
        raise ValueError("must be a name without a path")
    if any(unicodedata.category(char) in HIDING for char in stripped):
        raise ValueError("has characters that can't be seen")
    return stripped


def read_media_type(header: str) -> str:
    """Return the media type of a Content-Type header, UNKNOWN_TYPE for none that can be used."""
    named = header.partition(";")[0].strip().lower()
    known = MEDIA_TYPE.fullmatch(named) and named not in OF_CLIENTS
    return named if known else UNKNOWN_TYPE


def disposition(name: str) -> str:
    """Return the Content-Disposition of a download (RFC 6266): plain, and as RFC 8187 has it."""
    letters = unicodedata.normalize("NFKD", name)
    bare = "".join(char for char in letters if not unicodedata.combining(char))
    plain = REFUSED_IN_QUOTES.sub("_", bare)
    return f"attachment; filename=\"{plain}\"; filename*=UTF-8''{quote(name, safe='')}"
