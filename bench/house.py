"""`python -m bench.house`: the size of the code and how it is cut, each figure beside its goal.

It reads the files of a checkout, this one by default, and imports none of them. No figure fails:
the goals say where the code is going.
"""

from __future__ import annotations

import argparse
import ast
import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from importlib.util import resolve_name
from pathlib import Path

from bench.processes import ROOT
from bench.table import aligned

SHORT = 3
"""The most lines of a private function that could stand where it is used."""

LONG = 20
"""The most lines of a function that isn't long."""

CONVERSATION = "bot/chat/conversation"
"""The room of the conversation."""

HEADS = ("figure", "now", "goal")


@dataclass(frozen=True, slots=True)
class Figure:
    """One line of the table."""

    figure: str
    now: float
    goal: str = ""

    def cells(self) -> tuple[str, str, str]:
        """Return the line's texts under `HEADS`."""
        return self.figure, f"{self.now:,}", self.goal


@dataclass(frozen=True, slots=True)
class Module:
    """A file of the package, read and parsed."""

    path: Path
    name: str
    """Its dotted name; a package has the name of its folder."""

    text: str
    tree: ast.Module

    @property
    def is_package(self) -> bool:
        """True if it is the `__init__` of a folder."""
        return self.path.name == "__init__.py"

    def functions(self) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
        """Yield its functions: methods and functions in functions too."""
        for node in ast.walk(self.tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                yield node

    def import_lines(self) -> int:
        """Count the lines of its import statements and of `if TYPE_CHECKING:`."""
        lines: set[int] = set()
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Import | ast.ImportFrom):
                lines.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
            elif isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
                lines.add(node.lineno)
        return len(lines)

    def imports(self) -> Iterator[tuple[str, str]]:
        """Yield what it imports anywhere: a module, and the name taken out of it, if any."""
        package = self.name if self.is_package else self.name.rpartition(".")[0]
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Import):
                yield from ((alias.name, "") for alias in node.names)
            elif isinstance(node, ast.ImportFrom):
                origin = resolve_name("." * node.level + (node.module or ""), package)
                yield from ((origin, alias.name) for alias in node.names)


def house(root: Path) -> list[Figure]:
    """Measure the checkout at `root`."""
    modules = [_read(path, root) for path in sorted((root / "bot").rglob("*.py"))]
    plain = [module for module in modules if not module.is_package]
    functions = [function for module in modules for function in module.functions()]
    bodies = [body_lines(function) for function in functions]
    private = [function for function in functions if re.match(r"_(?!_)", function.name)]
    words = Counter(word for module in modules for word in re.findall(r"\w+", module.text))
    used_once = [
        function
        for function in private
        if body_lines(function) <= SHORT and words[function.name] == 2
    ]
    lines = sum(_lines(module.text) for module in modules)
    import_lines = sum(module.import_lines() for module in modules)
    long = sum(body > LONG for body in bodies)
    test_lines = sum(_lines(path.read_text("utf-8")) for path in (root / "tests").rglob("*.py"))
    room = root / CONVERSATION
    start = [module for module in modules if room in module.path.parents]
    decisions = [
        path.read_text("utf-8")
        for path in (root / "docs" / "decisions").glob("*.md")
        if path.name != "README.md"
    ]
    return [
        Figure("lines of Python in bot/", lines, "≤ 54,000"),
        Figure("modules in bot/, without __init__", len(plain), "≤ 250"),
        Figure("rooms: folders with such modules", len({one.path.parent for one in plain}), "≤ 36"),
        Figure("private functions per thousand lines", _per(1000, len(private), lines), "≤ 20"),
        Figure(f"private functions of {SHORT} lines at most, used once", len(used_once), "≤ 100"),
        Figure("mean lines of a function's body", _per(1, sum(bodies), len(bodies)), "6.2 to 9"),
        Figure(f"functions of over {LONG} lines, %", _per(100, long, len(bodies))),
        Figure("lines that import, %", _per(100, import_lines, lines), "≤ 6"),
        Figure("modules that the conversation reaches", len(reached(modules, start)), "≤ 100"),
        Figure("lines of Python in tests/", test_lines, "≤ 82,000"),
        Figure("pages in docs/decisions", len(decisions), "≤ 40"),
        Figure("sections of these pages", sum(page.count("\n## ") for page in decisions)),
        Figure("words in docs/decisions", sum(len(page.split()) for page in decisions)),
        Figure("terms in docs/glossary.md", _terms(root / "docs" / "glossary.md")),
    ]


def body_lines(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Count the lines from the first statement after the docstring to the end; 0 if none."""
    body = function.body
    if ast.get_docstring(function, clean=False) is not None:
        body = body[1:]
    return (body[-1].end_lineno or 0) - body[0].lineno + 1 if body else 0


def reached(modules: Sequence[Module], start: Sequence[Module]) -> set[str]:
    """Return the modules that `start` imports, directly or not, and `start` itself.

    Imports in functions and for type checking count. A package's `__init__` doesn't, but what it
    imports does if a name is taken out of it.
    """
    by_name = {module.name: module for module in modules}
    found = {module.name: module for module in start}
    waiting = list(start)
    while waiting:
        for origin, name in waiting.pop().imports():
            module = by_name.get(f"{origin}.{name}") or by_name.get(origin)
            if module is not None and module.name not in found:
                found[module.name] = module
                waiting.append(module)
    return {name for name, module in found.items() if not module.is_package}


def _read(path: Path, root: Path) -> Module:
    text = path.read_text("utf-8")
    parts = path.relative_to(root).with_suffix("").parts
    name = ".".join(parts).removesuffix(".__init__")
    return Module(path, name, text, ast.parse(text, str(path)))


def _lines(text: str) -> int:
    return len(text.splitlines())


def _per(base: int, part: int, whole: int) -> float:
    return round(base * part / whole, 1) if whole else 0.0


def _terms(glossary: Path) -> int:
    """Count the rows of the glossary's table, without its head."""
    if not glossary.exists():
        return 0
    rows = re.findall(r"^\| ", glossary.read_text("utf-8"), re.MULTILINE)
    return max(len(rows) - 1, 0)


def main() -> None:
    """Print the figures of a checkout."""
    parser = argparse.ArgumentParser(prog="python -m bench.house", description=__doc__)
    parser.add_argument("root", nargs="?", type=Path, default=ROOT, help="another checkout")
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    arguments = parser.parse_args()
    root = arguments.root.resolve()
    if not (root / "bot").is_dir():
        parser.error(f"{root} has no folder bot")
    figures = house(root)
    if arguments.json:
        print(json.dumps([asdict(figure) for figure in figures], ensure_ascii=False, indent=2))
    else:
        print(aligned([HEADS, *(figure.cells() for figure in figures)]))


if __name__ == "__main__":
    main()
