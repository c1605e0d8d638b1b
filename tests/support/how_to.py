"""The pages of docs/how-to.md, and following them in a copy of the project.

A page that is followed has blocks of code. The line before a block says where it belongs.
"""

from __future__ import annotations

import re
import shutil
from dataclasses import dataclass
from pathlib import Path

from tests.support.source_tree import ROOT

HOW_TO = ROOT / "docs" / "how-to.md"
COPIED = (".ci", "bot", "tests", "docs", "bench", "demo_cluster", "deploy")

_PLACE = (
    r"(?:In `(?P<file>[^`]+)`, (?P<place>after|before|instead of) `(?P<line>[^\n]+)`"
    r"|At the end of `(?P<table>[A-Z]+)` in `(?P<holder>[^`]+)`"
    r"|At the end of `(?P<longer>[^`]+)`|A new file, `(?P<new>[^`]+)`):"
)
_BLOCK = re.compile(rf"^{_PLACE}\n\n```\w+\n(?P<block>.*?)^```$", re.MULTILINE | re.DOTALL)
_COST = re.compile(r"^\*(\d+) files, (\d+) lines\*$", re.MULTILINE)


@dataclass(frozen=True)
class Step:
    """A block of a page and its place.

    `place` is "new" or "end" if no `line` names it; in "table", the `line` is the table's name.
    """

    file: str
    place: str
    line: str
    block: str

    def apply(self, root: Path) -> None:
        """Change the file as a reader would; the named line must be there once."""
        path = root / self.file
        if self.place == "new":
            assert not path.exists(), self.file
            path.write_text(self.block, "utf-8")
            return
        lines = path.read_text("utf-8").splitlines(keepends=True)
        if self.place == "end":
            path.write_text("".join(lines) + self.block, "utf-8")
            return
        found = [at for at, line in enumerate(lines) if self._is_at(line)]
        there = f"docs/how-to.md: {self.file} has {len(found)} lines {self.line!r}"
        assert len(found) == 1, f"{there} to put {self.block!r}"
        at = found[0]
        if self.place == "table":
            at = lines.index(")\n", at)
            lines[at:at] = [self.block]
            path.write_text("".join(lines), "utf-8")
            return
        start, end = {"after": (at + 1, at + 1), "before": (at, at), "instead of": (at, at + 1)}[
            self.place
        ]
        lines[start:end] = [self.block]
        path.write_text("".join(lines), "utf-8")

    def _is_at(self, line: str) -> bool:
        if self.place == "table":
            return line.startswith(self.line) and line.endswith("= (\n")
        return line.strip() == self.line


@dataclass(frozen=True)
class Page:
    """A page that is followed, with the number of files and lines that it says it touches."""

    title: str
    files: int
    lines: int
    steps: tuple[Step, ...]

    @property
    def counted(self) -> tuple[int, int]:
        """Return the files and lines that its blocks touch; empty lines don't count."""
        lines = [line for step in self.steps for line in step.block.splitlines() if line.strip()]
        return len({step.file for step in self.steps}), len(lines)


def read_pages() -> list[Page]:
    """Read the pages with blocks; each block must have a place, and each such page its cost."""
    pages = []
    for text in re.split(r"^## ", HOW_TO.read_text("utf-8"), flags=re.MULTILINE)[1:]:
        title = text.partition("\n")[0]
        steps = tuple(_step(found) for found in _BLOCK.finditer(text))
        assert text.count("\n```") == 2 * len(steps), f"{title}: a block without a place"
        if steps:
            cost = _COST.search(text)
            assert cost, f"{title}: its files and lines are not counted"
            pages.append(Page(title, int(cost[1]), int(cost[2]), steps))
    return pages


def _step(found: re.Match[str]) -> Step:
    if found["new"]:
        return Step(found["new"], "new", "", found["block"])
    if found["table"]:
        return Step(found["holder"], "table", found["table"], found["block"])
    if found["longer"]:
        return Step(found["longer"], "end", "", found["block"])
    return Step(found["file"], found["place"], found["line"], found["block"])


def copy_project(root: Path) -> None:
    """Copy the project, without what git doesn't keep."""
    ignored = shutil.ignore_patterns("node_modules")
    for folder in COPIED:
        shutil.copytree(ROOT / folder, root / folder, ignore=ignored)
    for path in ROOT.iterdir():
        if path.is_file() and path.name != ".git":
            shutil.copy2(path, root / path.name)


def follow(pages: list[Page], root: Path) -> None:
    """Apply every block of the pages to a copy of the project."""
    for page in pages:
        for step in page.steps:
            step.apply(root)
