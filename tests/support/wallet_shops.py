"""Sellers with a wallet on each rail, and how a test changes what that wallet answers."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from bot.core.errors import FieldProblem, InvalidBody
from bot.service.rails.lightning import LightningAddressRail
from bot.service.rails.lnbits import LNbitsRail
from bot.service.rails.nwc import NwcRail
from bot.service.rails.rail import Connected, Opened
from tests.support.lightning_wallet import (
    INVOICE_KEY,
    THIS_MACHINE,
    InvoiceDraft,
    LNbitsStandIn,
    LnurlService,
    WalletShop,
    serve_wallet,
    text_answer,
)
from tests.support.nwc_wallet import LocalRelay, NwcWallet
from tests.support.service_harness import Clock


@dataclass
class Shop(WalletShop):
    """A seller with a wallet that is called over HTTP."""

    wallet: Any = field(kw_only=True)
    """LnurlService, LNbitsStandIn or NwcWallet."""

    typed: dict[str, Any] = field(kw_only=True)
    """The details as the seller types them."""

    calls: list[Any] = field(kw_only=True)
    """The calls that the wallet took."""

    connecting: tuple[str, ...] = ()
    """Routes of the wallet that are called to connect it."""

    opening: tuple[str, ...] = ()
    polling: str = ""
    invoice_at: tuple[str, str] = ("", "")
    """The route and the field that have an invoice."""

    settled: str = ""
    """The field that says whether an invoice is paid."""

    async def connect(self) -> Connected:
        """Connect the wallet, and forget the calls that it took."""
        found = await self.rail.connect(self.typed)
        self.details = found.details
        self.calls.clear()
        return found

    async def problem(self, **typed: Any) -> FieldProblem:
        """Return what is wrong with the wallet's details, some of which are typed otherwise."""
        with pytest.raises(InvalidBody) as raised:
            await self.rail.connect(self.typed | typed)
        (problem,) = raised.value.info
        return problem

    async def paid(self) -> Opened:
        """Open a checkout and pay it."""
        found = await self.opened()
        self.pay(found)
        return found

    def pay(self, opened: Opened) -> None:
        self.wallet.paid.add(opened.external_id)

    def write_invoices(self, **changes: Any) -> None:
        """Change the invoices from now on."""
        self.wallet.invoice = changes

    def write_text(self, text: str) -> None:
        """Answer with a text in place of an invoice."""
        route, name = self.invoice_at
        self.wallet.changed[route] = {name: text}

    def say(self, **changes: Any) -> None:
        """Change what the wallet says of a payment; `...` leaves a field out."""
        self.wallet.changed[self.polling] = changes

    def refuse_calls(self) -> None:
        """Answer that there were too many calls."""
        routes = (*self.opening, self.polling)
        self.wallet.answers = dict.fromkeys(routes, text_answer('{"paid":true}', 429))


@dataclass
class NwcShop(Shop):
    """A seller with a wallet behind a relay; the clock is that of this machine."""

    relay: LocalRelay = field(kw_only=True)

    def at(self, wallet: NwcWallet) -> NwcShop:
        """Return the seller with another wallet of the same rail."""
        typed = {"connection": wallet.connection}
        return replace(self, wallet=wallet, typed=typed, calls=wallet.heard)

    def pay(self, opened: Opened) -> None:
        self.wallet.settle(opened.external_id)

    def write_invoices(self, **changes: Any) -> None:
        def rewritten(result: dict[str, Any]) -> dict[str, Any]:
            draft = {"created_at": self.clock(), "payment_hash": result["payment_hash"]}
            return result | {"invoice": InvoiceDraft(**{"msat": 21_000} | draft | changes).write()}

        self.wallet.false_answers["make_invoice"] = rewritten

    def write_text(self, text: str) -> None:
        self.wallet.false_answers["make_invoice"] = lambda result: result | {"invoice": text}

    def say(self, **changes: Any) -> None:
        self.wallet.false_answers["lookup_invoice"] = lambda result: {
            name: value for name, value in (result | changes).items() if value is not ...
        }

    def refuse_calls(self) -> None:
        for method in ("make_invoice", "lookup_invoice"):
            self.wallet.errors[method] = "RATE_LIMITED"


@asynccontextmanager
async def open_lightning(clock: Clock) -> AsyncIterator[Shop]:
    """Open a seller with a Lightning address."""
    rail, wallet = LightningAddressRail(THIS_MACHINE, clock), LnurlService(clock)
    async with serve_wallet(wallet):
        yield Shop(
            rail, clock, wallet=wallet, typed={"address": wallet.address}, calls=wallet.asked,
            connecting=("offer", "invoice"), opening=("offer", "invoice"), polling="verify",
            invoice_at=("invoice", "pr"), settled="settled",
        )  # fmt: skip
    await rail.close()


@asynccontextmanager
async def open_lnbits(clock: Clock) -> AsyncIterator[Shop]:
    rail, wallet = LNbitsRail(THIS_MACHINE, clock), LNbitsStandIn(clock)
    async with serve_wallet(wallet):
        typed = {"url": wallet.url, "key": INVOICE_KEY}
        yield Shop(
            rail, clock, wallet=wallet, typed=typed, calls=wallet.asked,
            connecting=("wallet", "refuse"), opening=("create",), polling="payment",
            invoice_at=("create", "bolt11"), settled="paid",
        )  # fmt: skip
    await rail.close()


@asynccontextmanager
async def open_nwc(clock: Clock) -> AsyncIterator[NwcShop]:
    clock.at = int(time.time() * 1000)
    rail = NwcRail(THIS_MACHINE, clock)
    async with LocalRelay() as relay, NwcWallet(relay.url) as wallet:
        typed = {"connection": wallet.connection}
        yield NwcShop(rail, clock, wallet=wallet, typed=typed, calls=wallet.heard, relay=relay)
        await rail.close()
