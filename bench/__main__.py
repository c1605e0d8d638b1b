"""`make bench`: every figure beside its yardstick, also written to docs/benchmarks.md.

`make bench ARGS="alert start"` measures only those, and writes nothing. `make bench ARGS=peers`
measures other products beside ours, and rewrites their section of that page. Without names,
`growth` is measured only where its file is there: it takes long to make.
"""

from __future__ import annotations

import argparse

import uvloop

from bench import growth, wrk
from bench.figures import FIGURES
from bench.peers.environments import DEBIAN
from bench.peers.figures import peers
from bench.peers.section import section_of, with_section
from bench.processes import ROOT
from bench.report import report
from bench.table import Row, written

PEERS = "peers"
REPORT = ROOT / "docs" / "benchmarks.md"
NOTE = """
Product, Bot API server and yardsticks run on this machine, over loopback. The limits of
Telegram and of the service are lifted on both sides, but in the storm, where Telegram's hold on
both, and beside neighbours, where the product keeps to that of a chat. Commits are durable
(synchronous=FULL). What only the tests install is hidden from the processes.
"""


async def _measure(names: list[str]) -> list[Row]:
    """Measure figures one after the other; print each at once, for a later one may fail."""
    rows: list[Row] = []
    for name in names:
        measured = await FIGURES[name]()
        print(written(measured), flush=True)
        rows += measured
    return rows


def main() -> None:
    """Measure the figures that are asked for and print the table; all of them are written down."""
    parser = argparse.ArgumentParser(prog="make bench", description=__doc__)
    parser.add_argument(
        "figure", nargs="*", help=f"one of {', '.join(FIGURES)}; all without; or {PEERS}"
    )
    asked = parser.parse_args().figure
    if asked == [PEERS]:
        _beside_peers()
        return
    if unknown := sorted(set(asked) - FIGURES.keys()):
        parser.error(f"no such figure: {', '.join(unknown)}; there are {', '.join(FIGURES)}")
    wrk.install()
    every = [name for name in FIGURES if name != "growth" or growth.KEPT.exists()]
    rows = uvloop.run(_measure(asked or every))
    print(NOTE)
    if not asked:
        page = with_section(report(rows, NOTE), section_of(REPORT.read_text("utf-8")))
        REPORT.write_text(page, "utf-8")


def _beside_peers() -> None:
    wrk.install({**wrk.PACKAGES, **DEBIAN})
    section = uvloop.run(peers())
    print(section)
    REPORT.write_text(with_section(REPORT.read_text("utf-8"), section), "utf-8")


if __name__ == "__main__":
    main()
