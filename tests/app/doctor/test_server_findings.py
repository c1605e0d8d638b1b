"""What the doctor makes of a PostgreSQL server's facts, as a table."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from bot.app.doctor.cluster_checks import (
    CONNECTIONS,
    LARGEST_SKEW,
    NEEDED_LIMITS,
    check_server,
    describe,
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


def found(
    *, limits: dict[str, int] | None = None, replicas: int = 2, pooler: bool = False, **facts: Any
) -> list[tuple[str, str]]:
    """Return name and text of each finding about a server with these facts."""
    of = replace(SOUND, **facts)
    findings = check_server(
        of, LIMITS if limits is None else limits, replicas=replicas, pooler=pooler
    )
    assert not any(one.ok for one in findings)
    return [(one.name, one.text) for one in findings]


def test_a_sound_server_is_described_in_one_line() -> None:
    assert found() == []
    finding = describe("postgresql://bot@db.example.org/bot", SOUND)
    assert finding.ok
    assert finding.text == (
        "postgresql://bot@db.example.org/bot: PostgreSQL 18.4, timeline 3,"
        " 12 of 97 connections in use"
    )
    silent = describe("postgresql://db/bot", replace(SOUND, timeline=None, is_pooled=True))
    assert silent.text == (
        "postgresql://db/bot: PostgreSQL 18.4, behind a pooler, 12 of 97 connections in use"
    )


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
    ((about, text),) = found(**facts)
    assert about == name
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
    assert found(**facts) == []
