"""A shop that calls the service itself: prices to choose, several units, codes and marks.

The bot offers these only where the service runs inside it; here they run apart. So a shop with an
application of its own makes the requests, and hears of its payments by webhooks of its own.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Coroutine
from dataclasses import dataclass, field
from decimal import Decimal
from random import Random
from typing import Any

import httpx

from bot.core.net import http_client
from tests.simulation.faults import alert_reading
from tests.simulation.faults.faulty_product import SimulatedProduct
from tests.support.service_harness import REQUESTS_PATH, form_token

TAKES_PART = 0.5
"""How many of the schedules have a shop."""

FIRST_CUSTOMER = 500
"""The shop's payers are numbered from here."""

CHOICE = {"minimum": 3, "suggested": [5, 10], "maximum": 40}
AMOUNTS = {None: "5", "5": "5", "10": "10", "7.50": "7.50", "3": "3", "2.99": None, "40.01": None}
"""The amounts that payers send, and what they are; None where the choice forbids them."""

MAX_QUANTITY, QUANTITIES = 3, (1, 1, 2, 3, 4)
SCENARIOS = {
    "atOnce": 10,
    "later": 2,
    "twice": 2,
    "late": 2,
    "underpaid": 1,
    "claimed": 2,
    "never": 1,
}
END = re.compile(r"/(receipt|checkout)/([0-9a-f]+)$")
OF_PROXY = "retry after"


@dataclass
class Customer:
    """A payer of the shop; `decided` is what the shop said of their claim, as far as it could."""

    number: int
    drop: bool
    amount: str | None
    quantity: int
    scenario: str
    status: int = 0
    receipt: str | None = None
    decided: str | None = None

    @property
    def address(self) -> str:
        return alert_reading.address_of(self.number)

    @property
    def words(self) -> dict[str, str]:
        """Return the words that every second one leaves."""
        if self.number % 2:
            return {}
        return {"name": f"Customer {self.number}", "message": f"for {self.number}\nand all"}


@dataclass
class Shop:
    """A drop with codes and a donation, those who buy, and what the shop was told.

    `codes` are all that it has, `marks` the answers about each payment that it marked, and `told`
    what came by webhooks. `receipts` are what payers see when all is over.
    """

    seed: int
    customers: list[Customer] = field(default_factory=list)
    units: int = 0
    codes: list[str] = field(default_factory=list)
    drop: str = ""
    donation: str = ""
    marks: dict[str, list[Any]] = field(default_factory=dict)
    paid_back: set[str] = field(default_factory=set)
    told: list[Any] = field(default_factory=list)
    added: int = 0
    receipts: dict[str, Any] = field(default_factory=dict)
    _made: asyncio.Event = field(default_factory=asyncio.Event)

    def __post_init__(self) -> None:
        self.chance = Random(f"{self.seed}/shop")
        self.units = self.chance.randint(5, 16)
        first = self.chance.randint(1, self.units)
        self.codes = [f"CODE-{number:03d}" for number in range(first)]
        for number in range(self.chance.randint(6, 14)):
            (scenario,) = self.chance.choices(list(SCENARIOS), list(SCENARIOS.values()))
            drop = self.chance.random() < 0.75
            amount, units = self.chance.choice(list(AMOUNTS)), self.chance.choice(QUANTITIES)
            one = Customer(FIRST_CUSTOMER + number, drop, amount, units if drop else 1, scenario)
            self.customers.append(one)

    def acts(self, product: SimulatedProduct, storm: float) -> list[Coroutine[Any, Any, None]]:
        """Return what the shop and its customers do."""
        one = self.chance.uniform
        return [
            self._open(product),
            *(self._add_codes(product, one(0, storm)) for _ in range(2)),
            *(self._serve(product, each, one(0, storm)) for each in self.customers),
        ]

    async def _open(self, product: SimulatedProduct) -> None:
        """Make both requests; a repeat has the same key."""
        shared = {
            "instrumentCurrencyCode": "USD",
            "receivers": [{"sendAmount": 5, "destination": "shop"}],
            "amountChoice": CHOICE,
            "notifications": {"webhook": {"webhookUrl": product.hook_url}},
        }
        drop = {
            "product": {"name": "Voucher of the shop"},
            "expirationType": "limit",
            "totalUnits": self.units,
            "maxQuantity": MAX_QUANTITY,
            "delivery": {"codes": self.codes[:]},
        }
        donation = {
            "product": {"name": "Box of the shop"},
            "expirationType": "never",
            "goal": 100,
            "thanks": "Thank you",
        }
        made = []
        for number, body in enumerate((drop, donation)):
            key = {"Idempotency-Key": f"shop-{self.seed}-{number}-key"}
            made.append(await self._call(product, "POST", "", shared | body, key))
        self.drop, self.donation = (str(one.json()["id"]) for one in made)
        self._made.set()

    async def _add_codes(self, product: SimulatedProduct, after: float) -> None:
        """Add new codes beside known ones, and all of them once more."""
        await self._made.wait()
        await asyncio.sleep(after)
        count = self.chance.randint(1, 4)
        self.added += count
        new = [f"LATER-{self.added - number:03d}" for number in range(count)]
        self.codes += new
        body = {"codes": [self.codes[0], *new]}
        for _ in range(self.chance.randint(1, 2)):
            await self._call(product, "POST", f"/{self.drop}/codes", body)

    async def _serve(self, product: SimulatedProduct, one: Customer, after: float) -> None:
        """Let a customer pay, decide on their claim, and mark what was paid."""
        chance = Random(f"{self.seed}/{one.address}")
        await self._made.wait()
        await asyncio.sleep(after)
        request_id = self.drop if one.drop else self.donation
        found = await self._pay(product, one, request_id)
        product.note(f"{one.address} {one.scenario} {one.quantity} × {one.amount}: {one.status}")
        if found and found[1] == "checkout" and one.scenario == "claimed":
            word = chance.choice(["confirm", "reject"])
            await asyncio.sleep(chance.uniform(0, 5))
            path = f"/v3/checkouts/{found[2]}/{word}"
            answer = await self._call(product, "POST", path, {})
            one.decided = word if answer.status_code == httpx.codes.OK else None
        if found and found[1] == "receipt":
            one.receipt = found[2]
            await self._took(product, one, request_id, chance)

    async def _pay(
        self, product: SimulatedProduct, one: Customer, request_id: str
    ) -> re.Match[str] | None:
        link = f"http://127.0.0.1:{product.page_port}/pay/{request_id}"
        async with _client() as http:
            page = await _answer(http, "GET", link)
            if "<form" not in page.text:
                one.status = page.status_code
                return None
            form = {"token": form_token(page.text), "email": one.address, "manner": one.scenario}
            form |= one.words
            form |= {"quantity": str(one.quantity)} if one.drop else {}
            form |= {"amount": one.amount} if one.amount else {}
            cookie = {"Cookie": page.headers.get("set-cookie", "").partition(";")[0]}
            answer = await _answer(http, "POST", link, data=form, headers=cookie)
        one.status = answer.status_code
        return END.search(answer.headers.get("location", ""))

    async def _took(
        self, product: SimulatedProduct, one: Customer, request_id: str, chance: Random
    ) -> None:
        """Mark a payment as sent or paid back, some more than once."""
        transaction = one.receipt or ""
        path = f"/{request_id}/payments/{transaction}"
        bodies: list[dict[str, Any]] = []
        if chance.random() < 0.4:
            bodies.append({"sent": {"note": f"RR-{transaction[:6]}"}})
        if chance.random() < 0.3:
            bodies.append({"paidBack": {"note": "by hand"}})
            self.paid_back.add(transaction)
        for body in bodies:
            await asyncio.sleep(chance.uniform(0, 4))
            for _ in range(chance.randint(1, 2)):
                answer = await self._call(product, "PUT", path, body)
                kept = answer.json(parse_float=Decimal)
                self.marks.setdefault(transaction, []).append(kept)

    async def _call(
        self,
        product: SimulatedProduct,
        method: str,
        path: str,
        body: dict[str, Any] | None = None,
        headers: dict[str, str] | None = None,
    ) -> httpx.Response:
        """Call the service, as often as it takes to get an answer of its own."""
        keys = product.shop_keys
        access = {"App-Id": keys.app_id, "App-Secret": keys.app_secret, **(headers or {})}
        whole = path if path.startswith("/v3/") else f"{REQUESTS_PATH}{path}"
        async with _client() as http:
            link = f"http://127.0.0.1:{product.shop_port}{whole}"
            return await _answer(http, method, link, json=body, headers=access)

    async def look(self, product: SimulatedProduct) -> None:
        """Fetch every payment's receipt when all is over, as who has its address."""
        for row in product.rows("service", "SELECT id, request_id FROM payments ORDER BY id"):
            if row["request_id"] in {self.drop, self.donation}:
                path = f"/public/{row['request_id']}/receipts/{row['id']}"
                answer = await self._call(product, "GET", path)
                found = answer.status_code == httpx.codes.OK
                kept = answer.json(parse_float=Decimal) if found else None
                self.receipts[row["id"]] = kept
        self.told = [
            json.loads(one.request.body, parse_float=Decimal)
            for one in product.hooks.exchanges
            if one.seen
        ]


def _client() -> httpx.AsyncClient:
    return httpx.AsyncClient(trust_env=False, timeout=15, verify=http_client.ssl_context())


async def _answer(http: httpx.AsyncClient, method: str, link: str, **more: Any) -> httpx.Response:
    """Ask until the other side itself answers; what a proxy says on the way is no answer."""
    wait = 0.2
    while True:
        try:
            answer = await http.request(method, link, **more)
        except httpx.HTTPError:
            pass
        else:
            refused = answer.status_code == httpx.codes.TOO_MANY_REQUESTS
            if answer.status_code < 500 and not (refused and OF_PROXY in answer.text):
                return answer
        await asyncio.sleep(wait)
        wait = min(3.0, wait * 1.5)
