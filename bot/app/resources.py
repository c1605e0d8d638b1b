"""What all parts of the application share: settings, database, keys, clock."""

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

from bot import __version__, config
from bot.core import errors
from bot.core.database import database, migrations, opening, private_files, timelines, urls
from bot.core.database.vault import (
    Vault,
    check_key,
    holds_secrets,
    load_or_create,
    load_or_create_key,
)
from bot.core.replicas import leadership, membership, replica

log = structlog.get_logger()

# Settings that replicas have to share. Each replica stores a keyed digest of each setting. The key
# is the SECRET_KEY, so that nobody who reads the database can try values, and replicas with
# different keys differ in everything.

OWN = frozenset(
    [
        *("host", "port", "forwarded_allow_ips", "database_url"),
        *("metrics_token", "log_level", "log_format"),
    ]
)
"""Settings that each replica may have of its own: how it is reached, and how it is watched."""

DIGITS = 12
"""Hexadecimal digits of a digest: it only has to differ by accident."""


def digest_settings(settings: config.Settings) -> str:
    """Return the digests of the shared settings, as JSON by name."""
    key = settings.secret_key.get_secret_value() if settings.secret_key else ""
    names = (name for name in type(settings).model_fields if name not in OWN)
    return json.dumps({name.upper(): _digest(key, name, settings) for name in names})


def find_differences(digests: str, others: str) -> list[str]:
    """Return the names of the settings that differ; a version may have some that others lack."""
    ours, theirs = json.loads(digests), json.loads(others)
    return [name for name in ours if name in theirs and ours[name] != theirs[name]]


def _digest(key: str, name: str, settings: config.Settings) -> str:
    value = settings.url if name == "public_url" else getattr(settings, name)
    plain = value.get_secret_value() if isinstance(value, SecretStr) else value
    text = f"setting {name} {plain!r}"
    return hmac.digest(key.encode(), text.encode(), "sha256").hex()[:DIGITS]


# Roles of a process: whether it serves requests, and whether it may become the lead.

SERVICE = "service"
"""The lead among processes that serve without a chat: it sweeps, and asks for exchange rates."""


class Role(StrEnum):
    """What a process does of the work that replicas share."""

    ALL = "all"
    API = "api"
    LEAD = "lead"

    @property
    def serves(self) -> bool:
        """Return whether it serves pages, the API and webhooks, and works the service's queues."""
        return self is not Role.LEAD

    @property
    def may_lead(self) -> bool:
        """Return whether it may become the lead, which does what one replica does for all."""
        return self is not Role.API


def check_role(role: Role, database_url: str) -> None:
    """Raise ConfigProblem for a role that needs other replicas where there can be none."""
    if role is not Role.ALL and not urls.is_postgres(database_url):
        raise errors.ConfigProblem(
            f"run --role {role}: a SQLite file has one process, which does everything: leave the"
            " role out, or set DATABASE_URL to a PostgreSQL database that replicas share"
        )


def make_replica(shared: SharedResources, role: Role) -> replica.Replica:
    """Return this process as a replica, not started yet."""
    settings = digest_settings(shared.settings)
    info = membership.ReplicaInfo(role, __version__, len(migrations.MIGRATIONS), settings)
    return replica.open_replica(shared.db, info, shared.now)


def make_election(replica: replica.Replica, role: Role, lead: str) -> leadership.LeaderElection:
    """Join the election of a lead; return one that is never won for a role that can't lead."""
    if role.may_lead:
        return replica.join_election(lead)

    async def hand_over_nothing() -> None:
        return

    return leadership.LeaderElection(hand_over_nothing)


USED = (
    "SELECT name FROM kept_secrets WHERE name = 'deployment' UNION ALL SELECT id FROM apps LIMIT 1"
)
"""Anything that a start, or `apps create`, leaves in a database."""


@dataclass(frozen=True, slots=True)
class SharedResources:
    """What the service and the chat both need."""

    settings: config.Settings
    db: database.Database
    vault: Vault
    now: Callable[[], int]
    """Returns UTC epoch ms."""
    chat_page: str | None = None
    """The path of the page where people chat with the bot if that isn't Telegram."""


def open_vault(settings: config.Settings, database: database.Database) -> Vault:
    """Return the vault of SECRET_KEY, or of the key that is kept beside the database.

    Raises ConfigProblem if the database was sealed with another key, or its key is lost.
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
    """Log which database it is, and that it is new: DATABASE_URL or the folder may be wrong."""
    place = opening.place_of(settings.database_url)
    if database.run(lambda tx: tx.one(USED)):
        log.info("database opened", database=place)
        return
    advice = "if it should hold data, check DATABASE_URL and the folder of the start"
    log.warning("new empty database", database=place, advice=advice)


def deployment(database: database.Database, keys: Vault) -> str:
    """Return the name that this installation's replicas share; public but unguessable."""
    return database.run(lambda tx: load_or_create(tx, keys, "deployment", lambda: token_hex(8)))


def warn_of_another_past(database: database.Database) -> None:
    """Log what to do if the database's server has failed over or was recovered since."""
    if change := database.run(timelines.note):
        log.error("the database may have gone back in time", reason=change)


def key_path(settings: config.Settings) -> Path:
    """Return the path of the key that is used without a SECRET_KEY."""
    return Path(urls.sqlite_path(settings.database_url)).with_suffix(".key")


def restrict_files(settings: config.Settings) -> None:
    """Make the database and the key readable for their owner alone, as copies may not be."""
    if urls.is_postgres(settings.database_url):
        return
    files = private_files.database_files(urls.sqlite_path(settings.database_url))
    for path in private_files.make_private([*files, key_path(settings)]):
        log.warning("file was readable by other users: permissions restricted", file=str(path))
