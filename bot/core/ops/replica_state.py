"""What a process is among those over one database."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


def _always() -> bool:
    return True


def _one() -> int:
    return 1


@dataclass(frozen=True, slots=True)
class ReplicaState:
    """The role that a replica was started with, whether it leads, and how many are alive.

    The defaults are those of a process alone.
    """

    role: str = "all"
    leads: Callable[[], bool] = _always
    living: Callable[[], int] = _one


ALONE = ReplicaState()
