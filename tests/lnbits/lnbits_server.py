"""The real LNbits as a process: a node with a fake Lightning, and a shop that is funded by it."""

from __future__ import annotations

import asyncio
import signal
import subprocess
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from tests.lnbits.environment import lnbits_python
from tests.support.free_ports import free_port
from tests.support.product_process import PATIENCE, patient_client, until

START_SECONDS = 180.0
FUNDS = 1_000_000
"""Satoshi of the payer."""

SETTINGS = {
    "LNBITS_ADMIN_UI": "true",
    "LNBITS_EXTENSIONS_DEACTIVATE_ALL": "true",
    "LNBITS_EXTENSIONS_MANIFESTS": "",
    "LNBITS_WASM_EXTENSIONS_MANIFESTS": "",
    "LNBITS_PRICE_AGGREGATOR_ENABLED": "false",
    "LNBITS_EXCHANGE_RATE_PROVIDERS": "[]",
    "LNBITS_RATE_LIMIT_NO": "100000",
    "LNBITS_RATE_LIMIT_UNIT": "second",
    "LNBITS_CALLBACK_URL_RULES": '["https?://.*"]',
    "LNBITS_CALLBACK_ALLOW_PRIVATE_IPS": "true",
    "LNBITS_LNURL_ALLOW_PRIVATE_IPS": "true",
    "LNBITS_ALLOW_CUSTOM_WALLET_LIGHTNING_ADDRESSES": "true",
    "AUTH_HTTPS_ONLY": "false",
    "HOST": "127.0.0.1",
}
"""No call of the internet, webhooks to this machine, no rate limit."""

SERVER = ("-m", "uvicorn", "lnbits.__main__:app", "--no-access-log")
"""What Python runs it by."""

USER = {"username": "admin", "password": "secret-secret-1", "password_repeat": "secret-secret-1"}


@dataclass(frozen=True)
class Wallet:
    """A wallet of an LNbits with both of its keys."""

    id: str
    inkey: str
    adminkey: str


class LNbits:
    """An LNbits with its data in a folder; it may be stopped and started again."""

    def __init__(
        self, folder: Path, settings: Mapping[str, str], command: Sequence[str] | None = None
    ) -> None:
        """`command` runs it, with the Python that it is installed for first."""
        self._folder = folder
        self._settings = settings
        self._command = command
        self._port = free_port()
        self._child: asyncio.subprocess.Process | None = None
        self._token = ""
        self.url = f"http://127.0.0.1:{self._port}"
        self.http = patient_client(self.url)

    async def start(self) -> None:
        """Start it and wait until it answers."""
        command = self._command or (await asyncio.to_thread(lnbits_python), *SERVER)
        await asyncio.to_thread(self._prepare, command[0])
        with (self._folder / "log").open("ab") as log:
            self._child = await asyncio.create_subprocess_exec(
                *command, "--host", "127.0.0.1", "--port", self._port,
                cwd=self._folder, env=self._environment(), stdout=log, stderr=log,
            )  # fmt: skip
        await until(self._answers, START_SECONDS)

    def _prepare(self, python: str) -> None:
        """Make its folders; it finds its static files relative to the one that it runs in."""
        (self._folder / "data" / "logs").mkdir(parents=True, exist_ok=True)
        (self._folder / "ext" / "extensions").mkdir(parents=True, exist_ok=True)
        package = (
            "import importlib.util as u; print(*u.find_spec('lnbits').submodule_search_locations)"
        )
        found = subprocess.run([python, "-c", package], capture_output=True, text=True, check=True)
        if not (self._folder / "lnbits").exists():
            (self._folder / "lnbits").symlink_to(found.stdout.strip())

    def _environment(self) -> dict[str, str]:
        return {
            **SETTINGS,
            "PATH": "/usr/bin:/bin",
            "LNBITS_DATA_FOLDER": str(self._folder / "data"),
            "LNBITS_EXTENSIONS_PATH": str(self._folder / "ext"),
            "LNBITS_BASEURL": f"{self.url}/",
            "PORT": self._port,
            **self._settings,
        }

    async def _answers(self) -> bool:
        assert self._child is not None
        assert self._child.returncode is None, (self._folder / "log").read_text()[-4_000:]
        with suppress(httpx.TransportError):
            return (await self.http.get("/api/v1/health")).status_code < 400
        return False

    @property
    def process(self) -> asyncio.subprocess.Process:
        """Return the process that was started last."""
        assert self._child is not None
        return self._child

    async def install(self) -> None:
        """Make its administrator, once in the life of its data."""
        answer = await self.http.put("/api/v1/auth/first_install", json=USER)
        self._token = answer.json()["access_token"]

    async def stop(self, how: signal.Signals = signal.SIGTERM) -> None:
        """End it; its data stay."""
        if self._child is not None and self._child.returncode is None:
            self._child.send_signal(how)
            async with asyncio.timeout(PATIENCE):
                await self._child.wait()

    async def close(self) -> None:
        await self.stop(signal.SIGKILL)
        await self.http.aclose()

    async def wallet(self, name: str) -> Wallet:
        """Make a wallet."""
        made = (await self.http.post("/api/v1/account", json={"name": name})).json()
        return Wallet(made["id"], made["inkey"], made["adminkey"])

    async def top_up(self, wallet: Wallet, satoshi: int) -> None:
        """Give a wallet money that comes from nowhere."""
        answer = await self.http.put(
            "/users/api/v1/balance",
            json={"id": wallet.id, "amount": satoshi},
            headers={"Authorization": f"Bearer {self._token}"},
        )
        assert answer.status_code == 200, answer.text

    async def call(self, wallet: Wallet, path: str, body: dict[str, Any]) -> httpx.Response:
        """Send a body with a wallet's admin key."""
        headers = {"X-Api-Key": wallet.adminkey}
        return await self.http.post(f"/api/v1/{path}", json=body, headers=headers)

    async def pay(self, wallet: Wallet, invoice: str) -> None:
        """Pay an invoice from a wallet."""
        answer = await self.call(wallet, "payments", {"out": True, "bolt11": invoice})
        assert (answer.status_code, answer.json()["status"]) == (201, "success"), answer.text


@dataclass
class Lightning:
    """The node with the payer's wallet, and the LNbits of a shop with the seller's.

    Only the node knows the invoices' preimages, so the shop's LNbits may end at any time.
    """

    node: LNbits
    shop: LNbits
    payer: Wallet
    seller: Wallet

    async def pay(self, invoice: str) -> None:
        await self.node.pay(self.payer, invoice)


@asynccontextmanager
async def lightning_network(folder: Path) -> AsyncIterator[Lightning]:
    """Start both, with money in the payer's wallet."""
    node = LNbits(folder / "node", {"LNBITS_BACKEND_WALLET_CLASS": "FakeWallet"})
    shop: LNbits | None = None
    try:
        await node.start()
        await node.install()
        payer, funding = await node.wallet("payer"), await node.wallet("funding")
        await node.top_up(payer, FUNDS)
        funded = {
            "LNBITS_BACKEND_WALLET_CLASS": "LNbitsWallet",
            "LNBITS_ENDPOINT": node.url,
            "LNBITS_KEY": funding.adminkey,
        }
        shop = LNbits(folder / "shop", funded)
        await shop.start()
        await shop.install()
        yield Lightning(node, shop, payer, await shop.wallet("shop"))
    finally:
        await node.close()
        if shop is not None:
            await shop.close()
