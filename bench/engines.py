"""The figures of PostgreSQL beside SQLite, and of two replicas beside one.

The server comes from the package that the tests use. It waits for the disk as an operator's does.
`python -m bench.engines FILE` moves what `bench.million` made to such a server, and prints by which
indexes the lists find there what they ask for.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import secrets
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory, gettempdir

import httpx
import psycopg

from bench import million
from bench.hook import Hook
from bench.lists import Listed, compare, files
from bench.processes import NO_LIMITS, ROOT
from bench.rounds import beside
from bench.service import open_shop
from bench.stage import stage
from bench.table import Row
from bench.webhooks import HOOKED, lags, told_one_by_one
from bot.core.database.urls import sqlite_path
from tests.support.postgres_server import PostgresServer

ON_SQLITE = "the same on SQLite"
ON_ONE = "one replica"
ALERTS = 200
WARM_UP = 10
LINKS = {1: "", 16: " at 16 links"}
"""On PostgreSQL payments of one link follow each other: each holds a row until it is on disk."""


async def postgresql() -> list[Row]:
    """Measure creates, payments and the lags of webhooks and alerts on both engines, in turns."""
    with durable_server() as server:
        rows: list[Row] = []
        async with open_shop(put_on(server, "shop")) as ours, open_shop() as theirs:
            rows += await beside(
                "creates on PostgreSQL", ours.creates(), theirs.creates(), ON_SQLITE, ""
            )
            for links, what in LINKS.items():
                rows += await beside(
                    f"payments{what} on PostgreSQL",
                    await ours.payments(links), await theirs.payments(links),
                    ON_SQLITE, "≥ 0.3 ×",
                )  # fmt: skip
        rows += await _webhook_lag(server)
        rows += await _alert_lag(server)
        rows += await _lists(server)
    return rows


async def replicas() -> list[Row]:
    """Measure two replicas of the service over one PostgreSQL beside one replica, in turns."""
    with durable_server() as server:
        async with (
            open_shop(put_on(server, "two"), 2) as two,
            open_shop(put_on(server, "one")) as one,
        ):
            creates = await beside(
                "two replicas' creates", two.creates(), one.creates(), ON_ONE, "≥ 1 ×"
            )
            payments = []
            for links, what in LINKS.items():
                payments += await beside(
                    f"two replicas' payments{what}",
                    await two.payments(links), await one.payments(links), ON_ONE, "≥ 1 ×",
                )  # fmt: skip
    return [*creates, *payments]


@contextmanager
def durable_server() -> Iterator[PostgresServer]:
    """Run a PostgreSQL whose commits reach the disk."""
    with PostgresServer(parent=Path(gettempdir()), fsync="on", full_page_writes="on") as server:
        yield server


def put_on(server: PostgresServer, name: str) -> dict[str, str]:
    """Return the settings of a product on a new database of the server."""
    return {"DATABASE_URL": server.clone(name), "SECRET_KEY": secrets.token_urlsafe(32)}


async def _webhook_lag(server: PostgresServer) -> list[Row]:
    async with (
        Hook.listening() as hook,
        open_shop(HOOKED | put_on(server, "hooked")) as ours,
        open_shop(HOOKED) as theirs,
    ):
        mine = await told_one_by_one(ours, hook)
        others = await told_one_by_one(theirs, hook)
    return lags("payment committed → webhook, PostgreSQL", mine, others, ON_SQLITE)


async def _alert_lag(server: PostgresServer) -> list[Row]:
    mine = await _alerts(NO_LIMITS | put_on(server, "chat"))
    return lags("payment committed → alert, PostgreSQL", mine, await _alerts(NO_LIMITS), ON_SQLITE)


async def _alerts(settings: Mapping[str, str]) -> list[float]:
    async with stage(settings) as at, httpx.AsyncClient() as http:
        link, _ = await at.create()
        return [await at.pay(http, link) for _ in range(WARM_UP + ALERTS)][WARM_UP:]


async def _lists(server: PostgresServer) -> list[Row]:
    with files() as (many, few):
        ours, theirs = [await asyncio.to_thread(move, each, server) for each in (many, few)]
    return await compare(ours, theirs, "page of a million on PostgreSQL")


def move(listed: Listed, server: PostgresServer) -> Listed:
    """Move a copy of a file to the server, as an operator moves an installation."""
    url = server.clone(f"listed{listed.count}")
    with TemporaryDirectory() as folder:
        copy = Path(folder, "copy.db")
        shutil.copyfile(sqlite_path(listed.url), copy)
        env = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), "SECRET_KEY": listed.key}
        subprocess.run(
            [sys.executable, "-m", "bot", "migrate-to", url],
            cwd=folder, env=env | {"DATABASE_URL": f"sqlite:///{copy}"},
            check=True, capture_output=True,
        )  # fmt: skip
    return Listed(url, listed.key, listed.count)


def plan(url: str, sql: str) -> list[str]:
    """Return the server's plan of a statement for any parameters, a line a step."""
    names = list(dict.fromkeys(million.PARAMETER.findall(sql)))
    numbered = million.PARAMETER.sub(lambda found: f"${names.index(found[1]) + 1}", sql)
    with psycopg.connect(url, autocommit=True) as connection:
        found = connection.execute(f"EXPLAIN (GENERIC_PLAN, COSTS OFF) {numbered}".encode())
        return [line for (line,) in found]


def main() -> None:
    """Move the file to a server and print the plans of the lists."""
    parser = argparse.ArgumentParser(prog="python -m bench.engines", description=__doc__)
    parser.add_argument("file", type=Path, help="a file that bench.million made, with its .key")
    path = parser.parse_args().file
    listed = Listed(f"sqlite:///{path}", path.with_suffix(".key").read_text().strip(), 0)
    with durable_server() as server:
        url = move(listed, server).url
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute("ANALYZE")
        for name, sql in million.statements():
            print("\n    ".join([f"\n{name}:", *plan(url, sql)]))


if __name__ == "__main__":
    main()
