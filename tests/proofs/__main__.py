"""`python -m tests.proofs NAME…`: prove what the documents promise, and print the figures.

Without a name it runs every proof, which takes hours. Exits with 1 if a promise is broken, and
says which.
"""

from __future__ import annotations

import argparse
import asyncio
import dataclasses
import signal
import sys
import traceback
from dataclasses import dataclass
from importlib import import_module

from tests.proofs import proof


@dataclass(frozen=True, slots=True)
class Proof:
    """One proof: a function of a page of this folder."""

    page: str
    function: str
    size: proof.Size
    """How much it does unless the options say otherwise."""

    says: str


PROOFS = {
    # Replicas over PostgreSQL, held to docs/replicas.md
    "crowd": Proof(
        "crowds", "crowd", proof.Size(replicas=3, payments=1_000), "ten payers for each unit"
    ),
    "kill": Proof(
        *("crowds", "kill", proof.Size(replicas=3, payments=10_000, seconds=300)),
        "a replica killed every three seconds, under load",
    ),
    "race": Proof(
        "claimers", "race", proof.Size(replicas=3, payments=2_400), "claimers of one queue"
    ),
    "failover": Proof(
        *("failover", "prove", proof.Size(replicas=3, payments=600, seconds=120)),
        "the lead killed, stopped, cut off, or asked to leave",
    ),
    "database": Proof(
        *("database_faults", "prove", proof.Size(replicas=2, payments=100, seconds=15)),
        "the server stopped, crashed, frozen, slow, full, replaced by a standby",
    ),
    "commit-cut": Proof(
        *("commit_cut", "prove", proof.Size(replicas=2, payments=800, seed=0)),
        "COMMITs, or their answers, cut on the way",
    ),
    "skew": Proof("skew", "prove", proof.Size(replicas=3, payments=1_800), "clocks a second apart"),
    "roll": Proof(
        *("upgrades", "roll", proof.Size(replicas=3, payments=300, seconds=60)),
        "replicas replaced by a version with one migration more",
    ),
    "migrate-to": Proof(
        *("upgrades", "migrate_to", proof.Size(replicas=1, payments=120)),
        "an installation moved to PostgreSQL, and back by a backup",
    ),
    # Floods of the product as it starts by default
    "chatty": Proof("floods", "chatty", proof.Size(), "a hundred people ask for help each second"),
    "groups": Proof("floods", "groups", proof.Size(), "one person asks in two hundred groups"),
    "inline": Proof("floods", "inline", proof.Size(), "two hundred searches a second"),
    "addresses": Proof("floods", "addresses", proof.Size(), "every public address, in turn"),
    "pipelines": Proof("floods", "pipelines", proof.Size(), "requests whose answers nobody reads"),
    "connections": Proof("floods", "connections", proof.Size(), "connections silent or slow"),
    "drop": Proof("floods", "drop", proof.Size(), "two hundred browsers and a script at one drop"),
    "mail": Proof("floods", "mail", proof.Size(), "letters to an address that never asked"),
    "soak": Proof("soak", "prove", proof.Size(seconds=3_600), "every flood in turn for an hour"),
    # One process under load
    "chaos": Proof(
        *("chaos", "prove", proof.Size(payments=500, seconds=210, seed=1)),
        "the product killed every seven seconds, real money, balanced books",
    ),
    "uploads": Proof(
        "uploads", "prove", proof.Size(clients=14), "20 MiB from each of some clients"
    ),
    "pictures": Proof("pictures", "prove", proof.Size(clients=10), "odd pictures, in 512 MB"),
    "hour": Proof("hour", "prove", proof.Size(sellers=50, seconds=3_600), "memory under load"),
    "lighthouse": Proof("lighthouse", "prove", proof.Size(), "Lighthouse's scores of the pages"),
}
"""Every proof by its name."""


def _parse() -> dict[str, proof.Size]:
    """Return the proofs to run, each with its size."""
    listed = "\n".join(f"  {name:<12} {each.says}" for name, each in PROOFS.items())
    parser = argparse.ArgumentParser(
        prog="python -m tests.proofs",
        description=f"{__doc__}\n{listed}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("name", nargs="*", help="what is proved; everything if there is none")
    for option in dataclasses.fields(proof.Size):
        kind = float if option.name == "seconds" else int
        parser.add_argument(f"--{option.name}", type=kind, help="instead of the proof's own size")
    given = vars(parser.parse_args())
    names = given.pop("name") or [*PROOFS]
    if unknown := sorted({*names} - {*PROOFS}):
        parser.error(f"no such proof: {', '.join(unknown)}; there are {', '.join(PROOFS)}")
    chosen = {name: value for name, value in given.items() if value is not None}
    return {name: dataclasses.replace(PROOFS[name].size, **chosen) for name in names}


async def _prove(name: str, size: proof.Size) -> proof.Figures:
    """Run a proof. Ends on SIGTERM as on Ctrl-C, so that nothing of it is left."""
    task = asyncio.current_task()
    assert task
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
    page = import_module(f"tests.proofs.{PROOFS[name].page}")
    figures: proof.Figures = await getattr(page, PROOFS[name].function)(size)
    return figures


def main() -> None:
    """Read the command line, prove, print."""
    is_broken = False
    for name, size in _parse().items():
        print(f"{name}: {PROOFS[name].says}", flush=True)  # noqa: T201 - a command
        try:
            figures = asyncio.run(_prove(name, size))
        except (KeyboardInterrupt, asyncio.CancelledError):
            sys.exit(1)
        except Exception as error:  # noqa: BLE001 - the proofs that follow still run
            traceback.print_exception(error)
            figures = proof.Figures(broken=[f"{name} broke off: {error!r}"])
        print(figures.table(), flush=True)  # noqa: T201 - a command
        for line in figures.broken:
            is_broken = True
            print(f"BROKEN: {line}", file=sys.stderr)  # noqa: T201 - a command
    sys.exit(is_broken)


if __name__ == "__main__":
    main()
