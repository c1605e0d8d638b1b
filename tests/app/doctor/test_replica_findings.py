"""What the doctor makes of two looks at the replicas, as a table."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from bot.app.doctor.database_checks import Replicas, judge_replicas, survey_replicas
from bot.app.resources import digest_settings
from bot.config import Settings
from bot.core.database.database import Database, Transaction, WriteLease
from bot.core.replicas.membership import ReplicaRow

NOON = 1_800_000_000_000


def digests(**given: Any) -> str:
    return digest_settings(Settings(_env_file=None, secret_key="k", **given))


def beating(owner: str, beat: int = 0, **given: Any) -> ReplicaRow:
    known: dict[str, Any] = {"role": "all", "version": "1.0", "migration": 1}
    known |= {"settings": digests(), "started_at": NOON}
    return ReplicaRow(owner=owner, beat=beat, **known | given)


def found(
    *replicas: ReplicaRow, quiet: tuple[ReplicaRow, ...] = (), lead: WriteLease | None = None
) -> list[tuple[str, bool, str]]:
    """Return the findings where these replicas have beaten between two looks, and those not."""
    later = [replace(one, beat=one.beat + 2) for one in replicas]
    surveys = Replicas([*replicas, *quiet], [*later, *quiet], lead, 5.0, digests())
    return [(one.name, one.ok, one.text) for one in judge_replicas(surveys)]


def test_sound_replicas_are_listed_with_the_lead() -> None:
    ((name, is_ok, text),) = found(beating("a"), beating("b", role="api"), lead=WriteLease("a", 4))
    assert (name, is_ok) == ("replicas", True)
    assert [line.strip() for line in text.split("\n")] == [
        "2 are running",
        "a  all, version 1.0, since 2027-01-15T08:00:00+00:00, leads in term 4",
        "b  api, version 1.0, since 2027-01-15T08:00:00+00:00",
    ]


def test_no_replica_is_no_fault() -> None:
    """The doctor may be asked before the first start."""
    assert found() == [("replicas", True, "none is running")]


def test_one_that_has_just_started_lives() -> None:
    surveys = Replicas([], [beating("a")], WriteLease("a", 1), 5.0, digests())
    assert [one.ok for one in judge_replicas(surveys)] == [True]


def test_a_replica_that_does_not_beat_is_named() -> None:
    ((name, is_ok, text),) = found(beating("a"), quiet=(beating("b"),), lead=WriteLease("a", 1))
    assert (name, is_ok) == ("replicas", False)
    assert text.startswith("b (all) hasn't been heard from for 5 seconds: it was killed")


def test_the_rows_of_a_crashed_cluster_are_named() -> None:
    assert [
        ok for _, ok, _ in found(quiet=(beating("a"), beating("b")), lead=WriteLease("a", 1))
    ] == [
        False,
        False,
    ]


def test_a_cluster_without_a_lead_is_named() -> None:
    for lead in (None, WriteLease("", 3), WriteLease("gone", 3)):
        ((name, is_ok, text),) = found(beating("a"), lead=lead)
        assert (name, is_ok) == ("lead", False)
        assert "run doctor again in 15 seconds" in text


def test_replicas_none_of_which_may_lead_are_named() -> None:
    ((name, is_ok, text),) = found(beating("a", role="api"), beating("b", role="api"))
    assert (name, is_ok) == ("lead", False)
    assert "start one with --role all or lead" in text


def test_versions_that_differ_are_named_the_oldest_first() -> None:
    older = beating("b", version="0.9", migration=1)
    newer = beating("a", version="1.0", migration=2)
    ((name, is_ok, text),) = found(newer, older, lead=WriteLease("a", 1))
    assert (name, is_ok) == ("replicas", False)
    assert text.startswith(
        "different versions are running: 0.9 (schema 1): b; 1.0 (schema 2): a. Restart the older"
    )


def test_settings_that_differ_from_ours_are_named() -> None:
    other = beating("b", settings=digests(rails="bank", public_url="https://x.example.org"))
    ((name, is_ok, text),) = found(beating("a"), other, lead=WriteLease("a", 1))
    assert (name, is_ok) == ("replicas", False)
    assert text.startswith("b was started with other settings than those here: PUBLIC_URL, RAILS.")


@pytest.mark.parametrize(
    ("leads", "expected"),
    [
        ({}, None),
        ({"chat": "a", "service": "b"}, "a"),
        ({"chat": "", "service": "b"}, ""),
        ({"service": "b"}, "b"),
    ],
)
def test_a_service_without_a_chat_has_a_lead_of_its_own(
    db: Database, leads: dict[str, str], expected: str | None
) -> None:
    def write(tx: Transaction) -> None:
        for role, owner in leads.items():
            tx.execute("INSERT INTO leads VALUES (:role, :owner, 3)", role=role, owner=owner)

    db.run(write)
    _, lead = db.run(survey_replicas)
    assert (lead and lead.owner) == expected
