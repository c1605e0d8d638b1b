"""One result of a check."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of a check; if it is not `ok`, `text` says what is wrong and how to fix it."""

    name: str
    ok: bool
    text: str


def ok(name: str, text: str) -> Finding:
    """Return a finding without a problem, or without a way to know."""
    return Finding(name, ok=True, text=text)


def fix(name: str, text: str) -> Finding:
    """Return a finding with a problem to fix."""
    return Finding(name, ok=False, text=text)
