"""`make test` and `make test-slow` together run every test once, and a build calls both."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from itertools import product

import pytest

from tests.support.source_tree import ROOT

OF_MAKE = {"ARGS", "MAKEFLAGS", "MAKEOVERRIDES", "MFLAGS"}
"""What make hands to what it runs: `make test ARGS=…` would give its own to the make in here."""


def pytest_options(target: str) -> list[str]:
    """Return what a make target calls pytest with, but for how the work is shared out."""
    env = {name: value for name, value in os.environ.items() if name not in OF_MAKE}
    printed = subprocess.run(
        ["make", "-n", target], cwd=ROOT, env=env, capture_output=True, text=True, check=True
    ).stdout
    (command,) = [shlex.split(line) for line in printed.splitlines() if "-m pytest" in line]
    options = command[command.index("pytest") + 1 :]
    assert options[:3] == ["--dist", "worksteal", "-n"]
    assert int(options[3]) > 0
    return options[4:]


def test_each_test_is_run_by_one_of_the_two_targets() -> None:
    """Whatever markers a test has, exactly one of the two expressions selects it."""
    pyproject = (ROOT / "pyproject.toml").read_text("utf-8")
    markers = re.findall(r'^    "([a-z]+): ', pyproject, re.MULTILINE)
    assert "process" in markers
    option, quick = pytest_options("test")
    other_option, slow = pytest_options("test-slow")
    assert (option, other_option) == ("-m", "-m")
    for values in product((False, True), repeat=len(markers)):
        test = dict(zip(markers, values, strict=True))
        assert eval(quick, {}, test) is not eval(slow, {}, test)


def test_test_all_selects_everything() -> None:
    assert pytest_options("test-all") == []


def test_these_tests_pass_under_make_with_arguments(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MAKEFLAGS", r" -- ARGS=-k\ money")
    monkeypatch.setenv("ARGS", "-k money")
    assert pytest_options("test-all") == []


def test_a_build_runs_lint_and_both() -> None:
    build = (ROOT / ".ci" / "run").read_text("utf-8")
    assert re.findall(r"^make ([a-z-]+)", build, re.MULTILINE) == ["lint", "test", "test-slow"]


SLOW_PATH = re.compile(
    r"make test ARGS=\S*tests/(?:e2e|browser|simulation|lnbits|proofs|service/api/test_schema)"
)


def test_documents_name_slow_tests_with_test_all() -> None:
    """With `make test` they would select nothing."""
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md")]
    assert [page.name for page in pages if SLOW_PATH.search(page.read_text("utf-8"))] == []
