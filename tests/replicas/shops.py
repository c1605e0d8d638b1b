"""Sellers whose drops are paid, and the books that have to balance afterwards."""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import dataclass

from tests.replicas.cluster import Cluster
from tests.replicas.payers import Payers
from tests.replicas.proof import Figures
from tests.support.machine_faults import count_alerts
from tests.support.sellers_and_payers import Seller, link_of, seller_with_destination

PAID = "SELECT request_id, id FROM payments"
KNOWN = "SELECT transaction_id FROM received_payments"
UNITS = "SELECT id, paid_count, remaining_units, reserved_units FROM payment_requests"
DEAD = "SELECT COUNT(*) FROM outbox WHERE state = 'dead'"
IDLE_SECONDS = 180.0


@dataclass(frozen=True, slots=True)
class Shop:
    """A seller with a drop of so many units."""

    seller: Seller
    request_id: str
    units: int


async def open_shop(cluster: Cluster, units: int, name: str = "Sam") -> Shop:
    """Make a drop as a seller does, in the chat."""
    seller = await seller_with_destination(cluster.world, name)
    card = await seller.card(f"/drop {units} 5 USD Ticket", "Ticket")
    return Shop(seller, link_of(card).rpartition("/")[2], units)


async def open_shops(cluster: Cluster, number: int, units: int) -> list[Shop]:
    """Make the drops of so many sellers at once."""
    opening = (open_shop(cluster, units, f"Seller {n}") for n in range(number))
    return await asyncio.gather(*opening)


async def balance(
    figures: Figures, cluster: Cluster, payers: Payers, shops: list[Shop], *, cut: bool = False
) -> None:
    """Hold payments, receipts, units and alerts to each other, once nothing waits any more.

    With `cut`, answers of Telegram may have been cut: then a second alert may come that says so.
    """
    figures.hold("messages left in the outbox", await cluster.idle(IDLE_SECONDS) or "none", "none")
    figures.hold("messages set aside", await cluster.value(DEAD), 0)
    paid = await cluster.rows(PAID)
    known = [key for (key,) in await cluster.rows(KNOWN)]
    stored = {key for _, key in paid}
    figures.note("payments stored", len(paid))
    figures.hold("receipts without a payment", len(set(payers.receipts.values()) - stored), 0)
    figures.hold("payments without a receipt", len(stored - set(payers.receipts.values())), 0)
    figures.hold("forms with two receipts", payers.doubled, 0)
    figures.hold("payments that the chat knows", len(set(known) & stored), len(paid))
    figures.hold("payments that the chat has twice", len(known) - len(set(known)), 0)
    await _balance_units(figures, cluster, shops, Counter(request for request, _ in paid))
    _balance_alerts(figures, shops, Counter(request for request, _ in paid), cut=cut)


async def _balance_units(
    figures: Figures, cluster: Cluster, shops: list[Shop], paid: Counter[str]
) -> None:
    rows = {key: units for key, *units in await cluster.rows(UNITS)}
    wrong = sum(
        rows[shop.request_id] != [n := paid[shop.request_id], shop.units - n, 0] for shop in shops
    )
    figures.hold("units still reserved", sum(reserved for _, _, reserved in rows.values()), 0)
    figures.hold("drops whose units don't add up", wrong, 0)


def _balance_alerts(figures: Figures, shops: list[Shop], paid: Counter[str], *, cut: bool) -> None:
    missing = surplus = marked = 0
    for shop in shops:
        certain, repeated = count_alerts(shop.seller)
        missing += max(0, paid[shop.request_id] - certain - repeated)
        surplus += max(0, certain - paid[shop.request_id])
        marked += repeated
    figures.hold("payments without an alert", missing, 0)
    figures.hold("payments alerted twice, not marked", surplus, 0)
    if cut:
        figures.note("alerts marked as possible repetitions", marked)
    else:
        figures.hold("alerts marked as possible repetitions", marked, 0)
