"""The turns of wallets: whoever owns a domain takes no more than a share of them."""

from __future__ import annotations

from collections import Counter

import pytest

from bot.core.database.database import Transaction
from bot.core.outbox import outbox
from bot.core.outbox.queue_policy import Queue
from bot.service.checkouts.opening import OPENINGS, DueOpening
from bot.service.checkouts.polling import POLLS, ROOM, ZONE_ROOM, DuePoll, WalletLane, groups_of
from tests.support.service_harness import ServiceHarness


@pytest.mark.parametrize("queue", [OPENINGS, POLLS], ids=lambda queue: queue.name)
async def test_wallets_of_one_zone_leave_room_for_others(
    service: ServiceHarness, queue: Queue
) -> None:
    """Whoever owns a domain can invent hosts and ports that never answer."""
    body = DuePoll("one") if queue is POLLS else DueOpening("one")
    lanes = [f"w{number}.silent.example:{443 + number}" for number in range(ROOM)]

    def work(tx: Transaction) -> Counter[str]:
        for lane in [*lanes, *lanes, "good.example:443", f"relay.example/{'ab' * 32}"]:
            outbox.put(tx, queue, str(WalletLane(lane)), body, service.clock())
        claimed = outbox.claim(tx, queue, service.clock(), ROOM)
        return Counter(groups_of(message.lane)[-1] for message in claimed)

    found = await service.db.transaction(work)
    assert found == {"silent.example": ZONE_ROOM, "good.example": 1, "relay.example": 1}


@pytest.mark.parametrize("queue", [OPENINGS, POLLS], ids=lambda queue: queue.name)
async def test_domains_below_one_suffix_are_zones_of_their_own(
    service: ServiceHarness, queue: Queue
) -> None:
    """A silent wallet at a domain of `com.br` delays nobody at another one."""
    body = DuePoll("one") if queue is POLLS else DueOpening("one")
    lanes = [f"w{number}.silent.com.br:443" for number in range(ROOM)]

    def work(tx: Transaction) -> Counter[str]:
        for lane in [*lanes, "wallet.honest.com.br:443"]:
            outbox.put(tx, queue, str(WalletLane(lane)), body, service.clock())
        claimed = outbox.claim(tx, queue, service.clock(), ROOM)
        return Counter(groups_of(message.lane)[-1] for message in claimed)

    found = await service.db.transaction(work)
    assert found == {"silent.com.br": ZONE_ROOM, "honest.com.br": 1}


@pytest.mark.parametrize(
    ("wallet", "host", "zone"),
    [
        ("wallet.example.org:443", "wallet.example.org", "example.org"),
        ("wallet.shop.com.br:443", "wallet.shop.com.br", "shop.com.br"),
        ("lnbits:5000", "lnbits", "lnbits"),
        ("192.0.2.7:8443", "192.0.2.7", "192.0.2.7"),
        ("2001:db8::7:443", "2001:db8::7", "2001:db8::7"),
        (f"relay.example.org/{'ab' * 32}", "relay.example.org", "example.org"),
    ],
)
def test_a_lane_has_the_groups_of_its_host_its_wallet_and_its_zone(
    wallet: str, host: str, zone: str
) -> None:
    lane = WalletLane(wallet, "0123456789abcdef", "asked")
    assert WalletLane.parse(str(lane)) == lane
    assert groups_of(str(lane)) == (f"asked {host}", f"wallet {wallet}", zone)
    assert groups_of(str(WalletLane(""))) == ()
