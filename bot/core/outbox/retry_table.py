"""Retry tables: when a failed attempt is repeated, and when it is given up."""

from __future__ import annotations

import secrets
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RetryTable:
    """The delays after the first, second … failed attempt in a row, in milliseconds.

    After the last delay the attempts are given up, unless the table `repeats` that delay for ever.
    `jitter` per mille of a delay are added or subtracted at random, so that peers that failed
    together don't come back together. A peer that asks for a longer delay (Retry-After, RFC 9110
    section 10.2.3) gets it, up to `longest_asked`.
    """

    delays: tuple[int, ...]
    repeats: bool = False
    jitter: int = 0
    longest_asked: int = 0

    def delay(self, failed: int, asked: float = 0.0) -> int | None:
        """Return the milliseconds to wait after `failed` attempts; None where they are given up.

        `asked` are the seconds that the peer asks for.
        """
        if failed > len(self.delays) and not self.repeats:
            return None
        return self.delay_or_last(failed, asked)

    def delay_or_last(self, failed: int, asked: float = 0.0) -> int:
        """Return the milliseconds to wait after `failed` attempts that are never given up."""
        delay = self.delays[min(failed, len(self.delays)) - 1]
        if self.jitter:
            delay += delay * (secrets.randbelow(2 * self.jitter + 1) - self.jitter) // 1000
        return max(delay, min(int(asked * 1000), self.longest_asked))

    def longest(self) -> int:
        """Return the last delay, for what is not worth an earlier attempt."""
        return self.delays[-1]
