"""`kill -9` while wallets open checkouts, are looked at, and sellers confirm: no money is lost."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest

from bot.core import clock
from tests.support.form_harness import IBAN
from tests.support.free_ports import free_port
from tests.support.http_peers import open_receiver
from tests.support.lightning_wallet import LnurlService, serve_wallet
from tests.support.product_process import (
    PATIENCE,
    Process,
    app_headers,
    create_application,
    patient_client,
    started_bot,
    until,
)
from tests.support.rail_shop import OWNER, REAL_RAILS

KILLS, PAYERS, UNITS, SEED = 20, 12, 100_000, 20261123
BY_BANK = 4
"""Payers by bank, whom the seller confirms; the others pay the invoice that they are shown."""

OWED = "SELECT COUNT(*) FROM outbox WHERE state IN ('waiting', 'leased') AND queue <> 'looks'"
ROW = "SELECT remaining_units, reserved_units, paid_count, oversold_count FROM payment_requests"
HELD = "SELECT COUNT(*) FROM checkouts WHERE state IN ('opening', 'open', 'claimed')"


@dataclass
class Crowd:
    """The payers of one link, their seller and the wallet; `finished` are checkouts seen paid."""

    url: str
    path: str
    headers: dict[str, str]
    wallet: LnurlService
    ended: asyncio.Event = field(default_factory=asyncio.Event)
    shown: dict[str, set[str]] = field(default_factory=dict)
    finished: set[str] = field(default_factory=set)

    async def pay_on(self, number: int) -> None:
        """Pay until `ended`, and finish what was begun."""
        way = "bank:sepa" if number < BY_BANK else "lightning"
        async with httpx.AsyncClient(base_url=self.url, trust_env=False, timeout=20) as http:
            for turn in range(UNITS):
                if self.ended.is_set():
                    return
                await self._pay_once(http, f"payer-{number:04d}-{turn:016d}", way)

    async def _pay_once(self, http: httpx.AsyncClient, token: str, way: str) -> None:
        form = {"token": token, "way": way}
        posted = await _insist(lambda: http.post(self.path, data=form))
        assert posted.status_code == 303, posted.text
        page = posted.headers["location"]
        checkout_id = page.rpartition("/")[2]
        calls = f"/v3/checkouts/{checkout_id}"
        if way == "lightning":
            await self._reach(http, calls, {"open"})
            self.wallet.paid.add(self._hash_of(await self._get(http, calls)))
        else:
            await _insist(lambda: http.post(page, data={"action": "claim"}))
            confirm = f"{calls}/confirm"
            confirmed = await _insist(lambda: http.post(confirm, headers=self.headers))
            assert confirmed.status_code == 200, confirmed.text
        await self._reach(http, calls, {"paid"})
        self.finished.add(checkout_id)

    async def _reach(self, http: httpx.AsyncClient, calls: str, states: set[str]) -> None:
        while (found := await self._get(http, calls))["state"] not in states:
            assert found["state"] in {"opening", "open", "claimed"}, found
            await asyncio.sleep(0.05)

    async def _get(self, http: httpx.AsyncClient, calls: str) -> dict[str, Any]:
        answer = await _insist(lambda: http.get(calls, headers=self.headers))
        found: dict[str, Any] = answer.json()
        invoice = (found.get("payWith") or {}).get("lightningInvoice")
        if invoice:
            self.shown.setdefault(found["id"], set()).add(invoice)
        return found

    def _hash_of(self, found: dict[str, Any]) -> str:
        return self.wallet.issued[found["payWith"]["lightningInvoice"]]


async def _insist(call: Callable[[], Awaitable[httpx.Response]]) -> httpx.Response:
    """Repeat a call whose answer was lost, as a browser and an application do."""
    while True:
        try:
            answer = await call()
        except httpx.TransportError:
            await asyncio.sleep(0.02)
            continue
        if answer.status_code < 500:
            return answer
        await asyncio.sleep(0.02)


async def killed(folder: Path, env: dict[str, str], moment: float) -> None:
    async with started_bot(folder, "service", **env) as run:
        await asyncio.sleep(moment)  # the moment itself is what is tried
        await run.kill()


async def settled(run: Process) -> None:
    async def nothing_owed() -> bool:
        return run.rows(OWED) == [(0,)]

    await until(nothing_owed, 2 * PATIENCE)


@pytest.mark.timeout(400)  # twenty-two starts
async def test_twenty_kills_while_wallets_and_sellers_are_at_work(tmp_path: Path) -> None:
    """Each invoice that was paid is one payment, each checkout shows one invoice at most."""
    moments = random.Random(SEED)
    headers = app_headers(await create_application(tmp_path))
    env = REAL_RAILS | {
        "PORT": free_port(), "PAYER_RATE": "0", "API_RATE": "0", "PAYER_HOLDS": "0",
        "HOST_CALLS": "0", "WEBHOOK_ALLOW": "127.0.0.1", "RAILS": "lightning,bank",
    }  # fmt: skip
    wallet = LnurlService(clock.now)
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(serve_wallet(wallet))
        receiver = await stack.enter_async_context(open_receiver())
        async with started_bot(tmp_path, "service", **env) as run:
            path = await set_up(run.url, headers, wallet, receiver.url)
            await run.stop()
        crowd = Crowd(run.url, path, headers, wallet)
        payers = [asyncio.create_task(crowd.pay_on(number)) for number in range(PAYERS)]
        for _ in range(KILLS):
            await killed(tmp_path, env, moments.uniform(0, 1.5))
        async with started_bot(tmp_path, "service", **env) as run:
            crowd.ended.set()
            await asyncio.gather(*payers)
            await settled(run)
            check(run, crowd)
            paid = {transaction for (transaction,) in run.rows("SELECT id FROM payments")}
    told = {
        (json.loads(one.body)["transactionId"], one.headers["webhook-id"])
        for one in receiver.received
    }
    assert {transaction for transaction, _ in told} == paid
    assert len(told) == len(paid)  # each keeps its one id


async def set_up(url: str, headers: dict[str, str], wallet: LnurlService, hook: str) -> str:
    """Connect both accounts and create the link; its path."""
    async with patient_client(url, headers) as seller:
        for kind, details in (
            ("lightning", {"address": wallet.address}),
            ("bank", {"scheme": "sepa", "iban": IBAN, "name": "Sam Seller"}),
        ):
            body = {"owner": OWNER, "kind": kind, "details": details}
            answer = await seller.post("/v3/payoutAccounts", json=body)
            assert answer.status_code == 200, answer.text
        made = await seller.post(
            "/v3/paymentRequests",
            json={
                "product": {"name": "Ticket"},
                "instrumentCurrencyCode": "EUR",
                "receivers": [{"sendAmount": 5, "destination": f"account:{OWNER}"}],
                "expirationType": "limit",
                "totalUnits": UNITS,
                "notifications": {"webhook": {"webhookUrl": hook}},
            },
        )
        assert made.status_code == 200, made.text
        return f"/pay/{made.json()['id']}"


def check(run: Process, crowd: Crowd) -> None:
    payments = run.rows("SELECT checkout_id, rail, external_id, state FROM payments")
    assert len(crowd.finished) > KILLS
    assert len(crowd.wallet.paid) > PAYERS
    assert {checkout for checkout, *_ in payments} == crowd.finished
    assert len(payments) == len(crowd.finished)
    assert {state for *_, state in payments} == {"paid"}
    by_wallet = {external for _, rail, external, _ in payments if rail == "lightning"}
    assert by_wallet == crowd.wallet.paid
    assert all(len(invoices) == 1 for invoices in crowd.shown.values())
    assert len({*crowd.wallet.issued}) >= len(crowd.shown)
    ((remaining, reserved, sold, oversold),) = run.rows(ROW)
    assert (sold, oversold) == (len(payments), 0)
    assert [(reserved,)] == run.rows(HELD)
    assert remaining + reserved + sold == UNITS
