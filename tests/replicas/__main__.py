"""`python -m tests.replicas NAME`: prove what holds with replicas, and print the figures.

Exits with 1 where a promise is broken, and says which.
"""

from __future__ import annotations

import argparse
import asyncio
import dataclasses
import signal
import sys
from importlib import import_module
from types import ModuleType

from tests.replicas.proof import Figures, Size

PROOFS = {
    "crowd": "crowd",
    "kill": "kill",
    "race": "race",
    "failover": "failover",
    "database": "database_faults",
    "commit-cut": "commit_cut",
    "skew": "skew",
    "roll": "roll",
    "migrate-to": "migration",
}
"""The modules of the proofs by their names."""


def _parse() -> tuple[ModuleType, Size]:
    parser = argparse.ArgumentParser(prog="python -m tests.replicas", description=__doc__)
    parser.add_argument("name", choices=PROOFS, help="what is proved")
    for option, kind in (
        ("seconds", float),
        ("payments", int),
        ("seed", int),
        ("replicas", int),
    ):
        parser.add_argument(f"--{option}", type=kind, help="instead of the proof's own size")
    given = vars(parser.parse_args())
    proof = import_module(f"tests.replicas.{PROOFS[given.pop('name')]}")
    chosen = {name: value for name, value in given.items() if value is not None}
    return proof, dataclasses.replace(proof.SIZE, **chosen)


async def _prove(proof: ModuleType, size: Size) -> Figures:
    """Run a proof. Ends on SIGTERM as on Ctrl-C, so that nothing of it is left."""
    task = asyncio.current_task()
    assert task
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
    figures: Figures = await proof.prove(size)
    return figures


def main() -> None:
    """Read the command line, prove, print."""
    proof, size = _parse()
    try:
        figures = asyncio.run(_prove(proof, size))
    except (KeyboardInterrupt, asyncio.CancelledError):
        sys.exit(1)
    print(figures.table())  # noqa: T201 - a command
    for line in figures.broken:
        print(f"BROKEN: {line}", file=sys.stderr)  # noqa: T201 - a command
    sys.exit(1 if figures.broken else 0)


if __name__ == "__main__":
    main()
