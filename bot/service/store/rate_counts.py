"""SQL of rate limits: the calls that all replicas have counted, by limit, subject and window."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from bot.core.database.database import Transaction

BATCHES = (64, 8, 1)
"""Rows that one statement adds: few sizes, so that few statements are prepared."""

SWEEP = "DELETE FROM rates WHERE slot < :before"


@dataclass(frozen=True, slots=True, order=True)
class Count:
    """The calls of one subject of a limit, in the window that begins at `slot` (epoch seconds)."""

    name: str
    subject: str
    slot: int
    hits: int


def add(tx: Transaction, counts: Iterable[Count]) -> list[Count]:
    """Add calls to those of the other replicas; return the sums.

    The rows are locked in one order, or two replicas would wait for each other.
    """
    return [
        Count(**row)
        for batch in _batches(sorted(counts))
        for row in tx.query(_statement(len(batch)), **_parameters(batch))
    ]


def sweep(tx: Transaction, before: int) -> None:
    """Delete the windows that began before a time (epoch seconds)."""
    tx.execute(SWEEP, before=before)


def _batches(counts: Sequence[Count]) -> Iterator[Sequence[Count]]:
    begin = 0
    for size in BATCHES:
        while len(counts) - begin >= size:
            yield counts[begin : begin + size]
            begin += size


@lru_cache(len(BATCHES))
def _statement(size: int) -> str:
    rows = ", ".join(f"(:name{i}, :subject{i}, :slot{i}, :hits{i})" for i in range(size))
    return f"""
        INSERT INTO rates (name, subject, slot, hits) VALUES {rows}
        ON CONFLICT (name, subject, slot) DO UPDATE SET hits = rates.hits + excluded.hits
        RETURNING name, subject, slot, hits
    """  # noqa: S608 - of our own names


def _parameters(counts: Sequence[Count]) -> dict[str, object]:
    return {
        f"{name}{i}": getattr(one, name)
        for i, one in enumerate(counts)
        for name in ("name", "subject", "slot", "hits")
    }
