"""Every state of a page of real money, each brought about as it comes about."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any

from bot.core.errors import MoneyError
from bot.core.outbox import outbox
from bot.service.checkouts import claiming
from bot.service.checkouts.wallet_calls import OPENINGS, OpeningHandler
from bot.service.payments import account_rows
from bot.service.rails.bank import BankRail
from bot.service.rails.exchange_rates import SandboxExchange
from bot.service.rails.rail import Arrived, Charge, Opened, PayWith, Rails, Unavailable
from bot.service.requests.request import ExchangeRate
from tests.support import real_rails
from tests.support.browser_payer import open_service_on_port
from tests.support.checkout_steps import RESERVATION, hear
from tests.support.real_rails import OWNER, ScriptedRail
from tests.support.service_harness import ServiceHarness

SEPA = {"scheme": "sepa", "iban": "DE89370400440532013000", "name": "Mia Ferreira"}
PIX = {"scheme": "pix", "key": "mia@loja.example", "name": "Mia Ferreira", "city": "Recife"}
UPI = {"scheme": "upi", "id": "mia@okbank", "name": "Mia Ferreira"}
SWISS = {
    "scheme": "swiss",
    "iban": "CH9300762011623852957",
    "name": "Mia Ferreira",
    "address": {"street": "Rue du Lac", "houseNumber": "12", "postalCode": "2501", "town": "Biel"},
}
INVOICE = "lnbc203120n1p" + "qz38x7c" * 40
"""Of the length of an invoice with a description."""

CUP: dict[str, Any] = {
    "product": {"name": "Espresso cup, speckled", "description": "Stoneware, 80 ml."},
    "receivers": [{"sendAmount": 18.5, "destination": f"account:{OWNER}"}],
    "instrumentCurrencyCode": "EUR",
    "expirationType": "limit",
    "totalUnits": 20,
    "seller": {"name": "Mia's Ceramics", "contact": "@mia_clay", "accentColor": "teal"},
}


class MedianExchange(SandboxExchange):
    """An exchange with the median of public sources, which it can lose."""

    def __init__(self) -> None:
        self.open = True

    def rate(self, denomination: str, instrument: str) -> ExchangeRate | None:
        if denomination == instrument:
            return None
        if not self.open:
            raise MoneyError("unknownCurrency", "no fresh rate")
        at = 1_799_999_880_000
        return ExchangeRate(Decimal("1097.946"), "median of coinbase.com and kraken.com", at)


class WalletRail(ScriptedRail):
    """A wallet whose invoices have the length of real ones."""

    async def open(self, charge: Charge) -> Opened | Unavailable:
        self.asked.append(charge)
        if self.unavailable is not None:
            return self.unavailable
        poll_times = None if self.automatic else ()
        hash_of = charge.checkout_id.ljust(64, "0")
        return Opened(hash_of, PayWith(f"{INVOICE}{charge.checkout_id}"), poll_times=poll_times)


@dataclass
class RealScene:
    """A service of real money, its wallet and the rates that it asks."""

    service: ServiceHarness
    market: MedianExchange
    wallet: WalletRail
    path: str = field(default="")

    async def link(self, **fields: Any) -> str:
        made = await self.service.create(**(CUP | fields))
        self.path = f"/pay/{made['id']}"
        return self.path

    async def pay(self, token: str = "t" * 32, **form: str) -> str:
        """Pay there by the seller's first way, or by `way`; return where the payer is led."""
        answer = await self.service.anyone.post(self.path, data={"token": token, **form})
        assert answer.status_code == 303, answer.text
        return str(answer.headers["location"])

    async def open(self) -> None:
        """Have every invoice fetched that is due."""
        handler = OpeningHandler(self.service.db, self.service.context, self.service.clock)
        now = self.service.clock()
        for message in await self.service.db.transaction(
            lambda tx: outbox.claim(tx, OPENINGS, now, 100)
        ):
            await handler.handle(message)

    async def arrive(self, amount: int | None = None) -> None:
        """Let the money arrive, and poll."""
        self.wallet.polls = [Arrived(amount)]
        self.service.clock.advance(5)
        await hear(self.service)

    async def act(self, where: str, action: str) -> None:
        answer = await self.service.anyone.post(where, data={"action": action})
        assert answer.status_code == 303, answer.text

    async def decide(self, where: str, use_case: Callable[..., Any]) -> None:
        """Let the seller confirm or reject."""
        app, checkout = self.service.credentials.app_id, where.rpartition("/")[2]
        now = self.service.clock()
        await self.service.db.transaction(lambda tx: use_case(tx, app, checkout, now))


@asynccontextmanager
async def open_real_scene(folder: Path) -> AsyncIterator[RealScene]:
    """Serve real money on a port: a bank and a wallet."""
    wallet, market = WalletRail(), MedianExchange()
    settings: dict[str, Any] = {"rails": Rails(BankRail(), wallet), "exchange": market, "holds": 5}
    async with open_service_on_port(folder, reservation=RESERVATION * 1000, **settings) as service:
        kinds = [BankRail.kind, wallet.kind]
        await service.db.transaction(lambda tx: account_rows.write_offered(tx, kinds))
        yield RealScene(service, market, wallet)


async def connect_bank(scene: RealScene, **details: Any) -> None:
    answer = await real_rails.connect(scene.service, BankRail.kind, **(details or SEPA))
    assert answer.status_code == 200, answer.text


async def connect_wallet(scene: RealScene, *, automatic: bool = True) -> None:
    scene.wallet.automatic = automatic
    answer = await real_rails.connect(scene.service)
    assert answer.status_code == 200, answer.text


# ---- the pay page


async def two_ways(scene: RealScene) -> str:
    await connect_bank(scene)
    scene.service.clock.advance(1)
    await connect_wallet(scene)
    return await scene.link()


async def chosen_amount(scene: RealScene) -> str:
    await two_ways(scene)
    suggested = {"minimum": 3, "suggested": [18.5, 5, 10], "maximum": 500}
    return await scene.link(amountChoice=suggested)


async def several_units(scene: RealScene) -> str:
    await two_ways(scene)
    await scene.link(maxQuantity=3)
    return await scene.pay(quantity="3")


async def unpriced_way(scene: RealScene) -> str:
    path = await two_ways(scene)
    scene.market.open = False
    return path


async def only_lightning(scene: RealScene) -> str:
    await connect_wallet(scene)
    return await scene.link()


async def only_bank(scene: RealScene) -> str:
    await connect_bank(scene)
    return await scene.link()


async def only_unpriced(scene: RealScene) -> str:
    path = await only_lightning(scene)
    scene.market.open = False
    return path


async def no_account(scene: RealScene) -> str:
    return await scene.link()


# ---- a checkout


async def opening(scene: RealScene) -> str:
    await two_ways(scene)
    return await scene.pay(way="lightning")


async def invoice(scene: RealScene) -> str:
    where = await opening(scene)
    await scene.open()
    return where


async def invoice_to_confirm(scene: RealScene) -> str:
    await connect_wallet(scene, automatic=False)
    await scene.link()
    where = await scene.pay()
    await scene.open()
    return where


async def bank_code(scene: RealScene) -> str:
    await two_ways(scene)
    return await scene.pay()


async def _code(scene: RealScene, currency: str, details: dict[str, Any]) -> str:
    await connect_bank(scene, **details)
    await scene.link(instrumentCurrencyCode=currency)
    return await scene.pay()


async def pix_code(scene: RealScene) -> str:
    return await _code(scene, "BRL", PIX)


async def upi_code(scene: RealScene) -> str:
    return await _code(scene, "INR", UPI)


async def swiss_code(scene: RealScene) -> str:
    return await _code(scene, "CHF", SWISS)


async def claimed(scene: RealScene) -> str:
    where = await bank_code(scene)
    await scene.act(where, "claim")
    return where


async def bank_code_without_promise(scene: RealScene) -> str:
    """The only one there is, which no claim holds for longer than a reservation."""
    await two_ways(scene)
    await scene.link(totalUnits=1)
    return await scene.pay()


async def claimed_without_promise(scene: RealScene) -> str:
    where = await bank_code_without_promise(scene)
    await scene.act(where, "claim")
    return where


async def claimed_without_unit(scene: RealScene) -> str:
    where = await claimed_without_promise(scene)
    scene.service.clock.advance(RESERVATION)
    return where


async def claimed_invoice(scene: RealScene) -> str:
    where = await invoice_to_confirm(scene)
    await scene.act(where, "claim")
    return where


async def rejected(scene: RealScene) -> str:
    where = await claimed(scene)
    await scene.decide(where, claiming.reject)
    return where


async def unconfirmed(scene: RealScene) -> str:
    where = await claimed(scene)
    scene.service.clock.advance(scene.service.context.claims / 1000)
    return where


async def failed(scene: RealScene) -> str:
    scene.wallet.unavailable = Unavailable("slow")
    return await invoice(scene)


async def invoice_lapsed(scene: RealScene) -> str:
    where = await invoice(scene)
    scene.service.clock.advance(RESERVATION)
    return where


async def bank_lapsed(scene: RealScene) -> str:
    where = await bank_code(scene)
    scene.service.clock.advance(RESERVATION)
    return where


async def bank_cancelled(scene: RealScene) -> str:
    where = await bank_code(scene)
    await scene.act(where, "cancel")
    return where


async def underpaid(scene: RealScene) -> str:
    where = await invoice(scene)
    await scene.arrive(12_000)
    return where


async def paid_by_invoice(scene: RealScene) -> str:
    where = await invoice(scene)
    await scene.arrive()
    return where


async def paid_by_bank(scene: RealScene) -> str:
    where = await claimed(scene)
    await scene.decide(where, claiming.confirm)
    return where


REAL_STATES: dict[str, Callable[[RealScene], Awaitable[str]]] = {
    make.__name__: make
    for make in (
        *(two_ways, chosen_amount, several_units, unpriced_way, only_lightning, only_bank),
        *(only_unpriced, no_account),
        *(opening, invoice, invoice_to_confirm, bank_code, pix_code, upi_code, swiss_code),
        *(claimed, claimed_invoice, rejected, unconfirmed, failed),
        *(bank_code_without_promise, claimed_without_promise, claimed_without_unit),
        *(invoice_lapsed, bank_lapsed, bank_cancelled, underpaid, paid_by_invoice, paid_by_bank),
    )
}
"""What brings about each state; they return the path at which it is seen."""
