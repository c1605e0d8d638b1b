"""A service of a Lightning address whose invoices are those of the real LNbits behind it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.lnbits.lnbits_server import Lightning
from tests.support.lightning_wallet import LnurlService

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response


class LNbitsAddress(LnurlService):
    """The stand-in, which makes and verifies invoices at the shop's LNbits; `told` is all it said.

    LNbits' own Lightning addresses announce no verify address.
    """

    def __init__(self, lightning: Lightning) -> None:
        super().__init__(lambda: 0)
        self._lightning = lightning
        self.told: list[tuple[str, dict[str, Any]]] = []

    def _answer(self, route: str, fields: dict[str, Any], status: int = 200) -> Response:
        self.told.append((route, fields))
        return super()._answer(route, fields, status)

    async def _invoice(self, request: Request) -> Response:
        satoshi = int(request.query_params["amount"]) // 1_000
        body = {"out": False, "amount": satoshi, "memo": "shop", "expiry": 600}
        seller = self._lightning.seller
        made = (await self._lightning.shop.call(seller, "payments", body)).json()
        verify = f"{self.url}/verify/{made['payment_hash']}"
        return self._answer("invoice", {"pr": made["bolt11"], "routes": [], "verify": verify})

    async def _verify(self, request: Request) -> Response:
        payment_hash = request.path_params["payment_hash"]
        headers = {"X-Api-Key": self._lightning.seller.inkey}
        shop = self._lightning.shop.http
        found = (await shop.get(f"/api/v1/payments/{payment_hash}", headers=headers)).json()
        word = {"settled": found["paid"], "preimage": found.get("preimage")}
        fields = {"status": "OK", "pr": found["details"]["bolt11"], **word}
        return self._answer("verify", fields)
