"""DATABASE_URL: what is accepted, and what people may read of it."""

from __future__ import annotations

import pytest

from bot.core.database.urls import check_url, passwords, postgres_address, safe_url, sqlite_path
from bot.core.errors import ConfigProblem

GOOD = [
    "sqlite:///data/bot.db",
    "postgresql://bot:secret@db.example/bot",
    "postgres://bot@db1.example:5432,db2.example:5433/bot?target_session_attrs=read-write",
    "postgresql://bot@/bot?host=/run/postgresql&pooler=transaction",
]
FILES = {
    "sqlite:///data/bot.db": "data/bot.db",
    "sqlite:////srv/bot.db": "/srv/bot.db",
    "sqlite:///with%20space.db": "with space.db",
    "SQLite:///odd%23name%3F.db": "odd#name?.db",
}
NO_FILES = [
    *("", "data/bot.db", "sqlite:", "sqlite:///", "sqlite://host/x.db", "mysql:///x"),
    *(":memory:", "sqlite:///:memory:", "sqlite:data/bot.db", "sqlite:/data/bot.db"),
    *("sqlite:///bot.db?mode=ro", "sqlite:///bot#2.db", "sqlite:///bot%00.db"),
    *("sqlite:///~/bot.db", "sqlite:///$HOME/bot.db", "sqlite:///${DATA}/bot.db"),
]
NO_SERVERS = [
    "postgresql://bot:pass@word@db.example/bot",
    "postgresql://bot:pass/word@db.example/bot",
    "postgresql://bot:pass?word@db.example/bot",
    "postgresql://bot:pass?a=word@db.example/bot",
    "postgresql://bot:pass#word@db.example/bot",
    "postgresql://bot:pass word@db.example/bot",
    "postgresql://[bot/bot",
    "postgresql://bot@db.example/bot?pooler=session",
]
SHOWN = {
    "sqlite:///data/bot.db": "sqlite:///data/bot.db",
    "postgresql://bot:s3cret@db.example:5432/bot": "postgresql://bot@db.example:5432/bot",
    "postgresql://bot@a,b/bot?password=s3cret&sslmode=require": "postgresql://bot@a,b/bot",
    "postgresql://bot:s3/c@r?e#t@db.example/bot": "postgresql://bot@db.example/bot",
    "postgresql:///bot?host=/run/postgresql": "postgresql:///bot",
}


def test_a_file_or_a_server_is_accepted() -> None:
    for url in GOOD:
        check_url(url)
    assert {url: sqlite_path(url) for url in FILES} == FILES


def test_another_address_of_a_file_is_refused_with_an_example() -> None:
    for url in NO_FILES:
        with pytest.raises(ConfigProblem, match=r"write sqlite:///data/bot\.db"):
            check_url(url)


def test_an_address_whose_password_is_not_escaped_is_refused_and_not_quoted() -> None:
    """The part behind the character would be taken for the host, and shown in each error."""
    for url in NO_SERVERS:
        with pytest.raises(ConfigProblem, match=r"^DATABASE_URL: ") as raised:
            check_url(url)
        assert "word" not in str(raised.value).replace("password", "")


def test_people_see_a_url_without_its_secrets() -> None:
    assert {url: safe_url(url) for url in SHOWN} == SHOWN


def test_the_log_learns_each_form_of_a_password() -> None:
    url = "postgresql://bot:s3%40cret@db.example/bot?sslpassword=key%20one"
    assert set(passwords(url)) == {"s3%40cret", "s3@cret", "key%20one", "key one"}
    assert passwords("sqlite:///data/bot.db") == passwords("postgresql://bot@db.example/bot") == []


def test_libpq_never_sees_our_own_parameter() -> None:
    address = postgres_address(
        "postgresql://bot@/bot?host=/run/pg&pooler=transaction&sslmode=prefer"
    )
    assert address.is_pooled
    assert address.url == "postgresql://bot@/bot?host=%2Frun%2Fpg&sslmode=prefer"
