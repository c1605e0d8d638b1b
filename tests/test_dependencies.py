"""What pyproject.toml declares: the packages that the product imports, its version, its Pythons."""

from __future__ import annotations

import re
import sys
import tomllib
from importlib.metadata import packages_distributions

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from bot import __version__
from tests.support.source_tree import FILES, ROOT, imports, module_of, parsed

PYTHONS = ["3.11", "3.12", "3.13", "3.14"]
LOCKED = re.compile(r"^(\S[^\\\n]*)", re.MULTILINE)
"""The lines of a requirements file without their hashes."""

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
        for found in imports(module_of(path), parsed(path))
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
    return canonicalize_name(re.split(r"[^\w.-]", requirement)[0])


def test_the_classifiers_name_every_python_that_we_support() -> None:
    named = [
        line.rpartition(" ")[2]
        for line in PROJECT["classifiers"]
        if line.startswith("Programming Language :: Python :: 3.")
    ]
    assert named == PYTHONS
    assert PROJECT["requires-python"] == f">={PYTHONS[0]}"


@pytest.mark.parametrize("version", PYTHONS)
def test_the_lock_has_every_dependency_for_every_python(version: str) -> None:
    """No library of the product is left out where it has no release, as a marker would."""
    environment = {"python_version": version, "python_full_version": f"{version}.0"}
    locked = {
        canonicalize_name(line.name)
        for line in map(Requirement, LOCKED.findall((ROOT / "requirements.txt").read_text("utf-8")))
        if line.marker is None or line.marker.evaluate(environment)
    }
    assert {_distribution(line) for line in PROJECT["dependencies"]} <= locked
