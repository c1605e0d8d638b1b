"""Which quick tests reach a line, by one run of them under coverage; kept for each commit."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from xml.etree import ElementTree as ET

from coverage import CoverageData


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement of a module; of a compound statement only its head."""

    first: int
    last: int

    names: frozenset[str]
    """What it binds."""

    is_definition: bool
    """True for the head of a function or a class."""

    is_inside: bool
    """True if it belongs to a function, so that coverage knows which tests run it."""


class Reach:
    """What each quick test of a commit reaches, and how long it takes."""

    def __init__(self, tree: Path, coverage: Path, junit: Path) -> None:
        self._tree = tree
        self._data = CoverageData(str(coverage))
        self._data.read()
        self._files = {Path(name).as_posix(): name for name in self._data.measured_files()}
        self._sources = {
            path.relative_to(tree).as_posix(): path.read_text("utf-8")
            for path in (tree / "bot").rglob("*.py")
        }
        self._statements = {path: _statements(text) for path, text in self._sources.items()}
        self._uses: defaultdict[str, list[tuple[str, int]]] = defaultdict(list)
        for path, text in self._sources.items():
            for number, line in enumerate(text.splitlines(), 1):
                for name in set(re.findall(r"\w+", line)):
                    self._uses[name].append((path, number))
        self._contexts = cache(self._data.contexts_by_lineno)
        self._seconds = {
            f"{case.attrib['classname'].replace('.', '/')}.py::{case.attrib['name']}": float(
                case.attrib["time"]
            )
            for case in ET.parse(junit).iter("testcase")
            if len(case) == 0 or {part.tag for part in case} <= {"properties", "system-out"}
        }

    def tests(self, path: str, line: int) -> list[tuple[str, float]]:
        """Return the tests that reach a line, with their seconds: the room's own first, then quick
        ones; those that need a PostgreSQL server last.
        """
        room = str(Path(path.replace("bot/", "tests/", 1)).parent)
        found = {
            test
            for file, number in self._places(path, line)
            for context in self._contexts(file).get(number, ())
            if (test := context.rpartition("|")[0]) in self._seconds
        }
        order = sorted(
            ("postgresql" in test, not test.startswith(room), self._seconds[test], test)
            for test in found
        )
        return [(test, seconds) for _, _, seconds, test in order]

    def _places(self, path: str, line: int) -> set[tuple[str, int]]:
        """Return the lines in functions that depend on a line.

        Outside of functions, these are the lines that use a name bound there, and those that use
        a name bound by such a line: tests run them, while the line itself runs at the import.
        """
        places: set[tuple[str, int]] = set()
        todo, seen = [(path, self._statement(path, line))], set()
        while todo:
            path, statement = todo.pop()
            if statement is None or (path, statement) in seen:
                continue
            seen.add((path, statement))
            if statement.is_inside:
                places |= {(path, each) for each in range(statement.first, statement.last + 1)}
                continue
            for name in statement.names:
                for file, number in self._uses[name]:
                    user = self._statement(file, number)
                    if (file == path or name[0] != "_") and not (user and user.is_definition):
                        todo.append((file, user))
        return places

    def _statement(self, path: str, line: int) -> Statement | None:
        around = [it for it in self._statements[path] if it.first <= line <= it.last]
        return max(around, key=lambda it: it.first, default=None)


def _statements(source: str) -> list[Statement]:
    found: list[Statement] = []

    def visit(node: ast.AST, *, is_inside: bool) -> None:
        for child in ast.iter_child_nodes(node):
            is_function = isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef)
            if isinstance(child, ast.stmt | ast.ExceptHandler):
                body = getattr(child, "body", None)
                last = body[0].lineno - 1 if body else child.end_lineno or child.lineno
                last = max(last, child.lineno)
                is_definition = is_function or isinstance(child, ast.ClassDef)
                found.append(Statement(child.lineno, last, _bound(child), is_definition, is_inside))
            visit(child, is_inside=is_inside or is_function)

    visit(ast.parse(source), is_inside=False)
    return found


def _bound(node: ast.AST) -> frozenset[str]:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return frozenset({node.name})
    targets: Iterable[ast.AST] = getattr(node, "targets", [getattr(node, "target", ast.Pass())])
    names = (name for target in targets for name in ast.walk(target))
    return frozenset(name.id for name in names if isinstance(name, ast.Name))
