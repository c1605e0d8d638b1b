"""Where a seller gets paid, through the whole product: connected by chat, then paid by bank."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

import pytest
import pytest_asyncio

from tests.support.payout_forms import IBAN, KEY, OTHER_IBAN
from tests.support.product_process import Process, ProductSetup, running_product
from tests.support.sellers_and_payers import (
    Seller,
    labels,
    lines_of,
    link_of,
    open_pay_page,
    pay,
    seller,
)

if TYPE_CHECKING:
    from bot.sandbox.world.model import Message


pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def running(
    tmp_path_factory: pytest.TempPathFactory,
) -> AsyncIterator[tuple[ProductSetup, Process]]:
    """Start the product with banks and wallets instead of test money."""
    async with running_product(
        tmp_path_factory.mktemp("running"), RAILS="bank,lnbits", RATES_URLS="table"
    ) as both:
        yield both


async def connect_sepa(sam: Seller, iban: str = IBAN) -> Message:
    """Connect a SEPA account by chat; the message that says so."""
    page = await sam.say("/getpaid", "What you can connect")
    schemes = await sam.press(page, "Bank transfer", "What kind of bank account")
    await sam.press(schemes, "SEPA account", "What's your IBAN?")
    await sam.say(iban, "Who's the account holder?")
    found = await sam.say("Anna Ott", "This works. Should I save it?")
    return await sam.press(found, "Save", "From now on")


async def checkout_page(link: str) -> str:
    """Open a checkout of a link; the page with what to pay."""
    answer = await pay(link)
    assert answer.status_code == 303, answer.text
    page = await open_pay_page(link.partition("/pay/")[0] + answer.headers["location"])
    return page.text


async def test_a_first_link_asks_where_the_money_goes_and_is_paid_by_bank(
    running: tuple[ProductSetup, Process],
) -> None:
    sam = seller(running[0].world)
    asked = await sam.say("/donation 5 EUR Coffee", "Where should the money go?")
    schemes = await sam.press(asked, "Bank transfer", "What kind of bank account")
    await sam.press(schemes, "SEPA account", "What's your IBAN?")
    wrong = await sam.say("DE89 3704 0044 0532 0130 01", "There's a typo in that IBAN")
    assert "What's your IBAN?" in wrong.text
    await sam.say("de89 3704 0044 0532 0130 00", "Who's the account holder?")
    found = await sam.say("Anna Ott", "This works. Should I save it?")
    assert "confirm each payment with a tap" in found.text
    assert IBAN not in found.text
    review = await sam.press(found, "Save", "Does everything look right?")
    assert any(message.text.startswith("✅ Connected.") for message in sam.said)
    assert "You get paid by:" in review.text
    card = await sam.press(review, "Create", "🟢")
    assert "DE89 3704 0044 0532 0130 00" in await checkout_page(link_of(card))


async def test_a_link_made_before_an_account_says_so_and_opens_with_it(
    running: tuple[ProductSetup, Process],
) -> None:
    sam = seller(running[0].world)
    asked = await sam.say("/donation 5 EUR Tea", "Where should the money go?")
    review = await sam.press(asked, "Later", "Nobody can pay this until you connect")
    card = await sam.press(review, "Create", "Can't be paid yet")
    assert "💶 Connect an account" in labels(card)
    assert (await pay(link_of(card), token="t" * 32)).status_code == 409
    saved = await connect_sepa(sam)
    assert "Wasn't this you?" in saved.text
    await sam.world.wait_for(lambda: "Can't be paid yet" not in card.text, 15)
    assert "🟢" in card.text
    assert "Anna Ott" in await checkout_page(link_of(card))


async def test_an_account_is_replaced_and_removed_by_its_seller(
    running: tuple[ProductSetup, Process],
) -> None:
    sam = seller(running[0].world)
    await connect_sepa(sam)
    card = await sam.card("/donation 5 EUR Soup", "Soup")
    changed = await connect_sepa(sam, OTHER_IBAN)
    assert "Changed." in changed.text
    assert "It used to go to" in changed.text
    settings = await sam.say("/settings", "You get paid here:")
    page = await sam.press(settings, "Where you get paid", "Where you get paid")
    account = await sam.press(page, "SEPA account", "confirm each payment with a tap")
    question = await sam.press(account, "Remove", "Remove this account?")
    assert "1 payment link can't be paid until you connect another account." in lines_of(question)
    data = question.button("Yes, remove it")["callback_data"]
    await sam.press(question, "Yes, remove it", "Removed.")
    await sam.world.wait_for(lambda: "Can't be paid yet" in card.text, 15)
    assert await sam.words(question, data) == "You've already removed that."


async def test_a_price_in_a_currency_that_no_account_takes_is_warned_of(
    running: tuple[ProductSetup, Process],
) -> None:
    sam = seller(running[0].world)
    await connect_sepa(sam)
    await sam.say("/donation 5 USD Juice", "Your account only takes EUR")
    card = await sam.first_card()
    assert "Can't be paid yet" in card.text


async def test_a_typed_key_leaves_the_chat_and_reaches_no_log_and_no_table(
    running: tuple[ProductSetup, Process],
) -> None:
    """The wallet can't be reached, so the form stays, with the key sealed."""
    setup, run = running
    run.secrets.add(KEY)  # the end of the process checks its log
    sam = seller(setup.world)
    page = await sam.say("/getpaid", "What you can connect")
    await sam.press(page, "My LNbits", "Where's your LNbits?")
    await sam.say("https://lnbits.invalid", "invoice key of your wallet?")
    before = sam.person.chat.messages.copy()
    refused = await sam.say(KEY, "I can't find that server.")
    assert "Keep" in str(labels(refused))
    (typed,) = (
        one for one in sam.person.chat.messages.values() if one.id not in before and KEY in one.text
    )
    await setup.world.wait_for(lambda: typed.deleted, 15)
    for table in ("outbox", "drafts", "audit", "payout_accounts", "seller_accounts"):
        assert KEY not in str(run.rows(f"SELECT * FROM {table}"))
