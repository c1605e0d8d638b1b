"""Times on pages, in UTC; pay.js replaces them by those of the payer's zone."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Literal, TypeAlias

if TYPE_CHECKING:
    from bot.service.page.forms import Reader

Style: TypeAlias = Literal["moment", "clock"]
"""What a time shows: its date too, or the time of day alone; pay.js knows the same."""

PLACE = "\x04"
"""Stands for a value in a text that a template inserts; no text of ours contains it."""


@dataclass(frozen=True, slots=True)
class Moment:
    """A time as HTML has it, and as text."""

    iso: str
    text: str
    style: Style


@dataclass(frozen=True, slots=True)
class TimedText:
    """A text, around a time if it names one."""

    before: str
    moment: Moment | None = None
    after: str = ""


def moment(reader: Reader, at: int, style: Style = "moment") -> Moment:
    """Return a time (epoch ms) for this reader."""
    when = utc(at)
    text = reader.t("page-clock" if style == "clock" else "page-moment", at=when)
    return Moment(when.strftime("%Y-%m-%dT%H:%M:%SZ"), text, style)


def timed(text: str, shown: Moment) -> TimedText:
    """Return a text with the time at PLACE, or as it is if it names none."""
    before, place, after = text.partition(PLACE)
    return TimedText(before, shown if place else None, after)


def utc(at: int) -> datetime:
    """Convert epoch ms to a datetime in UTC."""
    return datetime.fromtimestamp(at // 1000, UTC)
