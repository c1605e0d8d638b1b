"""The structure of `bot` that the contracts of import-linter in pyproject.toml can't say."""

from __future__ import annotations

import ast
import re
import subprocess
import sys

import pytest

from tests.support.source_tree import FILES, ROOT, circle, environment_reads, module_of, parsed


def test_the_import_graph_has_no_circle() -> None:
    assert not circle({module_of(path): parsed(path) for path in FILES})


def test_nothing_but_config_reads_the_environment() -> None:
    found = [
        line
        for path in FILES
        if module_of(path) != "bot.config"
        for line in environment_reads(str(path.relative_to(ROOT)), parsed(path))
    ]
    assert not found


def test_each_init_file_is_a_docstring_alone() -> None:
    """It says what belongs in the room, and re-exports nothing."""
    folders = [path for path in FILES if path.name == "__init__.py" and path.parent.name != "bot"]
    for path in folders:
        (first,) = parsed(path).body
        assert isinstance(first, ast.Expr), path
        assert isinstance(first.value, ast.Constant), path


HEAVY = ("fastapi", "telegram", "PIL", "httpcore")
"""What a command loads only if it needs it."""


@pytest.mark.process
def test_commands_that_do_not_serve_load_nothing_that_does() -> None:
    """Operators wait for them: they start in half the time."""
    look = "import sys, bot.__main__; print([*sys.modules])"
    loaded = subprocess.run(
        [sys.executable, "-c", look], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert "'bot.cli.data_commands'" in loaded.stdout
    assert not [name for name in HEAVY if f"'{name}'" in loaded.stdout]


@pytest.mark.process
def test_run_is_started_without_the_sandbox_and_the_driver_of_postgresql() -> None:
    """The one is for demo and tests, the other for one DATABASE_URL: both cost time and memory."""
    look = "import sys, bot.cli.commands, bot.app.application; print([*sys.modules])"
    loaded = subprocess.run(
        [sys.executable, "-c", look], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert "bot.app.telegram_side" in loaded.stdout
    assert "bot.sandbox" not in loaded.stdout
    assert "psycopg" not in loaded.stdout


QUEUE_TABLES = re.compile(r"\b(?:FROM|JOIN|INTO|UPDATE)\s+(?:outbox|lanes)\b", re.IGNORECASE)
"""SQL on the tables of queued messages and their lanes."""


def test_only_the_outbox_and_the_database_name_the_tables_of_queues() -> None:
    """Everything else calls core/outbox/queries.py and core/outbox/bulk_changes.py."""
    own = ("bot.core.outbox.", "bot.core.database.")
    found = [
        str(path.relative_to(ROOT))
        for path in FILES
        if not module_of(path).startswith(own) and QUEUE_TABLES.search(path.read_text("utf-8"))
    ]
    assert found == []


EVERY_COLUMN = re.compile(r"(?:\b(?:SELECT|RETURNING)|,)\s+(?:\w+\.)?\*(?! FROM \(SELECT)")
"""SQL that reads all columns of a table, whichever they are; COUNT(*) is none."""


def sql_texts(tree: ast.Module) -> list[str]:
    """Return the texts of a module but docstrings, with `x` for each value put into one."""
    nodes = [*ast.walk(tree)]
    docstrings = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    return [
        "".join(str(part.value) if isinstance(part, ast.Constant) else "x" for part in parts)
        for node in nodes
        if id(node) not in docstrings
        for parts in [node.values if isinstance(node, ast.JoinedStr) else [node]]
        if isinstance(node, ast.JoinedStr)
        or (isinstance(node, ast.Constant) and isinstance(node.value, str))
    ]


@pytest.mark.parametrize(
    ("source", "is_found"),
    [
        ('sql = "SELECT * FROM apps"', True),
        ('sql = "SELECT r.*, 1 AS one FROM requests r"', True),
        ('sql = f"SELECT {lapsed}, r.* FROM requests r"', True),
        ('sql = "UPDATE apps SET name = 1 RETURNING *"', True),
        ('sql = "SELECT COUNT(*), amount * 2 AS twice FROM payments"', False),
        ('sql = "SELECT * FROM (SELECT id FROM apps LIMIT 1) AS first"', False),
    ],
)
def test_every_column_is_found_in_sql(source: str, *, is_found: bool) -> None:
    assert any(EVERY_COLUMN.search(text) for text in sql_texts(ast.parse(source))) is is_found


def test_no_statement_reads_every_column() -> None:
    """PostgreSQL refuses such a statement, once prepared, after a migration adds a column."""
    found = [
        f"{path.relative_to(ROOT)}: {text}"
        for path in FILES
        for text in sql_texts(parsed(path))
        if EVERY_COLUMN.search(text)
    ]
    assert found == []
