"""The faults of each kind of request on each link, with their weights."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from enum import StrEnum


class Fault(StrEnum):
    """What is done to one exchange; `_AFTER`: the other side has taken the request by then."""

    PASS = "passes"
    DELAY = "is delayed"
    OVERTAKEN = "is overtaken"
    TWICE = "comes twice"
    REFUSED = "is answered 429 on the way"
    BROKEN = "is answered 5xx on the way"
    BROKEN_AFTER = "is answered 5xx after it came"
    CUT_BEFORE = "is cut before it comes"
    CUT_AFTER = "has its answer cut"
    CUT_WITHIN = "has its answer cut in the middle"
    HANG_BEFORE = "hangs before it comes"
    HANG_AFTER = "hangs after it came"


@dataclass(frozen=True, slots=True)
class _Cuts:
    after: frozenset[Fault]
    hanging: frozenset[Fault]


CUT = _Cuts(
    after=frozenset({Fault.CUT_AFTER, Fault.CUT_WITHIN, Fault.HANG_AFTER}),
    hanging=frozenset({Fault.HANG_BEFORE, Fault.HANG_AFTER}),
)

DOUBTFUL = frozenset(
    {
        Fault.BROKEN, Fault.BROKEN_AFTER, Fault.CUT_BEFORE, Fault.CUT_AFTER, Fault.CUT_WITHIN,
        Fault.HANG_BEFORE, Fault.HANG_AFTER,
    }
)  # fmt: skip
"""After these a client can't know whether its request was taken."""

Menu = dict[Fault, int]

ONCE: Menu = {
    Fault.DELAY: 4,
    Fault.OVERTAKEN: 3,
    Fault.REFUSED: 3,
    Fault.BROKEN: 2,
    Fault.BROKEN_AFTER: 3,
    Fault.CUT_BEFORE: 2,
    Fault.CUT_AFTER: 4,
    Fault.CUT_WITHIN: 2,
    Fault.HANG_BEFORE: 1,
    Fault.HANG_AFTER: 1,
}
"""For Telegram's sends, which must not come twice by the network's doing: nobody could tell."""

REPEATABLE: Menu = ONCE | {Fault.TWICE: 4}

POLLS: Menu = {
    Fault.DELAY: 2,
    Fault.REFUSED: 1,
    Fault.BROKEN: 1,
    Fault.CUT_BEFORE: 1,
    Fault.CUT_AFTER: 3,
    Fault.CUT_WITHIN: 1,
}
"""getUpdates: two at once are a conflict at Telegram, and one that hangs is nothing new."""

MENUS: defaultdict[tuple[str, str], Menu] = defaultdict(
    lambda: REPEATABLE,
    {
        ("telegram", "sendMessage"): ONCE,
        ("telegram", "sendPhoto"): ONCE,
        ("telegram", "getUpdates"): POLLS,
    },
)
