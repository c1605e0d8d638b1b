"""/metrics: counters after the commit, the outbox without reading settled messages."""

from __future__ import annotations

import ast
import asyncio
import tomllib
from pathlib import Path
from pathlib import Path as Folder
from typing import Any

import httpx
import pytest
from fastapi import FastAPI, Request, Response
from prometheus_client.parser import text_string_to_metric_families
from starlette.routing import Route

from bot import config
from bot.app import application, service_side, telegram_side
from bot.app.application import Application
from bot.core.database.database import Database, Transaction
from bot.core.errors import StorageError
from bot.core.ops import metrics
from bot.core.ops.metrics import REQUESTS, CountRequests, Family, Metrics
from bot.core.outbox import lanes, outbox, queries
from bot.core.outbox.queue_policy import Queue
from tests.support import source_tree
from tests.support.databases import SQLITE, sqlite
from tests.support.free_ports import free_port
from tests.support.machine_faults import moved
from tests.support.outbox_queue import QueueHarness
from tests.support.service_harness import DROP, Clock, open_service
from tests.support.source_tree import ROOT

QUEUE = Queue("messages", lease=60_000)
PAID = Family("payments", "Payments.", ("settlement",), (("paid", "late"),))
FAMILIES = {
    family.name: family
    for family in (
        REQUESTS,
        *application.DATABASE_COUNTERS,
        *service_side.COUNTERS,
        *telegram_side.COUNTERS,
    )
}


async def told(told_by: Metrics) -> dict[str, float]:
    """Return every sample by its name and labels, as a scraper reads them."""
    text = (await told_by.render()).decode()
    return {
        f"{sample.name}{sorted(sample.labels.items())}": sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def sample(name: str, **labels: str) -> str:
    return f"{name}{sorted(labels.items())}"


@pytest.fixture
def desk(db: Database, clock: Clock) -> Metrics:
    return Metrics(db, clock, (REQUESTS, PAID))


async def test_a_transaction_counts_once_it_is_committed(db: Database, desk: Metrics) -> None:
    """A rolled-back one counts nothing, a committed one once, whoever shares the commit."""

    def undone(tx: Transaction) -> None:
        tx.count("payments", "paid")
        raise LookupError

    with pytest.raises(LookupError):
        await db.transaction(undone)
    paid, late = (sample("payments_total", settlement=state) for state in ("paid", "late"))
    before = await told(desk)
    assert (before[paid], before[late]) == (0, 0)
    await db.transaction(lambda tx: tx.count("payments", "paid"))
    db.run(lambda tx: tx.count("payments", "paid"))
    after = await told(desk)
    assert (after[paid], after[late]) == (2, 0)


@pytest.mark.only(SQLITE, "a file")
async def test_a_failed_commit_counts_nothing(db: Database, desk: Metrics) -> None:
    with moved(Path(sqlite(db).path)), pytest.raises(StorageError):
        await db.transaction(lambda tx: tx.count("payments", "paid"))
    assert (await told(desk))[sample("payments_total", settlement="paid")] == 0


async def test_the_outbox_is_shown_by_queue_and_state_with_the_oldest_due_age(
    db: Database, desk: Metrics, clock: Clock
) -> None:
    post = QueueHarness(db, QUEUE, clock)
    post.put("a", "one", "two", "three")
    post.put_later("b", "tomorrow", 86_400)
    post.put("closed", "kept")
    db.run(lambda tx: lanes.pause(tx, QUEUE, "closed", "the bot was blocked"))
    clock.advance(90)
    (message,) = post.claim(1)
    found = await told(desk)
    states = {state: found[sample("outbox_messages", queue="messages", state=state)]
              for state in metrics.STATES}  # fmt: skip
    assert states == {"waiting": 3, "paused": 1, "leased": 1, "dead": 0}
    assert found[sample("outbox_oldest_due_seconds", queue="messages")] == 90
    db.run(lambda tx: outbox.dead_letter(tx, QUEUE, message, clock(), "no"))
    for _ in range(2):
        post.done(post.first())
    found = await told(desk)
    assert found[sample("outbox_messages", queue="messages", state="dead")] == 1
    assert found[sample("outbox_messages", queue="messages", state="waiting")] == 1
    assert found[sample("outbox_oldest_due_seconds", queue="messages")] == 0


async def test_a_queue_with_a_worker_is_shown_while_it_is_empty(desk: Metrics) -> None:
    desk.queues.add("webhooks")
    found = await told(desk)
    assert found[sample("outbox_messages", queue="webhooks", state="waiting")] == 0
    assert found[sample("outbox_oldest_due_seconds", queue="webhooks")] == 0


@pytest.mark.only(SQLITE, "its query plans; PostgreSQL's are in test_query_plans.py")
@pytest.mark.parametrize(
    "sql", [queries.COUNT_WAITING, queries.select_counts("leased"), queries.select_counts("dead")]
)
def test_the_outbox_is_counted_without_reading_settled_messages(db: Database, sql: str) -> None:
    """Each statement reads a partial index, which contains no settled rows."""
    plan = db.run(lambda tx: tx.query(f"EXPLAIN QUERY PLAN {sql}"))
    reads = [row["detail"] for row in plan if row["detail"].startswith(("SCAN", "SEARCH"))]
    assert reads
    made = db.run(lambda tx: tx.query("SELECT name, sql FROM sqlite_master WHERE type = 'index'"))
    partial = [row["name"] for row in made if "WHERE state = '" in str(row["sql"])]
    of_outbox = [line for line in reads if not line.startswith(("SEARCH l ", "SCAN l "))]
    assert all(any(f"INDEX {name}" in line for name in partial) for line in of_outbox), reads
    assert not any(line.startswith("SCAN l") for line in reads)


async def test_counters_have_no_created_series(desk: Metrics) -> None:
    """One sample for each count: the library's `_created` series would double them."""
    desk.count("payments", "paid")
    desk.count("unknown", "paid")
    text = (await desk.render()).decode()
    assert (
        "# HELP payments_total Payments.\n# TYPE payments_total counter\n"
        'payments_total{settlement="paid"} 1.0\npayments_total{settlement="late"} 0.0\n'
    ) in text
    assert "_created" not in text
    assert "unknown" not in text


async def test_process_python_and_version_are_shown(desk: Metrics) -> None:
    """The version is that of pyproject.toml."""
    version = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["version"]
    found = await told(desk)
    names = {name.partition("[")[0] for name in found}
    assert {"process_resident_memory_bytes", "process_open_fds", "python_info"} <= names
    assert found[sample("bot_build_info", version=version)] == 1


async def test_answers_are_counted_by_method_and_status(db: Database, desk: Metrics) -> None:
    """Unknown methods count as OTHER."""
    app = FastAPI()

    @app.post("/teapot")
    async def teapot() -> Response:
        return Response(status_code=418)

    transport = httpx.ASGITransport(CountRequests(app, db.count))
    async with httpx.AsyncClient(transport=transport, base_url="http://bot.test") as http:
        await http.post("/teapot")
        await http.post("/teapot")
        await http.get("/nowhere")
        for method in ("BREW", "WHEN"):
            await http.request(method, "/teapot")
    found = await told(desk)
    counted = {name: n for name, n in found.items() if name.startswith("http_requests_total")}
    assert counted == {
        sample("http_requests_total", method="POST", status="418"): 2,
        sample("http_requests_total", method="GET", status="404"): 1,
        sample("http_requests_total", method="OTHER", status="405"): 2,
    }


async def test_a_bug_is_counted(tmp_path: Folder) -> None:
    """In the whole product: a 500 is the first thing an operator looks for."""

    async def bug(_request: Request) -> Response:
        raise ValueError

    settings = config.load(database_url=f"sqlite:///{tmp_path}/bot.db", port=int(free_port()))
    application = Application(settings, routes=[Route("/bug", bug)], chat=False)
    serving = asyncio.create_task(application.serve())
    async with httpx.AsyncClient(trust_env=False) as http:
        assert (await http.get(f"http://127.0.0.1:{settings.port}/bug")).status_code == 500
        found = (await http.get(f"http://127.0.0.1:{settings.port}/metrics")).text
        assert 'http_requests_total{method="GET",status="500"} 1.0' in found
    application.stop()
    await serving


async def test_requests_and_payments_are_counted_by_kind_and_settlement(database_url: str) -> None:
    """A repeated key creates one request, an empty edit is none, a repeated form pays once."""
    async with open_service(database_url) as shop:
        desk = Metrics(shop.db, shop.clock, service_side.COUNTERS)
        made = await shop.create(**DROP)
        for _ in range(2):
            shop.seller.headers["Idempotency-Key"] = "k"
            await shop.create()
        del shop.seller.headers["Idempotency-Key"]
        await shop.edit(made["id"], {"product": {"name": "Tea"}})
        await shop.edit(made["id"], {"product": {"name": "Tea"}})
        for _ in range(2):
            assert (await shop.pay(made["id"], "t" * 32)).status_code == 303
        await shop.seller.delete(f"/v3/paymentRequests/{made['id']}")
        found = await told(desk)
    ours = ("pay", "checkouts")
    assert {name: n for name, n in found.items() if name.startswith(ours) and n} == {
        sample("payment_requests_total", change="created", kind="limit"): 1,
        sample("payment_requests_total", change="created", kind="never"): 1,
        sample("payment_requests_total", change="edited", kind="limit"): 1,
        sample("payment_requests_total", change="deleted", kind="limit"): 1,
        sample("payments_total", settlement="paid"): 1,
        sample("checkouts_total", kind="sandbox", state="open"): 1,
        sample("checkouts_total", kind="sandbox", state="paid"): 1,
    }


def counts() -> list[tuple[str, str, int]]:
    """Return each count in the code: its file, name and number of labels."""
    found = []
    for path, node in source_tree.nodes(ast.Call):
        for values in _keys(node):
            head = values[0]
            if isinstance(head, ast.Constant) and isinstance(head.value, str):
                found.append((str(path.relative_to(ROOT)), head.value, len(values) - 1))
    return found


def _keys(node: ast.Call) -> list[list[Any]]:
    """The arguments of `tx.count`, `db.count`, `server.count`, `self.count` and `_count`."""
    if not isinstance(node.func, ast.Attribute) or not node.args:
        return []
    counts = node.func.attr == "count" and ast.unparse(node.func.value).endswith(
        ("tx", "db", "server", "self")
    )
    return [[*node.args]] if counts or node.func.attr == "_count" else []


@pytest.mark.long
def test_counts_in_the_code_and_families_match() -> None:
    """A count without a family would be lost silently."""
    found = counts()
    wrong = [
        one for one in found
        if one[1] not in FAMILIES or len(FAMILIES[one[1]].labels) != one[2]
    ]  # fmt: skip
    assert not wrong
    assert {name for _, name, _ in found} == FAMILIES.keys() - {REQUESTS.name}


@pytest.mark.parametrize("family", FAMILIES.values(), ids=FAMILIES.keys())
def test_families_have_help_and_few_series(family: Family) -> None:
    """As many known values as labels; Prometheus keeps a series for each combination."""
    assert family.help.endswith(".")
    assert not family.name.endswith("_total")
    assert len(family.known) in {0, len(family.labels)}
    size = 1
    for values in family.known:
        size *= len(values)
    assert size <= 50
