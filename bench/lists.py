"""A page of the list among a million requests, beside the same among a hundred."""

from __future__ import annotations

import time
from contextlib import asynccontextmanager, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING
from zlib import crc32

from bench import load, million
from bench.processes import FREE_SERVICE, ROOT, Place, free_port, serving
from bench.table import HUNDRED, Row, percentile
from bot.core.database import vault
from bot.core.database.database import open_database
from bot.core.database.schema.migrations import MIGRATIONS
from bot.core.database.vault import Vault
from bot.service.api import paging
from bot.service.model.request import Status
from bot.service.store import apps, requests
from bot.service.usecases import applications

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator

    from bench.processes import Server
    from bot.core.database.database import Transaction

SCHEMA = f"{crc32(repr(MIGRATIONS).encode()):08x}"
KEPT = ROOT / "data" / f"bench-million-{SCHEMA}.db"
"""Made once for each schema, for it takes minutes; who changes what `million` makes drops it."""

PAGE = 20
ROUNDS = 10
EACH = 20
"""Pages asked for in a row of one process, before the other one has its turn."""

MIDDLE = """
    SELECT created_at, id FROM payment_requests WHERE app_id = :app_id AND deleted_at IS NULL
    ORDER BY created_at DESC, id DESC LIMIT 1 OFFSET :half
"""


@dataclass(frozen=True, slots=True)
class Shop:
    """An application of a server; `middle` is the cursor of the middle of its list."""

    server: Server
    app_id: str
    app_secret: str
    middle: str

    async def pages(self, query: str) -> list[float]:
        """Ask for a page again and again; the seconds that each took."""
        path = f"/v3/paymentRequests?limit={PAGE}{query.format(middle=self.middle)}"
        headers = f"App-Id: {self.app_id}\r\nApp-Secret: {self.app_secret}\r\n"
        asked = [load.get(path, headers)] * EACH
        return list((await load.drive([self.server.url], asked, clients=1)).seconds)


@dataclass(frozen=True, slots=True)
class Listed:
    """A database of `count` requests, and the SECRET_KEY that it is sealed with."""

    url: str
    key: str
    count: int


async def lists() -> list[Row]:
    """Measure pages of the list in a file."""
    with files() as (many, few):
        return await compare(many, few, "page of a million")


@contextmanager
def files() -> Iterator[tuple[Listed, Listed]]:
    """Make the file of a million, or take the kept one, and a file of a hundred."""
    with TemporaryDirectory() as folder:
        hundred = Path(folder, "hundred.db")
        many = make_once(million.make, KEPT, million.MILLION)
        yield many, make_once(million.make, hundred, HUNDRED)


async def compare(ours: Listed, theirs: Listed, what: str) -> list[Row]:
    """Ask two processes in turns for the first page, one in the middle and one of each state."""
    queries = {"first": "", "middle": "&cursor={middle}"}
    queries |= {str(status): f"&status={status}" for status in Status}
    mine: dict[str, list[float]] = {name: [] for name in queries}
    others: dict[str, list[float]] = {name: [] for name in queries}
    async with serving_shop(ours) as many, serving_shop(theirs) as few:
        for _ in range(ROUNDS):
            for name, query in queries.items():
                others[name] += await few.pages(query)
                mine[name] += await many.pages(query)
    return [
        Row(
            f"{what}, {name}, p50",
            percentile(mine[name], 50) * 1000,
            "ms",
            percentile(others[name], 50) * 1000,
            "the same of a hundred",
            "≤ 1.5 ×",
        )
        for name in queries
    ]


def make_once(script: Callable[[Path, int], object], path: Path, count: int) -> Listed:
    """Make the database unless it is there; what was interrupted is not taken for it."""
    if not path.exists():
        with TemporaryDirectory(dir=path.parent, prefix="bench-") as folder:
            made = Path(folder, path.name)
            script(made, count)
            made.with_suffix(".key").replace(path.with_suffix(".key"))
            made.replace(path)
    key = vault.load_or_create_key(path.with_suffix(".key"))
    return Listed(f"sqlite:///{path}", key, count)


@asynccontextmanager
async def serving_shop(listed: Listed) -> AsyncIterator[Shop]:
    """Serve a database; its shop gets a new secret."""
    keys, now = Vault(listed.key), time.time_ns() // 1_000_000

    def prepare(tx: Transaction) -> tuple[applications.Credentials, str]:
        app_id = next(app.id for app in apps.list_all(tx) if app.name == million.SHOP)
        row = tx.one(MIDDLE, app_id=app_id, half=listed.count // 2) or {}
        place = requests.Place(row["created_at"], row["id"])
        return applications.rotate(tx, keys, app_id, now), paging.write_cursor(place)

    with closing(open_database(listed.url)) as db:
        shop, middle = db.run(prepare)
    port = free_port()
    settings = {
        "DATABASE_URL": listed.url,
        "SECRET_KEY": listed.key,
        "PORT": str(port),
        "LOG_LEVEL": "warning",
    }
    with TemporaryDirectory() as folder:
        place = Place(folder, settings | FREE_SERVICE)
        async with serving(place, ["-m", "bot", "service"], port, "/readyz") as server:
            yield Shop(server, shop.app_id, shop.app_secret, middle)
