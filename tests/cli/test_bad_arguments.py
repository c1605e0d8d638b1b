"""Bad options and arguments: every command answers them with a line."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from bot.cli.commands import main
from tests.support.command_line import run_bot, start_once
from tests.support.databases import SQLITE

pytestmark = pytest.mark.usefixtures("commands_url")

RUNNING = ("run", "demo", "service", "doctor")
"""Commands without options that read anything."""

NUMBERS = [str(10**23), str(-(10**23)), 5000 * "9", "1e5", "NaN", "inf", "0x10", "1.5", "", "-1"]
MOMENTS = [*NUMBERS, 4300 * "1" + "d", "2026-01-31T25:00", "-1d", "999999d"]
NO_TEXT = ["\udcff", "a\0b"]
LONG = 100_000 * "x"


def commands(
    group: click.Group = main, path: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    for name, command in group.commands.items():
        if isinstance(command, click.Group):
            yield from commands(command, (*path, name))
        elif name not in RUNNING:
            yield (*path, name), command


def bad_commands() -> Iterator[tuple[str, ...]]:
    """Yield every option with bad numbers and times, and non-text in every place."""
    for path, command in commands():
        needed = ["x" for param in command.params if isinstance(param, click.Argument)]
        for option in command.params:
            if not isinstance(option, click.Option) or option.is_flag:
                continue
            values = {"integer range": NUMBERS, "date": MOMENTS}.get(option.type.name, [])
            for value in [*values, *NO_TEXT]:
                yield (*path, *needed, option.opts[0], value)
        if needed:
            yield from ((*path, *[value for _ in needed]) for value in NO_TEXT)


def test_bad_numbers_times_and_texts_are_refused_with_2(tmp_path: Path, engine: str) -> None:
    run_bot("apps", "create", "shop", code=0)
    tried = list(bad_commands())
    assert len(tried) > 100
    taken = [command for command in tried if run_bot(*command).exit_code != 2]
    assert taken == []
    left = ["data"] if engine == SQLITE else []
    assert [path.name for path in tmp_path.iterdir()] == left


@pytest.mark.parametrize("command", [("backup",), ("restore",), ("export", "--output")])
def test_a_file_name_that_is_too_long_is_refused_with_2(command: tuple[str, ...]) -> None:
    run_bot("apps", "create", "shop")
    done = run_bot(*command, LONG, code=2)
    assert "File name too long" in done.stderr
    assert len(done.stderr) < 500


@pytest.mark.parametrize("command", [("deliveries", "list"), ("audit",)])
def test_a_list_has_no_more_rows_than_fit_in_memory(
    commands_url: str, command: tuple[str, ...]
) -> None:
    start_once(commands_url)
    run_bot(*command, "--limit", "10000", code=0)
    run_bot(*command, "--limit", "10001", code=2)
