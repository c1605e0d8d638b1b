"""The start or end of a request as people write it: read, asked about, said in full.

Every way to understand a line is followed. One moment is taken, several are asked about, and
where there is none the answer says why. Moments are epoch ms, the time of `now` is given.
"""

from __future__ import annotations

from dataclasses import dataclass

from bot.chat.messages.problem import Problem
from bot.chat.times.display import full_text
from bot.chat.times.epochs import MAX_AHEAD, Question, Refusal, moments_of
from bot.chat.times.time_parts import readings
from bot.core.text.translations import t

MAX_CHOICES = 4  # buttons below one question


@dataclass(frozen=True, slots=True)
class Choice:
    """Moments that a line may mean, the earliest first, which the person is to choose from."""

    moments: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Past(Problem):
    """A moment that is over, said as it was read."""

    at: int = 0
    now: int = 0
    zone: str = ""

    def text(self, language: str) -> str:
        """Say it."""
        moment = full_text(self.at, self.now, self.zone, language)
        return t(language, "problem-moment-past", moment=moment)


def read_moment(text: str, now: int, zone: str, *, end: bool) -> int | Choice | Problem:
    """Read when a request starts or ends: `tomorrow 18:00`, `in 2 h`, `31.12.`, `Friday`.

    A day without a time is meant whole: it ends with its last minute and starts with its first.
    """
    found = [moments_of(spoken, Question(now, zone, end)) for spoken in readings(text)]
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
