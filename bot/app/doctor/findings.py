"""Findings, and what is known about an installation before other servers are asked.

A check is a function that yields each problem with its fix, and a line in the part that it judges.
The parts are listed in examination.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from bot import config


@dataclass(frozen=True, slots=True)
class Finding:
    """One result of a check."""

    name: str
    """The setting, or the thing, that the operator looks at."""
    ok: bool
    """True if there is no problem, or no way to know."""
    text: str
    """What is wrong and how to fix it, if it is not ok."""


def fix(name: str, text: str) -> Finding:
    """Return a finding about a problem."""
    return Finding(name, ok=False, text=text)


@dataclass(frozen=True, slots=True)
class Installation:
    """What is known before other servers are asked: the settings, and facts from the database.

    The facts have their defaults if the database can't be read.
    """

    settings: config.Settings
    now: Callable[[], int]
    """Returns epoch ms."""
    has_chat: bool = True
    """False if the service runs alone, without Telegram."""
    database: Sequence[Finding] = ()
    """The findings about the database itself."""
    deployment: str | None = None
    """The name of this installation."""
    unsent_mails: int = 0
    inline_feedback: bool = False
    """True once Telegram has reported a shared card."""
    accounts: Mapping[str, int] = field(default_factory=dict)
    """The number of connected payout accounts by kind."""
    rated_at: int | None = None
    """When exchange rates were last stored, in epoch ms."""


def judged(name: str, problems: Iterable[str | Finding], well: str | None = None) -> list[Finding]:
    """Return the problems of one subject, as findings; if there are none, what is well.

    A problem is a text that says what is wrong and how to fix it, or a finding if its name is
    another.
    """
    found = [one if isinstance(one, Finding) else fix(name, one) for one in problems]
    return found if found or well is None else [Finding(name, ok=True, text=well)]


class Unanswered(Exception):
    """A part of an installation can't be examined; the text says what to fix."""
