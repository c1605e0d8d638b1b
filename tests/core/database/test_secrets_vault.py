"""Secrets at rest: the database holds none in plain text, and a wrong key is reported."""

from __future__ import annotations

import os
import stat
from itertools import count
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.core.database.database import Database
from bot.core.database.vault import Vault, load_or_create, load_or_create_key, random_password
from bot.core.errors import ConfigProblem

VAULT = Vault("key")


@given(st.text())
def test_a_sealed_text_opens_again_and_is_not_readable(text: str) -> None:
    sealed = VAULT.seal(text)
    assert Vault("key").open(sealed) == text
    assert len(text) < 8 or text not in sealed


def test_the_same_text_is_sealed_differently_each_time() -> None:
    assert VAULT.seal("same") != VAULT.seal("same")


@pytest.mark.parametrize(
    "sealed",
    [Vault("other").seal("text"), VAULT.seal("text")[:-2], "", "x"],
    ids=["another key", "cut", "empty", "short"],
)
def test_another_key_or_a_changed_text_is_a_problem_of_secret_key(sealed: str) -> None:
    with pytest.raises(ConfigProblem, match=r"^SECRET_KEY: "):
        VAULT.open(sealed)


def test_the_key_is_created_once_and_only_its_owner_may_read_it(tmp_path: Path) -> None:
    path = tmp_path / "bot.key"
    key = load_or_create_key(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert load_or_create_key(path) == key == path.read_text()
    assert len(key) >= 43


def test_the_key_is_whole_when_its_file_gets_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another process may read it at that moment."""
    read: list[str] = []
    link = os.link

    def record(source: str, target: Path) -> None:
        link(source, target)
        read.append(target.read_text())

    monkeypatch.setattr(os, "link", record)
    assert [load_or_create_key(tmp_path / "bot.key")] == read


def test_passwords_are_never_the_same() -> None:
    assert len({random_password() for _ in range(100)}) == 100


def test_a_stored_secret_is_created_once_and_sealed(db: Database) -> None:
    numbers = count()

    def make() -> str:
        return f"secret-{next(numbers)}"

    assert [db.run(lambda tx: load_or_create(tx, VAULT, "a", make)) for _ in range(2)] == [
        "secret-0"
    ] * 2
    assert db.run(lambda tx: load_or_create(tx, VAULT, "b", make)) == "secret-1"
    stored = db.run(lambda tx: tx.query("SELECT sealed FROM kept_secrets"))
    assert all("secret" not in row["sealed"] for row in stored)


def test_a_wrong_key_does_not_replace_a_stored_secret(db: Database) -> None:
    db.run(lambda tx: load_or_create(tx, VAULT, "a", lambda: "secret"))
    with pytest.raises(ConfigProblem, match="SECRET_KEY"):
        db.run(lambda tx: load_or_create(tx, Vault("other"), "a", lambda: "another"))
    assert db.run(lambda tx: load_or_create(tx, VAULT, "a", lambda: "another")) == "secret"
