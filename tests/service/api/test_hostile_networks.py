"""What one network can take from others, measured as an attacker would: over the real application.

Each browser has a cookie of its own and the address of its network; nobody waits in real time.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import httpx
import pytest

from bot.service.checkouts import inventory
from bot.service.rails.bank import BankRail
from bot.service.rails.rail import Rail
from tests.support.checkout_steps import hear, units
from tests.support.real_rails import TO_ANNA, ScriptedRail, connect, open_real_service
from tests.support.service_harness import URL, ServiceHarness, form_token, open_service

RESERVATION, HOURS = 900, 3600
SETTINGS: dict[str, Any] = {
    "holds": 5,
    "reservation": RESERVATION * 1000,
    "claims": 168 * HOURS * 1000,
    "payer_key": b"k" * 32,
}
BANK = {"scheme": "sepa", "iban": "DE89370400440532013000", "name": "Anna Ott"}
FORMS = 300


@dataclass
class Market:
    """A drop that browsers of many networks want."""

    service: ServiceHarness
    app: Any
    path: str

    @asynccontextmanager
    async def browser(self, address: str) -> AsyncIterator[httpx.AsyncClient]:
        """Open a browser's profile, whose connections come from an address."""
        transport = httpx.ASGITransport(self.app, client=(address, 40_000))
        async with httpx.AsyncClient(transport=transport, base_url=URL) as http:
            yield http

    async def begin(self, address: str, **form: str) -> str | None:
        """Open the page with a new profile and press Pay; return the checkout, None if refused."""
        async with self.browser(address) as http:
            page = await http.get(self.path)
            if 'name="token"' not in page.text:
                return None
            answer = await http.post(self.path, data={"token": form_token(page.text), **form})
            assert answer.status_code in {303, 409, 429}, answer.text
            return answer.headers["location"] if answer.status_code == 303 else None

    async def claim(self, address: str, where: str) -> int:
        """Press "I've sent the money"; return the status."""
        async with self.browser(address) as http:
            return (await http.post(where, data={"action": "claim"})).status_code

    async def attack(self, addresses: Callable[[int], str], **form: str) -> list[str]:
        """Post hostile forms with a cookie each and claim them; return those that were taken."""
        taken = []
        for number in range(FORMS):
            address = addresses(number)
            where = await self.begin(address, **form)
            if where:
                taken.append(where)
                assert await self.claim(address, where) == 303
        return taken

    async def buy(self, address: str) -> str:
        """Pay honestly by bank; return what the seller's confirmation makes of it."""
        where = await self.begin(address)
        if where is None:
            return "refused"
        assert await self.claim(address, where) == 303
        return await self.confirm(where)

    async def confirm(self, where: str) -> str:
        answer = await self.service.seller.post(f"/v3/checkouts/{where.rpartition('/')[2]}/confirm")
        assert answer.status_code == 200, answer.text
        return str(answer.json()["state"])

    async def serve(self, customers: int) -> int:
        """Let customers at addresses of their own pay by bank; return how many got a unit."""
        got = [await self.buy(f"198.51.100.{number}") for number in range(1, customers + 1)]
        return got.count("paid")

    async def sweep(self) -> None:
        now = self.service.clock()
        await self.service.db.transaction(partial(inventory.close_lapsed, now=now, most=99))

    async def rows(self) -> list[Any]:
        return await self.service.rows("checkouts")


@asynccontextmanager
async def by_bank(
    database_url: str, total: int, *, wallet: bool = False, **settings: Any
) -> AsyncIterator[Market]:
    """Open a drop that is paid by bank, with a `wallet` by Lightning too."""
    rails: list[Rail] = [BankRail(), *([ScriptedRail(currencies=("EUR",))] if wallet else [])]
    async with open_real_service(database_url, *rails, **SETTINGS | settings) as service:
        assert (await connect(service, "bank", **BANK)).status_code == 200
        if wallet:
            assert (await connect(service, "lightning")).status_code == 200
        yield await _market(service, total, instrumentCurrencyCode="EUR", receivers=TO_ANNA)


@asynccontextmanager
async def by_test_money(database_url: str, total: int) -> AsyncIterator[Market]:
    async with open_service(database_url, **SETTINGS) as service:
        yield await _market(service, total)


async def _market(service: ServiceHarness, total: int, **fields: Any) -> Market:
    in_process = service.anyone._transport
    assert isinstance(in_process, httpx.ASGITransport)
    limited = {"expirationType": "limit", "totalUnits": total, "maxQuantity": 4}
    made = await service.create(**limited, **fields)
    return Market(service, in_process.app, f"/pay/{made['id']}")


def one(_number: int) -> str:
    return "203.0.113.9"


def two(number: int) -> str:
    return f"203.0.113.{number % 2}"


def within_a_64(number: int) -> str:
    return f"2001:db8:0:7::{number:x}"


def within_a_48(number: int) -> str:
    return f"2001:db8:9:{number:x}::1"


NETWORKS = [one, two, within_a_64, within_a_48]


@pytest.mark.long
@pytest.mark.parametrize("networks", NETWORKS)
async def test_ten_of_ten_honest_payers_pay_for_a_drop_of_100_after_300_hostile_forms(
    database_url: str, networks: Callable[[int], str]
) -> None:
    """By bank alone; the claims of the attacker hold a handful of units, and not half of them."""
    async with by_bank(database_url, 100) as it:
        await it.attack(networks)
        assert await it.serve(10) == 10
        it.service.clock.advance(2 * RESERVATION)
        await it.sweep()
        held = 5 if networks in {one, within_a_64} else 10
        assert await units(it.service) == (90 - held, held, 10, 0)


@pytest.mark.long
@pytest.mark.parametrize("claims", [False, True])
async def test_thirty_of_thirty_honest_payers_are_served_beside_one_hoarder(
    database_url: str, *, claims: bool
) -> None:
    """Of 37 units; whether the hoarder only reserves or claims everything as well."""
    async with by_bank(database_url, 37) as it:
        for number in range(FORMS):
            where = await it.begin(one(number))
            if where and claims:
                await it.claim(one(number), where)
        assert (await units(it.service))[1] == (10 if claims else 5)
        assert await it.serve(30) == 30


@pytest.mark.long
@pytest.mark.parametrize("scenario", ["atOnce", "later"])
async def test_200_browsers_of_one_venue_buy_100_units_without_waiting_longer(
    database_url: str, scenario: str
) -> None:
    """Money that comes at once is never refused; a crowd that reserves needs four rounds.

    Each round everybody tries, and whoever may reserve pays. With half of the rest for a network at
    a time it needed six.
    """
    async with by_test_money(database_url, 100) as it:
        rounds, waiting = 0, 200
        while (await units(it.service))[2] < 100:
            rounds += 1
            tries = [await it.begin(one(number), manner=scenario) for number in range(waiting)]
            waiting -= len([where for where in tries if where])
            it.service.clock.advance(6)
            while await hear(it.service):
                pass
        assert await units(it.service) == (0, 0, 100, 0)
        assert rounds == (1 if scenario == "atOnce" else 4)


async def test_what_a_network_lets_lapse_counts_for_another_reservation_time(
    database_url: str,
) -> None:
    """And what it cancels for as long as it was held, so that a loop of both gains nothing."""
    async with by_bank(database_url, 100) as it:
        held = [await it.begin(one(number)) for number in range(20)]
        taken = [where for where in held if where]
        assert len(taken) == 12
        it.service.clock.advance(RESERVATION - 1)
        async with it.browser(one(0)) as http:
            for where in taken[:6]:
                await http.post(where, data={"action": "cancel"})
        assert await it.begin(one(0)) is None
        it.service.clock.advance(1)  # the other six lapse
        await it.sweep()
        assert await units(it.service) == (100, 0, 0, 0)
        it.service.clock.advance(RESERVATION - 3)
        assert await it.begin(one(0)) is None
        it.service.clock.advance(1)
        assert len([1 for number in range(20) if await it.begin(one(number))]) == 6
        it.service.clock.advance(2)
        assert len([1 for number in range(20) if await it.begin(one(number))]) == 6


async def test_claims_of_lapsed_checkouts_are_counted_too(database_url: str) -> None:
    """Also once the network that opened them is forgotten: who claims is counted."""
    async with by_bank(database_url, 100) as it:
        lapsed = []
        for _ in range(3):
            opened = [await it.begin(one(number)) for number in range(12)]
            lapsed += [where for where in opened if where]
            it.service.clock.advance(4 * RESERVATION + 1)
        await it.sweep()
        assert {row["network"] for row in await it.rows()} == {None}
        for where in lapsed:
            assert await it.claim(one(0), where) == 303
        assert await units(it.service) == (95, 5, 0, 0)
        assert len([row for row in await it.rows() if row["state"] == "claimed"]) == 36


@pytest.mark.parametrize("decide", ["reject", "lapse"])
async def test_claims_that_were_none_count_for_another_time_of_claims(
    database_url: str, decide: str
) -> None:
    async with by_bank(database_url, 100) as it:

        async def promised() -> int:
            where = await it.begin(one(0))
            assert where is not None
            await it.claim(one(0), where)
            row = next(row for row in await it.rows() if row["id"] == where.rpartition("/")[2])
            return int(row["lapses_at"] == row["claim_lapses_at"])

        assert [await promised() for _ in range(6)] == [1, 1, 1, 1, 1, 0]
        for row in await it.rows():
            if decide == "reject":
                path = f"/v3/checkouts/{row['id']}/reject"
                assert (await it.service.seller.post(path)).status_code == 200
        if decide == "lapse":
            it.service.clock.advance(168 * HOURS)
            await it.sweep()
        assert await units(it.service) == (100, 0, 0, 0)
        assert await promised() == 0
        it.service.clock.advance(168 * HOURS)
        await it.sweep()
        assert len([row for row in await it.rows() if row["network"]]) == 1  # the last one's
        it.service.clock.advance(168 * HOURS)
        assert await promised() == 1


async def test_a_claim_without_a_hold_keeps_its_unit_for_the_ordinary_time(
    database_url: str,
) -> None:
    """Its payer reads so before and after; its seller confirms it for a unit that is free."""
    async with by_bank(database_url, 100) as it:
        for number in range(5):
            await it.claim(one(number), await it.begin(one(number)) or "")
        where = await it.begin(one(0))
        assert where is not None
        async with it.browser(one(0)) as http:
            offered = (await http.get(where)).text
            assert "your reservation ends at the time above" in offered
            assert "We&#39;ll hold" not in offered
            await http.post(where, data={"action": "claim"})
            told = (await http.get(where)).text
            assert "so we can&#39;t hold one for you until the seller" in told
            assert "Held for you until" in told
            it.service.clock.advance(RESERVATION)
            await it.sweep()
            assert "Held for you until" not in (await http.get(where)).text
            assert await units(it.service) == (95, 5, 0, 0)
            assert await it.confirm(where) == "paid"
            assert "/receipt/" in (await http.get(where)).headers["location"]
        assert await units(it.service) == (94, 5, 1, 0)


async def test_a_honest_payers_claim_is_promised_though_others_claim_half(
    database_url: str,
) -> None:
    """The network that claims most yields its newest; once all are alike nobody yields."""
    async with by_bank(database_url, 20) as it:
        for number in range(10):
            address = f"203.0.113.{number // 5}"
            await it.claim(address, await it.begin(address) or "")
        assert await units(it.service) == (10, 10, 0, 0)
        for number in range(9):
            await it.claim(f"198.51.100.{number}", await it.begin(f"198.51.100.{number}") or "")
        assert [bool(row["held"]) for row in await it.rows() if row["network"]].count(True) == 11
        rows = [row for row in await it.rows() if row["lapses_at"] == row["claim_lapses_at"]]
        kept = [row for row in rows if row["held"]]
        assert len({row["network"] for row in kept}) == len(kept) == 10


async def test_claims_of_a_full_drop_yield_to_the_next_payer_but_never_the_first_of_a_network(
    database_url: str,
) -> None:
    """The page offers what would yield, and nothing once each network has one claim."""
    async with by_bank(database_url, 8) as it:
        for number in range(4):
            address = f"203.0.113.{number % 2}"
            await it.claim(address, await it.begin(address) or "")
        begun = [await it.begin(f"198.51.100.{number}") for number in range(5)]
        assert None not in begun
        assert await units(it.service) == (0, 8, 0, 0)
        assert await it.begin("198.51.100.5") is not None
        assert await units(it.service) == (0, 8, 0, 0)
        assert await it.begin("198.51.100.6") is None
        kept = [row for row in await it.rows() if row["state"] == "claimed" and row["held"]]
        assert len({row["network"] for row in kept}) == len(kept) == 2


async def test_orders_of_several_units_count_their_units(database_url: str) -> None:
    """More than a network's share is never promised; the first order may still be begun."""
    async with by_bank(database_url, 8) as it:
        where = await it.begin(one(0), quantity="4")
        assert where is not None
        assert await it.begin(one(1), quantity="2") is None
        await it.claim(one(0), where)
        it.service.clock.advance(RESERVATION)
        await it.sweep()
        assert await units(it.service) == (8, 0, 0, 0)
        begun = [await it.begin(f"198.51.100.{number}", quantity="2") for number in range(4)]
        assert None not in begun
        assert await it.confirm(where) == "oversold"


async def test_a_wallets_reservations_and_bank_claims_of_one_network_are_capped_each(
    database_url: str,
) -> None:
    async with by_bank(database_url, 100, wallet=True) as it:
        for number in range(40):
            way = ("bank:sepa", "lightning")[number % 2]
            where = await it.begin(one(number), way=way)
            if where and way == "bank:sepa":
                await it.claim(one(number), where)
        assert (await units(it.service))[1] == 17


async def test_whoever_let_a_checkout_of_a_one_off_lapse_may_begin_another_but_not_for_ever(
    database_url: str,
) -> None:
    """One address holds it for half of the time, however it ends its checkouts."""
    async with by_bank(database_url, 1) as it:
        for ends in ("lapse", "cancel"):
            held = []
            for _ in range(60):
                where = await it.begin(one(0))
                held.append(where is not None)
                it.service.clock.advance(RESERVATION - 1)
                if where and ends == "cancel":
                    async with it.browser(one(0)) as http:
                        await http.post(where, data={"action": "cancel"})
                it.service.clock.advance(1)
            assert held[:2] == [True, True]
            assert held.count(True) <= 32
            it.service.clock.advance(4 * RESERVATION)


async def test_a_one_off_by_bank_is_nobodys_for_a_week(database_url: str) -> None:
    """Several claims may wait; the one that the seller confirms gets it."""
    async with by_bank(database_url, 1) as it:
        hostile = await it.begin(one(0))
        assert hostile is not None
        await it.claim(one(0), hostile)
        assert await it.begin("198.51.100.1") is None
        it.service.clock.advance(RESERVATION)
        honest = await it.begin("198.51.100.1")
        assert honest is not None
        assert await it.claim("198.51.100.1", honest) == 303
        it.service.clock.advance(24 * HOURS)
        assert await it.confirm(honest) == "paid"
        assert await it.confirm(hostile) == "oversold"


async def test_without_payer_holds_there_are_no_caps_and_nothing_yields(database_url: str) -> None:
    async with by_bank(database_url, 100, holds=0) as it:
        for number in range(100):
            where = await it.begin(one(number))
            assert where is not None
            assert await it.claim(one(number), where) == 303
        assert await units(it.service) == (0, 100, 0, 0)
        it.service.clock.advance(RESERVATION)
        assert await it.begin(one(0)) is None
        assert (await it.service.get(it.path.rpartition("/")[2]))["remainingUnits"] == 0
        await it.service.seller.post(f"/v3/checkouts/{(await it.rows())[0]['id']}/reject")
        assert [row["site"] for row in await it.rows() if row["state"] == "rejected"] == [None]
