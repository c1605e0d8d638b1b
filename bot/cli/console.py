"""Helpers of all commands: option types, settings, the database, output for people and as JSON."""

from __future__ import annotations

import asyncio
import csv
import errno
import io
import json
import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any, NoReturn, TypeVar

import click
import structlog

from bot import config
from bot.app import resources
from bot.core import clock, exact_json
from bot.core.database import database, opening, private_files, urls, vault
from bot.core.ops import log_setup
from bot.core.text import sanitize

log = structlog.get_logger()

T = TypeVar("T")
Command = TypeVar("Command", bound=Callable[..., Any])

SHOWN_OF_PATH = 80
"""Characters shown of a path that is too long for the system."""

MAX_LISTED = 10_000
"""The most rows of a list, which is held in memory."""

NOBODY_AGREED = 2
"""The exit code if nobody could be asked."""

UNITS = {"d": 24 * 3600 * 1000, "h": 3600 * 1000}
AGE = re.compile(r"(\d{1,5})([dh])")


# Records as CSV for spreadsheets or as lines of JSON for programs.


FORMULA = re.compile(
    r"""
    ((?: ^ | [,;|\t\r\n] )            # where a spreadsheet may begin a cell: it splits as it likes
    (?: [^\S\t\r\n] | ["\x00-\x08\x0e-\x1b\x7f\xad\u200b-\u200f\u2060-\u2064\ufeff] )* )
    (?= [-=+@\t\r\uff1d\uff0b\uff0d\uff20\ufe62\ufe63\ufe66\ufe6b] )  # full-width and small too
    """,
    re.VERBOSE,
)
"""The beginning of a cell that a spreadsheet would take for a formula (owasp.org, CSV injection).

A spreadsheet's separator depends on its language: if the separator is a semicolon, quotes around a
cell with commas don't protect the cell. Spreadsheets drop blanks and quotes before a formula.
"""

NOT_PLAIN = re.compile(r"[^\x20-\x7e]")

BOM = "\N{ZERO WIDTH NO-BREAK SPACE}"
"""The mark by which Excel recognizes UTF-8; programs would read it as part of the first column's
name."""


NUMBER = re.compile(r"\s*(0[0-9]+|[0-9]{16,}|[0-9]+(\.[0-9]*)?e[+-]?[0-9]+)\s*", re.IGNORECASE)
"""A text that a spreadsheet would take for a number and shorten: leading zeros, more digits than it
keeps, or an exponent, as in the id `1e55…`. It ignores quotes around a cell."""


class Csv:
    """CSV as in RFC 4180; cells can't be formulas in a spreadsheet.

    `for_people` marks it as UTF-8 for Excel, and keeps ids from being read as numbers.
    """

    def __init__(self, columns: Sequence[str], *, for_people: bool) -> None:
        self._columns = columns
        self._for_people = for_people

    def head(self) -> str:
        """Return the header line, which an export without records has too."""
        return (BOM if self._for_people else "") + _row(self._columns)

    def line(self, record: Mapping[str, Any]) -> str:
        """Format a record, which has all the columns, as a line."""
        return _row(self._guarded(record[name]) for name in self._columns)

    def _guarded(self, value: object) -> str:
        cell = _cell(value)
        is_misread = isinstance(value, str) and NUMBER.fullmatch(cell) is not None
        return f"'{cell}" if self._for_people and is_misread else cell


def json_record(record: Mapping[str, Any]) -> str:
    """Format a record as a line of printable ASCII; amounts are numbers with all their digits."""
    return in_ascii(exact_json.dumps(record)) + "\n"


def in_ascii(text: str) -> str:
    """Escape JSON as printable ASCII, because texts from outside could control the terminal."""
    text = text.replace("\x7f", "\\u007f")  # which json.dumps doesn't escape
    return NOT_PLAIN.sub(lambda found: json.dumps(found[0])[1:-1], text)


def _row(cells: Any) -> str:
    made = io.StringIO()
    csv.writer(made).writerow(cells)
    return made.getvalue()


def _cell(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, Decimal):
        return f"{value:f}"
    if isinstance(value, list):
        return _defused("; ".join(" ".join(map(_cell, one.values())) for one in value))
    return _defused(exact_json.dumps(value) if isinstance(value, dict) else str(value))


def _defused(text: str) -> str:
    return FORMULA.sub(r"\1'", text)


# Types of options.


def file_path(text: str) -> Path:
    """Parse a path; the command fails if the name is too long for the system."""
    path = Path(text)
    try:
        path.exists()
    except OSError as error:
        raise click.BadParameter(f"{error.strerror}: {text[:SHOWN_OF_PATH]}…") from None
    return path


def date(value: str | int) -> int:
    """Parse a date, a time in ISO 8601 (UTC if no zone is named), or an age: 90d, 12h; epoch ms."""
    if isinstance(value, int):  # a default
        return value
    text = sanitize.typed(value, digits=True)
    if age := AGE.fullmatch(text):
        return clock.now() - int(age[1]) * UNITS[age[2]]
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        known = "write 2026-01-31, 2026-01-31T12:00:00Z or 90d"
        raise click.BadParameter(f"{text!r} is not a date or an age: {known}") from None
    return int((found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp() * 1000)


# Options of several commands.

AS_JSON = click.option("--json", "as_json", is_flag=True, help="Print one JSON object per line.")
AS_JSON_OBJECT = click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
YES = click.option("--yes", is_flag=True, help="Don't ask for confirmation.")


def limit(shown: int) -> Callable[[Command], Command]:
    """Return the option for the number of rows in a list; `shown` is its default."""
    number = click.IntRange(1, MAX_LISTED)
    text = "How many, newest first."
    return click.option("--limit", type=number, default=shown, show_default=True, help=text)


# Settings, the database, and printing.


def settings() -> config.Settings:
    """Load the settings, configure logging, and log unknown names and exposed secrets."""
    loaded = config.load()
    log_setup.configure_logging(loaded.log_level, loaded.log_format, config.secrets(loaded))
    for one in config.find_unknown():
        say = log.warning if one.is_mistake else log.info
        say("unknown setting", name=sanitize.line(one.name), reason=sanitize.line(one.advice))
    if exposed := config.find_exposed_file(loaded):
        advice = private_files.closing_command([exposed])
        log.warning("other users can read the secrets in a file", file=str(exposed), advice=advice)
    return loaded


def in_transaction(
    work: Callable[[database.Transaction, vault.Vault], T], *, creates: bool = False
) -> T:
    """Run `work` in one transaction, even while the bot runs.

    Raises BotError if there is no database, unless the command `creates` it.
    """
    loaded = config.load()
    url = loaded.database_url
    is_new = creates and not urls.is_postgres(url) and not Path(urls.sqlite_path(url)).exists()
    with closing(opening.open_for_command(url, creates=creates)) as db:
        if is_new:
            print_message(f"Created a new database at {opening.place_of(url)}.")
        keys = resources.open_vault(loaded, db)
        return db.run(lambda tx: work(tx, keys))


def read_only(work: Callable[[database.Transaction], T]) -> T:
    """Run `work`, which only reads and may take long: no payment waits for it.

    Raises BotError if there is no database.
    """
    loaded = config.load()
    with closing(opening.open_for_command(loaded.database_url)) as db:
        resources.open_vault(loaded, db)  # fails unless the key is the database's
        return asyncio.run(db.read(work))


def confirm(question: str, *, yes: bool) -> None:
    """Ask before something that can't be undone, unless the option `yes` was given.

    Ends the command if the answer is no, or if nobody can answer.
    """
    if yes:
        return
    if not sys.stdin.isatty():
        exit_with(
            "this can't be undone: add --yes, since nobody is here to be asked", NOBODY_AGREED
        )
    click.confirm(sanitize.line(question), abort=True, err=True)


def print_fact(name: str, value: object) -> None:
    """Print a name and its value on a line."""
    text = sanitize.line(str(value)) if value is not None else "-"
    click.echo(f"{name + ':':<13} {text}")


def print_table(
    columns: Sequence[str], rows: Sequence[Mapping[str, Any]], *, as_json: bool
) -> None:
    """Print these columns as a table for people, or whole rows as lines of JSON for programs."""
    if as_json:
        for row in rows:
            click.echo(json_line(row))
        return
    lines = [[name.upper() for name in columns]]
    lines += [
        [sanitize.line(str(row[name])) if row[name] is not None else "-" for name in columns]
        for row in rows
    ]
    widths = [max(len(line[i]) for line in lines) for i in range(len(columns))]
    for line in lines:
        click.echo("  ".join(map(str.ljust, line, widths)).rstrip())


def json_line(row: Mapping[str, Any]) -> str:
    return in_ascii(json.dumps(row))


def print_message(text: str) -> None:
    """Print a message for people, on standard error, because programs read standard output."""
    click.echo(sanitize.text(text), err=True)


def time_text(moment: int | None) -> str | None:
    """Format epoch ms as ISO 8601 in UTC, to the second; accepts any number from a foreign file."""
    if moment is None:
        return None
    try:
        return datetime.fromtimestamp(moment / 1000, UTC).isoformat(timespec="seconds")
    except (ValueError, OverflowError):
        return f"{moment} ms"


OUTPUT_ERRORS = {errno.ENOSPC, errno.EDQUOT, errno.EPIPE, errno.EIO, errno.EBADF}
"""The disk is full, or nobody reads the output any more: a pipe, a terminal, a closed file."""


@contextmanager
def reported_output() -> Iterator[None]:
    """End the command with a line and 1 if its output can't be written.

    Whoever closed the pipe, as `head` does, wants no line.
    """
    if sys.stdout is None:  # `>&-`; Python would print nothing, without an error
        sys.stdout = os.fdopen(os.open(os.devnull, os.O_RDONLY), "w")
    try:
        yield
    except OSError as error:
        if error.errno not in OUTPUT_ERRORS:
            raise
        with suppress(OSError):  # what is buffered would fail again when the process ends
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if error.errno == errno.EPIPE:
            sys.exit(1)
        exit_with(f"The output is incomplete: {error.strerror}.", 1)


def exit_with(text: str, code: int) -> NoReturn:
    for line in text.splitlines():
        print_message(line)
    sys.exit(code)
