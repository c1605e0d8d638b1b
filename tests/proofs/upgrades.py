"""`roll` and `migrate-to`: replicas get a new version, and an installation another database."""

from __future__ import annotations

import asyncio
import hashlib
import re
import shutil
import sqlite3
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import httpx
import psycopg

from bot import __version__
from bot.core.database.vault import Vault
from bot.sandbox.world.errors import Fault
from tests.proofs import books, clusters, proof
from tests.support.machine_faults import count_alerts
from tests.support.postgres_server import PostgresServer
from tests.support.source_tree import ROOT

Table = tuple[list[str], list[tuple[Any, ...]]]

SHOPS = 3
LOOKERS = 2
LOOK_SECONDS = 0.1
NEXT_VERSION = "0.2.0"
WIDENED = ("apps", "payment_requests", "checkouts", "payments", "deliveries", "listings", "outbox")
"""Tables that get one more column: those whose rows every request reads."""

ADDED = """

MIGRATIONS = (
    *MIGRATIONS,
    tuple(f"ALTER TABLE {{table}} ADD COLUMN colour TEXT" for table in {tables}),
)
"""
VERSIONS = "SELECT version, migration FROM replicas ORDER BY version"

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
VAULT = Vault(clusters.SECRET_KEY)
AFTERWARDS_SECONDS = 3.0


async def roll(size: proof.Size) -> proof.Figures:
    """Replace all replicas under load; nobody may notice."""
    books.open_files()
    figures = proof.Figures()
    with TemporaryDirectory(prefix="next-") as folder:
        code = next_version(Path(folder))
        async with clusters.open_cluster(clusters.Stage(size.replicas)) as cluster:
            await cluster.start()
            await cluster.lead()
            shops = await books.open_shops(cluster, SHOPS, size.payments)
            await _replace(cluster, size, figures, shops, code)
    return figures


async def _replace(
    cluster: clusters.Cluster,
    size: proof.Size,
    figures: proof.Figures,
    shops: list[books.Shop],
    code: Path,
) -> None:
    requests = [shop.request_id for shop in shops]
    payers = books.Payers([cluster.url], size.seed)
    lookers = Lookers(cluster.url, [f"/pay/{request}" for request in requests])
    looking = [asyncio.create_task(lookers.look()) for _ in range(LOOKERS)]
    paying = asyncio.create_task(payers.pay_steadily(requests, size.payments, size.seconds))
    versions = set[tuple[Any, ...]]()
    for replica in cluster.replicas:
        await asyncio.sleep(size.seconds / (2 * size.replicas))
        figures.hold(f"{replica.name} left with", await replica.leave(), 0)
        replica.code = code
        await replica.start()
        await replica.ready()
        versions |= {tuple(sorted(set(await cluster.rows(VERSIONS))))}
    await paying
    for task in looking:
        task.cancel()
    await asyncio.gather(*looking, return_exceptions=True)
    await cluster.lead()
    figures.at_least("versions at work at once", max(map(len, versions)), 2)
    figures.note("versions, migrations", sorted(set(await cluster.rows(VERSIONS))))
    figures.hold("pages opened, by status", set(lookers.answers), {"200"})
    figures.note("pages opened", lookers.answers.total())
    figures.hold("forms posted, by status", set(payers.statuses), {"303"})
    figures.note("longest answer, seconds", payers.longest)
    figures.hold("payers who paid", payers.paid, size.payments)
    await books.balance(figures, cluster, payers, shops)
    figures.hold("tracebacks in the logs", cluster.tracebacks(), 0)


def next_version(folder: Path) -> Path:
    """Copy the package to a folder, and give it one more migration and another version."""
    package = folder / "bot"
    shutil.copytree(ROOT / "bot", package, ignore=shutil.ignore_patterns("__pycache__"))
    migrations = package / "core" / "database" / "migrations.py"
    migrations.write_text(migrations.read_text("utf-8") + ADDED.format(tables=WIDENED), "utf-8")
    init = package / "__init__.py"
    init.write_text(init.read_text("utf-8").replace(__version__, NEXT_VERSION), "utf-8")
    return folder


@dataclass(slots=True)
class Lookers:
    """People who open pay pages all the time; `answers` are the statuses of the pages."""

    url: str
    pages: list[str]
    answers: Counter[str] = field(default_factory=Counter)

    async def look(self) -> None:
        """Open the pages in turn, until cancelled."""
        async with httpx.AsyncClient(base_url=self.url, trust_env=False, timeout=40) as http:
            while True:
                for page in self.pages:
                    try:
                        self.answers[f"{(await http.get(page)).status_code}"] += 1
                    except httpx.TransportError as error:
                        self.answers[type(error).__name__] += 1
                    await asyncio.sleep(LOOK_SECONDS)


async def migrate_to(size: proof.Size) -> proof.Figures:
    """Move with alerts that wait to be sent, go on, and move back."""
    books.open_files()
    figures = proof.Figures()
    with PostgresServer() as server, TemporaryDirectory(prefix="moving-") as name:
        async with clusters.strict_telegram() as telegram:
            folder = Path(name)
            file = folder / "shop.db"
            url = server.clone(clusters.DATABASE)
            settings = clusters.settings_of(telegram, f"sqlite:///{file}")
            replica = clusters.Replica("mover", settings, folder)
            cluster = clusters.Cluster(server, url, telegram, [replica])
            try:
                await _move(figures, cluster, file, size)
            finally:
                await replica.close()
    return figures


async def _move(
    figures: proof.Figures, cluster: clusters.Cluster, file: Path, size: proof.Size
) -> None:
    (replica,) = cluster.replicas
    payers, third = books.Payers([replica.url], size.seed), size.payments // 3
    await cluster.start()
    shop = await books.open_shop(cluster, 10 * size.payments)
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
    await books.balance(figures, cluster, payers, [shop])
    with _mute(cluster):
        await _pay(payers, shop, range(2 * third, 3 * third))
        await replica.leave()
    await _move_back(figures, cluster, file)
    await _hold_alerts(figures, cluster, shop, 3 * third)


async def _move_back(figures: proof.Figures, cluster: clusters.Cluster, file: Path) -> None:
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


async def _hold_alerts(
    figures: proof.Figures, cluster: clusters.Cluster, shop: books.Shop, paid: int
) -> None:
    """Wait for the alerts of all payments; those that waited in a backup are marked."""

    def told() -> int:
        return sum(count_alerts(shop.seller))

    await cluster.world.wait_for(lambda: told() >= paid, PATIENCE)
    await asyncio.sleep(AFTERWARDS_SECONDS)
    figures.hold("payments alerted in the end", told(), paid)
    figures.hold("refused by Telegram's limits", cluster.telegram.refused, 0)
    figures.hold("tracebacks in the logs", cluster.tracebacks(), 0)


async def _pay(payers: books.Payers, shop: books.Shop, numbers: range) -> None:
    await asyncio.gather(*(payers.pay(shop.request_id, number) for number in numbers))


@contextmanager
def _mute(cluster: clusters.Cluster) -> Iterator[None]:
    """Refuse all messages, as Telegram does in an outage, until the block ends."""
    fault = Fault("error", "sendMessage", times=FOREVER, code=502, description="Bad Gateway")
    cluster.world.faults.add(fault)
    yield
    cluster.world.faults.clear()


def _point(replica: clusters.Replica, database: str) -> None:
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


def _of_server(cluster: clusters.Cluster) -> dict[str, Table]:
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
