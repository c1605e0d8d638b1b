"""The files of the repository: modules of the product, each parsed once, and translated texts."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import TypeVar

from fluent.runtime import FluentResource
from fluent.syntax import ast as fluent

from bot.core.text.translations import LOCALES

ROOT = Path(__file__).parents[2]
"""The top of the repository."""

BOT = ROOT / "bot"
FILES = sorted(BOT.rglob("*.py"))
"""The modules of the product."""

VARIABLE = re.compile(r"\$([a-zA-Z][\w-]*)")
"""A variable of a translated text."""

Node = TypeVar("Node", bound=ast.AST)


@cache
def parsed(path: Path) -> ast.Module:
    """Parse a file; all checks share the tree."""
    return ast.parse(path.read_text("utf-8"))


def nodes(kind: type[Node], paths: Iterable[Path] = FILES) -> Iterator[tuple[Path, Node]]:
    """Yield every node of a kind, with its file."""
    for path in paths:
        for node in ast.walk(parsed(path)):
            if isinstance(node, kind):
                yield path, node


def dotted(node: ast.expr) -> str:
    """Return a name with its attributes, `outcome.send_text`; nothing for any other expression."""
    parts = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return ".".join([node.id, *reversed(parts)]) if isinstance(node, ast.Name) else ""


def room(name: str) -> list[Path]:
    """Return the modules in a folder of the product."""
    return [path for path in FILES if path.is_relative_to(BOT / name)]


def module_of(path: Path) -> str:
    """Return the dotted name of a file's module."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@dataclass(frozen=True)
class Import:
    """One name that a line imports."""

    line: int
    name: str


def imports(module: str, tree: ast.Module) -> Iterator[Import]:
    """Yield every import of a module: in functions and behind conditions too."""
    for node in ast.walk(tree):
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


def circle(trees: dict[str, ast.Module]) -> list[str]:
    """Return the modules of a circle of imports, those for type checking included; [] for none."""
    graph = {
        module: {found.name for found in imports(module, tree) if found.name in trees}
        for module, tree in trees.items()
    }
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def environment_reads(path: str, tree: ast.Module) -> list[str]:
    """List where a file reads the environment, as `file:line reads the environment`."""
    names = {"environ", "environb", "getenv", "getenvb"}
    return [
        f"{path}:{node.lineno} reads the environment"
        for node in ast.walk(tree)
        if (isinstance(node, ast.Attribute) and node.attr in names)
        or (isinstance(node, ast.ImportFrom) and names & {alias.name for alias in node.names})
    ]


@cache
def messages(language: str) -> dict[str, str]:
    """Read the source of each text of a language by its key; a repeated key fails."""
    found: dict[str, str] = {}
    for path in sorted((LOCALES / language).glob("*.ftl")):
        source = path.read_text(encoding="utf-8")
        for entry in FluentResource(source).body:
            assert not isinstance(entry, fluent.Junk), f"{path.name}: {entry.content}"
            if isinstance(entry, fluent.Message):
                key = entry.id.name
                assert key not in found, f"{path.name} says {key} again"
                assert entry.span
                found[key] = source[entry.span.start : entry.span.end]
    return found
