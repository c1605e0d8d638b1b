"""`commit-cut`: a proxy eats answers to COMMITs, or the COMMITs themselves."""

from __future__ import annotations

import asyncio
import json
import random
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import httpx

from tests.proofs import books, clusters, proof
from tests.support.http_peers import Receiver, open_receiver
from tests.support.raw_payers import REQUESTS_PATH

PAYMENTS = 4
"""Payments of each seed."""

CHANCE = 0.12
"""Of each of the two for a COMMIT."""

UNITS, DECREASE = 50, 7
AT_ONCE = 4
AGAIN_SECONDS = 0.2
RETRIED = {503}
REQUESTS = """
    SELECT id, name, remaining_units, decreased_units, paid_count, reserved_units
    FROM payment_requests
"""
PAID = "SELECT id FROM payments"


@dataclass(slots=True)
class Seeds:
    """The seeds that were played, and what came of them."""

    cluster: clusters.Cluster
    payers: books.Payers
    http: httpx.AsyncClient
    hook: str
    answers: Counter[int] = field(default_factory=Counter)
    made: dict[int, str] = field(default_factory=dict)
    """The request of each seed."""

    unclear: int = 0
    """Decreases whose answer left open whether they were done."""

    async def play(self, seed: int) -> None:
        """Create a request, pay for it, edit it and take units from it."""
        body = {
            "product": {"name": f"Seed {seed}"},
            "instrumentCurrencyCode": "USD",
            "receivers": [{"sendAmount": 5, "destination": "band"}],
            "expirationType": "limit",
            "totalUnits": UNITS,
            "notifications": {"webhook": {"webhookUrl": self.hook}},
        }
        created = await self._insist("POST", REQUESTS_PATH, body, {"Idempotency-Key": f"{seed}"})
        self.made[seed] = created["id"]
        path = f"{REQUESTS_PATH}/{created['id']}"
        async with asyncio.TaskGroup() as acts:
            for number in range(PAYMENTS):
                acts.create_task(self.payers.pay(created["id"], number))
            acts.create_task(self._insist("PUT", path, {"product": {"name": f"Edited {seed}"}}))
        await self._decrease(path)

    async def _decrease(self, path: str) -> None:
        """Take units once: after an answer that leaves it open, only if it was not done."""
        while True:
            answer = await self._ask("PUT", path, {"decreaseRemainingUnits": DECREASE})
            if answer is not None and answer.status_code not in RETRIED:
                assert answer.is_success, answer.text
                return
            self.unclear += 1
            found = await self._insist("GET", path)
            if found["remainingUnits"] == UNITS - DECREASE - PAYMENTS:
                return

    async def _insist(
        self, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None
    ) -> Any:
        """Ask again until there is an answer that is not 503."""
        while True:
            answer = await self._ask(method, path, body, headers)
            if answer is not None and answer.status_code not in RETRIED:
                assert answer.is_success, answer.text
                return answer.json()
            await asyncio.sleep(AGAIN_SECONDS)

    async def _ask(
        self, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None
    ) -> httpx.Response | None:
        replica = self.cluster.replicas[self.answers.total() % len(self.cluster.replicas)]
        try:
            answer = await self.http.request(method, replica.url + path, json=body, headers=headers)
        except httpx.TransportError:
            self.answers[0] += 1
            return None
        self.answers[answer.status_code] += 1
        return answer


async def prove(size: proof.Size) -> proof.Figures:
    """Play the seeds, one after the other, and look at what is stored and was told."""
    figures = proof.Figures()
    settings = {"WEBHOOK_ALLOW": "127.0.0.1"}
    stage = clusters.Stage(size.replicas, proxied=True, settings=settings, command=clusters.SERVICE)
    async with open_receiver() as receiver, clusters.open_cluster(stage) as cluster:
        await cluster.start()
        payers = books.Payers([replica.url for replica in cluster.replicas])
        keys = clusters.app_headers(await cluster.command("apps", "create", "shop"))
        async with httpx.AsyncClient(headers=keys, trust_env=False) as http:
            seeds = Seeds(cluster, payers, http, receiver.url)
            began = time.monotonic()
            for seed in range(size.seed, size.seed + size.payments // PAYMENTS):
                _cut(cluster, random.Random(seed))
                await seeds.play(seed)
            _cut(cluster, None)
        figures.note("seeds", len(seeds.made))
        figures.note("seconds", time.monotonic() - began)
        figures.note("commits", sum(proxy.asked for proxy in cluster.proxies))
        figures.at_least("answers eaten", sum(proxy.eaten for proxy in cluster.proxies), 1)
        figures.at_least("commits cut", sum(proxy.cut for proxy in cluster.proxies), 1)
        figures.note("answers to the application", dict(seeds.answers))
        figures.hold("answers that no payer may get", payers.unexpected(), "none")
        figures.note("decreases that were left open", seeds.unclear)
        await _balance(figures, seeds, receiver)
        figures.hold("tracebacks in the logs", cluster.tracebacks(), 0)
    return figures


def _cut(cluster: clusters.Cluster, dice: random.Random | None) -> None:
    """Eat and cut COMMITs as these dice fall, or none."""

    def falls(_number: int) -> bool:
        return dice is not None and dice.random() < CHANCE

    for proxy in cluster.proxies:
        proxy.eat_commit = proxy.cut_commit = falls


async def _balance(figures: proof.Figures, seeds: Seeds, receiver: Receiver) -> None:
    """Hold requests, payments, edits and webhooks to what was asked for."""
    cluster = seeds.cluster
    figures.hold("webhooks left", await cluster.idle() or "none", "none")
    found = {key: row for key, *row in await cluster.rows(REQUESTS)}
    wanted = {
        key: [f"Edited {seed}", UNITS - DECREASE - PAYMENTS, DECREASE, PAYMENTS, 0]
        for seed, key in seeds.made.items()
    }
    figures.hold("requests", len(found), len(seeds.made))
    wrong = [key for key, row in wanted.items() if found.get(key) != row]
    figures.hold("requests lost, doubled or edited wrongly", len(wrong), 0)
    paid = [key for (key,) in await cluster.rows(PAID)]
    figures.hold("payments", len(paid), PAYMENTS * len(seeds.made))
    figures.hold("receipts", len(set(seeds.payers.receipts.values()) & set(paid)), len(paid))
    figures.hold("forms with two receipts", seeds.payers.doubled, 0)
    told = [json.loads(one.body)["transactionId"] for one in receiver.received]
    ids = {one.headers["webhook-id"] for one in receiver.received}
    figures.hold("payments that a webhook told of", len(set(told) & set(paid)), len(paid))
    figures.hold("webhooks", len(ids), len(paid))
    figures.hold("webhooks sent twice", len(told) - len(ids), 0)
