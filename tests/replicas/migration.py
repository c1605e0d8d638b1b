"""`migrate-to`: a living installation moves from its file to PostgreSQL, and back by a backup."""

from __future__ import annotations

import asyncio
import hashlib
import re
import sqlite3
import time
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import psycopg

from bot.core.database.vault import Vault
from bot.sandbox.world.errors import Fault
from tests.replicas.cluster import DATABASE, SECRET_KEY, Cluster, settings_of
from tests.replicas.payers import Payers, open_files
from tests.replicas.proof import Figures, Size
from tests.replicas.replica import Replica
from tests.replicas.shops import Shop, balance, open_shop
from tests.replicas.telegram import strict_telegram
from tests.support.machine_faults import count_alerts
from tests.support.postgres_server import PostgresServer

if TYPE_CHECKING:
    Table = tuple[list[str], list[tuple[Any, ...]]]

SIZE = Size(replicas=1, payments=120)
FOREVER = 10**9
PATIENCE = 60.0
TABLES = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
SERVER_TABLES = "SELECT tablename FROM pg_tables WHERE schemaname = 'public'"
OF_PROCESSES = {"replicas", "leads", "slices", "rates", "timelines", "probe", "migrations"}
"""Tables that no installation takes along: they are about processes that have ended."""

OF_LEASES = {"lease", "leased_until"}
"""Columns that may change on the way: whoever had a lease has ended."""

OWN_ENTRIES = {"database.moved", "backup.made"}
"""What the commands themselves note in the audit log."""

SEALED = re.compile(r"gAAAA[\w=-]+")
VAULT = Vault(SECRET_KEY)
AFTERWARDS_SECONDS = 3.0


async def prove(size: Size) -> Figures:
    """Move with alerts that wait to be sent, go on, and move back."""
    open_files()
    figures = Figures()
    with PostgresServer() as server, TemporaryDirectory(prefix="moving-") as name:
        async with strict_telegram(1) as telegram:
            folder = Path(name)
            file = folder / "shop.db"
            url = server.clone(DATABASE)
            settings = settings_of(telegram, 0, f"sqlite:///{file}")
            replica = Replica("mover", settings, folder)
            cluster = Cluster(server, url, telegram, [replica])
            try:
                await _move(figures, cluster, file, size)
            finally:
                await replica.close()
    return figures


async def _move(figures: Figures, cluster: Cluster, file: Path, size: Size) -> None:
    (replica,) = cluster.replicas
    payers, third = Payers([replica.url], size.seed), size.payments // 3
    await cluster.start()
    shop = await open_shop(cluster, 10 * size.payments)
    with _mute(cluster):
        await _pay(payers, shop, range(third))
        await replica.leave()
    figures.at_least("alerts waiting at the move", _waiting(_of_file(file)), 1)
    before, began = _of_file(file), time.monotonic()
    await replica.run("-m", "bot", "migrate-to", cluster.database)
    figures.note("migrate-to, seconds", time.monotonic() - began)
    figures.note("tables moved", len(before))
    figures.hold("tables that differ", _different(before, _of_server(cluster)), "none")
    moved = await asyncio.to_thread(list, file.parent.glob(f"{file.stem}-moved-*.db"))
    figures.hold("files renamed", len(moved), 1)
    _point(replica, cluster.database)
    await cluster.start()
    await _pay(payers, shop, range(third, 2 * third))
    await balance(figures, cluster, payers, [shop])
    with _mute(cluster):
        await _pay(payers, shop, range(2 * third, 3 * third))
        await replica.leave()
    await _move_back(figures, cluster, file)
    await _hold_alerts(figures, cluster, shop, 3 * third)


async def _move_back(figures: Figures, cluster: Cluster, file: Path) -> None:
    """Back the database up, compare, restore that as a file, and go on with it."""
    (replica,) = cluster.replicas
    backup = file.with_name("backup.db")
    await replica.run("-m", "bot", "backup", f"{backup}")
    found = _of_server(cluster)
    figures.at_least("alerts waiting at the way back", _waiting(found), 1)
    figures.hold("tables that differ in the backup", _different(found, _of_file(backup)), "none")
    _point(replica, f"sqlite:///{file}")
    await replica.run("-m", "bot", "restore", f"{backup}")
    await cluster.start()


async def _hold_alerts(figures: Figures, cluster: Cluster, shop: Shop, paid: int) -> None:
    """Wait for the alerts of all payments; those that waited in a backup are marked."""

    def told() -> int:
        return sum(count_alerts(shop.seller))

    await cluster.world.wait_for(lambda: told() >= paid, PATIENCE)
    await asyncio.sleep(AFTERWARDS_SECONDS)
    figures.hold("payments alerted in the end", told(), paid)
    figures.hold("refused by Telegram's limits", cluster.telegram.refused, 0)
    figures.hold("tracebacks in the logs", cluster.tracebacks(), 0)


async def _pay(payers: Payers, shop: Shop, numbers: range) -> None:
    await asyncio.gather(*(payers.pay(shop.request_id, number) for number in numbers))


@contextmanager
def _mute(cluster: Cluster) -> Iterator[None]:
    """Refuse all messages, as Telegram does in an outage, until the block ends."""
    fault = Fault("error", "sendMessage", times=FOREVER, code=502, description="Bad Gateway")
    cluster.world.faults.add(fault)
    yield
    cluster.world.faults.clear()


def _point(replica: Replica, database: str) -> None:
    replica.settings = {**replica.settings, "DATABASE_URL": database}


def _waiting(tables: Mapping[str, Table]) -> int:
    """Count the messages to chats that wait."""
    columns, found = tables["outbox"]
    queue, state = columns.index("queue"), columns.index("state")
    return sum(row[queue] == "messages" and row[state] == "waiting" for row in found)


def _of_file(path: Path) -> dict[str, Table]:
    """Return the columns and rows of each table of a file."""
    with closing(sqlite3.connect(path)) as file:
        names = [name for (name,) in file.execute(TABLES)]
        return {name: _read(file, name) for name in names if name not in OF_PROCESSES}


def _of_server(cluster: Cluster) -> dict[str, Table]:
    """Return the columns and rows of each table of the server."""
    with psycopg.connect(cluster.database) as server:
        names = [name for (name,) in server.execute(SERVER_TABLES).fetchall()]
        return {name: _read(server, name) for name in names if name not in OF_PROCESSES}


def _read(connection: Any, table: str) -> Table:
    found = connection.execute(f"SELECT * FROM {table}")
    return [column[0] for column in found.description], found.fetchall()


def _different(one: Mapping[str, Table], other: Mapping[str, Table]) -> str:
    """Name the tables whose rows have different hashes."""
    tables = sorted(one.keys() | other.keys())
    return ", ".join(name for name in tables if _hash(one, name) != _hash(other, name)) or "none"


def _hash(tables: Mapping[str, Table], name: str) -> str:
    """Hash the rows of a table, in any order of rows and columns; secrets are unsealed first."""
    columns, found = tables.get(name, ([], []))
    places = sorted((column, n) for n, column in enumerate(columns) if column not in OF_LEASES)
    action = columns.index("action") if "action" in columns else None
    kept = [row for row in found if action is None or row[action] not in OWN_ENTRIES]
    lines = sorted(repr([(column, _unsealed(row[n])) for column, n in places]) for row in kept)
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def _unsealed(value: object) -> object:
    return VAULT.open(value) if isinstance(value, str) and SEALED.fullmatch(value) else value
