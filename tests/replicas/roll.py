"""`roll`: replicas are replaced, one by one, by those of a version that has one migration more."""

from __future__ import annotations

import asyncio
import shutil
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import httpx

from bot import __version__
from tests.replicas.cluster import Cluster, Stage, open_cluster
from tests.replicas.payers import Payers, open_files
from tests.replicas.proof import Figures, Size
from tests.replicas.shops import Shop, balance, open_shops
from tests.support.paths import ROOT

SIZE = Size(replicas=3, payments=300, seconds=60)
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


async def prove(size: Size) -> Figures:
    """Replace all replicas under load; nobody may notice."""
    open_files()
    figures = Figures()
    with TemporaryDirectory(prefix="next-") as folder:
        code = next_version(Path(folder))
        async with open_cluster(Stage(size.replicas)) as cluster:
            await cluster.start()
            await cluster.lead()
            shops = await open_shops(cluster, SHOPS, size.payments)
            await _roll(cluster, size, figures, shops, code)
    return figures


async def _roll(
    cluster: Cluster, size: Size, figures: Figures, shops: list[Shop], code: Path
) -> None:
    requests = [shop.request_id for shop in shops]
    payers = Payers([cluster.url], size.seed)
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
    await balance(figures, cluster, payers, shops)
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
