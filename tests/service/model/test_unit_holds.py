"""Limits of open checkouts as a table, and how long their holders are stored."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import pytest

from bot.service.model.checkout import Held, Holder, may_claim, may_reserve
from bot.service.model.request import Units
from bot.service.store import checkouts, unit_moves
from bot.service.usecases import claiming
from tests.support.databases import SQLITE

if TYPE_CHECKING:
    from bot.core.database.database import Database
    from tests.support.service_harness import ServiceHarness

NAMELESS, KNOWN = Holder("n"), Holder("n", "p")


@pytest.mark.parametrize(
    ("holder", "held", "unsold", "quantity", "may"),
    [
        (NAMELESS, Held(0, 0), 37, 1, True),
        (NAMELESS, Held(4, 4), 37, 1, True),
        (NAMELESS, Held(5, 5), 37, 1, False),
        (NAMELESS, Held(17, 4), 37, 1, True),
        (NAMELESS, Held(18, 4), 37, 1, False),
        (NAMELESS, Held(5, 5), None, 1, False),
        (NAMELESS, Held(900, 4), None, 1, True),
        (KNOWN, Held(5, 5), 37, 1, True),
        (KNOWN, Held(17, 5), 37, 1, True),
        (KNOWN, Held(18, 5), 37, 1, False),
        (KNOWN, Held(4, 0), 6, 1, True),
        (KNOWN, Held(5, 0), 6, 1, False),
        (KNOWN, Held(0, 0), 1, 1, True),
        (KNOWN, Held(900, 5), None, 1, True),
        (NAMELESS, Held(3, 3), 37, 2, True),
        (NAMELESS, Held(3, 3), 37, 3, False),
        (NAMELESS, Held(0, 0), 37, 9, True),
        (NAMELESS, Held(9, 0), 37, 9, True),
        (NAMELESS, Held(10, 0), 37, 9, False),
        (KNOWN, Held(0, 0), 3, 3, True),
        (KNOWN, Held(4, 0), 37, 14, True),
        (KNOWN, Held(4, 0), 37, 15, False),
        (KNOWN, Held(4, 0), None, 100, True),
        (KNOWN, Held(99, 0, 99, 399), None, 1, True),
        (KNOWN, Held(100, 0, 100, 100), None, 1, False),
        (KNOWN, Held(900, 0, 9, 400), None, 1, False),
        (KNOWN, Held(900, 0, 99, 99), None, 100, True),
        (KNOWN, Held(1, 0, 100, 400), 37, 1, True),
    ],
)
def test_a_network_holds_five_checkouts_without_cookies_and_half_of_the_unsold_units(
    *, holder: Holder, held: Held, unsold: int | None, quantity: int, may: bool
) -> None:
    """Always at least five; a link without units has a hundred checkouts, whatever they take.

    A checkout of several units counts as many, but the first one may have what the seller allows.
    """
    assert may_reserve(holder, held, unsold, 5, quantity) is may


@pytest.mark.parametrize(
    ("held", "quantity", "may"),
    [(1, 1, True), (5, 1, True), (6, 1, False), (5, 5, True), (7, 7, True), (8, 7, False)],
)
def test_half_of_a_drop_may_wait_for_its_seller_or_one_checkout(
    *, held: int, quantity: int, may: bool
) -> None:
    assert may_claim(Units(12, 12, decreased=2), held, quantity) is may
    assert may_claim(None, held, quantity)


async def test_unpaid_checkouts_are_deleted_a_bounded_number_at_a_time(
    service: ServiceHarness,
) -> None:
    """Paid checkouts stay, and the units balance."""
    made = await service.create(expirationType="limit", totalUnits=9)
    for number in range(4):
        await service.pay(made["id"], f"{number}" * 32, manner="never")
    assert (await service.pay(made["id"], "p" * 32)).status_code == 303
    (first, *_) = await service.db.query("SELECT id FROM checkouts WHERE state = 'open'")
    cancel = {"request_id": made["id"], "checkout_id": first["id"], "now": service.clock()}
    await service.db.transaction(partial(claiming.cancel, **cancel))
    service.clock.advance(1000)
    await service.db.transaction(partial(unit_moves.close_lapsed, now=service.clock(), most=3))
    forget = partial(checkouts.sweep, long_before=0, most=3)
    early = partial(forget, before=service.clock() - 900_000)
    assert await service.db.transaction(early) == 0
    late = partial(forget, before=service.clock())
    assert [await service.db.transaction(late) for _ in range(3)] == [3, 1, 0]
    assert [row["state"] for row in await service.rows("checkouts")] == ["paid"]
    (row,) = await service.rows("payment_requests")
    assert (row["remaining_units"], row["reserved_units"], row["paid_count"]) == (8, 0, 1)


@pytest.mark.only(SQLITE, "its query plans; PostgreSQL's are in test_query_plans.py")
@pytest.mark.parametrize("sql", [checkouts.HELD, checkouts.BY_PAYER])
def test_counting_a_networks_checkouts_reads_no_other_networks_rows(db: Database, sql: str) -> None:
    """Each payment counts them, also if thousands have a checkout of the request."""
    given = {"request_id": "r", "network": "n", "payer": "p", "now": 1}
    (step,) = db.run(lambda tx: tx.query(f"EXPLAIN QUERY PLAN {sql}", **given))
    assert "USING INDEX checkouts_held (request_id=? AND network=?" in step["detail"]


async def test_the_holder_is_stored_only_while_the_checkout_is_open(
    service: ServiceHarness,
) -> None:
    """Also for a request that nobody opens again: a sweep closes lapsed checkouts."""
    made = await service.create(expirationType="limit", totalUnits=9)
    await service.anyone.get(f"/pay/{made['id']}")
    await service.pay(made["id"], manner="never")
    (held,) = await service.rows("checkouts")
    assert (held["state"], None in (held["network"], held["payer"])) == ("open", False)
    close = partial(unit_moves.close_lapsed, most=3)
    service.clock.advance(1000)
    await service.db.transaction(partial(close, now=service.clock()))
    assert await service.db.transaction(partial(close, now=service.clock())) == 0
    (row,) = await service.rows("checkouts")
    assert (row["state"], row["network"], row["payer"]) == ("lapsed", None, None)
