"""What the doctor found."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing looked at; where it is not well, `text` says how to mend it."""

    name: str
    well: bool
    text: str


def well(name: str, text: str) -> Finding:
    """Say that something is as it should be, or can't be known and is not to be mended."""
    return Finding(name, well=True, text=text)


def mend(name: str, text: str) -> Finding:
    """Say what is wrong, and how it is mended."""
    return Finding(name, well=False, text=text)
