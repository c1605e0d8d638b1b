"""Beside the peers: the same work is sent to both, and the page says who is ahead."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import cast

import httpx
import pytest

from bench import wrk
from bench.peers import process_tree
from bench.peers.section import HEADING, Comparison, section, section_of, with_section
from bench.processes import Place, free_port, serving
from bench.report import report
from bench.table import Row

CLIENTS = 4
RATE = 100
INVOICES = [f"lnbc{number}" for number in range(RATE + CLIENTS)]
needs_wrk = pytest.mark.skipif(shutil.which("wrk") is None, reason="needs wrk")


class Wallet(asyncio.Protocol):
    """A connection to a wallet, which answers with a new payment; calls come in one piece."""

    numbers = count()

    def __init__(self, requests: list[tuple[str, str]]) -> None:
        self._requests = requests

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        head, _, body = data.decode().partition("\r\n\r\n")
        self._requests.append((head, body))
        paid = json.dumps({"payment_hash": f"{next(self.numbers):064x}"}).encode()
        answer = b"HTTP/1.1 201 Created\r\nContent-Length: %d\r\n\r\n" % len(paid)
        self._transport.write(answer + paid)

    def connection_lost(self, _: Exception | None) -> None:
        self._transport.close()


@asynccontextmanager
async def wallet() -> AsyncIterator[tuple[str, list[tuple[str, str]]]]:
    requests: list[tuple[str, str]] = []
    loop = asyncio.get_running_loop()
    async with await loop.create_server(lambda: Wallet(requests), "127.0.0.1", 0) as server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", requests


@pytest.fixture
def paying(tmp_path: Path) -> dict[str, str]:
    invoices = tmp_path / "invoices"
    invoices.write_text("\n".join(INVOICES), "utf-8")
    return {"INVOICES": str(invoices), "API_KEY": "mine"}


@needs_wrk
@pytest.mark.process
async def test_clients_at_a_constant_rate_pay_each_invoice_once(paying: dict[str, str]) -> None:
    async with wallet() as (url, requests):
        await wrk.constant(url, "peer_pay.lua", CLIENTS, 1, RATE, paying)
    paid = [json.loads(body)["bolt11"] for _, body in requests]
    assert len(paid) == len(set(paid)) == RATE
    assert set(paid) <= set(INVOICES)
    assert "X-Api-Key: mine" in requests[0][0].split("\r\n")


@needs_wrk
@pytest.mark.process
async def test_a_round_that_runs_out_of_invoices_is_no_figure(paying: dict[str, str]) -> None:
    async with wallet() as (url, _):
        with pytest.raises(RuntimeError):
            await wrk.closed(url, "peer_pay.lua", CLIENTS, 1, paying)


@needs_wrk
@pytest.mark.process
async def test_each_answer_is_noted_with_its_payment(
    paying: dict[str, str], tmp_path: Path
) -> None:
    answers = tmp_path / "answers"
    noted = {"NOTED": "peer_pay", "ANSWERS": str(answers), "ID": '"payment_hash": "(%w+)"'}
    async with wallet() as (url, requests):
        found = await wrk.constant(url, "peer_noted.lua", CLIENTS, 1, RATE, {**paying, **noted})
    lines = [line.split() for line in answers.read_text("utf-8").splitlines()]
    assert len({payment for _, payment in lines}) == len(requests) == found.number == RATE
    assert all(float(at) > 0 for at, _ in lines)


@pytest.mark.process
async def test_the_endpoint_knows_the_payments_of_both() -> None:
    port = free_port()
    ours = {"data": {"transactionId": "Abc1", "amount": 2}}
    theirs = json.dumps({"checking_id": "x", "payment_hash": "00ff"})
    with TemporaryDirectory() as folder:
        arguments = ["-m", "bench.peers.arrivals", str(port)]
        async with (
            serving(Place(folder, {}), arguments, port, "/") as server,
            httpx.AsyncClient(base_url=server.url) as http,
        ):
            await http.post("/", content=json.dumps(ours, separators=(",", ":")))
            await http.post("/", json=theirs)
            came, again = (await http.get("/")).json(), (await http.get("/")).json()
    assert came.keys() == {"Abc1", "00ff"}
    assert not again


@pytest.mark.process
async def test_memory_is_that_of_a_process_and_of_what_it_started() -> None:
    child = await asyncio.create_subprocess_exec(
        sys.executable, "-c", "x = b'x' * 2**26; print(flush=True); input()",
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
    )  # fmt: skip
    assert child.stdout
    await child.stdout.readline()
    tree, alone = process_tree.memory(os.getpid()), process_tree.memory(child.pid)
    assert tree.resident > alone.resident > 2**26 / 2**20
    assert alone.resident >= alone.shared > 2**26 / 2**20
    await child.communicate(b"\n")


@pytest.mark.process
async def test_what_a_process_has_started_ends_without_it() -> None:
    starts = "import subprocess; x = subprocess.Popen(['cat']); print(flush=True); print(x.wait())"
    parent = await asyncio.create_subprocess_exec(
        sys.executable, "-c", starts, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE
    )
    assert parent.stdout
    await parent.stdout.readline()
    process_tree.end_descendants(parent.pid)
    assert await parent.stdout.readline() == b"-9\n"
    assert await parent.wait() == 0


FASTER = Comparison(Row("creates", 60, "", 2, "LNbits", "≥ 30 ×"), more=True)
LATER = Comparison(Row("lag", 60, "ms", 2, "LNbits", "≤ 0.1 ×"), more=False)
SECTION = section([FASTER, LATER], ["- a day"], "a note\n")


def test_the_table_says_who_is_ahead() -> None:
    lines = [line for line in SECTION.splitlines() if line.startswith("| ")]
    assert lines[0] == "| figure | ours | yardstick | ratio | goal | ahead |"
    assert lines[2] == "| creates | 60 | 2  LNbits | 30 × | ≥ 30 × | ours |"
    assert lines[3] == "| lag | 60 ms | 2 ms  LNbits | 30 × | ≤ 0.1 × | **the peer** |"


def test_neither_is_ahead_of_its_equal() -> None:
    assert Comparison(Row("pages", 2, "", 2, "a peer"), more=True).ahead == "neither"


def test_the_section_survives_a_new_page_and_the_page_a_new_section() -> None:
    page = report([FASTER.row], "notes\n")
    both = with_section(page, SECTION)
    assert both.startswith(page.rstrip())
    assert section_of(both) == SECTION
    assert with_section(both, SECTION) == both
    again = with_section("another page\n", section_of(both))
    assert again == f"another page\n\n{SECTION}"


def test_a_page_without_the_section_stays_as_it_is() -> None:
    page = report([FASTER.row], "notes\n")
    assert HEADING not in page
    assert with_section(page, section_of(page)) == page
