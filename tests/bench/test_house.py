"""The figures of a tree: each counts what its name says, also in a tree without code."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from bench.house import Figure, house
from tests.support.source_tree import ROOT

DIALOGUE = '''"""Receives updates."""

from typing import TYPE_CHECKING

from bot.core import money

if TYPE_CHECKING:
    from bot.chat.forms import (
        Form,
    )


def receive(form: "Form") -> int:
    """Return the price.

    A docstring is no line of the body.
    """
    from bot.core.database import clock

    return _price(form) + clock.now()


def _price(form: "Form") -> int:
    return money.of(form)
'''

MONEY = '''"""Amounts."""


class Amounts:
    def __init__(self) -> None:
        self._unused = 0

    def _often(self) -> int:
        return self._often() + self._often()

    def _long(self) -> int:
        x = 1
        y = 2
        z = 3
        return x + y + z


of = Amounts()._long
'''

CLOCK = "def now() -> int:\n" + 20 * "    1\n" + "    return 0\n"

FILES = {
    "bot/__init__.py": "",
    "bot/config.py": "import os\n",
    "bot/core/__init__.py": "",
    "bot/core/money.py": MONEY,
    "bot/core/database/__init__.py": "from bot.core.database import engine\n",
    "bot/core/database/clock.py": CLOCK,
    "bot/core/database/engine.py": "",
    "bot/chat/__init__.py": "",
    "bot/chat/conversation/__init__.py": "",
    "bot/chat/conversation/conversation.py": DIALOGUE,
    "bot/chat/forms/__init__.py": "from .form import Form\n",
    "bot/chat/forms/form.py": "class Form: ...\n",
    "tests/test_money.py": "assert 1\nassert 2\n",
    "docs/decisions/README.md": "# Decisions of all kinds\n",
    "docs/decisions/one.md": "# One\n\n## Why\n\nSo.\n\n## When\n\nNow.\n",
    "docs/glossary.md": "# Glossary\n\n| term | meaning |\n|---|---|\n| card | a message |\n",
}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    return tmp_path


def test_each_figure_counts_what_its_name_says(root: Path) -> None:
    assert house(root) == [
        Figure("lines of Python in bot/", 24 + 18 + 22 + 4, "≤ 54,000"),
        Figure("modules in bot/, without __init__", 6, "≤ 250"),
        Figure("rooms: folders with such modules", 5, "≤ 36"),
        Figure("private functions per thousand lines", 44.1, "≤ 20"),
        Figure("private functions of 3 lines at most, used once", 1, "≤ 100"),
        Figure("mean lines of a function's body", 5.2, "6.2 to 9"),
        Figure("functions of over 20 lines, %", 16.7),
        Figure("lines that import, %", 14.7, "≤ 6"),
        Figure("modules that the conversation reaches", 4, "≤ 100"),
        Figure("lines of Python in tests/", 2, "≤ 82,000"),
        Figure("pages in docs/decisions", 1, "≤ 40"),
        Figure("sections of these pages", 2),
        Figure("words in docs/decisions", 8),
        Figure("terms in docs/glossary.md", 1),
    ]


def test_a_tree_without_code_has_every_figure(tmp_path: Path) -> None:
    (tmp_path / "bot").mkdir()
    figures = house(tmp_path)
    assert len(figures) == 14
    assert not any(figure.now for figure in figures)


@pytest.mark.process
def test_the_figures_of_another_checkout_are_printed_as_json(root: Path) -> None:
    printed = subprocess.run(
        [sys.executable, "-m", "bench.house", str(root), "--json"],
        cwd=ROOT, check=True, capture_output=True,
    ).stdout  # fmt: skip
    assert {"figure": "pages in docs/decisions", "now": 1, "goal": "≤ 40"} in json.loads(printed)
