"""The commands of `bot`, run in this process, and the files that they leave."""

from __future__ import annotations

import os
import pty
import subprocess
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

from click.testing import CliRunner

from bot import config
from bot.app.resources import open_vault
from bot.cli.commands import main
from bot.core.database.opening import open_database
from tests.support.product_process import OURS, rows
from tests.support.source_tree import ROOT

if TYPE_CHECKING:
    from click.testing import Result


DATABASE_URL = "sqlite:///data/bot.db"
DATABASE = Path("data/bot.db")
APPLICATIONS = "SELECT name FROM apps ORDER BY name"


def run_bot(*command: str, code: int | None = None, **options: Any) -> Result:
    """Run a command; it must end by itself or by an exit code, never by an exception.

    The exit code must be `code`, if that is given.
    """
    done = CliRunner().invoke(main, command, **options)
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exc_info
    assert code in {None, done.exit_code}, done.stderr
    return done


def run_at_terminal(answer: str, *command: str) -> subprocess.CompletedProcess[str]:
    """Run a command as a process whose questions a person answers at a terminal."""
    person, terminal = pty.openpty()
    try:
        os.write(person, f"{answer}\n".encode())
        return subprocess.run(
            [*OURS, *command], stdin=terminal, capture_output=True, text=True, check=False,
            env=os.environ | {"PYTHONPATH": str(ROOT)},
        )  # fmt: skip
    finally:
        os.close(person)
        os.close(terminal)


def start_once(url: str = DATABASE_URL) -> None:
    """Leave the database and the key that a first start creates."""
    with closing(open_database(url)) as database:
        open_vault(config.load(database_url=url), database)


def back_up_older_state() -> None:
    """Make the backup `kept.db` of a database, to which an application is added afterwards."""
    run_bot("apps", "create", "shop")
    run_bot("backup", "kept.db", code=0)
    run_bot("apps", "create", "later")


def names_of_applications(database: Path) -> list[str]:
    return [name for (name,) in rows(database, APPLICATIONS)]


def replaced_databases() -> list[Path]:
    return sorted(Path("data").glob("bot-replaced-*.db"))


def contents_of_data() -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(Path("data").iterdir())}
