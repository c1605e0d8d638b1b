"""What pyproject.toml declares: the packages that the product imports, and its version."""

from __future__ import annotations

import re
import sys
import tomllib
from importlib.metadata import packages_distributions

from bot import __version__
from tests.support.import_graph import imports, module_of
from tests.support.paths import ROOT

FILES = sorted((ROOT / "bot").rglob("*.py"))
PART_OF = {"pydantic_core": "pydantic", "typing_extensions": "pydantic"}
"""Packages that come with another one and are pinned by it."""


PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]


def test_the_package_has_the_version_of_the_project() -> None:
    assert __version__ == PROJECT["version"]


def test_every_package_imported_is_a_declared_dependency() -> None:
    declared = {_distribution(line) for line in PROJECT["dependencies"]}
    known = packages_distributions()
    imported = {
        PART_OF.get(package, package)
        for path in FILES
        for found in imports(module_of(path), path.read_text("utf-8"))
        if (package := found.name.partition(".")[0]) not in {*sys.stdlib_module_names, "bot"}
    }
    undeclared = [
        package
        for package in sorted(imported)
        if declared.isdisjoint(map(_distribution, known.get(package, [package])))
    ]
    assert not undeclared


def _distribution(requirement: str) -> str:
    """`python_Foo>=0.28,<0.29; …` names python-foo."""
    return re.split(r"[^\w.-]", requirement)[0].lower().replace("_", "-")
