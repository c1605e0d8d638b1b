"""The rules of checkouts as tables: their states, the times of polls, the limits of holders."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from itertools import pairwise, product
from typing import Any

import pytest

from bot.core.database.database import Database, Transaction
from bot.core.database.service_tables import SERVICE
from bot.interface.vocabulary import CheckoutState
from bot.service.checkouts import checkout_rows, claiming, inventory
from bot.service.checkouts.checkout import (
    DAY,
    ENDED,
    GIVEN_UP,
    HOLDING,
    HOLDS,
    HOUR,
    MINUTE,
    NEXT,
    SECOND,
    SETTLED,
    Claim,
    Held,
    Holder,
    may_claim,
    may_reserve,
    next_poll,
    over_budget,
    states_before,
    yielding,
)
from bot.service.requests.request import Units
from tests.support.databases import SQLITE
from tests.support.service_harness import ServiceHarness, open_service

FOLLOWING = {
    "opening": "open failed lapsed",
    "open": "paid claimed cancelled lapsed",
    "claimed": "paid rejected lapsed oversold",
    "failed": "late oversold",
    "cancelled": "late oversold",
    "lapsed": "late oversold claimed",
    "rejected": "late oversold",
    "paid": "",
    "late": "",
    "oversold": "",
}


def _names(states: Iterable[CheckoutState]) -> set[str]:
    return {state.value for state in states}


@pytest.mark.parametrize("state", CheckoutState)
def test_each_state_is_followed_by_those_of_the_table_only(state: CheckoutState) -> None:
    assert _names(NEXT[state]) == set(FOLLOWING[state].split())
    earlier = {one for one, after in FOLLOWING.items() if state in after.split()}
    assert _names(states_before(state)) == earlier


def test_a_state_holds_a_unit_has_its_money_or_may_still_get_it() -> None:
    assert {*HOLDING, *ENDED, *SETTLED} == set(CheckoutState)
    assert len(HOLDING) + len(ENDED) + len(SETTLED) == len(CheckoutState)


def test_the_schema_indexes_the_same_states() -> None:
    """SQLite uses a partial index only for a condition that is written as the index has it."""
    schema = SERVICE
    assert schema.count(HOLDS) == 2
    assert schema.count(GIVEN_UP) == 1


OPENED = 1_800_000_000_000
EXPIRES = OPENED + 15 * MINUTE
END = EXPIRES + 10 * MINUTE


@pytest.mark.parametrize(
    ("after", "expected"),
    [
        (0, 5 * SECOND),
        (59 * SECOND, 64 * SECOND),
        (60 * SECOND, 65 * SECOND),
        (5 * MINUTE - 1, 5 * MINUTE - 1 + 5 * SECOND),
        (5 * MINUTE, 5 * MINUTE + 15 * SECOND),
        (15 * MINUTE, 16 * MINUTE),
        (END - OPENED - 30 * SECOND, END - OPENED),
        (END - OPENED - 1, END - OPENED + SECOND - 1),
        (END - OPENED, END - OPENED + HOUR),
        (END - OPENED + HOUR - 1, END - OPENED + HOUR),
        (END - OPENED + HOUR, END - OPENED + DAY),
        (END - OPENED + DAY, None),
    ],
)
def test_the_next_poll_after_each_age(after: int, expected: int | None) -> None:
    found = next_poll(OPENED, EXPIRES, OPENED + after)
    assert found == (None if expected is None else OPENED + expected)


def test_a_whole_life_has_a_bounded_number_of_polls_never_closer_than_a_second() -> None:
    times, now = [OPENED], OPENED
    while (after := next_poll(OPENED, EXPIRES, now)) is not None:
        times.append(now := after)
    assert min(later - earlier for earlier, later in pairwise(times)) == 5 * SECOND
    assert len(times) == 1 + 60 + 40 + 10 + 2
    assert times[-1] == END + DAY


def test_a_restart_after_a_week_polls_once_more() -> None:
    """The poll that was due is performed; none follows it."""
    assert next_poll(OPENED, EXPIRES, OPENED + 7 * DAY) is None


NAMELESS, KNOWN = Holder("n"), Holder("n", "p")


def held(taken: int = 0, nameless: int = 0, **counts: int) -> Held:
    return Held(taken, nameless, **counts)


@pytest.mark.parametrize(
    ("holder", "network", "unsold", "quantity", "may"),
    [
        (NAMELESS, held(), 37, 1, True),
        (NAMELESS, held(4, 4), 37, 1, True),
        (NAMELESS, held(5, 5), 37, 1, False),
        (NAMELESS, held(11, 4), 100, 1, True),
        (NAMELESS, held(12, 4), 100, 1, False),
        (NAMELESS, held(5, 5), None, 1, False),
        (NAMELESS, held(900, 4), None, 1, True),
        (NAMELESS, held(3, 3), 37, 2, True),
        (NAMELESS, held(3, 3), 37, 3, False),
        (NAMELESS, held(), 37, 9, True),
        (KNOWN, held(4, 5), 37, 1, True),
        (KNOWN, held(5), 37, 1, False),
        (KNOWN, held(5, paid=1), 37, 1, True),
        (KNOWN, held(6, paid=1), 37, 1, False),
        (KNOWN, held(3, lapsed=1), 37, 1, True),
        (KNOWN, held(3, lapsed=2), 37, 1, False),
        (KNOWN, held(lapsed=5, given_up=5), 37, 1, False),
        (KNOWN, held(lapsed=1, given_up=1), 1, 1, True),
        (KNOWN, held(lapsed=1, given_up=2), 1, 1, False),
        (KNOWN, held(lapsed=3, given_up=1), 3, 3, True),
        (KNOWN, held(given_up=9), 1, 1, True),
        (KNOWN, held(4), 8, 1, True),
        (KNOWN, held(5), 8, 1, False),
        (KNOWN, held(), 1, 1, True),
        (KNOWN, held(1), 2, 1, True),
        (KNOWN, held(124), 1000, 1, True),
        (KNOWN, held(125), 1000, 1, False),
        (KNOWN, held(), 3, 3, True),
        (KNOWN, held(2), 37, 3, True),
        (KNOWN, held(2), 37, 4, False),
        (KNOWN, held(claims=50), 37, 1, True),
        (KNOWN, held(900, 5), None, 1, True),
        (KNOWN, held(4), None, 100, True),
        (KNOWN, held(checkouts=99), None, 1, True),
        (KNOWN, held(checkouts=100), None, 1, False),
        (KNOWN, held(900, checkouts=99), None, 100, True),
        (KNOWN, held(1, checkouts=100), 37, 1, True),
    ],
)
def test_a_network_holds_its_share_and_as_many_units_more_as_it_has_paid(
    *, holder: Holder, network: Held, unsold: int | None, quantity: int, may: bool
) -> None:
    """Five units, an eighth of many; what lapsed counts as held.

    But whoever gave up one checkout may begin another.

    Without a cookie five in all. A link without units has a hundred checkouts, whatever they take.
    A checkout of several units counts as many, but the first one may have what the seller allows.
    """
    assert may_reserve(holder, network, network, unsold, 5, quantity) is may


@pytest.mark.parametrize(
    ("site", "unsold", "may"),
    [
        (held(9), 37, True),
        (held(10), 37, False),
        (held(10, paid=1), 37, True),
        (held(6, lapsed=4, given_up=4), 37, False),
        (held(checkouts=399), None, True),
        (held(checkouts=400), None, False),
    ],
)
def test_an_ipv6_site_holds_twice_as_much_as_a_network_of_it(
    *, site: Held, unsold: int | None, may: bool
) -> None:
    assert may_reserve(KNOWN, held(), site, unsold, 5, 1) is may


@pytest.mark.parametrize(
    ("total", "claims", "of_site", "quantity", "may"),
    [
        (8, 0, 0, 1, True),
        (8, 1, 1, 1, True),
        (8, 2, 2, 1, False),
        (8, 0, 0, 3, False),
        (8, 0, 3, 1, True),
        (8, 0, 4, 1, False),
        (100, 4, 4, 1, True),
        (100, 5, 5, 1, False),
        (100, 0, 9, 1, True),
        (100, 0, 10, 1, False),
        (100_000, 5, 5, 1, False),
        (2, 0, 0, 1, True),
        (2, 1, 1, 1, False),
    ],
)
def test_claims_of_a_network_hold_two_units_of_eight_and_five_of_a_hundred(
    *, total: int, claims: int, of_site: int, quantity: int, may: bool
) -> None:
    units = Units(total + 3, total, decreased=3)
    assert may_claim(units, held(claims=claims), held(claims=of_site), 5, quantity) is may


@pytest.mark.parametrize(
    ("total", "promised", "quantity", "over"),
    [(12, 5, 1, 0), (12, 6, 1, 1), (12, 0, 7, 1), (1, 0, 1, 1), (3, 0, 1, 0), (13, 0, 1, -5)],
)
def test_claims_hold_half_of_a_drop_and_never_the_only_unit(
    total: int, promised: int, quantity: int, over: int
) -> None:
    assert over_budget(Units(total + 2, total, decreased=2), promised, quantity) == over


def claims_of(text: str) -> list[Claim]:
    """Read claims in their order: their site; in lower case for the ordinary time alone.

    A number is that of their units.
    """
    counts = Counter(text.upper().replace(" ", ""))
    return [
        Claim(f"{at}", one[0].upper(), counts[one[0].upper()], int(one[1:] or 1), at, one.isupper())
        for at, one in enumerate(text.split())
    ]


@pytest.mark.parametrize(
    ("claims", "lacking", "options", "chosen"),
    [
        ("A B C", 1, {}, ""),
        ("A A B", 1, {}, "1"),
        ("A A B A B", 1, {}, "3"),
        ("A A B A B", 3, {}, "3 1 4"),
        ("A A B A B", 4, {}, ""),
        ("A B B A A", 2, {}, "4 3"),
        ("A A3 B", 2, {}, "1"),
        ("A3 B", 2, {}, ""),
        ("a a B", 1, {}, "1"),
        ("A A B B B", 1, {"rival": 2}, "4"),
        ("A A B B", 1, {"rival": 2}, ""),
        ("A a a", 1, {"rival": 1}, ""),
        ("A b", 1, {"is_proven": True}, "1"),
        ("A B", 1, {"is_proven": True}, ""),
        ("a", 1, {"is_proven": True}, "0"),
        ("A A b", 2, {"is_proven": True}, "1 2"),
        ("A A", 0, {}, ""),
    ],
)
def test_the_site_that_claims_most_yields_its_newest_and_keeps_its_first(
    claims: str, lacking: int, options: dict[str, Any], chosen: str
) -> None:
    found = yielding(claims_of(claims), lacking, **options)
    assert [one.id for one in found] == chosen.split()


def test_a_claim_of_nobody_known_yields_to_proven_money_alone() -> None:
    nobody = [replace(one, site=None) for one in claims_of("A a")]
    assert yielding(nobody, 1) == []
    assert yielding(nobody, 1, is_proven=True) == nobody[1:]


async def test_the_caps_count_each_checkout_for_what_it_is(database_url: str) -> None:
    """For the payer's network and for its site; the powers of two tell what was added up."""
    async with open_service(database_url, holds=0) as service:
        began, now = service.clock(), service.clock() + MINUTE
        states: list[dict[str, Any]] = [
            {"state": "open", "payer": "ann"},
            {"state": "open"},
            {"state": "open", "lapses_at": now},
            {"state": "claimed", "claimed_at": began, "claim_lapses_at": now + MINUTE},
            {"state": "lapsed", "counted_until": now + 3 * MINUTE},
            {"state": "lapsed", "counted_until": now + MINUTE},
            {"state": "lapsed", "counted_until": now},
            {"state": "paid", "counted_until": now + 1},
            {"state": "paid", "counted_until": now},
            {"state": "rejected", "claimed_at": began, "counted_until": now + 1},
            {"state": "rejected", "claimed_at": began, "counted_until": now},
        ]
        places = [("venue", "site"), ("next", "site"), ("venue", "other")]
        made = await service.create(expirationType="limit", totalUnits=99)
        for number in range(len(places) * len(states)):
            await service.pay(made["id"], f"{number:032d}", manner="never")
        rows = await service.rows("checkouts")
        plain = dict.fromkeys(("payer", "counted_until", "claimed_at", "claim_lapses_at"))

        def change(tx: Transaction) -> None:
            for number, ((network, site), state) in enumerate(product(places, states)):
                fields = plain | {"held": 1, "lapses_at": now + MINUTE} | state
                fields |= {"network": network, "site": site, "quantity": 2 ** (number % 22)}
                changes = ", ".join(f"{name} = :{name}" for name in fields)
                sql = f"UPDATE checkouts SET {changes} WHERE id = :id"
                tx.execute(sql, **fields, id=rows[number]["id"])

        await service.db.transaction(change)
        holder = Holder("venue", None, "site")
        found = await service.db.read(
            lambda tx: checkout_rows.count_held(tx, made["id"], holder, now)
        )
    waiting, nameless, lapsed, paid, claims = 1 + 2, 2, 16, 128, 8 + 512
    assert found.network == Held(waiting, nameless, 3, lapsed, 2, paid, claims)
    both = 1 + 2 ** len(states)
    assert found.site == Held(
        both * waiting, both * nameless, 6, both * lapsed, 4, both * paid, both * claims
    )


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
    await service.db.transaction(partial(inventory.close_lapsed, now=service.clock(), most=3))
    forget = partial(checkout_rows.sweep, long_before=0, most=3)
    early = partial(forget, before=service.clock() - 900_000)
    assert await service.db.transaction(early) == 0
    late = partial(forget, before=service.clock())
    assert [await service.db.transaction(late) for _ in range(3)] == [3, 1, 0]
    assert [row["state"] for row in await service.rows("checkouts")] == ["paid"]
    (row,) = await service.rows("payment_requests")
    assert (row["remaining_units"], row["reserved_units"], row["paid_count"]) == (8, 0, 1)


@pytest.mark.only(SQLITE, "its query plans; PostgreSQL's are in test_query_plans.py")
@pytest.mark.parametrize(
    ("sql", "used"),
    [
        (checkout_rows.HELD, "checkouts_site (request_id=? AND site=?)"),
        (checkout_rows.BY_PAYER, "checkouts_held (request_id=? AND network=? AND payer=?)"),
        (checkout_rows.PROMISED, "checkouts_waiting (request_id=?)"),
    ],
)
def test_counting_a_networks_checkouts_reads_no_other_networks_rows(
    db: Database, sql: str, used: str
) -> None:
    """Each payment counts them, also if thousands have a checkout of the request."""
    given = {"request_id": "r", "network": "n", "site": "n", "payer": "p", "now": 1, "but": ""}
    (step,) = db.run(lambda tx: tx.query(f"EXPLAIN QUERY PLAN {sql}", **given))
    assert f"USING INDEX {used}" in step["detail"]


@pytest.mark.parametrize("holds", [5, 0])
async def test_the_holder_is_stored_only_while_a_cap_counts_the_checkout(
    database_url: str, holds: int
) -> None:
    """Also for a request that nobody opens again: a sweep closes and forgets."""
    async with open_service(database_url, holds=holds) as service:
        made = await service.create(expirationType="limit", totalUnits=9)
        await service.anyone.get(f"/pay/{made['id']}")
        await service.pay(made["id"], manner="never")
        (row,) = await service.rows("checkouts")
        assert (row["state"], None in (row["network"], row["payer"])) == ("open", False)
        close = partial(inventory.close_lapsed, most=3)
        kept = []
        for seconds in (900, 2699, 1):
            service.clock.advance(seconds)
            while await service.db.transaction(partial(close, now=service.clock())):
                pass
            (row,) = await service.rows("checkouts")
            assert (row["state"], row["payer"]) == ("lapsed", None)
            kept.append((bool(row["network"]), bool(row["site"]), bool(row["counted_until"])))
        assert kept == [(holds > 0,) * 3, (holds > 0,) * 3, (False,) * 3]


async def test_the_payer_of_a_link_without_units_is_forgotten_when_the_checkout_ends(
    database_url: str,
) -> None:
    async with open_service(database_url, holds=5) as service:
        made = await service.create()
        await service.pay(made["id"], manner="never")
        service.clock.advance(900)
        now = service.clock()
        await service.db.transaction(lambda tx: inventory.close_lapsed(tx, now, 3))
        (row,) = await service.rows("checkouts")
        assert (row["state"], row["network"], row["site"]) == ("lapsed", None, None)
