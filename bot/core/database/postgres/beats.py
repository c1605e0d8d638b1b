"""Replicas that are alive, as seen by their beats: no command or removal works beneath them.

A beat is a counter. Whether it moves is seen by looking for as long as replicas themselves look
before they take one for gone; no clock of another machine is read.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from bot.core.errors import BotError

if TYPE_CHECKING:
    from collections.abc import Callable

LOOK_SECONDS = 1.0
LOOKS = 10
"""Looks after the first: a replica whose beat stands still for ten seconds is gone."""

Beats = dict[str, int]
"""The beat of each replica, by its owner id."""


def find_beating(
    seen: Beats, look: Callable[[], Beats], sleep: Callable[[float], object] = time.sleep
) -> tuple[Beats, Beats]:
    """Return the replicas whose beat moves, as soon as one does, and those that are gone.

    `seen` are the beats of the first look. Without a row the search is over at once: replicas that
    were stopped have deleted theirs.
    """
    for _ in range(LOOKS):
        if not seen:
            break
        sleep(LOOK_SECONDS)
        now = look()
        if alive := _changed(seen, now):
            return alive, {}
        seen = now
    return {}, seen


def refuse_while_beating(
    look: Callable[[], Beats], sleep: Callable[[float], object] = time.sleep
) -> Beats:
    """Return the beats of replicas that are gone. Raises BotError as soon as one moves."""
    alive, gone = find_beating(look(), look, sleep)
    _refuse(alive)
    return gone


def refuse_changed(seen: Beats, now: Beats) -> None:
    """Raise BotError where a replica came or beat between two looks."""
    _refuse(_changed(seen, now))


def _changed(seen: Beats, now: Beats) -> Beats:
    return {owner: beat for owner, beat in now.items() if seen.get(owner) != beat}


def _refuse(alive: Beats) -> None:
    if alive:
        raise BotError(
            f"the database is in use by {len(alive)} running"
            f" {'replica' if len(alive) == 1 else 'replicas'} ({', '.join(sorted(alive))}):"
            " stop the bot everywhere first"
        )
