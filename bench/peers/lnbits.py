"""LNbits beside our service: invoices made, paid and told of, and the memory it takes."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import NamedTemporaryFile, TemporaryDirectory
from typing import TYPE_CHECKING

import httpx

from bench import wrk
from bench.peers import environments, process_tree
from bench.peers.section import Comparison
from bench.processes import Place, Server, free_port, product, serving
from bench.rounds import SECONDS, Round, Side, counted, in_turns
from bench.service import open_shop
from bench.stage import telegram
from bench.table import Row, percentile
from bench.webhooks import HOOKED, told
from tests.lnbits.lnbits_server import SERVER, LNbits, Wallet

if TYPE_CHECKING:
    Closed = Callable[[int, int], Awaitable[Round]]
    """Asks as fast as answers come: so many clients, for so many seconds."""

PAYMENTS = "payments"
SETTINGS = {"LNBITS_BACKEND_WALLET_CLASS": "FakeWallet", "ENABLE_LOG_TO_FILE": "false"}
QUIET = ("--log-level", "warning")
FUNDS = 10_000_000
"""Satoshi of the payer."""

INVOICE = {"out": False, "amount": 21, "memo": "Sticker pack"}
AT_ONCE = 8
CLIENTS = 8
"""More at once make LNbits slower."""

WARM_UP = 1
THEIR_SECONDS = 4
"""A round of LNbits, whose answers are few."""

MARGIN = 1.5
"""Invoices for a round beside as many as LNbits would make meanwhile: it pays fewer."""

LOAD = 0.5
"""The rate at which webhooks are measured, as a share of what LNbits bears."""

LAG_SECONDS = 30
LANES = 4
"""Connections while the lag is measured: a server hangs up on those that it seldom hears of."""

LATE_SECONDS = 60.0
LOOK_AGAIN = 0.1
IDLE_SECONDS = 5.0
MAKES = "LNbits, POST /api/v1/payments"
PAYS = "LNbits, an internal payment of an invoice"
GOALS = {"creates": "≥ 30 ×", "payments": "≥ 60 ×", "lag": "≤ 0.1 ×", "memory": "≤ 0.4 ×"}


@dataclass(frozen=True, slots=True)
class Node:
    """An LNbits with two wallets: a shop's, and its customer's."""

    lnbits: LNbits
    shop: Wallet
    payer: Wallet
    folder: Path

    @property
    def servers(self) -> list[Server]:
        """Return its process."""
        place = Place(str(self.folder), {})
        return [Server(self.lnbits.url, 0.0, self.lnbits.process, place)]

    def creates(self) -> Side:
        """Make invoices."""
        asked = {"PATH_ASKED": f"/api/v1/{PAYMENTS}", "BODY": json.dumps(INVOICE)}
        return Side(self.servers, "post.lua", asked | {"API_KEY": self.shop.inkey})

    async def payments(self, number: int, webhook: str | None = None) -> Side:
        """Pay invoices, each once: so many are made first."""
        turn = asyncio.Semaphore(AT_ONCE)

        async def invoice() -> str:
            async with turn:
                body = {**INVOICE, "webhook": webhook}
                answer = await self.lnbits.call(self.shop, PAYMENTS, body)
                return str(answer.raise_for_status().json()["bolt11"])

        invoices = await asyncio.gather(*(invoice() for _ in range(number)))
        file = self.folder / "invoices"
        file.write_text("\n".join(invoices), "utf-8")
        asked = {"INVOICES": str(file), "API_KEY": self.payer.adminkey}
        return Side(self.servers, "peer_pay.lua", asked)


async def lnbits() -> list[Comparison]:
    """Measure both, in turns where there is load."""
    async with node((environments.lnbits(), *SERVER, *QUIET)) as theirs:
        made = await _creates(theirs)
        paid = await _payments(theirs, int(made.row.beside * THEIR_SECONDS * MARGIN) + CLIENTS)
        late = await _lags(theirs, LOAD * paid.row.beside)
    return [made, paid, *late, *await _memory()]


@asynccontextmanager
async def node(command: Sequence[str]) -> AsyncIterator[Node]:
    """Run an LNbits on SQLite and a Lightning that is not real."""
    with TemporaryDirectory() as folder:
        made = LNbits(Path(folder), SETTINGS, command)
        try:
            await made.start()
            await made.install()
            shop, payer = await made.wallet("shop"), await made.wallet("payer")
            await made.top_up(payer, FUNDS)
            try:
                yield Node(made, shop, payer, Path(folder))
            finally:
                process_tree.end_descendants(made.process.pid)
        finally:
            await made.stop()
            await made.close()


async def _creates(theirs: Node) -> Comparison:
    async with open_shop() as shop:
        return await _in_turns("creates", shop.creates().closed, theirs.creates().closed, MAKES)


async def _payments(theirs: Node, prepared: int) -> Comparison:
    async def pay(clients: int, seconds: int) -> Round:
        return await (await theirs.payments(prepared)).closed(clients, seconds)

    async with open_shop() as shop:
        return await _in_turns("payments", (await shop.payments()).closed, pay, PAYS)


async def _in_turns(what: str, ours: Closed, theirs: Closed, yardstick: str) -> Comparison:
    for side in (ours, theirs):
        await side(CLIENTS, WARM_UP)
    pair = await in_turns(
        lambda: ours(CLIENTS, SECONDS), lambda: theirs(CLIENTS, THEIR_SECONDS), yardstick
    )
    name = f"{what} a second, {counted(CLIENTS)}"
    return Comparison(pair.rates(name, GOALS[what]), more=True)


async def _lags(theirs: Node, rate: float) -> list[Comparison]:
    """Measure from a payment's answer to its webhook's arrival, both at the same rate."""
    async with open_shop(HOOKED) as shop, _endpoint() as url, httpx.AsyncClient() as http:
        ours = await shop.payments(offer=told(url))
        others = await theirs.payments(int(rate * LAG_SECONDS) + 2 * LANES, url)
        mine = await _late(http, url, ours, r"/receipt/(%w+)", rate)
        those = await _late(http, url, others, r'"payment_hash":%s*"(%w+)"', rate)
    what = f"payment → webhook at {rate:.0f} payments a second"
    return [
        Comparison(
            Row(
                f"{what}, p{percent}",
                percentile(mine, percent) * 1000, "ms", percentile(those, percent) * 1000,
                "LNbits, the webhook of an invoice", GOALS["lag"],
            ),
            more=False,
        )
        for percent in (50, 99)
    ]  # fmt: skip


async def _late(
    http: httpx.AsyncClient, url: str, side: Side, id_of: str, rate: float
) -> list[float]:
    """Return the seconds from each payment's answer to its webhook's arrival, at least 0."""
    answered = await _answered(side, id_of, rate)
    arrived: dict[str, float] = {}
    end = time.monotonic() + LATE_SECONDS
    while answered.keys() - arrived.keys():
        arrived |= (await http.get(url)).raise_for_status().json()
        if time.monotonic() > end:
            missing = len(answered.keys() - arrived.keys())
            raise RuntimeError(f"{missing} of {len(answered)} payments were not told")
        await asyncio.sleep(LOOK_AGAIN)
    return [max(0.0, arrived[payment] - at) for payment, at in answered.items()]


async def _answered(side: Side, id_of: str, rate: float) -> dict[str, float]:
    """Pay at a constant rate; when the client had the answer of each payment."""
    with NamedTemporaryFile("r", encoding="utf-8") as file:
        noted = {"NOTED": side.script.removesuffix(".lua"), "ANSWERS": file.name, "ID": id_of}
        await wrk.constant(
            side.servers[0].url, "peer_noted.lua", LANES, LAG_SECONDS, rate,
            {**side.settings, **noted},
        )  # fmt: skip
        lines = [line.split() for line in file]
    return {payment: float(at) for at, payment in lines}


@asynccontextmanager
async def _endpoint() -> AsyncIterator[str]:
    """Run the endpoint that both tell."""
    port = free_port()
    with TemporaryDirectory() as folder:
        arguments = ["-m", "bench.peers.arrivals", str(port)]
        async with serving(Place(folder, {}), arguments, port, "/") as server:
            yield server.url


async def _memory() -> list[Comparison]:
    """Measure the memory of all processes of each, started as operators start it."""
    python = environments.lnbits()
    command = (python, str(Path(python).with_name("lnbits")))
    async with (
        telegram() as here,
        product(here.url, here.world.token) as ours,
        node(command) as theirs,
    ):
        await asyncio.sleep(IDLE_SECONDS)
        mine, those = (
            process_tree.memory(process.pid) for process in (ours.process, theirs.lnbits.process)
        )
    label = "LNbits, all processes"
    resident = Row(
        "idle memory of run", mine.resident, "MiB", those.resident, label, GOALS["memory"]
    )
    once = Row("of it, shared pages counted once", mine.shared, "MiB", those.shared, label)
    return [Comparison(resident, more=False), Comparison(once, more=False)]
