"""The service on ten million payments of a million requests, beside a file of a thousand."""

from __future__ import annotations

import json
import random
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from bench import lists, ten_million
from bench.lists import Listed, Shop
from bench.million import MILLION
from bench.processes import ROOT
from bench.rounds import Side, in_turns
from bench.service import ALL, OFFER
from bench.table import Row
from bot.core.database.database import Row as Found
from bot.core.database.database import Transaction
from bot.core.database.opening import open_database
from bot.service.api import calls
from bot.service.requests.request_rows import Place

KEPT = ROOT / "data" / f"bench-ten-million-{lists.SCHEMA}.db"
"""Made once for each schema, for it takes a quarter of an hour and 12 GB."""

FEW = 1_000
YARDSTICK = "the same of a thousand"
GOAL = "≥ 0.67 ×"
"""Two thirds of the rate are 1.5 times the time."""

CLIENTS = 8
STARTS = 3
PAGES = 300
"""Pages asked for in turns, more than the cache of pages keeps."""

LINKS = 30
PAGE = lists.PAGE
# The donation that is paid most often is among the first of these.
DONATIONS = """
    SELECT id FROM payment_requests
    WHERE app_id = :app_id AND deleted_at IS NULL AND stage = 'active' AND webhook_url IS NULL
      AND expiration_type = 'never'
    ORDER BY created_at, id LIMIT :most
"""
MOST_PAID = f"""
    SELECT id FROM payment_requests WHERE id IN ({DONATIONS}) ORDER BY paid_count DESC LIMIT 1
"""
LAST = "SELECT MAX(rowid) AS last FROM {}"
REQUEST = """
    SELECT id FROM payment_requests
    WHERE rowid >= :at AND +app_id = :app_id AND deleted_at IS NULL ORDER BY rowid LIMIT 1
"""
PAYMENT = "SELECT id, request_id FROM payments WHERE rowid >= :at ORDER BY rowid LIMIT 1"
MIDDLE = """
    SELECT completed_at, id FROM payments WHERE request_id = :id
    ORDER BY completed_at DESC, id DESC
    LIMIT 1 OFFSET (SELECT paid_count / 2 FROM payment_requests WHERE id = :id)
"""


@dataclass(frozen=True, slots=True)
class Targets:
    """What a file is asked for: the donation with the most payments, others, and pages at random.

    `middle` is the cursor of the middle of that donation's payments.
    """

    often: str
    others: list[str]
    pages: list[str]
    receipts: list[str]
    middle: str


async def growth() -> list[Row]:
    """Measure what sellers and payers ask for in both files, in turns."""
    with TemporaryDirectory() as folder:
        few = lists.make_once(ten_million.make, Path(folder, "few.db"), FEW)
        many = lists.make_once(ten_million.make, KEPT, MILLION)
        return [await _starts(many, few), *await _loads(many, few)]


async def _starts(many: Listed, few: Listed) -> Row:
    started: dict[int, list[float]] = {many.count: [], few.count: []}
    for _ in range(STARTS):
        for listed in (many, few):
            async with lists.serving_shop(listed) as shop:
                started[listed.count].append(shop.server.started)
    ours, theirs = (median(started[listed.count]) for listed in (many, few))
    return Row("start of a million requests", ours, "s", theirs, YARDSTICK, "≤ 1.5 ×")


async def _loads(many: Listed, few: Listed) -> list[Row]:
    rows = []
    async with lists.serving_shop(many) as here, lists.serving_shop(few) as there:
        others = await _sides(few, there)
        for what, ours in (await _sides(many, here)).items():
            theirs = others[what]
            pair = await in_turns(
                partial(ours.closed, CLIENTS), partial(theirs.closed, CLIENTS), YARDSTICK
            )
            rows.append(pair.rates(f"{what} of a million requests a second", GOAL))
    return rows


async def _sides(listed: Listed, shop: Shop) -> dict[str, Side]:
    """Return what is asked of a server, by its name in the table."""
    with closing(open_database(listed.url)) as db:
        found = await db.read(partial(_targets, app_id=shop.app_id))
    donations = (found.often, *found.others)
    known = {"APP_ID": shop.app_id, "APP_SECRET": shop.app_secret}
    page, paid = f"?limit={PAGE}", f"{ALL}/{found.often}/payments?limit={PAGE}"

    def get(*paths: str) -> Side:
        return Side([shop.server], "get.lua", known | {"PATH_ASKED": " ".join(paths)})

    def pay(*ids: str) -> Side:
        paths = " ".join(f"/pay/{one}" for one in ids)
        return Side([shop.server], "pay.lua", {"PATHS": paths, "FIELDS": "&email=new@example.org"})

    created = {"PATH_ASKED": ALL, "BODY": json.dumps(OFFER)}
    return {
        "creates": Side([shop.server], "post.lua", known | created),
        "payments of the donation with the most": pay(found.often),
        "payments of other donations": pay(*found.others),
        "pay pages": get(*found.pages),
        "receipts": get(*found.receipts),
        "first pages of requests": get(f"{ALL}{page}"),
        "middle pages of requests": get(f"{ALL}{page}&cursor={shop.middle}"),
        "first pages of payments": get(paid),
        "middle pages of payments": get(f"{paid}&cursor={found.middle}"),
        "public figures": get(*(f"{ALL}/public/stats/{one}" for one in donations)),
    }


def _targets(tx: Transaction, app_id: str) -> Targets:
    often = tx.query(MOST_PAID, app_id=app_id, most=LINKS)[0]["id"]
    donations = [row["id"] for row in tx.query(DONATIONS, app_id=app_id, most=LINKS)]
    middle = tx.query(MIDDLE, id=often)[0]
    requests = _at_random(tx, "payment_requests", REQUEST, app_id=app_id)
    payments = _at_random(tx, "payments", PAYMENT)
    return Targets(
        often,
        [one for one in donations if one != often],
        [f"/pay/{row['id']}" for row in requests],
        [f"/pay/{row['request_id']}/receipt/{row['id']}" for row in payments],
        calls.write_cursor(Place(middle["completed_at"], middle["id"])),
    )


def _at_random(tx: Transaction, table: str, sql: str, **params: object) -> list[Found]:
    """Return PAGES rows of a table, each the first one from a random place on."""
    last = tx.query(LAST.format(table))[0]["last"]
    places = random.sample(range(1, last * 9 // 10), PAGES)
    return [row for at in places for row in tx.query(sql, at=at, **params)]
