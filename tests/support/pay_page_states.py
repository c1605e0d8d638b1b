"""Every state of a pay page, each brought about as it comes about."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from bot.core.errors import MoneyError
from bot.service.rails.exchange_rates import SandboxExchange
from bot.service.rails.rail import SANDBOX_DELAY
from bot.service.requests.request import ExchangeRate
from tests.support.checkout_steps import hear
from tests.support.service_harness import ServiceHarness

RESERVATION = 60
ASKED = {"requestedUserData": ["paymail", "email", "phoneNumber"]}
ONE: dict[str, Any] = {"expirationType": "limit", "totalUnits": 1}
STICKERS: dict[str, Any] = {
    "product": {
        "name": "Sticker pack “Autumn”",
        "description": "Ten stickers, cut by hand, sent by post.",
        "longDescription": "Printed on matte paper in our own workshop. Waterproof.",
    },
    "receivers": [{"sendAmount": 12.5, "destination": "a"}],
    "instrumentCurrencyCode": "EUR",
    "priceBeforeDiscount": 15,
    "seller": {
        "name": "متجر ليلى للورق",
        "contact": "@layla_paper",
        "accentColor": "orange",
        "description": "Stickers and prints, made by hand",
    },
}


class FlakyExchange(SandboxExchange):
    """An exchange that can lose its rates."""

    def __init__(self) -> None:
        self.open = True

    def rate(self, denomination: str, instrument: str) -> ExchangeRate | None:
        if not self.open:
            raise MoneyError("unknownCurrency", "nobody knows today")
        return super().rate(denomination, instrument)


@dataclass
class Scene:
    """A service with the exchange that it asks."""

    service: ServiceHarness
    market: FlakyExchange

    async def settle(self) -> None:
        """Poll for all money that is due by now."""
        await hear(self.service)


async def _path(scene: Scene, **fields: Any) -> str:
    made = await scene.service.create(**(STICKERS | fields))
    return f"/pay/{made['id']}"


async def _paid(scene: Scene, path: str, scenario: str = "atOnce") -> str:
    """Pay there; where the payer is led."""
    service = scene.service
    answer = await service.pay(
        path.rpartition("/")[2], await service.token(path[5:]), manner=scenario
    )
    return str(answer.headers["location"])


async def donation(scene: Scene) -> str:
    return await _path(scene, priceBeforeDiscount=None)


async def drop(scene: Scene) -> str:
    path = await _path(
        scene, expirationType="limit", totalUnits=50, expirationInSeconds=7200, **ASKED
    )
    await _paid_with(scene, path)
    return path


async def _paid_with(scene: Scene, path: str) -> None:
    given = {"paymail": "me@a.example", "email": "me@b.example", "phoneNumber": "+442079460958"}
    request_id = path.rpartition("/")[2]
    for number, scenario in enumerate(("atOnce", "never")):
        await scene.service.pay(request_id, str(number) * 32, manner=scenario, **given)


async def exchanged(scene: Scene) -> str:
    return await _path(
        scene,
        instrumentCurrencyCode="BSV",
        denominationCurrencyCode="EUR",
        priceBeforeDiscount=None,
    )


async def scheduled(scene: Scene) -> str:
    return await _path(scene, enabledAt="2027-01-15T10:00:00Z")


async def expired(scene: Scene) -> str:
    path = await _path(scene, expirationInSeconds=60)
    scene.service.clock.advance(60)
    return path


async def paused(scene: Scene) -> str:
    path = await _path(scene)
    await scene.service.edit(path.rpartition("/")[2], {"expirationInSeconds": 1})
    scene.service.clock.advance(1)
    return path


async def taken(scene: Scene) -> str:
    path = await _path(scene, expirationType="onPaymentCompleted")
    await _paid(scene, path)
    return path


async def reserved(scene: Scene) -> str:
    path = await _path(scene, **ONE)
    await _paid(scene, path, "never")
    return path


async def sold_out(scene: Scene) -> str:
    path = await _path(scene, **ONE)
    await _paid(scene, path)
    return path


async def deleted(scene: Scene) -> str:
    path = await _path(scene)
    await scene.service.seller.delete(f"/v3/paymentRequests/{path.rpartition('/')[2]}")
    return path


async def unpriced(scene: Scene) -> str:
    path = await _path(scene, instrumentCurrencyCode="BSV", denominationCurrencyCode="EUR")
    scene.market.open = False
    return path


async def paid(scene: Scene) -> str:
    path = await _path(scene, **ASKED)
    request_id = path.rpartition("/")[2]
    given = {"paymail": "me@a.example", "email": "me@b.example", "phoneNumber": "+442079460958"}
    return str((await scene.service.pay(request_id, **given)).headers["location"])


async def waiting(scene: Scene) -> str:
    return await _paid(scene, await _path(scene, **ONE), "later")


async def lapsed(scene: Scene) -> str:
    where = await _paid(scene, await _path(scene, **ONE), "never")
    scene.service.clock.advance(RESERVATION)
    return where


async def cancelled(scene: Scene) -> str:
    where = await _paid(scene, await _path(scene, **ONE), "never")
    await scene.service.anyone.post(where, data={"action": "cancel"})
    return where


async def late(scene: Scene) -> str:
    where = await _paid(scene, await _path(scene, **ONE), "late")
    scene.service.clock.advance(RESERVATION + SANDBOX_DELAY / 1000)
    await scene.settle()
    return where


async def oversold(scene: Scene) -> str:
    path = await _path(scene, **ONE)
    where = await _paid(scene, path, "late")
    scene.service.clock.advance(RESERVATION)
    await scene.service.pay(path.rpartition("/")[2], "o" * 32)
    scene.service.clock.advance(SANDBOX_DELAY / 1000)
    await scene.settle()
    return where


async def underpaid(scene: Scene) -> str:
    where = await _paid(scene, await _path(scene, **ONE), "underpaid")
    scene.service.clock.advance(SANDBOX_DELAY / 1000)
    await scene.settle()
    return where


async def claimed(scene: Scene) -> str:
    return await _paid(scene, await _path(scene, **ONE), "claimed")


GIVING: dict[str, Any] = {
    "product": {"name": "New drums for the band", "description": "The old ones are held by tape."},
    "priceBeforeDiscount": None,
    "receivers": [{"sendAmount": 5, "destination": "a"}],
    "amountChoice": {"minimum": 3, "suggested": [5, 10, 20, 50], "maximum": 500},
    "goal": 1000,
}
CODES: dict[str, Any] = {
    "expirationType": "limit",
    "totalUnits": 100,
    "maxQuantity": 3,
    "thanks": "Thank you!\nYou make this shop possible.",
    "keepUrl": "https://t.me/shop_bot?start=r-{requestId}-{transactionId}",
}


async def choice(scene: Scene) -> str:
    path = await _path(scene, **GIVING)
    for number, amount in enumerate(("50", "370")):
        await scene.service.pay(path.rpartition("/")[2], str(number) * 32, amount=amount)
    return path


async def own_amount(scene: Scene) -> str:
    """Open a page that suggests nothing."""
    return await _path(scene, **GIVING | {"amountChoice": {"minimum": 5}, "goal": None})


async def goal_passed(scene: Scene) -> str:
    path = await _path(scene, **GIVING | {"goal": 250})
    await scene.service.pay(path.rpartition("/")[2], amount="260")
    return path


async def quantity(scene: Scene) -> str:
    return await _path(scene, **CODES)


async def code(scene: Scene) -> str:
    path = await _path(scene, **CODES, delivery={"codes": ["AUTUMN-7KQ2-XV9D", "AUTUMN-2"]})
    return await _bought(scene, path, name="Mia Ferreira", message="For the drums!")


async def codes_waiting(scene: Scene) -> str:
    """Buy three where there are two codes."""
    path = await _path(scene, **CODES, delivery={"codes": ["AUTUMN-7KQ2-XV9D", "AUTUMN-2"]})
    return await _bought(scene, path, quantity="3")


async def waiting_for_code(scene: Scene) -> str:
    path = await _path(scene, **CODES, delivery={"codes": ["AUTUMN-7KQ2-XV9D"]})
    await _bought(scene, path)
    return await _bought(scene, path, "w" * 32)


async def text_bought(scene: Scene) -> str:
    text = "Wi-Fi: kiln-guest\nPassword: <b>clay</b> & fire\nhttps://example.org/course"
    return await _bought(scene, await _path(scene, delivery={"text": text}))


async def file_bought(scene: Scene) -> str:
    stored = await scene.service.seller.post(
        "/v3/files",
        params={"name": "Autumn mix – all ten songs.zip"},
        content=b"PK" * 700_000,
        headers={"Content-Type": "application/zip"},
    )
    path = await _path(scene, delivery={"fileId": stored.json()["id"]})
    return await _bought(scene, path)


async def sent(scene: Scene) -> str:
    where = await _bought(scene, await _path(scene, **CODES))
    return await _marked(scene, where, {"sent": {"note": "DHL 00340434161094015902"}})


async def paid_back(scene: Scene) -> str:
    where = await code(scene)
    return await _marked(scene, where, {"paidBack": {"note": "The kiln broke. Sorry!"}})


async def _bought(scene: Scene, path: str, token: str = "b" * 32, **form: str) -> str:
    answer = await scene.service.pay(path.rpartition("/")[2], token, **form)
    assert answer.status_code == 303, answer.text
    return str(answer.headers["location"])


async def _marked(scene: Scene, where: str, marks: dict[str, Any]) -> str:
    _, _, request_id, _, payment_id = where.split("/")
    address = f"/v3/paymentRequests/{request_id}/payments/{payment_id}"
    answer = await scene.service.seller.put(address, json=marks)
    assert answer.status_code == 200, answer.text
    return where


async def rate_limited(scene: Scene) -> str:
    """Open the page more often than `PAYER_RATE` allows; the service needs one."""
    path, anyone = await _path(scene), scene.service.anyone
    while (await anyone.get(path)).status_code != 429:
        anyone.cookies.clear()
    return path


async def privacy(_scene: Scene) -> str:
    return "/privacy"


STATES: dict[str, Callable[[Scene], Awaitable[str]]] = {
    make.__name__: make
    for make in (
        *(
            donation,
            drop,
            exchanged,
            scheduled,
            expired,
            paused,
            taken,
            reserved,
            sold_out,
            deleted,
        ),
        *(unpriced, paid, waiting, lapsed, cancelled, late, oversold),
        *(underpaid, claimed, rate_limited, privacy),
        *(choice, own_amount, goal_passed, quantity),
        *(code, codes_waiting, waiting_for_code, text_bought, file_bought, sent, paid_back),
    )
}
"""What brings about each state; they give the path at which it is seen."""
