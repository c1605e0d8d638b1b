"""Opening a PostgreSQL database: what is wrong is one clear line, and never has the password."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from functools import partial

import psycopg
import pytest

from bot.core.database import migrations
from bot.core.database.opening import open_database, open_for_command
from bot.core.database.postgres import connection, engine, transfer
from bot.core.database.postgres.checks import ADVICE, advise
from bot.core.errors import ConfigProblem
from tests.support.databases import rows
from tests.support.postgres_server import PostgresServer

PASSWORD, WRONG_PASSWORD = "correct-horse", "battery-staple"
UNREADABLE = "DATABASE_URL: write postgresql://user:password@host/database"
TABLES = "SELECT count(*) FROM pg_tables WHERE schemaname = 'public'"


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    with PostgresServer(password=PASSWORD) as it:
        open_database(it.clone("used")).close()
        it._admin("CREATE ROLE poor LOGIN PASSWORD 'correct-horse'")
        it._admin("CREATE DATABASE private OWNER bot")
        it._admin("REVOKE CONNECT ON DATABASE private FROM PUBLIC")
        yield it


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Try once: a start waits some seconds for a server that starts too."""
    monkeypatch.setattr(engine, "OWN_SECONDS", 0.0)


def refusal(url: str, *, opens: Callable[[str], object] = open_database) -> str:
    with pytest.raises(ConfigProblem) as refused:
        opens(url)
    return str(refused.value)


def enter_session(url: str) -> None:
    with transfer.open_session(url):
        pass


def wrong_password(server: PostgresServer) -> str:
    return server.url("used", tcp=True).replace(PASSWORD, WRONG_PASSWORD)


WRONG: dict[str, Callable[[PostgresServer], str]] = {
    "it refuses the user or the password: check both": wrong_password,
    "there is no such database: create it (CREATE DATABASE), or check its name": lambda server: (
        server.url("usde", tcp=True)
    ),
    "there is no such user (role): create it (CREATE ROLE … LOGIN), or check its name": (
        lambda server: server.url("used", user="nobody-known")
    ),
    "its host is not known: check the name": lambda server: server.url("used", tcp=True).replace(
        "127.0.0.1", "no-such-host.invalid"
    ),
    "nothing answers at its host and port: start the server, or check both": lambda server: (
        server.url("used", tcp=True).replace(f":{server.port}/", ":1/")
    ),
    "the user may not create tables in it: make it the owner of the database, or GRANT CREATE ON"
    " SCHEMA public TO the user": lambda server: server.url(user="poor"),
    "the user may not connect to this database: GRANT CONNECT ON DATABASE … TO the user": (
        lambda server: server.url("private", user="poor")
    ),
    "its tables are another user's: name that user in the URL, or GRANT its rights": (
        lambda server: server.url("used", user="poor")
    ),
    "the server has no TLS: enable it there, or set sslmode=prefer": lambda server: server.url(
        "used", tcp=True, sslmode="require"
    ),
    "its port is not a number from 1 to 65535": lambda server: server.url("used", tcp=True).replace(
        f":{server.port}/", ":99999/"
    ),
}


@pytest.mark.long
@pytest.mark.parametrize("message", WRONG)
def test_a_wrong_address_is_one_line_that_says_what_to_do(
    server: PostgresServer, message: str
) -> None:
    given = WRONG[message](server)
    opens = open_for_command if "another user's" in message else open_database
    text = refusal(given, opens=opens)
    assert text.startswith("DATABASE_URL: postgresql://")
    assert text.endswith(f"can't be used: {message}")
    assert PASSWORD not in text
    assert WRONG_PASSWORD not in text
    if "the password" in message:  # a copy, which connects by itself, says it in the same words
        assert refusal(given, opens=enter_session) == text


def test_a_standby_is_refused(server: PostgresServer) -> None:
    with server.standby() as standby:
        assert "the server is a standby, which stores nothing" in refusal(standby.url("used"))


def test_settings_that_a_pooler_passes_on_are_told_of(server: PostgresServer) -> None:
    """Readers set their connection read-only; without the parameter, writers get that one."""
    server._admin("ALTER ROLE poor SET default_transaction_read_only = on")
    message = refusal(server.url("used", user="poor"))
    server._admin("ALTER ROLE poor RESET default_transaction_read_only")
    assert "where a pooler stands between, add pooler=transaction" in message


def test_a_server_that_is_too_old_is_refused(
    server: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """PostgreSQL 15 takes the schema, and later refuses a SELECT of a running replica."""
    url = server.clone("old")
    monkeypatch.setattr(connection, "OLDEST", 990000)
    for opens in (open_database, enter_session):
        text = refusal(url, opens=opens)
        assert text.endswith("18 is too old: upgrade the server to 99 or later")
    assert rows(url, TABLES) == [(0,)]


@pytest.mark.long
def test_a_server_without_a_free_connection_is_named() -> None:
    with PostgresServer(max_connections="10") as server:
        with held(server, 7):
            assert "all its connections are in use" in refusal(server.url())
        open_database(server.clone("free")).close()


@contextmanager
def held(server: PostgresServer, number: int) -> Iterator[None]:
    connections = [psycopg.connect(server.url()) for _ in range(number)]
    yield
    for one in connections:
        one.close()


def test_an_address_that_libpq_cannot_read_is_not_quoted() -> None:
    for url in (
        "postgresql://bot:correct%zzhorse@127.0.0.1/bot",
        "postgresql://bot:correct-horse@127.0.0.1/bot?unheard_of=1",
        "postgresql://bot:correct-horse@[::1/bot",
    ):
        text = refusal(url)
        assert text.startswith(UNREADABLE)
        assert "correct" not in text
        assert "horse" not in text


def test_a_refusal_that_nobody_foresaw_stays_one_line() -> None:
    assert advise("something\n  else  happened") == "something else happened"
    assert all("\n" not in advice for advice in ADVICE.values())


def test_a_command_makes_tables_only_if_it_creates_something(server: PostgresServer) -> None:
    url = server.clone("bare")
    assert refusal(url, opens=open_for_command).endswith(
        "it has no tables yet: start the bot once, or check its name"
    )
    assert rows(url, TABLES) == [(0,)]
    with closing(open_for_command(url, creates=True)):
        assert rows(url, TABLES) != [(0,)]


def test_a_command_migrates_a_database_that_no_replica_uses(
    server: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = server.clone("resting", template="used")
    monkeypatch.setattr(migrations, "MIGRATIONS", (*migrations.MIGRATIONS, (NEW,)))
    open_for_command(url).close()
    assert rows(url, "SELECT word FROM later") == []


def test_a_command_migrates_nothing_under_replicas_of_an_older_version(
    server: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = server.clone("older", template="used")
    join(url)
    open_for_command(url).close()
    monkeypatch.setattr(migrations, "MIGRATIONS", (*migrations.MIGRATIONS, (NEW,)))
    for opens in (open_for_command, partial(open_for_command, creates=True)):
        text = refusal(url, opens=opens)
        assert "its replicas run an older version than this program" in text
    assert rows(url, "SELECT to_regclass('later')") == [(None,)]


def test_a_command_of_an_older_version_works_beside_newer_replicas(server: PostgresServer) -> None:
    url = server.clone("newer", template="used")
    join(url)
    with psycopg.connect(url) as connection:
        connection.execute("INSERT INTO migrations (number) VALUES (9999)")
    with closing(open_for_command(url)) as database:
        assert database.run(lambda tx: tx.query("SELECT owner FROM replicas"))


NEW = "CREATE TABLE later (word TEXT NOT NULL)"


def join(url: str) -> None:
    with psycopg.connect(url) as connection:
        connection.execute(
            "INSERT INTO replicas (owner, beat, role, version, migration, settings, started_at)"
            " VALUES ('one', 1, 'all', '1.0', 1, '{}', 0)"
        )
