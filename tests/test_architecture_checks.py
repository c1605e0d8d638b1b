"""The checks of test_architecture.py find what they look for."""

from __future__ import annotations

import ast

import pytest

from tests.support.source_tree import circle, environment_reads


def test_a_circle_is_found_through_types_and_functions() -> None:
    sources = {
        "bot.core.a": "from bot.core.b import f",
        "bot.core.b": "if TYPE_CHECKING:\n    import bot.core.c",
        "bot.core.c": "def g():\n    import bot.core.a",
        "bot.core.d": "import bot.core.a",
    }
    found = circle({module: ast.parse(source) for module, source in sources.items()})
    assert {"bot.core.a", "bot.core.b", "bot.core.c"} == set(found)


@pytest.mark.parametrize(
    "source", ["import os\nos.environ['A']", "import os\nos.getenv('A')", "from os import environ"]
)
def test_a_read_of_the_environment_is_found(source: str) -> None:
    line = len(source.splitlines())
    assert [f"a.py:{line} reads the environment"] == environment_reads("a.py", ast.parse(source))
