"""What all parts of the application share: settings, database, keys, clock."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from secrets import token_hex
from typing import TYPE_CHECKING

import structlog

from bot.core.database import private_files, timelines, vault
from bot.core.database.database import is_postgres, place_of, sqlite_path
from bot.core.database.vault import Vault
from bot.core.errors import ConfigProblem

if TYPE_CHECKING:
    from collections.abc import Callable

    from bot.config import Settings
    from bot.core.database.database import Database

log = structlog.get_logger()


USED = (
    "SELECT name FROM kept_secrets WHERE name = 'deployment' UNION ALL SELECT id FROM apps LIMIT 1"
)
"""Anything that a start, or `apps create`, leaves in a database."""


@dataclass(frozen=True, slots=True)
class Foundation:
    """The shared parts; `now` returns UTC epoch ms.

    `chat_page` is the path of the page where people chat with the bot if that isn't Telegram.
    """

    settings: Settings
    db: Database
    vault: Vault
    now: Callable[[], int]
    chat_page: str | None = None


def open_vault(settings: Settings, database: Database) -> Vault:
    """Return the vault of SECRET_KEY, or of the key that is kept beside the database.

    Raises ConfigProblem if the database was sealed with another key, or its key is lost.
    """
    if settings.secret_key is None:
        path = key_path(settings)
        if not path.exists() and database.run(vault.holds_secrets):
            raise ConfigProblem(
                f"SECRET_KEY: not set, and {path} is missing, but the secrets in the database are"
                " sealed: set the key that they were sealed with, or put the file back"
            )
        keys = Vault(vault.load_or_create_key(path))
    else:
        keys = Vault(settings.secret_key.get_secret_value())
    database.run(lambda tx: vault.check_key(tx, keys))
    return keys


def log_database(settings: Settings, database: Database) -> None:
    """Log which database it is, and that it is new: DATABASE_URL or the folder may be wrong."""
    place = place_of(settings.database_url)
    if database.run(lambda tx: tx.one(USED)):
        log.info("database opened", database=place)
        return
    advice = "if it should hold data, check DATABASE_URL and the folder of the start"
    log.warning("new empty database", database=place, advice=advice)


def deployment(database: Database, keys: Vault) -> str:
    """Return the name of this installation, which its replicas share; public but unguessable."""
    return database.run(
        lambda tx: vault.load_or_create(tx, keys, "deployment", lambda: token_hex(8))
    )


def warn_of_another_past(database: Database) -> None:
    """Log what to do where the database's server has failed over or was recovered since."""
    if change := database.run(timelines.note):
        log.error("the database may have gone back in time", reason=change)


def key_path(settings: Settings) -> Path:
    """Return the path of the key that is used without a SECRET_KEY."""
    return Path(sqlite_path(settings.database_url)).with_suffix(".key")


def restrict_files(settings: Settings) -> None:
    """Make the database and the key readable for their owner alone, as copies may not be."""
    if is_postgres(settings.database_url):
        return
    files = private_files.database_files(sqlite_path(settings.database_url))
    for path in private_files.make_private([*files, key_path(settings)]):
        log.warning("file was readable by other users: permissions restricted", file=str(path))
