"""A page of the list among a million requests, beside the same among a hundred."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, closing, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from zlib import crc32

from bench import million
from bench.processes import FREE_SERVICE, ROOT, Place, Server, free_port, serving
from bench.rounds import Round, Side, in_turns
from bench.table import HUNDRED, Row
from bot.core.database import vault
from bot.core.database.database import Transaction
from bot.core.database.migrations import MIGRATIONS
from bot.core.database.opening import open_database
from bot.core.database.vault import Vault
from bot.interface.vocabulary import Status
from bot.service.api import calls
from bot.service.requests import applications, request_rows

SCHEMA = f"{crc32(repr(MIGRATIONS).encode()):08x}"
KEPT = ROOT / "data" / f"bench-million-{SCHEMA}.db"
"""Made once for each schema, for it takes minutes; who changes what `million` makes drops it."""

PAGE = 20
EACH = 100
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

    async def pages(self, query: str) -> Round:
        """Ask for a page again and again."""
        path = f"/v3/paymentRequests?limit={PAGE}{query.format(middle=self.middle)}"
        asked = {"APP_ID": self.app_id, "APP_SECRET": self.app_secret, "PATH_ASKED": path}
        return await Side([self.server], "get.lua", asked).numbered(EACH)


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
    rows = []
    async with serving_shop(ours) as many, serving_shop(theirs) as few:
        for name, query in queries.items():
            pair = await in_turns(
                partial(many.pages, query), partial(few.pages, query), "the same of a hundred"
            )
            rows.append(pair.medians(f"{what}, {name}, p50", "≤ 1.5 ×"))
    return rows


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
        app_id = next(app.id for app in applications.list_all(tx) if app.name == million.SHOP)
        row = tx.one(MIDDLE, app_id=app_id, half=listed.count // 2) or {}
        place = request_rows.Place(row["created_at"], row["id"])
        return applications.rotate(tx, keys, app_id, now), calls.write_cursor(place)

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
