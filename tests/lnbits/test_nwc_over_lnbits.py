"""A wallet over Nostr whose money is the real LNbits'.

It behaves as LNbits' own provider does: NIP-04, no state, and a time of settling.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.lnbits.lnbits_server import Lightning
from tests.lnbits.sales import sell_one
from tests.support.nwc_wallet import LocalRelay, NwcWallet
from tests.support.rail_shop import open_rail_shop

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.timeout(600)]


class LnbitsWallet(NwcWallet):
    """Passes what it is asked on to a wallet of LNbits, with the key that can only receive."""

    def __init__(self, relay: LocalRelay, lightning: Lightning) -> None:
        super().__init__(relay.url)
        self.encryption = None
        self._http = lightning.shop.http
        self._headers = {"X-Api-Key": lightning.seller.inkey}

    async def make_invoice(self, params: dict[str, Any]) -> dict[str, Any]:
        body = {
            "out": False,
            "amount": params["amount"] // 1_000,
            "memo": params["description"],
            "expiry": params["expiry"],
        }
        answer = await self._http.post("/api/v1/payments", json=body, headers=self._headers)
        return self._told(answer.json())

    async def lookup_invoice(self, params: dict[str, Any]) -> dict[str, Any]:
        path = f"/api/v1/payments/{params['payment_hash']}"
        answer = (await self._http.get(path, headers=self._headers)).json()
        return self._told(answer["details"] | {"paid": answer["paid"]})

    @staticmethod
    def _told(payment: dict[str, Any]) -> dict[str, Any]:
        return {
            "type": "incoming",
            "invoice": payment["bolt11"],
            "payment_hash": payment["payment_hash"],
            "preimage": payment["preimage"],
            "amount": payment["amount"],
            "settled_at": 1_794_000_000 if payment.get("paid") else None,
        }


async def test_money_of_lnbits_arrives_over_nostr(tmp_path: Path, lightning: Lightning) -> None:
    async with (
        LocalRelay() as relay,
        LnbitsWallet(relay, lightning) as wallet,
        open_rail_shop(tmp_path, RAILS="nwc") as shop,
    ):
        shop.run.secrets.update({wallet.secret, lightning.seller.inkey})
        assert (await shop.connect("nwc", connection=wallet.connection)).status_code == 200
        await sell_one(shop, lightning, "nwc")
        assert {heard["scheme"] for heard in wallet.heard} == {"nip04"}
