"""Payments by somebody's word: claimed by the payer, confirmed or rejected by the seller."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from functools import partial
from typing import Any

import pytest

from bot.core.database.database import Transaction
from bot.core.errors import NotFound, NotPayable
from bot.interface.vocabulary import BANK, LIGHTNING
from bot.service.checkouts import checkout_rows, claiming, inventory
from bot.service.checkouts.checkout import EARNED_FOR, UNKNOWN_HOLDER, Checkout, Claim, Holder
from bot.service.rails.rail import Arrived, SandboxScenario
from tests.support.checkout_steps import begin, found, hear, open_due, units
from tests.support.real_rails import CLAIMS, EUROS, RESERVATION, ScriptedRail, open_annas_service
from tests.support.service_harness import NOON, ServiceHarness, open_service

ONE: dict[str, Any] = EUROS | {"expirationType": "limit", "totalUnits": 1}
TWO: dict[str, Any] = ONE | {"totalUnits": 2}
SEPA = "bank:sepa"


@pytest.fixture
def wallet() -> ScriptedRail:
    return ScriptedRail()


@pytest.fixture
async def service(database_url: str, wallet: ScriptedRail) -> AsyncIterator[ServiceHarness]:
    async with open_annas_service(database_url, wallet, BANK, LIGHTNING, holds=5) as it:
        yield it


async def pay(
    service: ServiceHarness, request_id: str, way: str = SEPA, number: int = 0, **how: Any
) -> Checkout:
    checkout_id = await begin(service, request_id, way, token=f"{number:032d}", **how)
    await open_due(service)
    return await found(service, checkout_id)


async def claim(service: ServiceHarness, it: Checkout, holder: Holder = UNKNOWN_HOLDER) -> Checkout:
    now = service.clock()
    return await service.db.transaction(
        lambda tx: claiming.claim(tx, service.context, it.request_id, it.id, now, holder)
    )


async def cancel(service: ServiceHarness, it: Checkout) -> Checkout:
    await service.db.transaction(
        lambda tx: claiming.cancel(tx, it.request_id, it.id, service.clock())
    )
    return await found(service, it.id)


async def confirm(service: ServiceHarness, it: Checkout) -> Checkout:
    app = service.credentials.app_id
    return await service.db.transaction(
        lambda tx: claiming.confirm(tx, app, it.id, service.clock())
    )


async def reject(service: ServiceHarness, it: Checkout) -> Checkout:
    app = service.credentials.app_id
    return await service.db.transaction(lambda tx: claiming.reject(tx, app, it.id, service.clock()))


async def opened(service: ServiceHarness, request_id: str) -> Checkout:
    return await pay(service, request_id)


async def automatic(service: ServiceHarness, request_id: str) -> Checkout:
    return await pay(service, request_id, LIGHTNING)


async def claimed(service: ServiceHarness, request_id: str) -> Checkout:
    return await claim(service, await opened(service, request_id))


async def lapsed(service: ServiceHarness, request_id: str) -> Checkout:
    it = await opened(service, request_id)
    service.clock.advance(RESERVATION)
    return it


async def test_a_claimed_unit_is_held_for_the_seller_and_then_lapses(
    service: ServiceHarness,
) -> None:
    made = await service.create(**TWO)
    it = await claimed(service, made["id"])
    assert (it.claimed_at, it.lapses_at) == (NOON, NOON + CLAIMS * 1000)
    service.clock.advance(CLAIMS - 1)
    assert (await service.get(made["id"]))["remainingUnits"] == 1
    service.clock.advance(1)
    assert (await service.get(made["id"]))["remainingUnits"] == 2
    assert (await confirm(service, it)).stored_state.value == "late"
    assert await units(service) == (1, 0, 1, 0)


async def test_units_of_a_claim_are_taken_back_once_and_never_after_it_was_paid(
    service: ServiceHarness,
) -> None:
    """The statement itself guards both, whatever was read before."""
    made = await service.create(**TWO)
    paid, other = [await claim(service, await pay(service, made["id"], number=n)) for n in (1, 2)]

    def find(tx: Transaction) -> list[Claim]:
        return [Claim(**row) for row in tx.query(inventory.CLAIMS, id=made["id"])]

    claims = await service.db.transaction(find)
    assert {each.id for each in claims} == {paid.id, other.id}
    await confirm(service, paid)
    for is_taken in (True, False):
        taken = await service.db.transaction(lambda tx: inventory.take_back(tx, made["id"], claims))
        assert (taken, await units(service)) == (is_taken, (1, 0, 1, 0))


async def test_money_takes_the_unit_of_a_claim_and_leaves_other_links_alone(
    service: ServiceHarness,
) -> None:
    """A statement about one link neither reads nor changes another, made before it."""
    for fields in (EUROS, TWO):
        await claimed(service, (await service.create(**fields))["id"])
    tables = ("payment_requests", "checkouts")
    before = [await service.rows(table) for table in tables]
    made = await service.create(**ONE)
    early = await lapsed(service, made["id"])
    claim_of_it = await claim(service, await pay(service, made["id"], number=1))
    assert claim_of_it.is_held
    assert (await confirm(service, early)).stored_state.value == "late"
    assert not (await found(service, claim_of_it.id)).is_held
    assert (await reject(service, claim_of_it)).stored_state.value == "rejected"
    after = [await service.rows(table) for table in tables]
    (own,) = (row for row in after[0] if row["id"] == made["id"])
    assert (own["remaining_units"], own["reserved_units"], own["paid_count"]) == (0, 0, 1)
    for rows, now in zip(before, after, strict=True):
        assert rows == [row for row in now if row["id"] in {each["id"] for each in rows}]


async def test_who_pays_a_claim_without_a_unit_counts_as_a_payer_too(
    service: ServiceHarness,
) -> None:
    """For an hour they may hold more."""
    made = await service.create(**ONE)
    it = await lapsed(service, made["id"])
    assert not (await claim(service, it, Holder("home", "ann", "home"))).is_held
    await confirm(service, it)
    (row,) = await service.rows("checkouts")
    known = ("home", "home", service.clock() + EARNED_FOR)
    assert (row["network"], row["site"], row["counted_until"]) == known


async def test_a_lapsed_claim_can_be_made_again_while_a_unit_is_free(
    service: ServiceHarness,
) -> None:
    made = await service.create(**ONE)
    it = await lapsed(service, made["id"])
    other = await pay(service, made["id"], LIGHTNING, number=1)
    with pytest.raises(NotPayable) as refused:
        await claim(service, it)
    assert refused.value.state == "reserved"
    await cancel(service, other)
    again = await claim(service, it)
    assert (again.ends_at, again.is_held) == (service.clock() + CLAIMS * 1000, False)
    assert await units(service) == (1, 0, 0, 0)


async def test_a_claim_of_a_deleted_link_gets_no_unit(service: ServiceHarness) -> None:
    made = await service.create(**ONE)
    it = await lapsed(service, made["id"])
    await service.seller.delete(f"/v3/paymentRequests/{made['id']}")
    with pytest.raises(NotFound):
        await claim(service, it)


async def test_nobody_elses_checkout_is_claimed_cancelled_or_confirmed(
    service: ServiceHarness,
) -> None:
    made, other = await service.create(**ONE), await service.create(**ONE)
    it = await opened(service, made["id"])
    now = service.clock()
    with pytest.raises(NotFound):
        await service.db.transaction(
            lambda tx: claiming.claim(tx, service.context, other["id"], it.id, now)
        )
    assert not await service.db.transaction(lambda tx: claiming.cancel(tx, other["id"], it.id, now))
    for act in (claiming.confirm, claiming.reject):
        for app, checkout in (("another", it.id), (service.credentials.app_id, "0" * 24)):
            with pytest.raises(NotFound):
                await service.db.transaction(
                    partial(act, app_id=app, checkout_id=checkout, now=now)
                )
    assert (await found(service, it.id)).stored_state.value == "open"


async def test_a_notice_after_a_confirmation_is_the_same_payment(
    service: ServiceHarness, wallet: ScriptedRail
) -> None:
    """And a confirmation after the notice too."""
    for first in ("seller", "wallet"):
        made = await service.create(**ONE)
        it = await automatic(service, made["id"])
        service.clock.advance(5)
        if first == "seller":
            await confirm(service, it)
        wallet.polls = [Arrived()]
        assert await hear(service) == 1
        await confirm(service, it)
        rows = await service.db.query(
            "SELECT external_id, state FROM payments WHERE request_id = :id", id=made["id"]
        )
        assert [tuple(row.values()) for row in rows] == [(it.external_id, "paid")]
        wallet.polls.clear()


async def test_each_claim_has_a_reference_of_its_own(service: ServiceHarness) -> None:
    made = await service.create(**EUROS)
    references = [(await pay(service, made["id"], number=number)).reference for number in range(9)]
    assert len({*references}) == 9
    assert None not in references
    assert (await pay(service, made["id"], LIGHTNING, number=9)).reference is None


async def test_fifty_claimers_hold_half_of_a_drop_and_wallets_sell_the_rest(
    service: ServiceHarness, wallet: ScriptedRail
) -> None:
    """From fifty addresses; those beyond claim without a hold, and all is back after the time."""
    made = await service.create(**EUROS, expirationType="limit", totalUnits=20)
    holders = [Holder(f"network {number}", f"payer {number}") for number in range(50)]
    held = []
    for number, holder in enumerate(holders[:20]):
        it = await pay(service, made["id"], number=number, holder=holder)
        held.append(await claim(service, it, holder))
    assert [it.is_promised for it in held] == [True] * 10 + [False] * 10
    assert await units(service) == (0, 20, 0, 0)
    with pytest.raises(NotPayable):
        await pay(service, made["id"], number=20, holder=holders[20])
    service.clock.advance(RESERVATION)
    for number, holder in enumerate(holders[20:30], 20):
        await pay(service, made["id"], LIGHTNING, number, holder=holder)
    assert await units(service) == (0, 20, 0, 0)
    wallet.polls = [Arrived()] * 10
    service.clock.advance(5)
    assert await hear(service) == 10
    assert await units(service) == (0, 10, 10, 0)
    await reject(service, held[0])
    assert await units(service) == (1, 9, 10, 0)
    assert (await confirm(service, held[19])).stored_state.value == "paid"
    assert (await confirm(service, held[18])).stored_state.value == "oversold"
    service.clock.at = NOON + CLAIMS * 1000
    assert (await service.get(made["id"]))["remainingUnits"] == 9
    await service.db.transaction(lambda tx: inventory.close_lapsed(tx, service.clock(), 9))
    assert await units(service) == (9, 0, 11, 1)


@pytest.mark.parametrize(("begin_as", "state"), [(claimed, "paid"), (lapsed, "late")])
async def test_money_that_came_takes_the_unit_of_a_claim(
    service: ServiceHarness, begin_as: Callable[..., Awaitable[Checkout]], state: str
) -> None:
    """Whether its own checkout was claimed or not, and has no unit any more."""
    made = await service.create(**ONE)
    honest = await begin_as(service, made["id"])
    service.clock.advance(RESERVATION)
    await claim(service, await pay(service, made["id"], number=1))
    assert await units(service) == (0, 1, 0, 0)
    assert (await confirm(service, honest)).stored_state.value == state
    assert await units(service) == (0, 0, 1, 0)


@pytest.mark.parametrize(
    ("fields", "most"),
    [
        ({"expirationType": "limit", "totalUnits": 1}, 0),
        ({"expirationType": "limit", "totalUnits": 3}, 1),
        ({"expirationType": "limit", "totalUnits": 5}, 2),
        ({"expirationType": "onPaymentCompleted"}, 0),
        ({"expirationType": "never"}, 8),
    ],
)
async def test_claims_are_promised_half_of_a_drop_and_a_one_off_to_nobody(
    service: ServiceHarness, fields: dict[str, Any], most: int
) -> None:
    """Whatever waits for money only has the ordinary time, and counts as no claim."""
    made = await service.create(**EUROS, **fields)
    available = 1 if fields["expirationType"] == "onPaymentCompleted" else 8
    available = fields.get("totalUnits", available)
    opened = [await pay(service, made["id"], number=number) for number in range(available)]
    claims = [await claim(service, it, Holder(f"n{it.id}")) for it in opened]
    assert [it.is_promised for it in claims].count(True) == most
    assert all(it.is_held for it in claims)


async def test_units_that_the_seller_took_out_count_no_more(service: ServiceHarness) -> None:
    made = await service.create(**EUROS, expirationType="limit", totalUnits=10)
    await service.edit(made["id"], {"decreaseRemainingUnits": 8})
    first, second = [await pay(service, made["id"], number=number) for number in range(2)]
    assert (await claim(service, first)).is_promised
    assert not (await claim(service, second)).is_promised


async def test_what_a_claim_yields_is_taken_out_by_its_seller_too(service: ServiceHarness) -> None:
    """The answer of a request whose units are all held counts what would yield as remaining."""
    made = await service.create(**EUROS, expirationType="limit", totalUnits=8)
    venue = Holder("venue", "ann")
    for number in range(2):
        it = await pay(service, made["id"], number=number)
        await claim(service, it, venue)
    for number in range(2, 8):
        await pay(service, made["id"], LIGHTNING, number, holder=Holder(f"home {number}"))
    found = await service.get(made["id"])
    assert (found["remainingUnits"], found["reservedUnits"]) == (1, 7)
    assert await units(service) == (0, 8, 0, 0)
    edited = await service.edit(made["id"], {"decreaseRemainingUnits": 1})
    assert (edited.status_code, edited.json()["remainingUnits"]) == (200, 0)
    assert await units(service) == (0, 7, 0, 0)


async def test_a_lapsed_checkout_is_claimed_without_units_where_too_many_are_held(
    service: ServiceHarness,
) -> None:
    made = await service.create(**EUROS, expirationType="limit", totalUnits=3)
    it = await lapsed(service, made["id"])
    await claim(service, await pay(service, made["id"], number=1))
    assert not (await claim(service, it)).is_held
    assert await units(service) == (2, 1, 0, 0)
    assert (await reject(service, it)).stored_state.value == "rejected"
    assert await units(service) == (2, 1, 0, 0)


async def test_test_money_can_be_claimed_too(database_url: str) -> None:
    """With the same cap: every case of real money can be tried."""
    async with open_service(database_url, claims=CLAIMS * 1000, holds=5) as service:
        made = await service.create(expirationType="limit", totalUnits=8)
        claims = []
        for number in range(3):
            answer = await service.pay(made["id"], f"{number}" * 32, manner="claimed")
            claims.append(await found(service, answer.headers["location"].rpartition("/")[2]))
        it = claims[0]
        assert (it.stored_state.value, it.lapses_at) == ("claimed", NOON + CLAIMS * 1000)
        assert [one.is_promised for one in claims] == [True, True, False]
        service.clock.advance(900)
        await service.db.transaction(lambda tx: inventory.close_lapsed(tx, service.clock(), 9))
        assert await units(service) == (6, 2, 0, 0)
        assert (await confirm(service, it)).stored_state.value == "paid"
        assert await units(service) == (6, 1, 1, 0)


async def test_too_little_test_money_takes_no_unit(database_url: str) -> None:
    async with open_service(database_url) as service:
        made = await service.create(expirationType="limit", totalUnits=2)
        await service.pay(made["id"], manner=SandboxScenario.UNDERPAID.value)
        service.clock.advance(5)
        assert await hear(service) == 1
        (payment,) = await service.rows("payments")
        assert (payment["state"], payment["amount"], payment["instrument_amount"]) == (
            "underpaid", 500, 250,
        )  # fmt: skip
        assert await units(service) == (1, 1, 0, 0)


async def test_a_seller_may_confirm_for_half_a_year(service: ServiceHarness) -> None:
    """Checkouts that were never shown are deleted as soon as those of test money."""
    made = await service.create(**EUROS)
    await lapsed(service, made["id"])
    await service.db.transaction(lambda tx: inventory.close_lapsed(tx, service.clock(), 9))
    now = service.clock()
    assert service.db.run(lambda tx: checkout_rows.sweep(tx, now, now - 10**6, 9)) == 0
    assert service.db.run(lambda tx: checkout_rows.sweep(tx, now, now, 9)) == 1
