"""`make bench`: every figure beside its yardstick; `make bench ARGS="alert start"`: only those."""

from __future__ import annotations

import argparse

import uvloop

from bench.figures import FIGURES
from bench.table import Row, written

NOTE = """
Product, Bot API server and yardsticks run on this machine, over loopback. The limits of
Telegram and of the service are lifted on both sides, but in the storm, where Telegram's hold on
both, and beside neighbours, where the product keeps to that of a chat. Commits are durable
(synchronous=FULL). What only the tests install is hidden from the processes.
"""


async def _measure(names: list[str]) -> list[Row]:
    return [row for name in names for row in await FIGURES[name]()]


def main() -> None:
    """Measure the figures that are asked for and print the table."""
    parser = argparse.ArgumentParser(prog="make bench", description=__doc__)
    parser.add_argument("figure", nargs="*", help=f"one of {', '.join(FIGURES)}; all without")
    names = parser.parse_args().figure or list(FIGURES)
    if unknown := sorted(set(names) - FIGURES.keys()):
        parser.error(f"no such figure: {', '.join(unknown)}; there are {', '.join(FIGURES)}")
    print(written(uvloop.run(_measure(names))))
    print(NOTE)


if __name__ == "__main__":
    main()
