"""`erase` as a command: it asks, erases, and looks into the bytes of the file for what is left."""

from __future__ import annotations

import json
import random
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from bot.cli import erase_command as command
from bot.cli.commands import main
from bot.core.privacy import scrubbing
from bot.wiring.maintenance import payer_erasure
from tests.support.machine_faults import locked
from tests.support.service_harness import NOON, open_service
from tests.wiring.maintenance.test_erase_payers import ANNA, ASKED, BOB


def order(*command: str, **given: Any) -> Result:
    return CliRunner().invoke(main, ["erase", *command], **given)


def bytes_of(path: Path) -> bytes:
    """Everything in the file and beside it."""
    return b"".join(one.read_bytes() for one in path.parent.glob(f"{path.name}*"))


@pytest.mark.parametrize("seed", range(2))
async def test_nothing_of_it_is_in_the_bytes(tmp_path: Path, seed: int) -> None:
    """Of hundreds of payments whose data has all lengths, amid others that stay, page after page.

    SQLite leaves what it deletes, and what it moved, where it was.
    """
    dice = random.Random(seed)
    people = [f"{'x' * dice.randrange(1, 50)}{number}@payer.example" for number in range(300)]
    async with open_service(tmp_path) as shop:
        shop.db.run(lambda tx: tx.query("PRAGMA secure_delete = OFF"))  # as most systems have it
        made = await shop.create(requestedUserData=["email"], expirationType="never")
        for number, person in enumerate(people):
            await shop.pay(made["id"], token=f"{number:032d}", email=person)
        shop.db.run(lambda tx: tx.execute("DELETE FROM payments WHERE id < '4'"))
        gone = dice.sample(people, 60)
        scope = shop.db.run(lambda tx: payer_erasure.parse_scope(tx, gone, None, None))
        done = await payer_erasure.erase(
            shop.db, scope, await payer_erasure.survey(shop.db, scope), NOON
        )
        path = Path(shop.db.path)
    assert set(done.gone) == set(gone)
    found = payer_erasure.clean(path, done.gone)
    assert (found.compacted, found.left, found.traced) == (True, 0, 60)
    whole = bytes_of(path)
    assert [person for person in gone if person.encode() in whole] == []
    stays = set(people) - set(gone)
    assert sum(person.encode() in whole for person in stays) > 100
    assert scrubbing.traces(path, [min(stays)]) == [min(stays)]


async def test_what_is_left_is_said_with_its_place(tmp_path: Path) -> None:
    """A payment that came meanwhile is new data, and the command does not say that all is gone."""
    async with open_service(tmp_path) as shop:
        made = await shop.create(**ASKED)
        await shop.pay(made["id"], **ANNA)
        path = Path(shop.db.path)
    found = payer_erasure.clean(path, [ANNA["email"]])
    assert found.left == 1
    assert {"checkouts.user_data", "payments.user_data"} <= set(found.holders)


@pytest.mark.parametrize(
    ("holders", "told"),
    [
        (("payments.user_data",), "run the same again"),
        (("listings.destination",), "themselves as WHO: the same again knows no others"),
        (("outbox.body", "payments.user_data"), "the same again knows no others"),
    ],
)
def test_the_advice_helps_with_what_is_left(holders: tuple[str, ...], told: str) -> None:
    """A second run knows what it is told, not what went with the first."""
    said = command._bytes(
        payer_erasure.Bytes(compacted=True, traced=1, of=1, left=1, holders=holders)
    )
    assert said.endswith(told)


async def filled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DATABASE_URL", "sqlite:///bot.db")
    async with open_service(tmp_path) as shop:
        made = await shop.create(**ASKED)
        for number, data in enumerate((ANNA, BOB)):
            await shop.pay(made["id"], token=f"{number}" * 32, **data)
        return Path(shop.db.path)


def left(path: Path) -> int:
    with closing(sqlite3.connect(path)) as db:
        (number,) = db.execute("SELECT COUNT(*) FROM payments WHERE user_data <> '{}'").fetchone()
        return int(number)


@pytest.fixture
async def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return await filled(tmp_path, monkeypatch)


def test_it_asks_first_and_shows_counts_alone(path: Path) -> None:
    asked = order("anna@hand.example", input="n\n")
    assert (asked.exit_code, asked.stdout) == (1, "")
    assert "Payer data of 1 payments, 1 checkouts and 0 payments told in the chat." in asked.stderr
    assert "anna" not in asked.stderr.lower()
    assert left(path) == 2


def test_with_yes_it_erases_searches_and_notes_how_much(path: Path) -> None:
    done = order("anna@hand.example", "--yes", "--json")
    assert done.exit_code == 0, done.stderr
    assert json.loads(done.stdout) == {
        "payments": 1, "checkouts": 1, "told": 0, "messages": 0, "recipients": 0,
        "searched": 3, "values": 3, "left": 0, "compacted": True, "holders": [],
    }  # fmt: skip
    assert left(path) == 1
    whole = path.read_bytes().lower()
    assert b"anna" not in whole
    assert b"bob@mail.example" in whole
    with closing(sqlite3.connect(path)) as db:
        (noted,) = db.execute("SELECT details FROM audit WHERE action = 'payers.erased'").fetchall()
    assert json.loads(noted[0]) == {"payments": 1, "checkouts": 1, "told": 0}


def test_whose_data_it_is_is_asked_beside_the_writer(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A look through many payments keeps nobody from paying."""
    scope_of = payer_erasure.parse_scope

    def beside(*given: Any) -> Any:
        with locked(path):
            return scope_of(*given)

    monkeypatch.setattr(payer_erasure, "parse_scope", beside)
    done = order("anna@hand.example", "--yes")
    assert done.exit_code == 0, done.stderr
    assert left(path) == 1


def test_run_again_it_finds_nothing_and_says_so(path: Path) -> None:
    order("anna@hand.example", "--yes")
    again = order("anna@hand.example")
    assert again.exit_code == 0, again.stderr
    assert "Nothing is kept of them." in again.stderr
    assert "nothing is left in the file (1 values looked for)" in again.stdout
    assert left(path) == 1


@pytest.mark.parametrize(
    ("command", "told"),
    [
        ([], "say whose data"),
        (
            ["anna"],
            "anna: is no e-mail address, paymail or phone number, and no payment has this id",
        ),
        (["5"], "5: is no e-mail address, paymail or phone number"),
        (["@"], "@: is no e-mail address, paymail or phone number"),
        (["--request", ""], "--request: there is no payment request of this id"),
        (["--request", "anna@x.example"], "--request: there is no payment request of this id"),
        (["--before", "soon"], "'soon' is no time: write 2026-01-31"),
    ],
)
def test_what_names_nobody_is_refused_with_what_to_write(
    path: Path, command: list[str], told: str
) -> None:
    refused = order(*command, "--yes")
    assert refused.exit_code in {1, 2}
    assert told in refused.stderr
    assert left(path) == 2


def test_beside_a_process_at_work_the_bytes_are_clean_all_the_same(path: Path) -> None:
    """Its connections stay open, as the bot's do; what it writes is written."""
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("PRAGMA journal_mode = WAL")
        other.execute("SELECT * FROM payments LIMIT 1").fetchall()
        done = order("anna@hand.example", "--yes")
        assert done.exit_code == 0, done.stderr
        files = [path, *path.parent.glob("bot.db-*")]
        assert not [one.name for one in files if b"anna" in one.read_bytes().lower()]


def test_beside_a_process_at_work_a_large_file_is_searched_but_not_written_anew(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Payers would be refused meanwhile. What is said of the bytes is what they are."""
    monkeypatch.setattr(scrubbing, "QUICK", 0)
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("PRAGMA journal_mode = WAL")
        other.execute("SELECT * FROM payments LIMIT 1").fetchall()
        done = json.loads(order("anna@hand.example", "--yes", "--json").stdout)
        assert done["compacted"] is False
        assert bool(done["left"]) == (b"anna" in bytes_of(path).lower())
    again = json.loads(order("anna@hand.example", "--yes", "--json").stdout)
    assert (again["compacted"], again["left"]) == (True, 0)
