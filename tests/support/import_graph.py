"""What the files of the product import, read with `ast`."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

from tests.support.paths import ROOT


@dataclass(frozen=True)
class Import:
    """One name that a line imports."""

    line: int
    name: str


def module_of(path: Path) -> str:
    """Return the dotted name of a file's module."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports(module: str, source: str) -> Iterator[Import]:
    """Yield every import of a file: in functions and behind conditions too."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield Import(node.lineno, alias.name)
        elif isinstance(node, ast.ImportFrom):
            base = [*module.split(".")[: -node.level or None]] if node.level else []
            origin = ".".join([*base, *filter(None, [node.module])])
            for alias in node.names:
                yield Import(node.lineno, _module_named(origin, alias.name))


def _module_named(origin: str, name: str) -> str:
    """Return the module: of `from bot.core import errors` that is `bot.core.errors`."""
    path = ROOT.joinpath(*origin.split("."), name)
    is_module = path.with_suffix(".py").exists() or (path / "__init__.py").exists()
    return f"{origin}.{name}" if is_module else origin


def circle(sources: dict[str, str]) -> list[str]:
    """Return the modules of a circle of imports, those for type checking included; [] for none."""
    graph = {
        module: {found.name for found in imports(module, source) if found.name in sources}
        for module, source in sources.items()
    }
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def environment_reads(path: str, source: str) -> list[str]:
    """List where a file reads the environment, as `file:line reads the environment`."""
    names = {"environ", "environb", "getenv", "getenvb"}
    return [
        f"{path}:{node.lineno} reads the environment"
        for node in ast.walk(ast.parse(source))
        if (isinstance(node, ast.Attribute) and node.attr in names)
        or (isinstance(node, ast.ImportFrom) and names & {alias.name for alias in node.names})
    ]
