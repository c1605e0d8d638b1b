"""The pages of docs/how-to.md, followed word by word in a copy of the project."""

from __future__ import annotations

import asyncio
import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path

import pytest
import pytest_asyncio
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from bot.core import clock
from bot.sandbox.world.world import World
from tests.support import how_to
from tests.support.form_questions import question_of
from tests.support.lightning_wallet import WalletStandIn, serve_wallet
from tests.support.product_process import (
    Process,
    ProductSetup,
    app_headers,
    foreign_service,
    patient_client,
    run_command,
    running_product,
)
from tests.support.rail_shop import open_rail_shop
from tests.support.sellers_and_payers import link_of, pay, seller_with_destination
from tests.support.service_harness import NEW
from tests.support.source_tree import ROOT

pytestmark = pytest.mark.asyncio(loop_scope="module")

CHECKS = (
    *("tests/test_text_keys.py", "tests/core/text/test_translations.py"),
    *("tests/core/text/test_wording.py", "tests/chat/conversation/test_button_presses.py"),
    *("tests/app/test_rails.py", "tests/app/maintenance/test_personal_columns.py"),
    *("tests/service/api/test_openapi_document.py", "tests/app/test_lead_of_the_chat.py"),
)
"""The tests that fail while a change is incomplete."""


@pytest.fixture(scope="module")
def followed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Copy the project, and follow all pages in the copy."""
    root = tmp_path_factory.mktemp("followed")
    how_to.copy_project(root)
    how_to.follow(how_to.read_pages(), root)
    return root


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def running(
    followed: Path, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[tuple[ProductSetup, Process]]:
    """Start the changed product."""
    folder = tmp_path_factory.mktemp("running")
    async with running_product(folder, PYTHONPATH=str(followed)) as both:
        yield both


@pytest.mark.timeout(300)
async def test_what_the_pages_add_is_complete(followed: Path) -> None:
    """Lint and the tests that compare tables, texts and documents pass in the copy."""
    if (cache := ROOT / ".mypy_cache").exists():
        shutil.copytree(cache, followed / cache.name)
    chosen = ("-q", "-n", "0", "-p", "no:cacheprovider", "-m", "not (process or long)")
    for command in (
        ("ruff", "check", "bot"),
        ("ruff", "format", "--check", "bot"),
        ("mypy", "bot"),
        ("pytest", *chosen, *CHECKS),
    ):
        child = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", *command),
            cwd=followed, env={**os.environ, "PYTHONPATH": str(followed)},
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip
        output, _ = await child.communicate()
        assert child.returncode == 0, output.decode()


async def test_a_new_command_answers(world: World) -> None:
    sam = await seller_with_destination(world)
    await sam.say("/id", f"Your Telegram ID is {sam.person.id}.")


async def test_a_new_button_answers(world: World) -> None:
    sam = await seller_with_destination(world)
    card = await sam.card("/donation 5 USD Tea", "Tea")
    await sam.alert(pay(link_of(card)))
    await sam.reach(card, "How often paid")
    assert await sam.toast(card, "How often paid") == "Paid once."


async def test_a_new_job_asks_the_service(world: World) -> None:
    sam = await seller_with_destination(world)
    card = await sam.card("/donation 5 USD Juice", "Juice")
    await sam.press(card, "Ask the service", "counts 0 payments for Juice")


async def test_a_new_field_is_asked_stored_and_edited(world: World, run: Process) -> None:
    """Every answer is read: too long, empty, right, and none again."""
    sam = await seller_with_destination(world)
    kinds = await sam.say("5 USD Coffee", question_of("ask-kind"))
    review = await sam.press(kinds, "Donation", question_of("review"))
    options = await sam.press(review, "More options", question_of("ask-options"))
    await sam.press(options, "Ledger account", "Under which account")
    await sam.say("x" * 501, "That's 501 characters")
    await sam.say("\u2800", "couldn't find any text")
    options = await sam.say("8400 Sales", "Ledger account: 8400 Sales")
    review = await sam.press(options, "Done", "Ledger account: 8400 Sales")
    card = await sam.press(review, "Create", "Donation · $5.00")
    stored = "SELECT ledger FROM payment_requests WHERE name = 'Coffee'"
    assert run.rows(stored) == [("8400 Sales",)]
    await sam.edit(card)
    await sam.press(card, "Ledger account", "Under which account")
    await sam.say("8401", "Ledger account updated: 8401")
    assert run.rows(stored) == [("8401",)]
    logged = run.rows(
        "SELECT details FROM audit WHERE action = 'request.edited' AND actor LIKE 'app%'"
    )
    assert ["ledger" in details for (details,) in logged] == [True]
    await sam.edit(card)
    asked = await sam.press(card, "Ledger account", "Under which account")
    await sam.press(asked, "🗑", "Ledger account removed.")
    assert run.rows(stored) == [(None,)]


async def test_a_new_queue_is_worked_swept_and_counted(world: World, run: Process) -> None:
    sam = await seller_with_destination(world)
    await sam.say("/remind", "This is your reminder.")
    assert run.rows("SELECT id FROM outbox WHERE queue = 'reminders'") == []
    async with patient_client(run.url) as http:
        metrics = (await http.get("/metrics")).text
    assert 'queue="reminders"' in metrics


async def test_a_new_column_is_exported_and_erased(followed: Path, tmp_path: Path) -> None:
    code = {"PYTHONPATH": str(followed)}
    async with (
        foreign_service(tmp_path, **code) as (run, keys),
        patient_client(run.url, app_headers(keys)) as seller,
    ):
        body = {**NEW, "requestedUserData": ["email"], "ledger": "8400"}
        made = (await seller.post("/v3/paymentRequests", json=body)).json()
        assert made["ledger"] == "8400"
        paid = await pay(made["paymentRequestUrl"], email="anna@mail.example")
        assert paid.status_code == 303
    with closing(sqlite3.connect(run.database)) as file, file:
        file.execute("UPDATE payments SET delivery_address = '12 Elm Street'")
    folder = run.database.parent
    status, exported, _ = await run_command(folder, "export", **code)
    assert (status, "12 Elm Street" in "\n".join(exported)) == (0, True)
    _, exported, _ = await run_command(folder, "export", "--no-payers", **code)
    assert (len(exported), "deliveryAddress" in exported[0]) == (2, False)
    status, _, _ = await run_command(folder, "erase", "anna@mail.example", "--yes", **code)
    assert (status, run.rows("SELECT delivery_address FROM payments")) == (0, [(None,)])
    assert b"12 Elm Street" not in b"".join(one.read_bytes() for one in folder.iterdir())


class TallyWallet(WalletStandIn):
    """The wallet of the page "Add a rail"; a paid invoice shows its preimage."""

    def routes(self) -> list[Route]:
        return [
            Route("/wallet", self._wallet),
            Route("/invoices", self._make, methods=["POST"]),
            Route("/invoices/{payment_hash}", self._read),
        ]

    async def _wallet(self, _: Request) -> Response:
        return JSONResponse({})

    async def _make(self, request: Request) -> Response:
        asked = await request.json()
        text, _ = self._issue(asked["sat"] * 1000, asked["seconds"])
        return JSONResponse({"invoice": text})

    async def _read(self, request: Request) -> Response:
        payment_hash = request.path_params["payment_hash"]
        preimage = self.preimages[payment_hash] if payment_hash in self.paid else None
        return JSONResponse({"preimage": preimage})


async def test_a_new_rail_is_paid_by(followed: Path, tmp_path: Path) -> None:
    wallet = TallyWallet(clock.now)
    settings = {"RAILS": "tally", "PYTHONPATH": str(followed)}
    async with serve_wallet(wallet), open_rail_shop(tmp_path, **settings) as shop:
        refused = await shop.connect("tally", url="http://127.0.0.1:1")
        assert refused.json()["info"][0]["field"] == "details.url"
        assert (await shop.connect("tally", url=wallet.url)).status_code == 200
        path, page, _ = await shop.check_out()
        assert await shop.payments(path) == []
        wallet.paid.add(wallet.last)
        await shop.watch(page)
        (payment,) = await shop.payments(path)
        assert payment["amount"] == 21
