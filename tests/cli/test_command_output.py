"""The output of the operator's commands, for people and for programs."""

from __future__ import annotations

import asyncio
import json
import re
import time
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import click
import pytest

from bot import __version__
from bot.cli.commands import main
from bot.core.database.postgres import engine
from tests.support.command_line import contents_of_data, run_at_terminal, run_bot, start_once
from tests.support.databases import POSTGRESQL, SQLITE, rows
from tests.support.free_ports import free_port
from tests.support.service_harness import open_service

pytestmark = pytest.mark.usefixtures("commands_url")

RUDE = "http://h.example/\x1b[2J\x7f\x85\x9b2J\u202egpj\u200b"
"""An address that clears a terminal or turns its line around."""


def create_application() -> str:
    """Create an application; return its id."""
    return run_bot("apps", "create", "shop").stdout.splitlines()[0].partition("=")[2]


@pytest.mark.only(SQLITE, "a file")
def test_a_new_database_is_reported_once() -> None:
    """DATABASE_URL may be mistyped. The output for programs stays as it is."""
    first, second = run_bot("apps", "create", "shop"), run_bot("apps", "create", "shop")
    message = f"Created a new database at {Path('data/bot.db').absolute()}.\n"
    assert (first.exit_code, first.stderr) == (0, message)
    assert (second.exit_code, second.stderr) == (0, "")
    assert "new database" not in first.stdout


@pytest.mark.only(SQLITE, "a file")
@pytest.mark.parametrize(
    "command",
    [
        ("audit",),
        ("apps", "list"),
        ("apps", "seller", "a1"),
        ("apps", "seller", "a1", "--clear"),
        ("apps", "rotate", "a1"),
        ("apps", "revoke", "a1"),
        ("deliveries", "list"),
        ("deliveries", "show", "w1"),
        ("deliveries", "retry", "w1"),
        ("export",),
        ("export", "sellers"),
        ("erase", "ann@example.org", "--yes"),
        ("backup", "kept.db"),
    ],
    ids=" ".join,
)
def test_a_command_that_needs_a_database_creates_none(command: tuple[str, ...]) -> None:
    """An empty list of a database that isn't there would be believed."""
    done = run_bot(*command)
    message = (
        "DATABASE_URL: there is no database at data/bot.db: start the bot once or fix the path\n"
    )
    assert (done.exit_code, done.stdout, done.stderr) == (1, "", message)
    assert list(Path().iterdir()) == []


@pytest.mark.only(SQLITE, "a file")
def test_a_database_whose_file_was_lost_is_not_called_absent() -> None:
    """Its -wal holds the newest data: a start would delete them."""
    Path("data").mkdir()
    Path("data/bot.db-wal").write_bytes(b"newest data")
    done = run_bot("audit")
    assert (done.exit_code, done.stdout) == (2, "")
    assert "put the file back there" in done.stderr
    assert contents_of_data() == {"bot.db-wal": b"newest data"}


@pytest.mark.only(SQLITE, "a file")
@pytest.mark.parametrize("command", [("audit",), ("apps", "create", "shop")], ids=" ".join)
def test_a_lost_key_is_reported_and_not_replaced(command: tuple[str, ...]) -> None:
    """A shell may lack the SECRET_KEY of the service; a new key would open nothing."""
    start_once()
    Path("data/bot.key").unlink()
    done = run_bot(*command)
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr.startswith("SECRET_KEY: not set, and data/bot.key is missing")
    assert not Path("data/bot.key").exists()


def test_a_rotation_prints_until_when_the_former_secret_signs_too() -> None:
    app_id, before = create_application(), int(time.time())
    answer = run_bot("apps", "rotate", app_id, "--overlap", "3")
    names = [line.partition("=")[0] for line in answer.stdout.splitlines()]
    assert names == ["APP_ID", "APP_SECRET", "WEBHOOK_SECRET"]
    message = re.fullmatch(
        r"Until (\S+), or the next rotation, the old APP_SECRET works too, and webhooks are also"
        r" signed with the old WEBHOOK_SECRET. If they leaked, rotate again with --now.\n",
        answer.stderr,
    )
    assert message
    until = datetime.fromisoformat(message[1]).timestamp()
    assert before <= until - 3 * 3600 <= time.time()


@pytest.mark.parametrize("how", [("--overlap", "0"), ("--now",), ("--now", "--overlap", "0")])
def test_a_rotation_without_overlap_prints_no_time(how: tuple[str, ...]) -> None:
    done = run_bot("apps", "rotate", create_application(), *how)
    assert (done.exit_code, done.stderr) == (0, "")


def test_a_rotation_at_once_has_no_overlap() -> None:
    app_id = create_application()
    done = run_bot("apps", "rotate", app_id, "--now", "--overlap", "3")
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr.endswith("Error: give either --overlap or --now\n")


def test_the_list_shows_until_when_former_secrets_count() -> None:
    app_id = create_application()
    for how, hours in (("2", 2), ("0", None)):
        before = int(time.time())
        run_bot("apps", "rotate", app_id, "--overlap", how)
        (line,) = run_bot("apps", "list", "--json").stdout.splitlines()
        until = json.loads(line)["overlap"]
        assert (until is None) == (hours is None)
        if hours:
            lasting = datetime.fromisoformat(until).timestamp() - hours * 3600
            assert before <= lasting <= time.time()


REVOKED = "SELECT COUNT(*) FROM apps WHERE revoked_at IS NOT NULL"


def test_nothing_is_revoked_where_nobody_can_be_asked(commands_url: str) -> None:
    """A script says --yes; an unknown application is told from one that needs it."""
    app_id = create_application()
    done = run_bot("apps", "revoke", app_id, input="y\n")
    message = "this can't be undone: add --yes, since nobody is here to be asked\n"
    assert (done.exit_code, done.stdout, done.stderr) == (2, "", message)
    assert rows(commands_url, REVOKED) == [(0,)]
    assert run_bot("apps", "revoke", "nobody").stderr == "There is no application nobody.\n"


@pytest.mark.parametrize(("answer", "code", "revoked"), [("n", 1, 0), ("", 1, 0), ("y", 0, 1)])
def test_a_revocation_asks_at_a_terminal(
    commands_url: str, answer: str, code: int, revoked: int
) -> None:
    app_id = create_application()
    done = run_at_terminal(answer, "apps", "revoke", app_id)
    assert done.returncode == code
    assert done.stdout.splitlines() == [f"revoked {app_id}"] * revoked
    assert done.stderr.startswith(f"End the access of shop ({app_id}) for good? [y/N]: ")
    assert rows(commands_url, REVOKED) == [(revoked,)]


def test_every_command_answers_help_without_any_setting() -> None:
    """Groups of commands too."""

    def paths(group: click.Group, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
        yield path
        for name, command in group.commands.items():
            if isinstance(command, click.Group):
                yield from paths(command, (*path, name))
            else:
                yield (*path, name)

    every = [*paths(main)]
    assert len(every) > 20
    silent = [
        (*path, flag)
        for path in every
        for flag in ("--help", "-h")
        if not run_bot(*path, flag).output.startswith("Usage: ")
    ]
    assert silent == []
    unknown = run_bot("fly")
    assert (unknown.exit_code, "No such command 'fly'" in unknown.stderr) == (2, True)


UNKNOWN = (
    "apps rotate nobody",
    "apps revoke nobody",
    "deliveries show nothing",
    "deliveries retry nothing",
)


def test_an_unknown_id_ends_with_1_and_one_line() -> None:
    create_application()
    for command in UNKNOWN:
        done = run_bot(*command.split())
        lines = done.stderr.splitlines()
        assert (done.exit_code, done.stdout, len(lines)) == (1, "", 1), (command, lines)


def test_a_wrong_secret_key_is_reported_before_anything_is_done(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Or else what is made under it could never be signed beside the rest."""
    monkeypatch.setenv("SECRET_KEY", "the right key of a test")
    create_application()
    monkeypatch.setenv("SECRET_KEY", "another key of it")
    for command in ("apps create second", "apps list", "deliveries list", "service"):
        done = run_bot(*command.split())
        lines = done.stderr.splitlines()
        assert (done.exit_code, done.stdout, len(lines)) == (2, "", 1), (command, lines)
        assert lines[0].startswith("SECRET_KEY: the secrets in the database were sealed with")
    monkeypatch.setenv("SECRET_KEY", "the right key of a test")
    kept = run_bot("apps", "list", "--json").stdout.splitlines()
    assert [json.loads(line)["name"] for line in kept] == ["shop"]


def test_the_version_stands_after_the_name() -> None:
    done = run_bot("--version")
    assert (done.exit_code, done.output) == (0, f"payment-request-bot {__version__}\n")


@pytest.mark.parametrize("command", ["rotate", "revoke"])
def test_a_revoked_application_is_reported_as_revoked(command: str) -> None:
    """The list shows it, so the command must not report it as unknown."""
    app_id = create_application()
    run_bot("apps", "revoke", app_id, "--yes", code=0)
    again = run_bot("apps", command, app_id)
    message = f"The application {app_id} is revoked.\n"
    assert (again.exit_code, again.stdout, again.stderr) == (1, "", message)


async def store_hostile_delivery(url: str) -> str:
    """Store a delivery to a hostile address, which no check would accept; return its id."""
    async with open_service(url) as shop:
        made = await shop.create(notifications={"webhook": {"webhookUrl": "https://h.example/w"}})
        await shop.pay(made["id"])
        await shop.db.transaction(
            lambda tx: tx.execute("UPDATE deliveries SET address = :address", address=RUDE)
        )
        (stored,) = await shop.rows("deliveries")
        return str(stored["id"])


@pytest.mark.parametrize("command", [("list",), ("list", "--json"), ("show",)], ids=" ".join)
def test_an_address_cannot_control_the_terminal(
    commands_url: str, command: tuple[str, ...]
) -> None:
    stored = asyncio.run(store_hostile_delivery(commands_url))
    answer = run_bot("deliveries", *command, *([stored] if command == ("show",) else []))
    assert answer.exit_code == 0, answer.stderr
    assert [line for line in answer.stdout.splitlines() if not line.isprintable()] == []
    if "--json" in command:
        assert json.loads(answer.stdout)["address"] == RUDE


@pytest.mark.only(POSTGRESQL, "a server that is away")
@pytest.mark.parametrize(
    "command", ["apps list", "audit", "deliveries list", "export payments", "run", "service"]
)
def test_a_server_that_is_away_is_one_line_without_the_password(
    command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine, "OWN_SECONDS", 0.0)
    monkeypatch.setenv("DATABASE_URL", f"postgresql://bot:sesame@127.0.0.1:{free_port()}/bot")
    monkeypatch.setenv("SECRET_KEY", "x")
    monkeypatch.setenv("BOT_TOKEN", "123456:ABC-DEF")
    done = run_bot(*command.split())
    assert (done.exit_code, done.stdout) == (2, "")
    (line,) = done.stderr.splitlines()
    assert line.startswith("DATABASE_URL: postgresql://bot@127.0.0.1:")
    assert line.endswith("nothing answers at its host and port: start the server, or check both")
