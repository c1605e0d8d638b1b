"""Payers at the pay page, in every scenario that it offers."""

from __future__ import annotations

import asyncio
import itertools
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from http.cookiejar import CookieJar, DefaultCookiePolicy
from random import Random

import httpx

from bot.core.net import http_client
from tests.simulation.monkeys.monkey_product import SimulatedProduct
from tests.simulation.monkeys.typed_words import Mark

FIELD = re.compile(r'name="(token|email|paymail|phoneNumber)"(?: type="\w+")? value="([^"]*)"')
SUGGESTED = re.compile(r'type="radio" name="amount" value="([\d.]+)"')
OWN_AMOUNTS = ("3", "5", "7,50", "1.000", "0.01", "lots")
LEAVES_WORDS = 0.4
"""How many of the payers leave their name and a message."""

OFFERED = (
    "SELECT request_id, seller_id, CASE WHEN max_quantity > 1 THEN 15 WHEN codes_count > 0 THEN 10"
    " WHEN amount_choice IS NOT NULL THEN 3 ELSE 1 END AS draw FROM listings"
    " JOIN payment_requests ON payment_requests.id = request_id ORDER BY listings.id"
)
"""The requests, and how much they draw: those of which there are few, the more."""

SCENARIOS = {"atOnce": 16, "later": 3, "twice": 2, "late": 1, "never": 1}
SECONDS = 30.0


@dataclass
class Payers:
    """Whoever pays, each by an address of their own; `marks` are those of the sellers' ids."""

    product: SimulatedProduct
    chance: Random
    marks: Mapping[int, Mark]
    http: httpx.AsyncClient = field(
        default_factory=lambda: httpx.AsyncClient(
            trust_env=False,
            timeout=SECONDS,
            verify=http_client.ssl_context(),
            cookies=CookieJar(DefaultCookiePolicy(allowed_domains=[])),
        )
    )
    _numbers: itertools.count[int] = field(default_factory=itertools.count)

    def pay(self) -> str:
        """Pay a random request."""
        return self._rush(1)

    def rush(self) -> str:
        """Pay one request many times at once, as when a drop opens."""
        return self._rush(self.chance.randint(6, 15))

    def _rush(self, number: int) -> str:
        found = self.product.rows(OFFERED)
        if not found:
            return "nobody has anything to pay"
        (one,) = self.chance.choices(found, [row["draw"] for row in found])
        mark, request = self.marks[one["seller_id"]], one["request_id"]
        for _ in range(number):
            after = self.chance.uniform(0, 2)
            self.product.begin(self._pay(request, mark, next(self._numbers), after))
        return f"has {number} payers open {request} of {mark.public}"

    async def _pay(self, request: str, mark: Mark, number: int, after: float) -> None:
        await asyncio.sleep(after)
        link = f"{self.product.url}/pay/{request}"
        page = await self.http.get(link)
        if "<form" not in page.text:
            return
        known = dict(FIELD.findall(page.text))
        address = mark.payer(number)
        form = {name: address for name in known if name in ("email", "paymail")}
        if "phoneNumber" in known:
            form["phoneNumber"] = "+44 20 7946 0958"
        if 'name="quantity"' in page.text:
            form["quantity"] = self.chance.choice(["1", "2", "3", "9"])
        if 'name="amount"' in page.text:
            form["amount"] = self.chance.choice([*OWN_AMOUNTS, *SUGGESTED.findall(page.text) * 2])
        if self.chance.random() < LEAVES_WORDS:
            form |= mark.words(number)
        (scenario,) = self.chance.choices(list(SCENARIOS), list(SCENARIOS.values()))
        await asyncio.sleep(self.chance.uniform(0, 3))
        sent = {"token": known["token"], "manner": scenario, **form}
        browser = {"Cookie": page.headers.get("set-cookie", "").partition(";")[0]}
        answer = await self.http.post(link, data=sent, headers=browser)
        if answer.status_code >= httpx.codes.INTERNAL_SERVER_ERROR:
            self.product.errors.append(f"the pay page answered {answer.status_code}")
        self.product.note(f"{address} pays {scenario}: {answer.status_code}")
