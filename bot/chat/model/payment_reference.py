"""References of bank transfers as people copy them from a statement."""

from __future__ import annotations

from bot.core.text import sanitize

_ALIKE = str.maketrans("OILBGSZ", "0118652")
"""Letters that are read as digits; a reference and its copies are folded alike."""


def fold_reference(text: str) -> str:
    """Fold a reference, so that all spellings of one are equal: case, spaces, hyphens, O and 0."""
    plain = sanitize.typed(text, digits=True).upper()
    return "".join(char for char in plain if char.isascii() and char.isalnum()).translate(_ALIKE)
