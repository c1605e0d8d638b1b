"""Slices: parts of the data whose transactions run one at a time, whoever runs them.

A slice is a row of the table `slices`, which each of its transactions locks first. The row names
the replica that leads the slice, so that a former lead finds out before it changes anything.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Lead:
    """The replica that leads, and the term that it was given; a later lead has a higher term."""

    owner: str
    term: int
