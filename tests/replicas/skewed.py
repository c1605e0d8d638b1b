"""`python -m tests.replicas.skewed MS COMMAND…`: the product, by a clock that is wrong by so much.

It is ahead by MS milliseconds, or behind where that is negative.
"""

from __future__ import annotations

import sys
import time

from bot.cli.commands import main

right = time.time_ns

if __name__ == "__main__":
    wrong_by = int(sys.argv.pop(1)) * 1_000_000
    time.time_ns = lambda: right() + wrong_by
    main()
