"""The ways to pay a request, and what becomes of a payer's checkout when another is chosen."""

from __future__ import annotations

import pytest

from bot.core.errors import InvalidBody, NotPayable, Refused
from bot.interface.vocabulary import LIGHTNING
from bot.service.checkouts import claiming, paying
from bot.service.checkouts.checkout import Holder
from bot.service.rails.rail import Unavailable
from bot.service.requests import request_rows
from tests.support.checkout_steps import begin, found, open_due, state_of, units
from tests.support.real_rails import EUROS, RESERVATION, ScriptedRail
from tests.support.service_harness import DROP, ServiceHarness

ANN = Holder("network", "ann")


async def test_the_same_payer_and_way_gets_the_same_checkout(service: ServiceHarness) -> None:
    made = await service.create(**EUROS, **DROP)
    first = await begin(service, made["id"], holder=ANN)
    for way in (LIGHTNING, None):
        again = await begin(service, made["id"], way, token=str(way) * 16, holder=ANN)
        assert again == first
    assert await units(service) == (2, 1, 0, 0)


@pytest.mark.parametrize("is_open", [False, True])
async def test_another_way_gives_the_first_one_up(
    service: ServiceHarness, *, is_open: bool
) -> None:
    made = await service.create(**EUROS, expirationType="limit", totalUnits=1)
    first = await begin(service, made["id"], holder=ANN)
    if is_open:
        await open_due(service)
    second = await begin(service, made["id"], "bank:sepa", token="b" * 32, holder=ANN)
    assert second != first
    assert await state_of(service, first) == ("cancelled" if is_open else "lapsed")
    assert await state_of(service, second) == "open"
    assert await units(service) == (0, 1, 0, 0)


@pytest.mark.parametrize(
    ("way", "error"),
    [("bank:pix", NotPayable), ("nwc", NotPayable), ("sandbox", InvalidBody), ("", InvalidBody)],
)
async def test_a_way_that_is_not_offered_changes_nothing(
    service: ServiceHarness, way: str, error: type[Refused]
) -> None:
    """Its seller may have removed it since the page was opened."""
    made = await service.create(**EUROS, **DROP)
    first = await begin(service, made["id"], holder=ANN)
    with pytest.raises(error):
        await begin(service, made["id"], way, token="b" * 32, holder=ANN)
    assert await state_of(service, first) == "opening"
    assert await units(service) == (2, 1, 0, 0)


async def test_a_claimed_checkout_stays_whatever_way_is_chosen_next(
    service: ServiceHarness,
) -> None:
    """Its payer has said that the money was sent: the seller decides."""
    made = await service.create(**EUROS, **DROP)
    first = await begin(service, made["id"], "bank:sepa", holder=ANN)
    await service.db.transaction(
        lambda tx: claiming.claim(tx, service.context, made["id"], first, service.clock())
    )
    again = await begin(service, made["id"], LIGHTNING, token="b" * 32, holder=ANN)
    assert again == first
    assert await state_of(service, first) == "claimed"


@pytest.mark.parametrize("end", ["failed", "lapsed"])
async def test_after_a_failed_or_lapsed_checkout_a_new_one_is_opened(
    service: ServiceHarness, wallet: ScriptedRail, end: str
) -> None:
    made = await service.create(**EUROS, expirationType="limit", totalUnits=1)
    wallet.opens = [Unavailable("slow")] if end == "failed" else []
    first = await begin(service, made["id"], holder=ANN)
    await open_due(service)
    service.clock.advance(0 if end == "failed" else RESERVATION)
    assert await state_of(service, first) == end
    second = await begin(service, made["id"], token="b" * 32, holder=ANN)
    assert second != first


async def test_the_first_connected_way_is_taken_where_none_is_named(
    service: ServiceHarness,
) -> None:
    made = await service.create(**EUROS)
    checkout_id = await begin(service, made["id"], None)
    assert (await found(service, checkout_id)).way == LIGHTNING


async def test_the_ways_of_a_request_with_what_each_costs(service: ServiceHarness) -> None:
    """A bank takes its own currency only; Lightning converts."""
    euros = await service.create(**EUROS, **DROP)
    dollars = await service.create(**EUROS | {"instrumentCurrencyCode": "USD"})
    elsewhere = await service.create(receivers=[{"sendAmount": 5, "destination": "alice"}])
    listed = []
    for made in (euros, dollars, elsewhere):
        request = await request_rows.read(service.db, made["id"], service.clock())
        assert request is not None
        ways = await paying.read_ways(service.db, service.context, request)
        listed.append(
            [
                (way.name, way.kind, way.scheme, way.automatic, way.quote and way.quote.amount)
                for way in ways
            ]
        )
    assert listed == [
        [("lightning", "lightning", "", True, 5882), ("bank:sepa", "bank", "sepa", False, 500)],
        [("lightning", "lightning", "", True, 5000)],
        [],
    ]
