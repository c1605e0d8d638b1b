"""Checks as rows: what a part of an installation is asked, and what its answer means.

A new check is a row and a function, which yields each problem with its fix. The parts are listed in
examination.py.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from bot import config

T = TypeVar("T")

LONGEST = 30.0
"""Seconds that one part may take; each question to it has its own, shorter limit."""


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


@dataclass(frozen=True, slots=True)
class Check(Generic[T]):
    """A row: one subject, judged from the answer of its part."""

    name: str
    """The name of its findings."""
    problems: Callable[[T], Iterable[str | Finding]] = lambda _: ()
    """Returns what is wrong and how to fix it; a finding if its name is another."""
    well: Callable[[T], str | None] = lambda _: None
    """Returns what to say if nothing is wrong; None to say nothing."""

    def findings(self, answer: T) -> list[Finding]:
        """Return the problems; if there are none, what is well."""
        found = [
            one if isinstance(one, Finding) else fix(self.name, one)
            for one in self.problems(answer)
        ]
        text = None if found else self.well(answer)
        return found if text is None else [Finding(self.name, ok=True, text=text)]


class Unanswered(Exception):
    """A part can't be examined; the text says what to fix."""


@dataclass(frozen=True, slots=True)
class Part(Generic[T]):
    """A part of an installation, or a server that it depends on, with the checks of its answer."""

    name: str
    """The name of the finding if it doesn't answer."""
    ask: Callable[[Installation], Awaitable[T]]
    """Returns the answer. Raises Unanswered."""
    checks: tuple[Check[T], ...]
    applies: Callable[[Installation], bool] = lambda _: True
    """True if an installation has this part."""

    async def findings(self, installation: Installation) -> list[Finding]:
        """Ask the part and return the findings of its checks, in their order."""
        if not self.applies(installation):
            return []
        try:
            async with asyncio.timeout(LONGEST):
                answer = await self.ask(installation)
        except TimeoutError:
            return [fix(self.name, f"no answer within {LONGEST:.0f} seconds: try again later")]
        except Unanswered as error:
            return [fix(self.name, str(error))]
        return [finding for check in self.checks for finding in check.findings(answer)]
