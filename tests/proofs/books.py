"""Sellers with drops, payers who repeat what failed, and the books that have to balance."""

from __future__ import annotations

import asyncio
import itertools
import random
import re
import resource
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from tests.proofs import clusters, proof
from tests.support.machine_faults import count_alerts
from tests.support.raw_payers import Answer, posted
from tests.support.sellers_and_payers import Seller, link_of, seller_with_destination

PAID, REFUSED, UNAVAILABLE = 303, 409, 503
PATIENCE = 40.0
"""Longer than any answer of the product may take."""

AGAIN_SECONDS = 0.3
"""The mean of seconds after which a form is posted again."""

AGAIN = {502, UNAVAILABLE}
"""What a proxy answers for a replica that died, and the product while it can't store."""

RETRY_AFTER = re.compile(r"^retry-after: *\d+\r?$", re.IGNORECASE | re.MULTILINE)
FILES = 16_384
STORED = "SELECT request_id, id FROM payments"
KNOWN = "SELECT transaction_id FROM received_payments"
UNITS = "SELECT id, paid_count, remaining_units, reserved_units FROM payment_requests"
DEAD = "SELECT COUNT(*) FROM outbox WHERE state = 'dead'"
IDLE_SECONDS = 180.0


@dataclass(slots=True)
class Payers:
    """Everybody who pays at these addresses in turn, and posts a form again if no answer came.

    Each payment is a bare connection, so that a crowd costs less than the replicas.
    """

    addresses: Sequence[str]
    seed: int = 18
    receipts: dict[str, str] = field(default_factory=dict)
    """The receipt of each form that was paid."""

    outcomes: dict[str, int] = field(default_factory=dict)
    """The last status of each form."""

    statuses: Counter[str] = field(default_factory=Counter)
    """All answers, and the names of errors if none came."""

    doubled: int = 0
    """Forms that got two receipts."""

    longest: float = 0.0
    _turns: Iterator[str] = field(init=False)
    _dice: random.Random = field(init=False)

    def __post_init__(self) -> None:
        self._turns = itertools.cycle(self.addresses)
        self._dice = random.Random(self.seed)

    @property
    def paid(self) -> int:
        return sum(outcome == PAID for outcome in self.outcomes.values())

    @property
    def refused(self) -> int:
        return sum(outcome == REFUSED for outcome in self.outcomes.values())

    def unexpected(self, *but: str) -> str:
        """Name the answers that no payer may get: all but paid, refused, a 503 that says when."""
        fine = {f"{PAID}", f"{REFUSED}", f"{UNAVAILABLE}", *but}
        found = {name: n for name, n in self.statuses.items() if name not in fine}
        return ", ".join(f"{n} x {name}" for name, n in sorted(found.items())) or "none"

    async def pay(self, request_id: str, number: int) -> int:
        """Post the form of payer `number` until the page decides; return the status."""
        token = f"{request_id[:8]}-{number:018d}"
        while (status := await self._post(request_id, token)) not in {PAID, REFUSED}:
            if status and status not in AGAIN:
                break
            await asyncio.sleep(self._dice.uniform(0.5, 1.5) * AGAIN_SECONDS)
        self.outcomes[token] = status
        return status

    async def _post(self, request_id: str, token: str) -> int:
        loop = asyncio.get_running_loop()
        began = loop.time()
        try:
            async with asyncio.timeout(PATIENCE):
                answer = await posted(next(self._turns), request_id, token)
        except (OSError, TimeoutError, ValueError) as error:
            self.statuses[type(error).__name__] += 1
            return 0
        finally:
            self.longest = max(self.longest, loop.time() - began)
        self._note(token, answer)
        return answer.status

    def _note(self, token: str, answer: Answer) -> None:
        is_bare = answer.status == UNAVAILABLE and not RETRY_AFTER.search(answer.text)
        self.statuses[f"{answer.status}{' without Retry-After' if is_bare else ''}"] += 1
        if answer.status == PAID:
            receipt = answer.location.rpartition("/")[2]
            self.doubled += self.receipts.setdefault(token, receipt) != receipt

    async def pay_steadily(
        self, request_ids: Sequence[str], number: int, seconds: float, first: int = 0
    ) -> None:
        """Begin so many payments at an even pace, whether those before have been answered."""
        loop = asyncio.get_running_loop()
        due = loop.time()
        async with asyncio.TaskGroup() as payers:
            for n in range(first, first + number):
                payers.create_task(self.pay(request_ids[n % len(request_ids)], n))
                due += seconds / number
                await asyncio.sleep(max(0.0, due - loop.time()))


def open_files() -> None:
    """Allow this process a connection for each payer."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = FILES if hard == resource.RLIM_INFINITY else min(FILES, hard)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))


@dataclass(frozen=True, slots=True)
class Shop:
    """A seller with a drop of so many units."""

    seller: Seller
    request_id: str
    units: int


async def open_shop(cluster: clusters.Cluster, units: int, name: str = "Sam") -> Shop:
    """Make a drop as a seller does, in the chat."""
    seller = await seller_with_destination(cluster.world, name)
    card = await seller.card(f"/drop {units} 5 USD Ticket", "Ticket")
    return Shop(seller, link_of(card).rpartition("/")[2], units)


async def open_shops(cluster: clusters.Cluster, number: int, units: int) -> list[Shop]:
    """Make the drops of so many sellers at once."""
    opening = (open_shop(cluster, units, f"Seller {n}") for n in range(number))
    return await asyncio.gather(*opening)


async def balance(
    figures: proof.Figures,
    cluster: clusters.Cluster,
    payers: Payers,
    shops: list[Shop],
    *,
    cut: bool = False,
) -> None:
    """Hold payments, receipts, units and alerts to each other, once nothing waits any more.

    With `cut`, answers of Telegram may have been cut: then a second alert may come that says so.
    """
    figures.hold("messages left in the outbox", await cluster.idle(IDLE_SECONDS) or "none", "none")
    figures.hold("messages set aside", await cluster.value(DEAD), 0)
    paid = await cluster.rows(STORED)
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
    figures: proof.Figures, cluster: clusters.Cluster, shops: list[Shop], paid: Counter[str]
) -> None:
    rows = {key: units for key, *units in await cluster.rows(UNITS)}
    wrong = sum(
        rows[shop.request_id] != [n := paid[shop.request_id], shop.units - n, 0] for shop in shops
    )
    figures.hold("units still reserved", sum(reserved for _, _, reserved in rows.values()), 0)
    figures.hold("drops whose units don't add up", wrong, 0)


def _balance_alerts(
    figures: proof.Figures, shops: list[Shop], paid: Counter[str], *, cut: bool
) -> None:
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
