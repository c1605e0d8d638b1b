"""Every action of page, wallet and seller in every state of a checkout, and each of them twice.

Nothing is ever a 500, and who presses late or twice is led to what became of the checkout.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest

from bot.service.api import callers
from bot.service.checkouts import claiming
from bot.service.checkouts.checkout import HOLDING
from bot.service.pages import pay_routes
from tests.support import real_page_states
from tests.support.checkout_steps import RESERVATION
from tests.support.real_page_states import RealScene, open_real_scene

if TYPE_CHECKING:
    import httpx


@pytest.fixture
async def scene(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[RealScene]:
    monkeypatch.setattr(pay_routes, "OPENING_WAITS", ())  # no wallet is waited for
    monkeypatch.setattr(pay_routes, "POLL_WAITS", ())
    async with open_real_scene(tmp_path) as opened:
        yield opened


async def late(scene: RealScene) -> str:
    where = await real_page_states.bank_lapsed(scene)
    await scene.decide(where, claiming.confirm)
    return where


async def oversold(scene: RealScene) -> str:
    await real_page_states.two_ways(scene)
    await scene.link(totalUnits=1)
    where = await scene.pay()
    scene.service.clock.advance(RESERVATION)
    scene.service.anyone.cookies.clear()
    await scene.decide(await scene.pay("o" * 32), claiming.confirm)
    await scene.decide(where, claiming.confirm)
    return where


async def deleted(scene: RealScene) -> str:
    """A transfer whose link its seller has deleted, after the time to pay was over."""
    where = await real_page_states.bank_lapsed(scene)
    await scene.service.seller.delete(f"/v3/paymentRequests/{where.split('/')[2]}")
    return where


# The state that is stored, and what each action answers there and leaves behind: `receipt` and
# `page` are redirects, the first number is a status; after the slash the state, if it changes.
TABLE: dict[Callable[[RealScene], Awaitable[str]], str] = {
    real_page_states.opening: "opening 409 page page 409 409",
    real_page_states.invoice: "open 409 page/cancelled pay/cancelled 200/paid 409",
    real_page_states.bank_code: "open page/claimed page/cancelled pay/cancelled 200/paid 409",
    real_page_states.claimed: "claimed page page page 200/paid 200/rejected",
    real_page_states.bank_code_without_promise: (
        "open page/claimed page/cancelled pay/cancelled 200/paid 409"
    ),
    real_page_states.claimed_without_promise: "claimed page page page 200/paid 200/rejected",
    real_page_states.claimed_without_unit: "claimed page page page 200/paid 200/rejected",
    real_page_states.claimed_invoice: "claimed page page page 200/paid 200/rejected",
    real_page_states.unconfirmed: "lapsed page/claimed page pay 200/late 409",
    real_page_states.bank_lapsed: "lapsed page/claimed page pay 200/late 409",
    real_page_states.invoice_lapsed: "lapsed 409 page pay 200/late 409",
    real_page_states.bank_cancelled: "cancelled 409 page pay 200/late 409",
    real_page_states.failed: "failed 409 page pay 200/late 409",
    real_page_states.rejected: "rejected 409 page pay 200/late 200",
    real_page_states.underpaid: "open 409 page/cancelled pay/cancelled 200/paid 409",
    real_page_states.paid_by_bank: "paid receipt receipt receipt 200 409",
    real_page_states.paid_by_invoice: "paid receipt receipt receipt 200 409",
    late: "late receipt receipt receipt 200 409",
    oversold: "oversold page page page 200 409",
    deleted: "lapsed 409 page pay 200/late 409",
}


async def press_claim(scene: RealScene, where: str) -> httpx.Response:
    return await scene.service.anyone.post(where, data={"action": "claim"})


async def press_cancel(scene: RealScene, where: str) -> httpx.Response:
    return await scene.service.anyone.post(where, data={"action": "cancel"})


async def press_other_way(scene: RealScene, where: str) -> httpx.Response:
    return await scene.service.anyone.post(f"{where}?then=pay", data={"action": "cancel"})


async def confirm(scene: RealScene, where: str) -> httpx.Response:
    return await scene.service.seller.post(f"/v3/checkouts/{id_of(where)}/confirm")


async def reject(scene: RealScene, where: str) -> httpx.Response:
    return await scene.service.seller.post(f"/v3/checkouts/{id_of(where)}/reject")


ACTIONS = (press_claim, press_cancel, press_other_way, confirm, reject)


def id_of(where: str) -> str:
    return where.rpartition("/")[2]


def led(answer: httpx.Response, where: str) -> str:
    """Return where an answer leads, or its status."""
    if answer.status_code != 303:
        return str(answer.status_code)
    onward = answer.headers["location"]
    if "/receipt/" in onward:
        return "receipt"
    return "page" if onward == where else {where.partition("/checkout/")[0]: "pay"}[onward]


async def state_of(scene: RealScene, where: str) -> str:
    answer = await scene.service.seller.get(f"/v3/checkouts/{id_of(where)}")
    return str(answer.json()["state"])


async def facts(scene: RealScene) -> tuple[Any, ...]:
    """Return the payments, and what is counted of the links; their units have to balance."""
    links = await scene.service.rows("payment_requests")
    payments = await scene.service.rows("payments")
    checkouts = await scene.service.rows("checkouts")
    for row in links:
        held = [
            one["quantity"]
            for one in checkouts
            if one["request_id"] == row["id"] and one["state"] in HOLDING and one["held"]
        ]
        assert row["reserved_units"] == sum(held)
        units = row["remaining_units"] + row["reserved_units"] + row["paid_count"]
        assert units == row["total_units"]
    counts = ("remaining_units", "reserved_units", "paid_count", "oversold_count")
    return sorted(row["id"] for row in payments), [[row[name] for name in counts] for row in links]


@pytest.mark.parametrize("at", range(len(ACTIONS)), ids=[act.__name__ for act in ACTIONS])
@pytest.mark.parametrize("make", TABLE, ids=lambda make: make.__name__)
async def test_an_action_leads_where_a_person_expects_and_a_repeat_changes_nothing(
    scene: RealScene, make: Callable[[RealScene], Awaitable[str]], at: int
) -> None:
    where = await make(scene)
    before, *rows = TABLE[make].split()
    expected, _, after = rows[at].partition("/")
    assert await state_of(scene, where) == before
    first = await ACTIONS[at](scene, where)
    assert led(first, where) == expected
    assert await state_of(scene, where) == (after or before)
    stored = await facts(scene)
    again = await ACTIONS[at](scene, where)
    assert led(again, where) == expected
    assert await state_of(scene, where) == (after or before)
    assert await facts(scene) == stored
    for page in (first, again):
        onward = page.headers.get("location", where)
        assert (await scene.service.anyone.get(onward)).status_code in {200, 303, 404}
    await _view(scene, where)


@pytest.mark.parametrize("make", TABLE, ids=lambda make: make.__name__)
async def test_a_payer_may_look_pay_again_and_wallets_may_hint_in_every_state(
    scene: RealScene, make: Callable[[RealScene], Awaitable[str]]
) -> None:
    """The same form leads to what became of it; a hint and a view change nothing."""
    where = await make(scene)
    before, stored = await state_of(scene, where), await facts(scene)
    (row,) = [row for row in await scene.service.rows("checkouts") if row["id"] == id_of(where)]
    hint = scene.service.context.hint_url(id_of(where)) or ""
    assert callers.HINT_PATH in hint
    for _ in range(2):
        await _view(scene, where)
        heard = await scene.service.anyone.post(urlsplit(hint).path)
        assert heard.status_code == 204
        posted = await scene.service.anyone.post(
            where.partition("/checkout/")[0], data={"token": row["token"], "way": row["way"]}
        )
        is_paid = before in {"paid", "late"}
        assert led(posted, where) == ("receipt" if is_paid else "page")
    assert (await state_of(scene, where), await facts(scene)) == (before, stored)


async def _view(scene: RealScene, where: str) -> None:
    """Look at all that a payer can see of a checkout: a page, or the receipt once it is paid."""
    is_paid = await state_of(scene, where) in {"paid", "late"}
    for path in (where, f"{where}?live"):
        shown = await scene.service.anyone.get(path)
        assert led(shown, where) == ("receipt" if is_paid else "200")
    assert (await scene.service.anyone.get(f"{where}/code.png")).status_code in {200, 404}
