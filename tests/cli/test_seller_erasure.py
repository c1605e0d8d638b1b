"""`erase` and who sells: a contact or a reference removes the profile from all their requests."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from operator import itemgetter
from typing import Any

import pytest

from bot.service.requests import applications
from bot.service.requests.changes import SellerEdit
from tests.support.command_line import run_bot
from tests.support.databases import text_of
from tests.support.service_harness import NEW, REQUESTS_PATH, ServiceHarness, open_service

pytestmark = pytest.mark.usefixtures("commands_url")

ANNA = {"name": "Anna Baker", "contact": "@anna_bakes", "description": "Bread since 1987"}


async def sell(shop: ServiceHarness, owner: str, seller: dict[str, str] | None) -> None:
    shop.clock.advance(1)
    headers = {"Owner-Ref": owner} if owner else {}
    body = NEW | ({"seller": seller} if seller else {})
    answer = await shop.seller.post(REQUESTS_PATH, json=body, headers=headers)
    assert answer.status_code == 200, answer.text


@asynccontextmanager
async def shop() -> AsyncIterator[ServiceHarness]:
    async with open_service(os.environ["DATABASE_URL"]) as opened:
        yield opened


async def fill() -> None:
    """Store requests of Anna, with and without her contact, of Ben, and of an application."""
    async with shop() as opened:
        await sell(opened, "seller-1", ANNA)
        await sell(opened, "seller-1", {"name": "Anna B."})
        await sell(opened, "seller-2", {"name": "Ben", "contact": "ben@example.org"})
        await sell(opened, "", {"name": "Anna elsewhere", "contact": "@Anna_Bakes"})
        await sell(opened, "", {"name": "Nobody's"})
        await opened.db.transaction(
            lambda tx: applications.change_seller(
                tx,
                opened.credentials.app_id,
                SellerEdit(name="Ben's shop", contact="Ben@example.org"),
                opened.clock(),
            )
        )


async def pay_as(address: str) -> str:
    """Pay with this address; return the payment's id."""
    async with shop() as opened:
        opened.clock.advance(60)
        made = await opened.create(requestedUserData=["email"])
        form = {"token": "t" * 32, "email": address}
        await opened.anyone.post(f"/pay/{made['id']}", data=form)
        (row,) = await opened.rows("payments")
        return str(row["id"])


def erase(*command: str) -> Any:
    done = run_bot("erase", *command, "--yes", "--json", code=0)
    return json.loads(done.stdout)


async def names() -> list[str | None]:
    async with shop() as opened:
        rows = await opened.rows("payment_requests")
        rows.sort(key=itemgetter("created_at"))
        rows += await opened.rows("apps")
        return [row["seller"] and json.loads(row["seller"])["name"] for row in rows][:6]


@pytest.mark.parametrize(
    ("who", "number", "left"),
    [
        ("@anna_bakes", 3, [None, None, "Ben", None, "Nobody's", "Ben's shop"]),
        ("seller-1", 2, [None, None, "Ben", "Anna elsewhere", "Nobody's", "Ben's shop"]),
        ("BEN@example.org", 2, ["Anna Baker", "Anna B.", None, "Anna elsewhere", "Nobody's", None]),
    ],
)
def test_a_contact_or_a_reference_removes_a_sellers_profile_everywhere(
    who: str, number: int, left: list[str | None]
) -> None:
    asyncio.run(fill())
    assert erase(who)["sellers"] == number
    assert asyncio.run(names()) == left


def test_what_a_payer_typed_names_no_seller() -> None:
    """Else whoever types a shop's public contact could have its name erased."""
    asyncio.run(fill())
    payment = asyncio.run(pay_as("ben@example.org"))
    found = erase(payment)
    assert (found["payments"], "sellers" in found) == (1, False)
    assert asyncio.run(names())[2] == "Ben"


async def stored() -> str:
    async with shop() as opened:
        return (await text_of(opened.db)).lower()


def test_no_erased_value_is_left_and_the_counts_are_recorded() -> None:
    asyncio.run(fill())
    assert "anna" in asyncio.run(stored())
    erase("@anna_bakes")
    whole = asyncio.run(stored())
    assert [word for word in ("anna", "bread") if word in whole] == []
    (line,) = (
        json.loads(line)
        for line in run_bot("audit", "--json").stdout.splitlines()
        if "payers.erased" in line
    )
    assert line["details"]["sellers"] == 3


def test_a_seller_is_not_erased_by_a_scope_of_payments() -> None:
    asyncio.run(fill())
    assert "sellers" not in erase("ben@example.org", "--before", "2030-01-01")
    assert asyncio.run(names()) == [
        *("Anna Baker", "Anna B.", "Ben", "Anna elsewhere", "Nobody's", "Ben's shop")
    ]


def test_a_name_is_no_contact() -> None:
    asyncio.run(fill())
    refused = run_bot("erase", "Ben", "--yes", code=1)
    assert refused.stderr.endswith(
        "and no payment has this id; no seller has this contact either\n"
    )


def test_an_empty_word_is_nobody() -> None:
    """As of an unset variable in a shell; profiles without a contact and a reference stay."""
    asyncio.run(fill())
    before = asyncio.run(names())
    for word in ("", "\u2060"):
        run_bot("erase", word, "--yes", code=1)
    assert asyncio.run(names()) == before
