"""`python -m tests.floods NAME…`: run floods against the product and print the results.

Without names every flood is measured but the soak, which is asked for by name. `make bench`
measures speed; this measures what strangers take from the sellers.
"""

from __future__ import annotations

import argparse
import asyncio
import signal
import sys
from pathlib import Path

from tests.floods import soak
from tests.floods.flood_scenarios import SCENARIOS
from tests.floods.result_table import markdown, written
from tests.floods.scenario_run import Plan, Result, measure

SOAK = "soak"


async def _play(names: list[str], plan: Plan) -> list[Result]:
    """Measure the floods one after the other; one that breaks the harness is named and left out."""
    results = []
    for scenario in (each for name in names for each in SCENARIOS[name]):
        print(f"{scenario.name} …", file=sys.stderr, flush=True)  # noqa: T201 - a command
        try:
            results.append(await measure(scenario, plan))
        except (RuntimeError, TimeoutError, OSError, ExceptionGroup) as error:
            print(f"{scenario.name}: {error!r}", file=sys.stderr)  # noqa: T201 - a command
            continue
        print(written(results[-1:]), file=sys.stderr, flush=True)  # noqa: T201 - a command
    return results


async def _all(names: list[str], plan: Plan, samples: Path) -> tuple[str, str]:
    """Return what was found, for a terminal and as Markdown. Ends on SIGTERM as on Ctrl-C."""
    task = asyncio.current_task()
    assert task
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
    results = await _play([name for name in names if name != SOAK], plan)
    found = [(written(results), markdown(results))] if results else []
    if SOAK in names:
        told = await soak.soak(plan, samples)
        found.append((told, told))
    return "\n\n".join(text for text, _ in found), "\n\n".join(page for _, page in found)


def main() -> None:
    """Read the command line, play, print; exit with 1 where it was stopped."""
    parser = argparse.ArgumentParser(prog="python -m tests.floods", description=__doc__)
    known = [*SCENARIOS, SOAK]
    parser.add_argument("name", nargs="*", help=f"one of {', '.join(known)}")
    parser.add_argument("--seconds", type=float, default=60, help="of each flood")
    parser.add_argument("--calm", type=float, default=20, help="seconds of payments before it")
    parser.add_argument("--rest", type=float, default=60, help="after which memory is read again")
    parser.add_argument("--sellers", type=int, default=40)
    parser.add_argument("--markdown", type=Path, help="file to write the table to")
    parser.add_argument("--samples", type=Path, default=Path("soak.csv"), help="file of the soak")
    given = parser.parse_args()
    if unknown := sorted(set(given.name) - set(known)):
        parser.error(f"no such flood: {', '.join(unknown)}; there are {', '.join(known)}")
    plan = Plan(given.seconds, given.calm, given.rest, sellers=given.sellers)
    try:
        text, page = asyncio.run(_all(given.name or list(SCENARIOS), plan, given.samples))
    except (KeyboardInterrupt, asyncio.CancelledError):
        sys.exit(1)
    print(text)  # noqa: T201 - a command
    if given.markdown:
        given.markdown.write_text(page + "\n", "utf-8")


if __name__ == "__main__":
    main()
