"""A shop in the chat: its keeper sets up, sends codes and marks payments by buttons and words.

It sells what the shop of `service_shop` sells; some of its buyers keep their receipt in Telegram.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from functools import partial
from random import Random
from typing import TYPE_CHECKING

from bot.chat.model.payment import PaymentKey
from bot.sandbox.world import people
from bot.sandbox.world.people import Person
from tests.simulation.faults import alert_reading
from tests.simulation.faults.faulty_product import SimulatedProduct
from tests.simulation.faults.seller_and_payer import PATIENCE, Offer, Seller
from tests.simulation.faults.service_shop import MAX_QUANTITY, Customer, Shop

if TYPE_CHECKING:
    from bot.sandbox.world.model import Message


VOUCHER, BOX = "Voucher", "Box"
OF_SERVICE = {"claimed", "underpaid"}
"""The scenarios of which the chat hears nothing where money is test money."""

KEEPS = 0.4
"""How many buyers keep their receipt in Telegram."""

LISTED = (
    "SELECT listings.id, request_id, max_quantity, delivery FROM listings LEFT JOIN"
    " payment_requests ON payment_requests.id = request_id WHERE wish LIKE :name"
)
JOBS = "SELECT 1 FROM outbox WHERE queue IN ('jobs', 'updates') AND state IN ('waiting', 'leased')"
CODES = ":goods:codes"
RECORDED = (
    "SELECT listing_id, received_at FROM received_payments WHERE transaction_id = :transaction"
)


@dataclass
class ChosenOffer(Offer):
    """An offer of amounts to choose from."""

    @property
    def line(self) -> str:
        units = f"{self.units} " if self.units else ""
        return f"/{self.kind} {units}3-40 5/10 USD {self.name}"


@dataclass
class ChatShop(Shop):
    """The shop; `kept` are the buyers in Telegram by the transaction that they keep.

    `sent` and `hidden` are the transactions that were marked so, `opened_at` is in seconds of the
    loop.
    """

    keeper: Seller = field(init=False)
    kept: dict[str, Person] = field(default_factory=dict)
    sent: set[str] = field(default_factory=set)
    hidden: set[str] = field(default_factory=set)
    opened_at: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if len(self.codes) == 1:  # one line is a message, not a list of codes
            self.codes.append("CODE-001")
        for one in self.customers:
            one.scenario = "atOnce" if one.scenario in OF_SERVICE else one.scenario

    def cast(self, product: SimulatedProduct) -> Seller:
        """Return the keeper, with the two offers."""
        drop = ChosenOffer(VOUCHER, "drop", self.units, 500)
        box = ChosenOffer(BOX, "donation", None, 500)
        self.keeper = Seller(people.join(product.world, "Ada", started=True), [drop, box])
        return self.keeper

    async def _open(self, product: SimulatedProduct) -> None:
        """Say in the chat how many a buyer may take, and which codes they get.

        An edit that didn't reach the service has to be made again: the bot says so.
        """
        drop, _ = await self._card(0), await self._card(1)
        while not await self._settled(product, "max_quantity", MAX_QUANTITY):
            self._edit(product, drop, "perbuyer", str(MAX_QUANTITY))
        while not await self._settled(product, "delivery", "codes"):
            seen = max(self.keeper.person.chat.messages)
            self._edit(product, drop, "goods", "\n".join(self.codes))
            asked = await self.keeper.person.world.wait_for(partial(self._asked, seen), PATIENCE)
            assert asked is not None
            data = next(one for one in _data(asked) if one.endswith(CODES))
            self.keeper.person.press(asked, data)
        product.note("the shop is open")
        self.drop, self.donation = (
            str(self._listed(product, name)["request_id"]) for name in (VOUCHER, BOX)
        )
        self.opened_at = asyncio.get_running_loop().time()
        self._made.set()

    def _edit(self, product: SimulatedProduct, card: Message, field: str, answer: str) -> None:
        product.note(f"the shop sets {field}")
        self.keeper.person.press_old(card, f"edit:{self._listed(product, VOUCHER)['id']}:{field}")
        self.keeper.person.send(answer)

    def _asked(self, after: int) -> Message | None:
        """Return the question whether lines are codes, of the messages above an id."""
        said = (one for one in self.keeper.person.chat.from_bot() if one.id > after)
        return next((one for one in said if any(d.endswith(CODES) for d in _data(one))), None)

    async def _settled(self, product: SimulatedProduct, column: str, value: object) -> bool:
        """Return whether the service has this, once no job of the chat is left."""
        await asyncio.sleep(1)
        while product.rows("bot", JOBS):  # noqa: ASYNC110 - the database rings no bell
            await asyncio.sleep(1)
        return bool(self._listed(product, VOUCHER)[column] == value)

    async def _card(self, number: int) -> Message:
        return await self.keeper.card(self.keeper.offers[number])

    def _listed(self, product: SimulatedProduct, name: str) -> dict[str, object]:
        (row,) = product.rows("bot", LISTED, name=f'%"{name}"%')
        return row

    async def _add_codes(self, product: SimulatedProduct, after: float) -> None:
        """Send new codes beside a known one, and all of them once more."""
        await self._made.wait()
        await asyncio.sleep(after)
        count = self.chance.randint(1, 4)
        self.added += count
        new = [f"LATER-{self.added - number:03d}" for number in range(count)]
        self.codes += new
        card, link = await self._card(0), self._listed(product, VOUCHER)["id"]
        for _ in range(self.chance.randint(1, 2)):
            product.note(f"the shop sends {new}")
            self.keeper.person.press_old(card, f"codes:{link}")
            self.keeper.person.send("\n".join([self.codes[0], *new]))

    async def _took(
        self, product: SimulatedProduct, one: Customer, request_id: str, chance: Random
    ) -> None:
        """Keep the receipt in Telegram, and let the keeper mark the payment."""
        transaction = one.receipt or ""
        if chance.random() < KEEPS:
            buyer = self.kept[transaction] = people.join(product.world, f"Buyer {one.number}")
            buyer.start(f"r-{request_id}-{transaction}")
        alert = await self.keeper.person.world.wait_for(lambda: self._alert(one), PATIENCE)
        assert alert is not None
        await asyncio.sleep(chance.uniform(0, 4))
        (row,) = product.rows("bot", RECORDED, transaction=transaction)
        key = PaymentKey.of(row["listing_id"], row["received_at"], transaction)
        product.note(f"the shop marks {one.address}")
        self._mark(alert, one, ":".join(key.words), chance)

    def _mark(self, alert: Message, one: Customer, key: str, chance: Random) -> None:
        """Mark a payment; some change their mind, and some change it again."""
        transaction = one.receipt or ""
        for mark, marked, often in (
            ("hide", self.hidden, 0.5 if one.words else 0),
            ("sent", self.sent, 0.4),
            ("paid-back", self.paid_back, 0.3),
        ):
            if chance.random() >= often:
                continue
            words = (mark, f"{mark}-undo", mark)[: chance.choice([1, 1, 2, 3])]
            for word in words:
                self.keeper.person.press_old(alert, f"{word}:{key}")
            if words[-1] == mark:
                marked.add(transaction)
                if mark == "sent" and chance.random() < 0.5:
                    self.keeper.person.send(f"RR-{transaction[:6]}")

    def _alert(self, one: Customer) -> Message | None:
        chat = self.keeper.person.chat
        told = alert_reading.tellings(chat)
        found = next((telling for telling in told if one.address in telling.payers), None)
        return None if found is None else chat.messages[found.message_id]


def _data(message: Message) -> list[str]:
    return [one["callback_data"] for one in message.buttons if "callback_data" in one]
