"""What the doctor makes of a PostgreSQL server's facts, as a table."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from bot.app.doctor.database_checks import (
    CONNECTIONS,
    LARGEST_SKEW,
    NEEDED_LIMITS,
    Server,
    judge_server,
)
from bot.core.database.postgres.checks import ServerFacts

SOUND = ServerFacts(
    version="18.4",
    timeline=3,
    usable=97,
    used=12,
    encoding="UTF8",
    columns=(),
    may_create=True,
    fsync=True,
    synchronous_commit=True,
    skew=20,
    is_pooled=False,
)
LIMITS = dict.fromkeys(NEEDED_LIMITS, 5000)
URL = "postgresql://bot@db.example.org/bot"


def found(
    *, limits: dict[str, int] = LIMITS, pooler: bool = False, **facts: Any
) -> list[tuple[str, bool, str]]:
    """Return the findings about the server of two replicas with these facts."""
    url = f"{URL}?pooler=transaction" if pooler else URL
    server = Server(url, 1, replace(SOUND, **facts), limits, replicas=2)
    return [(one.name, one.ok, one.text) for one in judge_server(server)]


def test_a_sound_server_is_described_in_one_line() -> None:
    text = f"{URL}: PostgreSQL 18.4, timeline 3, 12 of 97 connections in use"
    assert found() == [("database", True, text)]
    text = f"{URL}: PostgreSQL 18.4, behind a pooler, 12 of 97 connections in use"
    assert found(timeline=None, is_pooled=True, pooler=True) == [("database", True, text)]


@pytest.mark.parametrize(
    ("facts", "name", "told"),
    [
        ({"fsync": False}, "database", "fsync is off: a power cut may destroy the database"),
        ({"synchronous_commit": False}, "database", "loses payments that were confirmed"),
        ({"encoding": "SQL_ASCII"}, "database", "its encoding is SQL_ASCII"),
        ({"columns": ("apps.id",)}, "database", "text isn't sorted by its bytes in apps.id:"),
        ({"columns": ("a", "b", "c", "d", "e")}, "database", "in a, b, c and 2 more:"),
        ({"may_create": False}, "database", "GRANT CREATE ON SCHEMA public TO the user"),
        ({"is_pooled": True}, "database", "add pooler=transaction to the parameters"),
        ({"limits": {**LIMITS, "lock_timeout": 0}}, "database", "lock_timeout isn't in force"),
        ({"skew": LARGEST_SKEW + 1}, "clock", "1.0 seconds ahead of the database server's"),
        ({"skew": -61_500}, "clock", "61.5 seconds behind the database server's"),
        ({"usable": 39}, "connections", "grants this user 39 connections, and 2 replicas"),
        ({"used": 97 - CONNECTIONS + 1}, "connections", "88 of 97 connections are in use"),
    ],
)
def test_each_fault_is_named_with_its_fix(facts: dict[str, Any], name: str, told: str) -> None:
    ((about, is_ok, text),) = found(**facts)
    assert (about, is_ok) == (name, False)
    assert told in text


@pytest.mark.parametrize(
    "facts",
    [
        {"skew": LARGEST_SKEW},
        {"skew": -LARGEST_SKEW},
        {"usable": 40},
        {"used": 97 - CONNECTIONS},
        {"is_pooled": True, "pooler": True},
        {"pooler": True},  # it may be quiet enough to use one connection of the server
        {"is_pooled": True, "pooler": True, "usable": 5, "used": 5},  # it shares them out
    ],
)
def test_what_is_just_sound_is_no_fault(facts: dict[str, Any]) -> None:
    ((name, is_ok, _),) = found(**facts)
    assert (name, is_ok) == ("database", True)
