"""A service that takes real money as a process, with an application's client and a payer's."""

from __future__ import annotations

import io
import re
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import zxingcpp
from PIL import Image

from tests.support.product_process import (
    Process,
    app_headers,
    foreign_service,
    patient_client,
    until,
)
from tests.support.service_harness import form_token

if TYPE_CHECKING:
    import httpx


PRICE = 21
"""Satoshi."""

OWNER = "sam"
REAL_RAILS = {"RAIL_ALLOW": "127.0.0.1", "RATES_URLS": "table"}
"""Settings with which wallets may be on this machine, and no source of rates is asked."""

_INVOICE = re.compile(r"\blnbc[0-9a-z]{150,}", re.IGNORECASE)


@dataclass
class RailShop:
    """Acts of the seller's application and of payers; `path` is a pay page, `page` a checkout's."""

    run: Process
    seller: httpx.AsyncClient
    payer: httpx.AsyncClient

    async def connect(self, kind: str, **details: str) -> httpx.Response:
        body = {"owner": OWNER, "kind": kind, "details": details}
        return await self.seller.post("/v3/payoutAccounts", json=body)

    async def create(self, units: int = 5, **fields: Any) -> str:
        """Create a drop; its page's path."""
        body = {
            "product": {"name": "Lemonade"},
            "instrumentCurrencyCode": "SAT",
            "receivers": [{"sendAmount": PRICE, "destination": f"account:{OWNER}"}],
            "expirationType": "limit",
            "totalUnits": units,
            **fields,
        }
        answer = await self.seller.post("/v3/paymentRequests", json=body)
        assert answer.status_code == 200, answer.text
        return f"/pay/{answer.json()['id']}"

    async def open(self, path: str) -> str:
        """Press Pay as a new payer; the path of the checkout's page."""
        async with patient_client(self.run.url) as payer:
            token = form_token((await payer.get(path)).text)
            answer = await payer.post(path, data={"token": token})
            again = await payer.post(path, data={"token": token})
        assert answer.status_code == 303, answer.text
        assert again.headers["location"] == answer.headers["location"]
        return str(answer.headers["location"])

    async def check_out(self, units: int = 5) -> tuple[str, str, str]:
        """Create a drop and press Pay; return its path, the checkout's page and invoice."""
        path = await self.create(units)
        page = await self.open(path)
        return path, page, await self.shown_invoice(page)

    async def checkout(self, page: str) -> dict[str, Any]:
        answer = await self.seller.get(f"/v3/checkouts/{page.rpartition('/')[2]}")
        assert answer.status_code == 200, answer.text
        found: dict[str, Any] = answer.json()
        return found

    async def reach(self, page: str, state: str, seconds: float = 40) -> dict[str, Any]:
        """Wait until the checkout is in a state."""
        found: list[dict[str, Any]] = []

        async def is_there() -> bool:
            found.append(await self.checkout(page))
            return bool(found[-1]["state"] == state)

        await until(is_there, seconds)
        return found[-1]

    async def watch(self, page: str) -> None:
        """Keep the checkout's page open until it is paid: the wallet is asked soon meanwhile."""

        async def is_paid() -> bool:
            await self.payer.get(page, params={"live": ""})
            return bool((await self.checkout(page))["state"] == "paid")

        await until(is_paid, 40)

    async def shown_invoice(self, page: str) -> str:
        """Return the invoice that the checkout's page shows; it is the interface's too."""
        opened = await self.reach(page, "open")
        invoice = str(opened["payWith"]["lightningInvoice"])
        assert invoices_on((await self.payer.get(page)).text) == {invoice}
        picture = await self.payer.get(f"{page}/code.png")
        codes = zxingcpp.read_barcodes(Image.open(io.BytesIO(picture.content)))
        # Among the squares it sometimes sees another kind of code, too.
        assert f"LIGHTNING:{invoice.upper()}" in {code.text for code in codes}
        return invoice

    async def payments(self, path: str) -> list[dict[str, Any]]:
        """Return the payments of a request, as the application is told of them."""
        listed = await self.seller.get(path.replace("/pay/", "/v3/paymentRequests/") + "/payments")
        found: list[dict[str, Any]] = listed.json()["items"]
        return found

    def units(self, path: str) -> tuple[int, int]:
        """Return the units that are free, and those that are reserved."""
        units = "SELECT remaining_units, reserved_units FROM payment_requests WHERE id = "
        ((remaining, reserved),) = self.run.rows(f"{units}'{path.rpartition('/')[2]}'")
        return remaining, reserved


@asynccontextmanager
async def open_rail_shop(folder: Path, **settings: str) -> AsyncIterator[RailShop]:
    """Start a service with these settings beside REAL_RAILS."""
    async with AsyncExitStack() as stack:
        service = foreign_service(folder, **REAL_RAILS, **settings)
        run, keys = await stack.enter_async_context(service)
        seller = await stack.enter_async_context(patient_client(run.url, app_headers(keys)))
        payer = await stack.enter_async_context(patient_client(run.url))
        yield RailShop(run, seller, payer)


def invoices_on(page: str) -> set[str]:
    """Return the Lightning invoices that a page shows."""
    return {found.lower() for found in _INVOICE.findall(page)}
