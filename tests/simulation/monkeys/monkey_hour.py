"""The hour: its people, their acts, and the end of each open form."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from random import Random

from bot.sandbox.world import people
from bot.sandbox.world.errors import ApiError, WorldError
from tests.simulation.monkeys.monkey_payers import Payers
from tests.simulation.monkeys.monkey_product import SimulatedProduct
from tests.simulation.monkeys.monkey_sellers import LANGUAGES, Seller
from tests.simulation.monkeys.typed_words import Mark

SECONDS = 3600.0
SELLERS, SHOPS, GROUPS = 100, 4, 8

STAYS, HURRIES = 0.75, 0.6
"""How often the next act is the same seller's, and how often it comes within half a second."""

PAYING, RUSHING = 0.12, 0.01
"""How many of the acts are payers', and how many are many payers at once."""

SHOPPING = 0.45
"""How often the next seller is one of the shops."""

MOST_ROUNDS = 8
"""Presses and texts after which a form that can be left has been left."""


@dataclass
class Hour:
    """So many acts of a hundred sellers, drawn from a seed; `stuck` are forms that nobody left."""

    seed: int
    acts: int
    sellers: list[Seller] = field(default_factory=list)
    stuck: list[str] = field(default_factory=list)

    async def play(self, product: SimulatedProduct) -> None:
        """Play the hour, then leave every open form."""
        chance = Random(f"{self.seed}/hour")
        self._cast(product, chance)
        marks = {seller.id: seller.mark for seller in self.sellers}
        payers = Payers(product, Random(f"{self.seed}/payers"), marks)
        async with payers.http:
            await self._pass(product, payers, chance)
            for seller in self.sellers:
                seller.person.unblock()
            await product.rest()
        for number, seller in enumerate(self.sellers):
            await self._leave(product, seller, by_button=number % 2 == 0)

    def _cast(self, product: SimulatedProduct, chance: Random) -> None:
        for number in range(SELLERS):
            language = chance.choice(LANGUAGES)
            started = chance.random() < 0.9
            person = people.join(
                product.world, f"S{number}", language_code=language, started=started
            )
            own = Random(f"{self.seed}/seller {number}")
            self.sellers.append(Seller(person, Mark(number), product, own, self.sellers))
            self.sellers[-1].is_shop = number < SHOPS
        for number in range(GROUPS):
            first, *others = chance.sample(self.sellers, 4)
            title = f"Group {number}"
            group = first.person.new_group(title, *(one.person for one in others))
            for member in (first, *others):
                member.groups.append(group)

    async def _pass(self, product: SimulatedProduct, payers: Payers, chance: Random) -> None:
        """Perform one act after the other, in bursts, over the hour."""
        slow = SECONDS / self.acts / (1 - HURRIES)
        busy = [1 / (number + 5) for number in range(SELLERS)]  # some sell much, many little
        seller = self.sellers[0]
        for _ in range(self.acts):
            hurries = chance.random() < HURRIES and not seller.keen
            await asyncio.sleep(chance.uniform(0, 0.5) if hurries else chance.expovariate(1 / slow))
            if chance.random() > STAYS and not seller.keen:
                (seller,) = chance.choices(self.sellers, busy)
                if chance.random() < SHOPPING:
                    seller = chance.choice(self.sellers[:SHOPS])
            try:
                done = self._act(seller, payers, chance)
            except (WorldError, LookupError, ApiError) as error:
                done = f"can't: {error}"  # their client would not let them
            product.note(f"{seller.mark.public} {done}")

    def _act(self, seller: Seller, payers: Payers, chance: Random) -> str:
        drawn = chance.random()
        if drawn < RUSHING:
            return payers.rush()
        return payers.pay() if drawn < PAYING else seller.act()

    async def _leave(self, product: SimulatedProduct, seller: Seller, *, by_button: bool) -> None:
        """Cancel every form that the seller has open, by its button or by /cancel."""
        for _ in range(MOST_ROUNDS):
            draft = seller.draft
            if draft is None:
                return
            cancel = f"draft:{draft['id']}:cancel"
            if not by_button:
                product.note(f"{seller.mark.public} types /cancel")
                seller.person.send("/cancel")
            elif cancel in seller.offered:
                product.note(f"{seller.mark.public} presses {cancel}")
                seller.person.press(seller.having(cancel), cancel)
            else:
                product.note(f"{seller.mark.public} asks where they are")
                seller.person.send("?")
            await product.rest()
        if seller.draft is not None:
            self.stuck.append(f"{seller.mark.public} can't leave {seller.draft}")
