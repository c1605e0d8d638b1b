"""A schedule of the whole product in one process, whose only seller keeps a shop in the chat."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import ClassVar

from tests.simulation.faults.alert_reading import tellings
from tests.simulation.faults.chat_shop import ChatShop
from tests.simulation.faults.fault_proxy import AFTER, BEFORE
from tests.simulation.faults.fault_schedule import (
    AT_COMMITS,
    COMMITS,
    STORM_SECONDS,
    Crash,
    Schedule,
)
from tests.simulation.faults.faulty_product import COMMIT, SimulatedProduct
from tests.simulation.faults.whole_product import WholeProduct
from tests.simulation.reached import bought

REFUSALS = {400, 409}
"""An amount or a number of units that is not offered, and units that are not left."""

FATAL = (
    ("telegram", "sendMessage", 20),
    ("telegram", "sendMessage", 8),
    ("telegram", "editMessageText", 4),
    ("service", "webhook", 8),
    ("service", "webhook", 4),
    ("service", "POST all", 2),
    ("service", "POST onecodes", 3),
    ("service", "PUT onepayments", 5),
    ("page", "POST", 10),
)
"""Exchanges around whose answers the product may die, most of them between payment and alert."""


@dataclass
class WholeSchedule(Schedule):
    """The schedule; things go wrong while its shop opens in the chat, and after it."""

    kind: ClassVar[type[SimulatedProduct]] = WholeProduct

    def __post_init__(self) -> None:
        super().__post_init__()
        self.chat_shop = self.shop = ChatShop(self.seed)

    def reached(self, product: SimulatedProduct) -> dict[str, int]:
        """Count what happened: what was bought and refused, what was marked, and the faults."""
        shop, chat = self.chat_shop, self.sellers[0].person.chat
        lost = [one for one in product.service_link.exchanges if one.doubtful]
        return bought(partial(product.rows, "bot")) | {
            "killed": product.crashes["bot"],
            "a webhook without an answer": sum(one.kind == "webhook" for one in lost),
            "codes without an answer": sum(one.kind == "POST onecodes" for one in lost),
            "a mark without an answer": sum(one.kind == "PUT onepayments" for one in lost),
            "an alert marked as repeated": sum(one.marked for one in tellings(chat)),
            "refused": sum(one.status in REFUSALS for one in shop.customers),
            "a receipt kept in Telegram": len(shop.kept),
        }

    def _is_storm_over(self, at: float) -> bool:
        opened_at = self.chat_shop.opened_at
        return opened_at is not None and at >= opened_at + STORM_SECONDS

    def _crash(self) -> Crash:
        link, kind, latest = self.chance.choice(FATAL)
        number, moment = self.chance.randint(1, latest), self.chance.choice([BEFORE, AFTER])
        if self.chance.random() < AT_COMMITS:
            link, kind, number, moment = "bot", COMMIT, self.chance.randint(1, 2 * COMMITS), AFTER
        return Crash("bot", (link, kind, number, moment), self.chance.uniform(0, 8))

    def _cast(self, product: SimulatedProduct) -> None:
        self.sellers.append(self.chat_shop.cast(product))
