"""`python -m tests.mutants`: try mutants against the tests that reach them, and print the score.

A commit is measured, not the working tree. Exits with 1 if the score is lower than the recorded
one. A mutant is killed by a test that fails, or by its time on the CPU: a busy machine kills none.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import resource
import signal
import subprocess
import sys
import time
import tomllib
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from datetime import timedelta
from itertools import count, pairwise
from pathlib import Path
from queue import SimpleQueue
from tempfile import TemporaryDirectory

from tests.mutants.reach import Reach
from tests.support.locked_environments import cache_folder, environment
from tests.support.source_tree import ROOT

HERE = Path(__file__).parent
RECORD = tomllib.loads((HERE / "record.toml").read_text("utf-8"))
KEPT = ROOT / "data" / "mutants"
"""What the tests of a commit reach, and the results."""

CORES = os.cpu_count() or 1

BATCHES = (0, 100, 1000)
"""A mutant is tried with the first hundred quick tests, then with the others up to a thousand.

These are numbers, because seconds would depend on the machine.
"""

SLOW_SECONDS = 60
"""The most seconds on the CPU that slow tests get for a mutant."""

SLOW = "property or postgresql or simulation or long"

FAILED = re.compile(r"^(?:FAILED|ERROR) (\S+)", re.MULTILINE)

_moments = count(1_000_000_000)
"""Modification times: each is new, so that Python never takes old bytecode for a mutant's."""


@dataclass(frozen=True, slots=True)
class Mutant:
    id: str
    theme: str
    path: str
    line: int
    diff: str

    code: str
    """The whole module with the fault."""

    tests: int = 0
    """How many quick tests reach it."""

    killer: str = ""
    """The suite that killed it, or `time`; empty if it survives."""

    failed: str = ""
    """The test that failed."""


class Tree:
    """A copy of a commit, in which one mutant at a time is tried."""

    def __init__(self, folder: Path, commit: str) -> None:
        self.folder = folder / "tree"
        self.folder.mkdir(parents=True)
        self._temporary = folder / "tmp"
        archive = ["git", "archive", commit]
        packed = subprocess.run(archive, cwd=ROOT, capture_output=True, check=True).stdout
        subprocess.run(["tar", "-x"], cwd=self.folder, input=packed, check=True)

    def pytest(self, *options: str, cpu: int | None = None) -> tuple[int, str]:
        """Return pytest's exit code, negative if `cpu` seconds were not enough, and its output."""
        command = [sys.executable, "-m", "pytest", "-q", "--tb=no", "-p", "no:cacheprovider"]
        process = subprocess.Popen(
            [*command, f"--basetemp={self._temporary}", *options],
            cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            env={k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
            | {"COLUMNS": "1000"},  # else the summary loses the reason of a failure
            start_new_session=True,
        )  # fmt: skip
        if cpu is not None:
            resource.prlimit(process.pid, resource.RLIMIT_CPU, (cpu, cpu))
        try:
            output, _ = process.communicate(timeout=None if cpu is None else 10 * cpu + 300)
        except subprocess.TimeoutExpired:
            process.kill()
            output, _ = process.communicate()
        finally:
            with suppress(ProcessLookupError):  # what the tests started and left
                os.killpg(process.pid, signal.SIGKILL)
        return process.returncode, output

    def measure(self, quick: str, kept: Path) -> Reach:
        """Return what the quick tests reach, by running them once for a commit."""
        data, junit = kept.with_suffix(".coverage"), kept.with_suffix(".xml")
        if not junit.exists():
            settings = self.folder.with_name("coveragerc")
            settings.write_text(f"[run]\nrelative_files = true\ndata_file = {data}\n")
            partial = junit.with_suffix(".part")
            code, output = self.pytest(
                "-n", str(CORES), "-m", quick, f"--junitxml={partial}",
                "--cov=bot", "--cov-context=test", "--cov-report=", f"--cov-config={settings}",
            )  # fmt: skip
            if code not in {0, 1}:
                raise SystemExit(output)
            say("\n".join(FAILED.findall(output)))
            partial.rename(junit)
        return Reach(self.folder, data, junit)

    @contextmanager
    def faulty(self, mutant: Mutant) -> Iterator[None]:
        """Put the fault into the tree, and take it out again."""
        path = self.folder / mutant.path
        sound = path.read_text("utf-8")
        self._write(path, mutant.code)
        try:
            yield
        finally:
            self._write(path, sound)

    def _write(self, path: Path, text: str) -> None:
        path.write_text(text, "utf-8")
        os.utime(path, (moment := next(_moments), moment))

    def try_quick(self, mutant: Mutant, reach: Reach) -> Mutant:
        """Try the tests that reach the fault, the most likely ones first."""
        found = reach.tests(mutant.path, mutant.line)
        mutant = replace(mutant, tests=len(found))
        for first, last in pairwise(BATCHES):
            batch = dict(found[first:last])
            if batch and not mutant.killer:
                cpu = 60 + int(3 * sum(batch.values()))
                mutant = self._try(mutant, "quick", [*batch], cpu)
        return mutant

    def try_slow(self, mutant: Mutant) -> Mutant:
        """Try the slow tests of the fault's room, then the simulations."""
        room = Path(mutant.path.replace("bot/", "tests/", 1)).parent
        rooms = [str(room)] if (self.folder / room).exists() else []
        return self._try(mutant, "slow", ["-m", SLOW, *rooms, "tests/simulation"], SLOW_SECONDS)

    def _try(self, mutant: Mutant, suite: str, options: list[str], cpu: int) -> Mutant:
        arguments = self.folder.with_name("arguments")
        arguments.write_text("\n".join(options))
        with self.faulty(mutant):
            code, output = self.pytest("-x", "--timeout=60", f"@{arguments}", cpu=cpu)
        if code < 0 or "from pytest-timeout" in output:
            return replace(mutant, killer="time") if suite == "quick" else mutant
        if code in {0, 5}:
            return mutant
        return replace(mutant, killer=suite, failed=" ".join(FAILED.findall(output)[:1]))


def draw(tree: Path, seed: str, number: int) -> list[Mutant]:
    python = environment(HERE / "requirements.txt", cache_folder())
    command = [python, str(HERE / "mutations.py"), str(tree), seed, str(number)]
    drawn = subprocess.run(command, capture_output=True, check=True).stdout
    return [Mutant(**fields) for fields in json.loads(drawn)]


def try_all(
    trees: list[Tree], mutants: list[Mutant], attempt: Callable[[Tree, Mutant], Mutant]
) -> list[Mutant]:
    """Try mutants side by side, each in a tree of its own."""
    free: SimpleQueue[Tree] = SimpleQueue()
    for tree in trees:
        free.put(tree)

    def one(mutant: Mutant) -> Mutant:
        tree = free.get()
        try:
            tried = attempt(tree, mutant)
        finally:
            free.put(tree)
        say(f"{tried.killer or 'SURVIVED':8} {tried.path}:{tried.line} {tried.failed}")
        return tried

    with ThreadPoolExecutor(len(trees)) as pool:
        return list(pool.map(one, mutants))


def main() -> None:
    """Read the command line, try the mutants, print the score and those that survive."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("--quick", required=True, help="pytest's -m for the quick tests")
    parser.add_argument("--seed", default=RECORD["seed"])
    parser.add_argument("--number", type=int, default=RECORD["number"], help="of mutants")
    parser.add_argument("--theme", action="append", help="one of them alone; may be repeated")
    parser.add_argument("--commit", default="HEAD")
    parser.add_argument("--minutes", type=float, default=40, help="after which no slow test begins")
    given = parser.parse_args()
    began = time.monotonic()
    resolve = ["git", "rev-parse", "--short=8", given.commit]
    commit = subprocess.run(resolve, cwd=ROOT, capture_output=True, text=True, check=True)
    kept = KEPT / commit.stdout.strip()
    KEPT.mkdir(parents=True, exist_ok=True)

    def try_slow(tree: Tree, mutant: Mutant) -> Mutant:
        is_late = time.monotonic() - began > 60 * given.minutes
        return mutant if is_late else tree.try_slow(mutant)

    with TemporaryDirectory(prefix="mutants-") as folder:
        trees = [Tree(Path(folder) / str(core), kept.name) for core in range(CORES)]
        reach = trees[0].measure(given.quick, kept)
        drawn = draw(trees[0].folder, given.seed, given.number)
        drawn = [it for it in drawn if it.theme in (given.theme or {it.theme})]
        tried = try_all(trees, drawn, lambda tree, mutant: tree.try_quick(mutant, reach))
        left = [it for it in tried if not it.killer and it.id not in RECORD["explained"]]
        again = {it.id: it for it in try_all(trees, left, try_slow)}
    tried = [again.get(it.id, it) for it in tried]
    results = [asdict(replace(it, code="")) for it in tried]
    kept.with_suffix(f".{given.seed}.json").write_text(json.dumps(results, indent=1), "utf-8")
    score = report(tried)
    took = timedelta(seconds=int(time.monotonic() - began))
    say(f"\nseed {given.seed!r}, commit {kept.name}, {took}: score {score:.3f}")
    is_recorded = (given.seed, len(tried)) == (RECORD["seed"], RECORD["number"])
    if is_recorded and score < RECORD["score"]:
        raise SystemExit(f"The score fell below the recorded {RECORD['score']}.")


def report(tried: list[Mutant]) -> float:
    """Print a table by theme and the survivors; return the share of killed mutants.

    Explained survivors don't count.
    """
    explained = [it for it in tried if not it.killer and it.id in RECORD["explained"]]
    survivors = [it for it in tried if not it.killer and it not in explained]
    heads = ["drawn", "quick", "slow", "time", "alive", "explained"]
    say(f"\n{'theme':12}" + "".join(f"{head:>10}" for head in heads))
    for theme in [*dict.fromkeys(it.theme for it in tried), "all"]:
        own = [it for it in tried if theme in {it.theme, "all"}]
        killed = [sum(it.killer == suite for it in own) for suite in ("quick", "slow", "time")]
        alive = [sum(it in group for it in own) for group in (survivors, explained)]
        say(f"{theme:12}" + "".join(f"{n:10}" for n in (len(own), *killed, *alive)))
    for it in survivors:
        say(f"\n{it.id} {it.path}:{it.line}, reached by {it.tests} tests\n{it.diff}")
    return 1 - len(survivors) / max(1, len(tried) - len(explained))


def say(text: str) -> None:
    print(text, flush=True)  # noqa: T201 - a command


if __name__ == "__main__":
    main()
