"""`erase` as a command: it asks, erases, and leaves no byte of the data in the database's files."""

from __future__ import annotations

import asyncio
import json
import random
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from bot.app.maintenance import payer_erasure
from bot.core.database import snapshot
from bot.core.database.database import Database
from bot.core.database.opening import open_database
from bot.core.database.urls import is_postgres, sqlite_path
from tests.support.command_line import run_at_terminal, run_bot
from tests.support.databases import SQLITE, rows, sqlite, text_of
from tests.support.machine_faults import locked
from tests.support.payer_data import ANNA, ASKED, BOB
from tests.support.service_harness import NOON, open_service

if TYPE_CHECKING:
    from click.testing import Result


FREED = (
    "rewritten; no erased data is left in it",
    "vacuumed; the server's log, standbys and archives keep erased data for their time",
)
"""What is said of a file, and of a server."""


def erase(*command: str, **given: Any) -> Result:
    return run_bot("erase", *command, **given)


def bytes_of(path: Path) -> bytes:
    """Return all bytes of the file and the files beside it."""
    return b"".join(one.read_bytes() for one in path.parent.glob(f"{path.name}*"))


@pytest.mark.long
@pytest.mark.only(SQLITE, "a file")
@pytest.mark.parametrize("seed", range(2))
async def test_no_erased_byte_is_in_the_files(database_url: str, seed: int) -> None:
    """Of hundreds of payments whose data has all lengths, amid others that stay, page after page.

    Free pages, overflow pages, indexes and copies that page splits left: all are clean.
    """
    dice = random.Random(seed)
    people = [f"{'x' * dice.randrange(1, 50)}{number}@payer.example" for number in range(300)]
    async with open_service(database_url) as shop:
        made = await shop.create(requestedUserData=["email"], expirationType="never")
        for number, person in enumerate(people):
            await shop.pay(made["id"], token=f"{number:032d}", email=person)
        shop.db.run(lambda tx: tx.execute("DELETE FROM payments WHERE id < '4'"))
        gone = dice.sample(people, 60)
        scope = shop.db.run(lambda tx: payer_erasure.parse_scope(tx, gone, None, None))
        done = await payer_erasure.erase(shop.db, await payer_erasure.survey(shop.db, scope), NOON)
        path = Path(sqlite(shop.db).path)
    assert set(done.gone) == set(gone)
    assert snapshot.compact(path)
    whole = bytes_of(path)
    assert [person for person in gone if person.encode() in whole] == []
    stays = set(people) - set(gone)
    assert sum(person.encode() in whole for person in stays) > 100


@pytest.fixture
async def url(commands_url: str) -> str:
    """Store two payments in the commands' database; return its address."""
    async with open_service(commands_url) as shop:
        made = await shop.create(**ASKED)
        for number, data in enumerate((ANNA, BOB)):
            await shop.pay(made["id"], token=f"{number}" * 32, **data)
    return commands_url


@pytest.fixture
def path(url: str) -> Path:
    """Return the file of that database."""
    return Path(sqlite_path(url))


def left(url: str) -> int:
    ((number,),) = rows(url, "SELECT COUNT(*) FROM payments WHERE user_data <> '{}'")
    return int(number)


async def stored(url: str) -> str:
    with closing(open_database(url)) as db:
        return (await text_of(db)).lower()


def test_it_asks_first_and_prints_only_counts(url: str) -> None:
    asked = run_at_terminal("n", "erase", "anna@hand.example")
    assert (asked.returncode, asked.stdout) == (1, "")
    assert (
        "Found payer data in 1 payments, 1 checkouts and 0 payments recorded by the chat."
        in asked.stderr
    )
    assert "anna" not in asked.stderr.lower()
    assert left(url) == 2


def test_nothing_is_erased_where_nobody_can_be_asked(url: str) -> None:
    asked = erase("anna@hand.example", input="y\n")
    assert (asked.exit_code, asked.stdout) == (2, "")
    message = "this can't be undone: add --yes, since nobody is here to be asked"
    assert asked.stderr.splitlines()[-1] == message
    assert left(url) == 2


def test_with_yes_it_erases_and_records_the_counts(url: str) -> None:
    done = erase("anna@hand.example", "--yes", "--json")
    assert done.exit_code == 0, done.stderr
    assert json.loads(done.stdout) == {
        "payments": 1, "checkouts": 1, "told": 0, "messages": 0, "recipients": 0,
        "left": 0, "compacted": True,
    }  # fmt: skip
    assert left(url) == 1
    whole = asyncio.run(stored(url))
    assert "anna" not in whole
    assert "bob@mail.example" in whole
    ((noted,),) = rows(url, "SELECT details FROM audit WHERE action = 'payers.erased'")
    assert json.loads(noted) == {"payments": 1, "checkouts": 1, "told": 0}


@pytest.mark.only(SQLITE, "a file")
def test_an_erased_value_is_in_no_byte_of_the_file(path: Path) -> None:
    assert erase("anna@hand.example", "--yes").exit_code == 0
    whole = bytes_of(path).lower()
    assert b"anna" not in whole
    assert b"bob@mail.example" in whole


@pytest.mark.only(SQLITE, "its one writer")
def test_the_search_for_payers_does_not_wait_for_the_writer(
    path: Path, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A search through many payments must not hold up a payment."""
    scope_of = payer_erasure.parse_scope

    def beside(*given: Any) -> Any:
        with locked(path):
            return scope_of(*given)

    monkeypatch.setattr(payer_erasure, "parse_scope", beside)
    done = erase("anna@hand.example", "--yes")
    assert done.exit_code == 0, done.stderr
    assert left(url) == 1


def test_run_again_it_finds_nothing(url: str) -> None:
    erase("anna@hand.example", "--yes")
    again = erase("anna@hand.example")
    assert again.exit_code == 0, again.stderr
    assert "No data of them is stored." in again.stderr
    assert FREED[is_postgres(url)] in again.stdout
    assert left(url) == 1


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ([], "say whose data to erase"),
        (
            ["anna"],
            "anna: is not an email address, paymail or phone number, and no payment has this id",
        ),
        (["5"], "5: is not an email address, paymail or phone number"),
        (["@"], "@: is not an email address, paymail or phone number"),
        ([""], ": is not an email address, paymail or phone number"),
        (["\u2060"], "is not an email address, paymail or phone number"),
        (["--request", ""], "--request: there is no payment request with this id"),
        (["--request", "anna@x.example"], "--request: there is no payment request with this id"),
        (["--before", "soon"], "'soon' is not a date or an age: write 2026-01-31"),
    ],
)
def test_a_word_that_names_nobody_is_refused_with_an_explanation(
    url: str, command: list[str], message: str
) -> None:
    refused = erase(*command, "--yes")
    assert refused.exit_code in {1, 2}
    assert message in refused.stderr
    assert left(url) == 2


@pytest.mark.only(SQLITE, "a file")
def test_beside_a_running_process_no_erased_byte_is_left(path: Path) -> None:
    """The connections of that process stay open, as the bot's do."""
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("PRAGMA journal_mode = WAL")
        other.execute("SELECT * FROM payments LIMIT 1").fetchall()
        done = erase("anna@hand.example", "--yes")
        assert done.exit_code == 0, done.stderr
        files = [path, *path.parent.glob("bot.db-*")]
        assert not [one.name for one in files if b"anna" in one.read_bytes().lower()]


@pytest.mark.only(SQLITE, "a file")
def test_beside_a_running_process_a_large_file_is_not_rewritten(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Payers would be refused meanwhile. The command says to stop the bot, and exits with 1."""
    monkeypatch.setattr(snapshot, "MAX_SIZE", 0)
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("PRAGMA journal_mode = WAL")
        other.execute("SELECT * FROM payments LIMIT 1").fetchall()
        done = erase("anna@hand.example", "--yes")
        assert done.exit_code == 1
        assert "stop it and run the same command again" in done.stdout
    again = erase("anna@hand.example", "--yes", "--json")
    assert again.exit_code == 0, again.stderr
    found = json.loads(again.stdout)
    assert (found["compacted"], found["left"]) == (True, 0)
    assert b"anna" not in bytes_of(path).lower()


@pytest.mark.usefixtures("url")
def test_data_that_came_meanwhile_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is new, and the command does not claim that all is erased."""
    erase_payers = payer_erasure.erase

    async def erase_and_pay(db: Database, *given: Any) -> Any:
        done = await erase_payers(db, *given)
        again = "UPDATE payments SET user_data = :data WHERE user_data = '{}'"
        db.run(lambda tx: tx.execute(again, data=json.dumps(ANNA)))
        return done

    monkeypatch.setattr(payer_erasure, "erase", erase_and_pay)
    done = erase("anna@hand.example", "--yes")
    assert done.exit_code == 1
    assert "1 rows with such data came meanwhile: run the same command again" in done.stdout
    monkeypatch.undo()


@pytest.mark.only(SQLITE, "a file")
def test_ordinary_deletion_overwrites_the_data(path: Path) -> None:
    """SQLite's default on this system does not matter."""
    with closing(open_database(f"sqlite:///{path}")) as db:
        assert db.run(lambda tx: tx.query("PRAGMA secure_delete")) == [{"secure_delete": 1}]
        db.run(lambda tx: tx.execute("UPDATE payments SET user_data = '{}', payer = NULL"))
        db.run(lambda tx: tx.execute("UPDATE checkouts SET user_data = '{}'"))
        sqlite(db).checkpoint()
    assert b"anna" not in bytes_of(path).lower()
