"""Times in zones whose clocks differ in odd ways."""

from __future__ import annotations

import re
from datetime import datetime
from zoneinfo import ZoneInfo

from bot.chat.model.moments import Choice, read_moment
from bot.chat.model.replies import Problem

BERLIN, NEW_YORK, LORD_HOWE = "Europe/Berlin", "America/New_York", "Australia/Lord_Howe"
KATHMANDU = "Asia/Kathmandu"
CODE = re.compile(r"<code>(.+?)</code>")


def at(shown: str, zone: str = BERLIN, fold: int = 0) -> int:
    """Return the time at which a clock of the zone shows this, in epoch ms."""
    local = datetime.fromisoformat(shown).replace(tzinfo=ZoneInfo(zone), fold=fold)
    return int(local.timestamp() * 1000)


NOW = at("2026-11-22 12:00")  # a Sunday


def ends(text: str, now: int = NOW, zone: str = BERLIN) -> int | Choice | Problem:
    return read_moment(text, now, zone, end=True)


def starts(text: str, now: int = NOW, zone: str = BERLIN) -> int | Choice | Problem:
    return read_moment(text, now, zone, end=False)
