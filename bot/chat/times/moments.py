"""The start or end of a request, parsed as people write it.

All readings of a text are followed: one moment is taken, several are a Choice, and none is a
Problem with the reason. Moments are in epoch ms.
"""

from __future__ import annotations

from dataclasses import dataclass

from bot.chat.messages.reply import Problem
from bot.chat.times.display import full_text
from bot.chat.times.epochs import MAX_AHEAD, Question, Refusal, moments_of
from bot.chat.times.time_parts import readings
from bot.core.text.translations import t

MAX_CHOICES = 4  # buttons below one question


@dataclass(frozen=True, slots=True)
class Choice:
    """Moments that a text may mean, the earliest first, of which the seller chooses one."""

    moments: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Past(Problem):
    """The Problem of a moment in the past, quoted in full."""

    at: int = 0
    now: int = 0
    zone: str = ""

    def text(self, language: str) -> str:
        """Return the problem in words."""
        moment = full_text(self.at, self.now, self.zone, language)
        return t(language, "problem-moment-past", moment=moment)


def read_moment(text: str, now: int, zone: str, *, end: bool) -> int | Choice | Problem:
    """Parse when a request starts or, with `end`, ends: `tomorrow 18:00`, `in 2 h`, `31.12.`.

    A day without a time is the whole day: it starts with its first minute, ends with its last.
    """
    found = [moments_of(parts, Question(now, zone, end)) for parts in readings(text)]
    moments = sorted({at for each in found if not isinstance(each, Refusal) for at in each})
    coming = tuple(at for at in moments if now < at <= now + MAX_AHEAD)
    if coming:
        return coming[0] if len(coming) == 1 else Choice(coming[:MAX_CHOICES])
    if moments:
        past = [at for at in moments if at <= now]
        return (
            Past("problem-moment-past", {}, past[-1], now, zone) if past else Problem(Refusal.FAR)
        )
    why = next((each for each in Refusal if each in found), None)
    return Problem(why) if why else Problem("problem-moment")
