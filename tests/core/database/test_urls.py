"""DATABASE_URL: what is accepted, and what people may read of it."""

from __future__ import annotations

import pytest

from bot.core.database.urls import check_url, passwords, postgres_address, safe_url
from bot.core.errors import ConfigProblem

GOOD = [
    "sqlite:///data/bot.db",
    "postgresql://bot:secret@db.example/bot",
    "postgres://bot@db1.example:5432,db2.example:5433/bot?target_session_attrs=read-write",
    "postgresql://bot@/bot?host=/run/postgresql&pooler=transaction",
]
BAD = [
    "mysql://bot@db.example/bot",
    "postgresql://bot:pass/word@db.example/bot",
    "postgresql://bot:pass#word@db.example/bot",
    "postgresql://bot:pass word@db.example/bot",
    "postgresql://[bot/bot",
    "postgresql://bot@db.example/bot?pooler=session",
    "",
]


@pytest.mark.parametrize("url", GOOD)
def test_a_file_or_a_server_is_accepted(url: str) -> None:
    check_url(url)


@pytest.mark.parametrize("url", BAD)
def test_another_url_is_refused_without_its_password(url: str) -> None:
    with pytest.raises(ConfigProblem, match=r"^DATABASE_URL: ") as raised:
        check_url(url)
    assert "word" not in str(raised.value).replace("password", "")


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("sqlite:///data/bot.db", "sqlite:///data/bot.db"),
        ("postgresql://bot:s3cret@db.example:5432/bot", "postgresql://bot@db.example:5432/bot"),
        ("postgresql://bot@a,b/bot?password=s3cret&sslmode=require", "postgresql://bot@a,b/bot"),
        ("postgresql://bot:s3/c@r?e#t@db.example/bot", "postgresql://bot@db.example/bot"),
        ("postgresql:///bot?host=/run/postgresql", "postgresql:///bot"),
    ],
)
def test_people_see_a_url_without_its_secrets(url: str, shown: str) -> None:
    assert safe_url(url) == shown


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
