"""`chaos`: kill the whole product again and again while a crowd pays with real money.

Payers use test codes, Lightning and bank transfers; the seller taps **Received** in the chat; an
application of its own hears by webhook. When all have paid, the books are balanced: units,
payments, alerts, codes and webhooks.
"""

from __future__ import annotations

import asyncio
import html
import random
import re
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

import httpx

from bot.core import clock
from bot.sandbox.world import errors
from tests.proofs import clusters, proof
from tests.support.form_harness import IBAN
from tests.support.http_peers import open_receiver
from tests.support.lightning_wallet import LnurlService, serve_wallet
from tests.support.machine_faults import MARK
from tests.support.product_process import QUICK, patient_client, rows, until
from tests.support.rail_shop import REAL_RAILS, invoices_on
from tests.support.sellers_and_payers import Seller, link_of, make_code_drop, seller
from tests.support.service_harness import form_token

LIFE_SECONDS = 7.0
"""For which the product runs between two kills."""

STARTING_SECONDS = 2.5
"""Seconds that a life takes until it serves, about: payers come during all of them."""

PAYING_SECONDS = 300.0
"""The longest that the last payers may take once the kills are over."""

IDLE_SECONDS = 120.0
CONFIRM = "✅ Received"
NUMBER = "🧾 "
TRANSACTION = re.compile(r"/receipt/([0-9a-f]{24})")
OWED = "SELECT COUNT(*) FROM outbox WHERE state IN ('waiting', 'leased') AND queue <> 'looks'"
UNITS = """
    SELECT total_units, remaining_units + reserved_units + paid_count, oversold_count
    FROM payment_requests WHERE total_units IS NOT NULL
"""
PAYMENTS = """
    SELECT p.id, p.state, p.rail, a.name, r.total_units IS NOT NULL FROM payments p
    JOIN payment_requests r ON r.id = p.request_id JOIN apps a ON a.id = r.app_id
"""


async def prove(size: proof.Size) -> proof.Figures:
    """Let the crowd pay for as long as the kills last; balance the books afterwards."""
    figures, dice = proof.Figures(), random.Random(size.seed)
    kills = round(size.seconds / LIFE_SECONDS)
    codes = [f"CODE-{size.seed}-{number:04d}" for number in range(size.payments // 4)]
    wallet = LnurlService(clock.now)
    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory(prefix="chaos-")))
        await stack.enter_async_context(serve_wallet(wallet))
        receiver = await stack.enter_async_context(open_receiver())
        limits = errors.NO_LIMITS
        telegram = await stack.enter_async_context(clusters.strict_telegram(limits))
        database = folder / "shop.db"
        settings = {
            **clusters.settings_of(telegram, f"sqlite:///{database}"),
            **QUICK,
            **REAL_RAILS,
            "RAILS": "bank,lightning",
            "WEBHOOK_ALLOW": "127.0.0.1",
            "HOST_CALLS": "0",
            "FORWARDED_ALLOW_IPS": "127.0.0.1",
        }
        product = clusters.Replica("shop", settings, folder)
        keys = clusters.app_headers(await product.run("-m", "bot", "apps", "create", "shop"))
        async with product.running():
            sam = seller(telegram.world)
            await set_up(sam, wallet)
            links = [
                await make_code_drop(sam, codes),
                link_of(await sam.card("/donation 3 EUR Tips", "Tips")),
                await make_request(product.url, keys, wallet.address, receiver.url),
            ]
        paths = ["/pay/" + link.rpartition("/")[2] for link in links]
        crowd = Crowd(product.url, wallet)
        ways = [["lightning", "bank:sepa"], ["lightning", "bank:sepa"], ["lightning"]]
        paying = [
            asyncio.create_task(
                crowd.buy(
                    number,
                    paths[number % 3],
                    dice.choice(ways[number % 3]),
                    dice.uniform(0, kills * (LIFE_SECONDS + STARTING_SECONDS)),
                )
            )
            for number in range(size.payments)
        ]
        tapping = asyncio.create_task(confirm_claims(sam, crowd.over))
        for turn in range(1, kills + 1):
            async with product.running():
                await asyncio.sleep(LIFE_SECONDS)
                await product.kill()
            figures.note(f"paid at kill {turn}", crowd.done)
        async with product.running():
            await asyncio.wait_for(asyncio.gather(*paying), PAYING_SECONDS)

            async def nothing_owed() -> bool:
                return rows(database, OWED) == [(0,)]

            await until(nothing_owed, IDLE_SECONDS)
            crowd.over.set()
            await tapping
            given = await codes_given(product.url, database, paths[0])
        hooks = [one.headers["webhook-id"] for one in receiver.received]
        balance(figures, database, crowd, sam, codes, given, hooks)
        log = product.log.read_text("utf-8")
        figures.hold("codes in the log", sum(code in log for code in codes), 0)
        figures.hold("tracebacks in the log", product.tracebacks(), 0)
    return figures


@dataclass
class Crowd:
    """The payers of three links, and what each of them has seen in the end."""

    url: str
    wallet: LnurlService
    over: asyncio.Event = field(default_factory=asyncio.Event)
    paid: dict[str, str] = field(default_factory=dict)
    """The payer of each transaction, as their receipt names it."""

    refused: Counter[str] = field(default_factory=Counter)
    """Payers who read "sold out", by link."""

    broken: int = 0
    """Connections that ended without an answer."""

    done: int = 0

    async def buy(self, number: int, path: str, way: str, delay: float) -> None:
        """Pay as one browser with an address of its own, repeating what a kill cut off."""
        await asyncio.sleep(delay)
        address = f"10.{number >> 8}.{number & 255}.7"
        headers = {"X-Forwarded-For": address}
        async with httpx.AsyncClient(
            base_url=self.url, trust_env=False, timeout=20, headers=headers
        ) as http:
            page = await self._insist(lambda: http.get(path))
            if "<form" not in page.text:
                self.refused[path] += 1
                return
            form = {"token": form_token(page.text), "way": way}
            posted = await self._insist(lambda: http.post(path, data=form))
            while posted.status_code == 429:
                await asyncio.sleep(1)
                posted = await self._insist(lambda: http.post(path, data=form))
            if posted.status_code == 409:
                self.refused[path] += 1
                return
            assert posted.status_code == 303, posted.text
            await self._finish(http, posted.headers["location"], number)
        self.done += 1

    async def _finish(self, http: httpx.AsyncClient, place: str, number: int) -> None:
        claimed = False
        while True:
            shown = await self._insist(lambda: http.get(place, follow_redirects=True))
            if found := TRANSACTION.search(str(shown.url)):
                self.paid[found[1]] = f"payer {number}"
                return
            text = html.unescape(shown.text)
            if invoices := invoices_on(text):
                self.wallet.paid |= {self.wallet.issued[one] for one in invoices}
            elif 'value="claim"' in text and not claimed:
                answer = await self._insist(lambda: http.post(place, data={"action": "claim"}))
                assert answer.status_code == 303, answer.text
                claimed = True
            await asyncio.sleep(0.3)

    async def _insist(self, call: Callable[[], Awaitable[httpx.Response]]) -> httpx.Response:
        while True:
            try:
                answer = await call()
            except httpx.TransportError:
                self.broken += 1
                await asyncio.sleep(0.1)
                continue
            if answer.status_code < 500:
                return answer
            await asyncio.sleep(0.1)


async def confirm_claims(sam: Seller, over: asyncio.Event) -> None:
    """Tap **Received** on every claim, once more if a kill swallowed the answer."""
    turns: Counter[int] = Counter()
    while not over.is_set():
        for message in sam.said:
            if any(button["text"] == CONFIRM for button in message.buttons):
                turns[message.id] += 1
                if turns[message.id] % 20 == 1:
                    sam.person.press(message, CONFIRM)
        await asyncio.sleep(0.25)


async def set_up(sam: Seller, wallet: LnurlService) -> None:
    page = await sam.say("/getpaid", "connect")
    schemes = await sam.press(page, "🏦 Bank transfer", "")
    await sam.press(schemes, "🏦 SEPA account", "IBAN")
    await sam.say(IBAN, "name")
    review = await sam.say("Sam Ott", "confirm each payment")
    await sam.press(review, "✅ Save", "✅ Connected")
    page = await sam.say("/getpaid", "connect")
    await sam.press(page, "Lightning address", "Lightning address")
    review = await sam.say(wallet.address, "This works")
    await sam.press(review, "✅ Save", "✅ Connected")


async def make_request(url: str, keys: dict[str, str], wallet: str, hook: str) -> str:
    """Create a link of an application whose webhooks go to `hook`; its path."""
    async with patient_client(url, keys) as app:
        account = {"owner": "app", "kind": "lightning", "details": {"address": wallet}}
        assert (await app.post("/v3/payoutAccounts", json=account)).status_code == 200
        body = {
            "product": {"name": "Ticket"},
            "instrumentCurrencyCode": "EUR",
            "receivers": [{"sendAmount": 5, "destination": "account:app"}],
            "expirationType": "limit",
            "totalUnits": 1000,
            "notifications": {"webhook": {"webhookUrl": hook}},
        }
        made = await app.post("/v3/paymentRequests", json=body)
        assert made.status_code == 200, made.text
        return f"/pay/{made.json()['id']}"


async def codes_given(url: str, database: Path, path: str) -> list[str]:
    """Return the codes that the receipts of a link show."""
    request_id = path.rpartition("/")[2]
    bought = rows(database, f"SELECT id FROM payments WHERE request_id = '{request_id}'")
    found: list[str] = []
    async with patient_client(url) as payer:
        for (number,) in bought:
            place = f"/v3/paymentRequests/public/{request_id}/receipts/{number}"
            found += (await payer.get(place)).json()["delivery"]["codes"]
    return found


def balance(
    figures: proof.Figures,
    database: Path,
    crowd: Crowd,
    sam: Seller,
    codes: Sequence[str],
    given: Sequence[str],
    hooks: Sequence[str],
) -> None:
    """Hold the books to what payers, the seller and the application have seen."""
    payments = rows(database, PAYMENTS)
    ids = {number for number, *_ in payments}
    told = [
        (line.removeprefix(NUMBER), MARK in message.text)
        for message in sam.alerts
        for line in message.text.splitlines()
        if line.startswith(NUMBER)
    ]
    plain = Counter(number for number, is_marked in told if not is_marked)
    sold = sum(name != "shop" and drop for _, _, _, name, drop in payments)
    of_app = {number for number, _, _, name, _ in payments if name == "shop"}
    figures.note("payments", len(ids))
    figures.note("by way", dict(Counter(rail for _, _, rail, *_ in payments)))
    figures.note("turned away", dict(crowd.refused))
    figures.note("connections broken", crowd.broken)
    figures.note(
        "alerts, and marked as possible repetitions", (len(told), len(told) - plain.total())
    )
    figures.hold("payments without a receipt, or receipts without", len(set(crowd.paid) ^ ids), 0)
    figures.hold("states of the payments", {state for _, state, *_ in payments}, {"paid"})
    wrong = [units for units in rows(database, UNITS) if units[0] != units[1] or units[2]]
    figures.hold("drops whose units don't add up", len(wrong), 0)
    figures.hold("payments without an alert", len(ids - of_app - {number for number, _ in told}), 0)
    figures.hold("payments alerted twice, not marked", plain.total() - len(plain), 0)
    figures.hold("codes given", len(given), sold)
    figures.hold("codes given twice, or not the seller's", len(given) - len({*given} & {*codes}), 0)
    figures.hold("webhooks, repetitions left out", len(set(hooks)), len(of_app))
