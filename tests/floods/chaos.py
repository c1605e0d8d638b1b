"""`python -m tests.floods.chaos`: kill the whole product again and again while a crowd pays.

Payers use test codes, Lightning and bank transfers; the seller taps **Received** in the chat; an
application of its own hears by webhook. When all have paid, the books are balanced: units,
payments, alerts, codes and webhooks. A promise that is broken ends it with exit code 1.
"""

from __future__ import annotations

import argparse
import asyncio
import html
import random
import re
import sys
import tempfile
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import httpx

from bot.core import clock
from tests.support.free_ports import free_port
from tests.support.lightning_wallet import LnurlService, serve_wallet
from tests.support.payout_forms import IBAN
from tests.support.product_process import (
    Process,
    patient_client,
    run_command,
    sandbox_telegram,
    start_bot,
    until,
)
from tests.support.rail_shop import REAL_RAILS, invoices_on
from tests.support.sellers_and_payers import Seller, link_of, seller
from tests.support.service_harness import form_token
from tests.support.webhook_receiver import open_receiver

STARTING = 2.5
"""Seconds that a life takes until it serves, about: payers come during all of them."""

CONFIRM = "✅ Received"
NUMBER, MARK = "🧾 ", "You may have seen this already."
TRANSACTION = re.compile(r"/receipt/([0-9a-f]{24})")
OWED = "SELECT COUNT(*) FROM outbox WHERE state IN ('waiting', 'leased') AND queue <> 'looks'"
UNITS = """
    SELECT total_units, remaining_units + reserved_units + paid_count, oversold_count
    FROM payment_requests WHERE total_units IS NOT NULL
"""


@dataclass
class Crowd:
    """The payers of three links, and what each of them has seen in the end."""

    url: str
    wallet: LnurlService
    over: asyncio.Event = field(default_factory=asyncio.Event)
    paid: dict[str, str] = field(default_factory=dict)  # the transaction of each payer's receipt
    refused: Counter[str] = field(default_factory=Counter)  # payers who read "sold out", by link
    broken: int = 0  # connections that ended without an answer
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
    """Tap **Received** on every claim, once more where a kill swallowed the answer."""
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


async def make_drop(sam: Seller, codes: list[str]) -> str:
    card = await sam.card(f"/drop {len(codes)} 5 EUR Voucher", "Voucher")
    await sam.edit(card)
    await sam.press(card, "What buyers get", "What does the buyer get after paying?")
    listed = "\n".join(codes).encode()
    which = await sam.seen(
        lambda: sam.person.send_document("codes.txt", listed), "How should buyers get this?"
    )
    await sam.press(which, "Codes", "Buyers now get: ")
    return link_of(card)


async def make_request(run: Process, keys: dict[str, str], wallet: str, hook: str) -> str:
    """Create a link of an application whose webhooks go to `hook`; its path."""
    async with patient_client(run.url, keys) as app:
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


async def codes_given(run: Process, path: str) -> list[str]:
    """Return the codes that the receipts of a link show."""
    request_id = path.rpartition("/")[2]
    bought = run.rows(f"SELECT id FROM payments WHERE request_id = '{request_id}'")
    found: list[str] = []
    async with patient_client(run.url) as payer:
        for (number,) in bought:
            place = f"/v3/paymentRequests/public/{request_id}/receipts/{number}"
            found += (await payer.get(place)).json()["delivery"]["codes"]
    return found


def balance(
    run: Process, crowd: Crowd, sam: Seller, codes: list[str], given: list[str], hooks: list[str]
) -> None:
    """Compare the books with what payers, the seller and the application have seen."""
    payments = run.rows(
        "SELECT p.id, p.state, p.rail, a.name, r.total_units IS NOT NULL FROM payments p"
        " JOIN payment_requests r ON r.id = p.request_id JOIN apps a ON a.id = r.app_id"
    )
    ids = {number for number, *_ in payments}
    told = [
        (line.removeprefix(NUMBER), MARK in message.text)
        for message in sam.alerts
        for line in message.text.splitlines()
        if line.startswith(NUMBER)
    ]
    sold = sum(name != "shop" and drop for _, _, _, name, drop in payments)
    of_app = {number for number, _, _, name, _ in payments if name == "shop"}
    figures = {
        "payments": len(ids),
        "by way": dict(Counter(rail for _, _, rail, *_ in payments)),
        "payers with a receipt": len(crowd.paid),
        "turned away": dict(crowd.refused),
        "connections broken": crowd.broken,
        "alerts": len(told),
        "marked as possibly repeated": sum(marked for _, marked in told),
        "codes given": len(given),
        "webhooks": len(hooks),
        "webhooks distinct": len(set(hooks)),
    }
    for name, value in figures.items():
        print(f"{name}: {value}")  # noqa: T201 - a command
    promises = {
        "each payment has one receipt": set(crowd.paid) == ids,
        "each payment is paid": {state for _, state, *_ in payments} <= {"paid"},
        "units balance": all(
            total == counted and not over for total, counted, over in run.rows(UNITS)
        ),
        "each payment was alerted": {number for number, _ in told} >= ids - of_app,
        "no unmarked alert twice": all(
            times == 1
            for times in Counter(number for number, marked in told if not marked).values()
        ),
        "each sale of the drop has a code of its own": len(set(given)) == len(given) == sold
        and set(given) <= set(codes),
        "each payment of the application has one webhook": len(set(hooks)) == len(of_app),
    }
    broken = [name for name, holds in promises.items() if not holds]
    for name in broken:
        print(f"BROKEN: {name}")  # noqa: T201 - a command
    if broken:
        raise SystemExit(1)
    print("everything balances")  # noqa: T201 - a command


async def play(folder: Path, payers: int, kills: int, every: float, seed: int) -> None:
    """Let the crowd pay for as long as the kills last; balance the books afterwards."""
    drawn = random.Random(seed)
    codes = [f"CODE-{seed}-{number:04d}" for number in range(payers // 4)]
    wallet, port = LnurlService(clock.now), free_port()
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(serve_wallet(wallet))
        receiver = await stack.enter_async_context(open_receiver())
        stage = await stack.enter_async_context(sandbox_telegram(folder))
        env = {
            **stage.settings, **REAL_RAILS, "PORT": port, "PAYER_RATE": "0", "API_RATE": "0",
            "RAILS": "bank,lightning", "WEBHOOK_ALLOW": "127.0.0.1", "HOST_CALLS": "0",
            "FORWARDED_ALLOW_IPS": "127.0.0.1", "LOG_LEVEL": "info",
        }  # fmt: skip
        _, lines, _ = await run_command(folder, "apps", "create", "shop")
        made = dict(line.split("=", 1) for line in lines)
        keys = {"App-Id": made["APP_ID"], "App-Secret": made["APP_SECRET"]}

        @asynccontextmanager
        async def running() -> AsyncIterator[Process]:
            async with start_bot(folder, "run", unseen=codes, **env) as run:
                yield await run.ready()

        async with running() as run:
            sam = seller(stage.world)
            await set_up(sam, wallet)
            links = [
                await make_drop(sam, codes),
                link_of(await sam.card("/donation 3 EUR Tips", "Tips")),
                await make_request(run, keys, wallet.address, receiver.url),
            ]
            await run.stop()
        paths = ["/pay/" + link.rpartition("/")[2] for link in links]
        crowd = Crowd(f"http://127.0.0.1:{port}", wallet)
        ways = [["lightning", "bank:sepa"], ["lightning", "bank:sepa"], ["lightning"]]
        tasks = []
        for number in range(payers):
            link = number % 3
            way = drawn.choice(ways[link])
            delay = drawn.uniform(0, kills * (every + STARTING))
            tasks.append(asyncio.create_task(crowd.buy(number, paths[link], way, delay)))
        tapping = asyncio.create_task(confirm_claims(sam, crowd.over))
        for turn in range(kills):
            async with running() as run:
                await asyncio.sleep(every)
                await run.kill()
            print(f"kill {turn + 1}: {crowd.done} paid", file=sys.stderr)  # noqa: T201 - a command
        async with running() as run:
            await asyncio.wait_for(asyncio.gather(*tasks), 300)

            async def nothing_owed() -> bool:
                return run.rows(OWED) == [(0,)]

            await until(nothing_owed, 120)
            crowd.over.set()
            await tapping
            hooks = [one.headers["webhook-id"] for one in receiver.received]
            balance(run, crowd, sam, codes, await codes_given(run, paths[0]), hooks)


def main() -> None:
    """Read the command line and play."""
    parser = argparse.ArgumentParser(prog="python -m tests.floods.chaos", description=__doc__)
    parser.add_argument("--payers", type=int, default=500)
    parser.add_argument("--kills", type=int, default=30)
    parser.add_argument("--every", type=float, default=7, help="seconds that each life lasts")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(play(Path(folder), given.payers, given.kills, given.every, given.seed))


if __name__ == "__main__":
    main()
