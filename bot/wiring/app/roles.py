"""Roles of a process: whether it serves requests, and whether it stands for the lead."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

from bot.core.database.database import is_postgres
from bot.core.database.schema.migrations import MIGRATIONS
from bot.core.errors import ConfigProblem
from bot.core.replicas.opening import open_replica
from bot.core.replicas.replica_rows import ReplicaInfo
from bot.core.replicas.standing import Standing
from bot.core.version import VERSION
from bot.wiring.app.shared_settings import digest_settings

if TYPE_CHECKING:
    from bot.core.replicas.replica import Replica
    from bot.wiring.app.foundation import Foundation


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
    def stands(self) -> bool:
        """Return whether it may become the lead, which does what one replica does for all."""
        return self is not Role.API


def check_role(role: Role, database_url: str) -> None:
    """Raise ConfigProblem for a role that needs other replicas where there can be none."""
    if role is not Role.ALL and not is_postgres(database_url):
        raise ConfigProblem(
            f"run --role {role}: a SQLite file has one process, which does everything: leave the"
            " role out, or set DATABASE_URL to a PostgreSQL database that replicas share"
        )


def make_replica(foundation: Foundation, role: Role) -> Replica:
    """Return this process as a replica, not started yet."""
    settings = digest_settings(foundation.settings)
    info = ReplicaInfo(role, VERSION, len(MIGRATIONS), settings)
    return open_replica(foundation.db, info, foundation.now)


def make_standing(replica: Replica, role: Role, lead: str) -> Standing:
    """Return a replica's standing for a lead; that of a role that doesn't stand is never won."""
    return replica.stand(lead) if role.stands else Standing(_hand_over_nothing)


async def _hand_over_nothing() -> None:
    return
