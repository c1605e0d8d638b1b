"""A schedule: drawn whole from its seed, played, and then checked by `fault_invariants`."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from dataclasses import dataclass, field
from random import Random
from typing import Any, ClassVar

from bot.sandbox.world import people
from tests.simulation.faults.fault_proxy import AFTER, BEFORE, Point
from tests.simulation.faults.faulty_product import COMMIT, Conditions, SimulatedProduct
from tests.simulation.faults.seller_and_payer import PRICE, Browser, Draft, Offer, Payer, Seller
from tests.simulation.faults.service_shop import TAKES_PART, Shop
from tests.support.form_questions import question_of

SEVERITIES = (0.05, 0.15, 0.3, 0.45)
STORM_SECONDS = 20.0
"""Seconds of the loop during which things go wrong."""

PATIENT, LOOK_SECONDS = 0.2, 100.0
"""How many schedules wait until the bot has looked for payments that no webhook told, and how long;
the others leap to the webhooks' next attempts."""

SHORT_LEAP, ANY_LEAP = 60_000, 2**62
"""Milliseconds that the clock may leap: while people act, and afterwards."""

MOST_ROUNDS = 20_000
"""Rounds until the product must be idle; beyond, something waits for ever."""

NAMES = ("Ada", "Bo", "Cem", "Dee")
KINDS = ("donation", "donation", "oneoff", "drop", "drop")


FATAL: dict[str, tuple[tuple[str, str, int], ...]] = {
    "bot": (
        ("telegram", "sendMessage", 20),
        ("telegram", "sendMessage", 12),
        ("telegram", "sendPhoto", 4),
        ("telegram", "getUpdates", 8),
        ("telegram", "answerCallbackQuery", 3),
        ("receiver", "webhook", 12),
        ("receiver", "webhook", 6),
        ("receiver", "update", 8),
        ("service", "POST all", 4),
        ("service", "GET one", 2),
    ),
    "service": (
        ("page", "POST", 12),
        ("receiver", "webhook", 12),
        ("service", "POST all", 4),
        ("shop", "POST onecodes", 3),
        ("shop", "PUT onepayments", 5),
        ("hooks", "webhook", 8),
    ),
}
"""Exchanges around whose answers each part may die: link, kind, and the latest of them."""

COMMITS, AT_COMMITS = 120, 0.5
"""The latest commit after which a part may die, and how many of the deaths are of that kind."""


@dataclass(frozen=True, slots=True)
class Crash:
    """A part that dies at this point and stays down for `down` seconds."""

    part: str
    point: Point
    down: float


@dataclass
class Schedule:
    """Everything that will happen, but for the faults, which the proxies draw."""

    kind: ClassVar[type[SimulatedProduct]] = SimulatedProduct

    seed: int
    chance: Random = field(init=False)
    sellers: list[Seller] = field(default_factory=list)
    payers: list[Payer] = field(default_factory=list)
    shop: Shop | None = None

    def __post_init__(self) -> None:
        self.chance = Random(f"{self.seed}/schedule")
        mode = self.chance.choice(["polling", "polling", "webhook"])
        self.conditions = Conditions(self.chance.choice(SEVERITIES), mode)
        if Random(f"{self.seed}/has shop").random() < TAKES_PART:
            self.shop = Shop(self.seed)
        self.patient = self.chance.random() < PATIENT
        self.crashes = [self._crash() for _ in range(self.chance.choice([0, 2, 3, 4, 5]))]

    async def play(self, product: SimulatedProduct) -> None:
        """Play it to its end."""
        self._cast(product)
        for part in product.parts:
            await product.start(part)
        await self._act(product)
        await self._finish_drafts(product)
        if self.shop:
            await self.shop.look(product)

    def reached(self, product: SimulatedProduct) -> dict[str, int]:
        """Count what happened."""
        return dict(product.crashes)

    def _crash(self) -> Crash:
        part = self.chance.choice(["bot", "bot", "service"])
        link, kind, latest = self.chance.choice(FATAL[part])
        number, moment = self.chance.randint(1, latest), self.chance.choice([BEFORE, AFTER])
        if self.chance.random() < AT_COMMITS:
            link, kind, number, moment = part, COMMIT, self.chance.randint(1, COMMITS), AFTER
        return Crash(part, (link, kind, number, moment), self.chance.uniform(0, 8))

    def _cast(self, product: SimulatedProduct) -> None:
        """Draw who sells what and who pays for what."""
        chance = self.chance
        for name in NAMES[: chance.randint(2, 4)]:
            person = people.join(product.world, name, started=True)
            offers = [self._offer(name, n) for n in range(chance.choice([1, 1, 2]))]
            self.sellers.append(Seller(person, offers, self._draft(name)))
        for number in range(chance.randint(8, 20)):
            seller = chance.choice(self.sellers)
            self.payers.append(Payer(number, seller, chance.choice(seller.offers)))

    def _offer(self, name: str, number: int) -> Offer:
        kind = self.chance.choice(KINDS)
        units = self.chance.randint(2, 8) if kind == "drop" else None
        return Offer(f"{name}{number}", kind, units, self.chance.randint(100, 9_999))

    def _draft(self, name: str) -> Draft | None:
        kind = self.chance.choice(KINDS)
        if self.chance.random() < 0.5:
            return None
        return Draft(f"{name} by steps", kind, self.chance.randint(0, 2))

    async def _act(self, product: SimulatedProduct) -> None:
        """Run all acts, and pass time until no work is left."""
        chance, storm = self.chance, STORM_SECONDS
        browser = Browser(Random(f"{self.seed}/browser"))
        acts: list[Coroutine[Any, Any, None]] = [
            *(one.sell(product, Random(f"{self.seed}/{one.person.id}")) for one in self.sellers),
            *(one.pay(product, browser, chance.uniform(0, storm)) for one in self.payers),
            *self._presses(product),
            *(self.shop.acts(product, storm) if self.shop else ()),
        ]
        async with browser.http, asyncio.TaskGroup() as tasks:
            acting = [tasks.create_task(act) for act in acts]

            def watch(point: Point) -> None:
                for crash in self.crashes:
                    if crash.point == point and crash.part in product.lives and not product.calm:
                        product.kill(crash.part)
                        acting.append(tasks.create_task(_revive(product, crash)))

            product.watch(watch)
            await self._pass_time(product, acting)

    def _presses(self, product: SimulatedProduct) -> list[Coroutine[Any, Any, None]]:
        found = []
        for _ in range(self.chance.randint(0, 6)):
            seller = self.chance.choice(self.sellers)
            offer = self.chance.choice(seller.offers)
            word = self.chance.choice(["refresh", "refresh", "stop", "resume"])
            found.append(seller.press(product, offer, word, self.chance.uniform(0, STORM_SECONDS)))
        return found

    async def _pass_time(self, product: SimulatedProduct, acting: list[asyncio.Task[None]]) -> None:
        loop = asyncio.get_running_loop()
        while not self._is_storm_over(loop.time()):
            await product.pass_time(SHORT_LEAP)
        product.stop_faults()
        if self.patient:
            await asyncio.sleep(LOOK_SECONDS)
        for _ in range(MOST_ROUNDS):
            owed = await product.pass_time(ANY_LEAP)
            if not owed and all(task.done() for task in acting):
                return
        raise AssertionError(f"something waits for ever: {product.owed}")

    def _is_storm_over(self, at: float) -> bool:
        return at >= STORM_SECONDS

    async def _finish_drafts(self, product: SimulatedProduct) -> None:
        for seller in self.sellers:
            if seller.draft:
                await finish(product, seller, seller.draft)
        for _ in range(MOST_ROUNDS):
            if not await product.pass_time(ANY_LEAP):
                return


async def _revive(product: SimulatedProduct, crash: Crash) -> None:
    await asyncio.sleep(crash.down)
    await product.start(crash.part)


async def finish(product: SimulatedProduct, seller: Seller, draft: Draft) -> None:
    """Complete a form where it was left: its answers are kept, and it makes its request."""
    product.note(f"{seller.person.user.first_name} goes on with the form")
    for answer in (draft.name, PRICE)[draft.answered :]:
        seller.person.send(answer)
    if draft.kind == "drop":
        seller.person.send("5")
    review = await seller.heard(question_of("review"))
    kind = {"donation": "Donation", "oneoff": "One-off", "drop": "Limited drop"}[draft.kind]
    told = {f"Name: {draft.name}", f"Type: {kind}", "Amount: $7.50"}
    missing = told - set(review.text.splitlines())
    assert not missing, f"the form of {seller.person.user.first_name} lost {missing}"
    seller.person.press(review, "✅ Create")
    await seller.card(Offer(draft.name, draft.kind, None, 750))
