"""Schemathesis calls the service as `/openapi.json` says; the answers hold to it, whatever is sent.

The real application on the product's web server, a database with payments and deliveries, two
applications that must not see each other's. Every check is on, but

* `max_response_time`: nothing is asserted on a clock here;
* `ensure_resource_availability` on the public calls: it doesn't know that what they show was
  deleted at another address (`schemathesis.toml`);
* of `positive_data_acceptance`, what no schema can express: `schemathesis_hooks.py` lists it.

`SCHEMA_EXAMPLES` is the budget: so many cases for each call, and as many scenarios of calls that
follow from each other. `SCHEMA_SEED` chooses others.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import uvloop

from bot.core.database.vault import Vault
from bot.service.api import callers
from bot.service.api.callers import Service
from bot.service.pages.app import create_app
from bot.service.payments.payout_accounts import Payouts
from bot.service.rails.bank import BankRail
from bot.service.rails.rail import Rails
from bot.service.requests import applications
from bot.service.requests.applications import Credentials
from tests.service.rails.test_bank_accounts import SEPA
from tests.support.raw_http import open_web_server
from tests.support.service_harness import (
    DROP,
    HOOK,
    KEY,
    REQUESTS_PATH,
    ServiceHarness,
    client,
    headers_of,
    make_service,
    open_service,
)

if TYPE_CHECKING:
    from fastapi import FastAPI


EXAMPLES = int(os.environ.get("SCHEMA_EXAMPLES", "20"))
SEED = int(os.environ.get("SCHEMA_SEED", "7"))
SECONDS = 120 + 3 * EXAMPLES
"""After so many it hangs; a budget of 20 takes about 20 on two cores."""

pytestmark = [pytest.mark.schema, pytest.mark.timeout(SECONDS)]
FOLDER = Path(__file__).parent
COMMAND = Path(sys.executable).with_name("schemathesis")
MADE = 5
"""Paid requests of each application: some must be left when others are deleted."""

TOLD = {"notifications": {"webhook": HOOK, "email": "a@b.example"}}
KEPT = {"thanks": "Thank you!", "keepUrl": "https://shop.example/{requestId}/{transactionId}"}
CODES = {"codes": [f"CODE-{number}" for number in range(3)]}
SOLD: tuple[dict[str, Any], ...] = (
    DROP | {"maxQuantity": 2, "delivery": CODES},
    {"amountChoice": {"minimum": 3, "suggested": [5, 10], "maximum": 50}, "goal": 100},
)
"""What the paid requests sell, in turns; the first one delivers codes."""


@dataclass(frozen=True, slots=True)
class Run:
    """A finished run: its output, its report and its exit code."""

    code: int
    printed: str
    report: dict[str, Any]

    @property
    def scenarios(self) -> int:
        return self._count(r"Scenarios: +(\d+)")

    @property
    def links(self) -> int:
        return self._count(r"API Links: +(\d+) covered")

    def _count(self, pattern: str) -> int:
        found = re.search(pattern, self.printed)
        assert found, self.printed
        return int(found[1])


async def run(folder: Path) -> list[Run]:
    async with open_service(f"sqlite:///{folder}/bot.db", mails=True) as service:
        made = with_accounts(make_service(service.db, service.clock, mails=True))
        app = create_app(made)
        other = service.db.run(
            lambda tx: applications.create(tx, service.vault, "other", service.clock())
        )
        async with open_web_server(app) as site, client(app, headers_of(other)) as seller:
            paid = (await fill(service))[0]
            requests = await fill(replace(service, credentials=other, seller=seller))
            listed = (await service.seller.get(f"{REQUESTS_PATH}/{paid}/payments")).json()["items"]
            payments = [one["transactionId"] for one in listed]
            words = {"PAID": [paid], "PAYMENTS": payments, "ACCOUNTS": await connect(app, service)}
            words["OPEN"] = await open_checkouts(service, "never")
            words["CLAIMED"] = await open_checkouts(service, "claimed")
            hinted = callers.hint_url("", made.payer_key, words["OPEN"][0])
            words["HINTED"], words["TOKENS"] = ([part] for part in hinted.split("/")[-2:])
            write_users(folder, {"shop": service.credentials, "other": other})
            write_config(folder, REQUESTS=requests, **words)
            return await schemathesis(folder, f"http://127.0.0.1:{site.port}")


async def fill(service: ServiceHarness) -> list[str]:
    """Make requests that are paid, each payment with a webhook and an email owed; their ids."""
    sold = itertools.islice(itertools.cycle(SOLD), MADE)
    made = [(await service.create(**fields, **TOLD, **KEPT))["id"] for fields in sold]
    for request_id in made:
        for _ in range(2):
            service.clock.advance(1)
            paid = await service.pay(request_id, f"{service.clock():032d}")
            assert paid.status_code == 303
    return made


def with_accounts(service: Service) -> Service:
    """Return the service with payout accounts of banks, although payers pay with test money."""
    accounts = Payouts(service.db, Vault(KEY), Rails(BankRail()), service.now)
    return replace(service, payouts=accounts)


async def connect(app: FastAPI, service: ServiceHarness) -> list[str]:
    """Connect accounts of several sellers; their ids."""
    made = []
    async with client(app, headers_of(service.credentials)) as seller:
        for number in range(MADE):
            body = {"owner": f"seller-{number}", "kind": "bank", "details": SEPA}
            answer = await seller.post("/v3/payoutAccounts", json=body)
            made.append(answer.json()["id"])
    return made


async def open_checkouts(service: ServiceHarness, scenario: str) -> list[str]:
    """Open checkouts whose test money comes by this scenario; their ids."""
    made = (await service.create(expirationType="never"))["id"]
    opened = [
        await service.pay(made, f"{scenario:>031}{it}", manner=scenario) for it in range(MADE)
    ]
    return [one.headers["location"].rpartition("/")[2] for one in opened]


def write_users(folder: Path, users: Mapping[str, Credentials]) -> None:
    """Name the applications in the format of Web Fuzzing Commons."""
    listed = [{"name": name, "fixedHeaders": pairs(one)} for name, one in users.items()]
    (folder / "users.json").write_text(json.dumps({"auth": listed}))


def pairs(credentials: Credentials) -> list[dict[str, str]]:
    headers = headers_of(credentials)
    return [{"name": name, "value": value} for name, value in headers.items()]


def write_config(folder: Path, **words: list[str]) -> None:
    text = (FOLDER / "schemathesis.toml").read_text()
    for word, value in {"EXAMPLES": EXAMPLES, **words}.items():
        text = re.sub(rf"\b{word}\b", json.dumps(value), text)
    (folder / "schemathesis.toml").write_text(text)


async def schemathesis(folder: Path, address: str) -> list[Run]:
    """Run all phases, and the last one anew until there were scenarios enough.

    It ends before its time when a replay meets other rows than before: the service remembers.
    """
    runs = [await one_run(folder, address, SEED)]
    while sum(one.scenarios for one in runs) < EXAMPLES and not any(one.code for one in runs):
        runs.append(await one_run(folder, address, SEED + len(runs), "--phases", "stateful"))
    return runs


async def one_run(folder: Path, address: str, seed: int, *options: str) -> Run:
    process = await asyncio.create_subprocess_exec(
        *(COMMAND, "--config-file", "schemathesis.toml", "run", f"{address}/openapi.json"),
        *("--url", address, "--seed", str(seed), "--continue-on-failure", "--no-color"),
        *("--report", "json", "--report-json-path", "report.json", *options),
        cwd=folder,
        env=os.environ | {"SCHEMATHESIS_HOOKS": str(FOLDER / "schemathesis_hooks.py")},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    printed = (await process.communicate())[0].decode()
    report = folder / "report.json"
    assert report.exists(), printed
    return Run(process.returncode or 0, printed, json.loads(report.read_text()))


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> list[Run]:
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(run(tmp_path_factory.mktemp("schema")))


def test_no_check_fails(done: list[Run]) -> None:
    sys.stdout.writelines(map(summary, done))
    for one in done:
        assert one.code == 0, one.printed
        assert one.report["errors"] == []


def summary(one: Run) -> str:
    """`pytest -rP` shows the summary of a long run."""
    kept = ("phases", "test_cases", "filtered", "running_time")
    told = {name: one.report[name] for name in kept}
    return f"{told} scenarios={one.scenarios} links={one.links}\n"


def test_every_call_is_made_in_every_phase(done: list[Run]) -> None:
    operations = done[0].report["operations"]
    assert operations["tested"] == operations["total"] >= 12
    phases = {name: one["status"] for name, one in done[0].report["phases"].items()}
    assert phases == dict.fromkeys(("examples", "coverage", "fuzzing", "stateful"), "success")


def test_every_call_does_what_it_is_for(done: list[Run]) -> None:
    """Otherwise a service that refuses everything would pass."""
    for operation, phases in done[0].report["valid_rates"].items():
        assert sum(phase["accepted"] for phase in phases.values()), operation


def test_answers_lead_on(done: list[Run]) -> None:
    assert done[0].links >= 1
