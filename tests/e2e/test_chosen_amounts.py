"""Payers choose the amount, over the whole product: set by chat, kept by the service, edited."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.support.product_process import Process
from tests.support.sellers_and_payers import labels, link_of, open_pay_page, seller_with_destination

if TYPE_CHECKING:
    from bot.sandbox.world.world import World


pytestmark = pytest.mark.asyncio(loop_scope="module")


async def test_one_line_makes_a_choice_that_the_service_has(world: World, run: Process) -> None:
    sam = await seller_with_destination(world)
    card = await sam.say("/donation 3+ 5/10/20 EUR Tip jar", "Tip jar")
    request_id = link_of(card).rpartition("/")[2]
    found = run.rows("SELECT id, amount_choice, keep_url FROM payment_requests")
    ((choice, keep_url),) = (row[1:] for row in found if row[0] == request_id)
    assert json.loads(choice) == {"minimum": 300, "suggested": [500, 1000, 2000]}
    assert keep_url.startswith("https://t.me/")
    assert keep_url.endswith("?start=r-{requestId}-{transactionId}")
    page = (await open_pay_page(link_of(card))).text
    assert 'name="amount"' in page
    assert world.refused == []


async def test_a_goal_is_set_step_by_step_and_changed_later(world: World, run: Process) -> None:
    sam = await seller_with_destination(world)
    kind = await sam.say("/new", "What kind of payment link")
    await sam.press(kind, "Donation", "What's it called")
    asked = await sam.say("Drums", "How much is each donation")
    assert labels(asked)[0] == "💝 Payers choose"
    currency = await sam.press(asked, "Payers choose", "Which currency is it in?")
    asked = await sam.press(currency, "EUR", "How much is each donation")
    assert labels(asked)[0] == "💝 Payers choose: €5, €10, €20"
    review = await sam.press(asked, "Payers choose", "Amount: From")
    options = await sam.press(review, "More options", "Anything else?")
    await sam.press(options, "Goal", "How much do you want to raise?")
    options = await sam.say("1000", "👍 Goal: ")
    await sam.press(options, "Thank-you message", "say to everyone who pays?")
    options = await sam.say("Thank you!\nSee you", "👍 Thank-you message: Thank you!")
    review = await sam.press(options, "Done", "Does everything look right")
    card = await sam.press(review, "Create", "Drums")
    edit = await sam.press(card, "Edit", "Drums")
    await sam.press(edit, "Goal", "How much do you want to raise?")
    await sam.say("2500.50", "Goal updated: ")
    request_id = link_of(card).rpartition("/")[2]
    found = run.rows("SELECT id, goal, thanks FROM payment_requests")
    assert (request_id, 250_050, "Thank you!\nSee you") in found
    assert world.refused == []
