"""Resources that all parts of the application share: settings, database, keys, clock."""

from __future__ import annotations

import hmac
import json
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from secrets import token_hex

import structlog
from pydantic import SecretStr

from bot import config
from bot.core import errors
from bot.core.database import database, opening, private_files, urls
from bot.core.database.vault import (
    Vault,
    check_key,
    holds_secrets,
    load_or_create,
    load_or_create_key,
)

log = structlog.get_logger()

# Settings that replicas have to share. Each replica stores a keyed digest of each setting. The key
# is the SECRET_KEY: so a reader of the database can't try values, and all digests of replicas with
# different keys differ.

OWN = frozenset(
    [
        *("host", "port", "forwarded_allow_ips", "database_url"),
        *("metrics_token", "log_level", "log_format"),
    ]
)
"""Settings that may differ between replicas: how a replica is reached and monitored."""

DIGITS = 12
"""Hexadecimal digits of a digest, which has to detect only accidental differences."""


def digest_settings(settings: config.Settings) -> str:
    """Return the digests of the shared settings by name, as JSON."""
    key = settings.secret_key.get_secret_value() if settings.secret_key else ""
    digests = {}
    for name in type(settings).model_fields:
        if name not in OWN:
            value = settings.url if name == "public_url" else getattr(settings, name)
            plain = value.get_secret_value() if isinstance(value, SecretStr) else value
            digest = hmac.digest(key.encode(), f"setting {name} {plain!r}".encode(), "sha256")
            digests[name.upper()] = digest.hex()[:DIGITS]
    return json.dumps(digests)


def find_differences(digests: str, others: str) -> list[str]:
    """Return the names of the settings that differ; a setting may be missing in another version."""
    ours, theirs = json.loads(digests), json.loads(others)
    return [name for name in ours if name in theirs and ours[name] != theirs[name]]


# Roles of a process: whether it serves requests and may become the lead.

SERVICE = "service"
"""The lead of processes without a chat, which sweeps and asks for exchange rates."""


class Role(StrEnum):
    """The share of the replicas' work that a process does."""

    ALL = "all"
    API = "api"
    LEAD = "lead"

    @property
    def serves(self) -> bool:
        """True if the process serves pages, the API, webhooks and the service's queues."""
        return self is not Role.LEAD

    @property
    def may_lead(self) -> bool:
        """True if the process may become the lead, which does the work for all replicas."""
        return self is not Role.API


def check_role(role: Role, database_url: str) -> None:
    """Raise ConfigProblem if a role needs other replicas and the database allows none."""
    if role is not Role.ALL and not urls.is_postgres(database_url):
        raise errors.ConfigProblem(
            f"run --role {role}: a SQLite file has one process, which does everything: leave the"
            " role out, or set DATABASE_URL to a PostgreSQL database that replicas share"
        )


USED = (
    "SELECT name FROM kept_secrets WHERE name = 'deployment' UNION ALL SELECT id FROM apps LIMIT 1"
)
"""Finds any row that a start or `apps create` leaves in a database."""


@dataclass(frozen=True, slots=True)
class SharedResources:
    """Resources that both the service and the chat need."""

    settings: config.Settings
    db: database.Database
    vault: Vault
    now: Callable[[], int]
    """Returns UTC epoch ms."""
    chat_page: str | None = None
    """The path of the page where people chat with the bot if they don't use Telegram."""


def open_vault(settings: config.Settings, database: database.Database) -> Vault:
    """Return the vault of SECRET_KEY, or of the key file next to the database.

    Raises ConfigProblem if the database was sealed with another key, or if its key is lost.
    """
    if settings.secret_key is None:
        path = key_path(settings)
        if not path.exists() and database.run(holds_secrets):
            raise errors.ConfigProblem(
                f"SECRET_KEY: not set, and {path} is missing, but the secrets in the database are"
                " sealed: set the key that they were sealed with, or put the file back"
            )
        keys = Vault(load_or_create_key(path))
    else:
        keys = Vault(settings.secret_key.get_secret_value())
    database.run(lambda tx: check_key(tx, keys))
    return keys


def log_database(settings: config.Settings, database: database.Database) -> None:
    """Log which database is used and whether it is new: DATABASE_URL or the folder may be wrong."""
    place = opening.place_of(settings.database_url)
    if database.run(lambda tx: tx.one(USED)):
        log.info("database opened", database=place)
        return
    advice = "if it should hold data, check DATABASE_URL and the folder of the start"
    log.warning("new empty database", database=place, advice=advice)


def deployment(database: database.Database, keys: Vault) -> str:
    """Return the name of this installation, which its replicas share; public but unguessable."""
    return database.run(lambda tx: load_or_create(tx, keys, "deployment", lambda: token_hex(8)))


def warn_of_another_past(database: database.Database) -> None:
    """Log an error if the database may have gone back in time, after a failover or a recovery."""
    if database.engine == "sqlite":
        return
    from bot.core.database.postgres import checks  # noqa: PLC0415 - loads psycopg

    if change := database.run(checks.note_timeline):
        log.error("the database may have gone back in time", reason=change)


def key_path(settings: config.Settings) -> Path:
    """Return the path of the key that is used without a SECRET_KEY."""
    return Path(urls.sqlite_path(settings.database_url)).with_suffix(".key")


def restrict_files(settings: config.Settings) -> None:
    """Make the database and the key readable only by their owner; copied files may not be."""
    if urls.is_postgres(settings.database_url):
        return
    files = private_files.database_files(urls.sqlite_path(settings.database_url))
    for path in private_files.make_private([*files, key_path(settings)]):
        log.warning("file was readable by other users: permissions restricted", file=str(path))
