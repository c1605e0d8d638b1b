"""Getting paid by bank, through the whole product: connected by chat, claimed, confirmed."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest
import pytest_asyncio

from tests.support.form_harness import IBAN, KEY, OTHER_IBAN
from tests.support.form_questions import question_of
from tests.support.product_process import (
    Process,
    ProductSetup,
    patient_client,
    running_product,
    until,
)
from tests.support.sellers_and_payers import (
    SECONDS,
    Seller,
    is_closed,
    labels,
    lines_of,
    link_of,
    pay,
    seller,
)
from tests.support.service_harness import form_token
from tests.support.web_payers import read, said, shown

if TYPE_CHECKING:
    import httpx

    from bot.sandbox.world.model import Message
    from bot.sandbox.world.world import World


pytestmark = pytest.mark.asyncio(loop_scope="module")

GOAL_REACHED = "🎉 Goal reached: "


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def running(
    tmp_path_factory: pytest.TempPathFactory,
) -> AsyncIterator[tuple[ProductSetup, Process]]:
    """Start the product with banks and wallets instead of test money."""
    rails = {"RAILS": "bank,lnbits", "RATES_URLS": "table"}
    async with running_product(tmp_path_factory.mktemp("running"), **rails) as both:
        yield both


@dataclass
class Payer:
    """A payer on the pay page, with their cookie."""

    http: httpx.AsyncClient
    link: str
    checkout: str = ""

    async def open(self, **form: object) -> str:
        """Press Pay; the text of the checkout's page."""
        page = await self.http.get(self.link)
        answer = await self.http.post(self.link, data={"token": form_token(page.text), **form})
        assert answer.status_code == 303, answer.text
        self.checkout = answer.headers["location"]
        return read((await self.http.get(self.checkout)).text)

    async def claim(self, sam: Seller, **form: object) -> Message:
        """Press Pay, and then that the money was sent; the question to the seller."""
        await self.open(**form)
        before = len(sam.said)
        answer = await self.http.post(self.checkout, data={"action": "claim"})
        assert answer.status_code == 303, answer.text
        return await said(sam, "has it arrived?", before)

    async def sees(self, words: str) -> None:
        """Wait until the page has these words, receipts too."""

        async def look() -> bool:
            page = await self.http.get(self.checkout, follow_redirects=True)
            return words in read(page.text)

        await until(look)


async def connect_sepa(sam: Seller, iban: str = IBAN) -> Message:
    """Connect a SEPA account by chat; the message that says so."""
    page = await sam.say("/getpaid", "What you can connect")
    schemes = await sam.press(page, "Bank transfer", "What kind of bank account")
    await sam.press(schemes, "SEPA account", question_of("payout-ask-bank-sepa-iban"))
    await sam.say(iban, question_of("payout-ask-bank-sepa-name"))
    found = await sam.say("Anna Ott", question_of("payout-found"))
    return await sam.press(found, "Save", "From now on")


async def connected(world: World) -> Seller:
    """Add a seller who gets paid by bank transfer."""
    sam = seller(world)
    await connect_sepa(sam)
    return sam


async def test_a_first_link_asks_where_the_money_goes(world: World, run: Process) -> None:
    sam = seller(world)
    asked = await sam.say("/donation 5 EUR Coffee", question_of("payout-first"))
    schemes = await sam.press(asked, "Bank transfer", "What kind of bank account")
    await sam.press(schemes, "SEPA account", question_of("payout-ask-bank-sepa-iban"))
    wrong = await sam.say("DE89 3704 0044 0532 0130 01", "There's a typo in that IBAN")
    assert question_of("payout-ask-bank-sepa-iban") in wrong.text
    await sam.say("de89 3704 0044 0532 0130 00", question_of("payout-ask-bank-sepa-name"))
    found = await sam.say("Anna Ott", question_of("payout-found"))
    assert "confirm each payment with a tap" in found.text
    assert IBAN not in found.text
    review = await sam.press(found, "Save", question_of("review"))
    assert any(message.text.startswith("✅ Connected.") for message in sam.said)
    assert "You get paid by:" in review.text
    card = await sam.press(review, "Create", "🟢")
    async with patient_client(run.url) as http:
        assert "DE89 3704 0044 0532 0130 00" in await Payer(http, link_of(card)).open()


async def test_an_account_opens_links_is_replaced_and_removed_by_its_seller(
    world: World, run: Process
) -> None:
    """A link made before an account says so, and again once there is none."""
    sam = seller(world)
    asked = await sam.say("/donation 5 EUR Tea", question_of("payout-first"))
    review = await sam.press(asked, "Later", "Nobody can pay this until you connect")
    card = await sam.press(review, "Create", "Can't be paid yet")
    assert "💶 Connect an account" in labels(card)
    assert (await pay(link_of(card), token="t" * 32)).status_code == 409
    saved = await connect_sepa(sam)
    assert "Wasn't this you?" in saved.text
    await sam.world.wait_for(lambda: "Can't be paid yet" not in card.text, SECONDS)
    assert "🟢" in card.text
    async with patient_client(run.url) as http:
        assert "Anna Ott" in await Payer(http, link_of(card)).open()
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
    await shown(sam, card, "Can't be paid yet")
    assert await sam.words(question, data) == "You've already removed that."


async def test_a_typed_key_leaves_the_chat_and_reaches_no_log_and_no_table(
    world: World, run: Process
) -> None:
    """The wallet can't be reached, so the form stays, with the key sealed."""
    run.secrets.add(KEY)  # the end of the process checks its log
    sam = seller(world)
    page = await sam.say("/getpaid", "What you can connect")
    await sam.press(page, "My LNbits", question_of("payout-ask-lnbits-url"))
    await sam.say("https://lnbits.invalid", question_of("payout-ask-lnbits-key"))
    before = sam.person.chat.messages.copy()
    refused = await sam.say(KEY, "I can't find that server.")
    assert "Keep" in str(labels(refused))
    (typed,) = (
        one for one in sam.person.chat.messages.values() if one.id not in before and KEY in one.text
    )
    await world.wait_for(lambda: typed.deleted, SECONDS)
    for table in ("outbox", "drafts", "audit", "payout_accounts", "seller_accounts"):
        assert KEY not in str(run.rows(f"SELECT * FROM {table}"))


async def test_a_transfer_is_claimed_received_alerted_once_and_receipted(
    world: World, run: Process
) -> None:
    sam = await connected(world)
    link = link_of(await sam.card("/drop 2 12.30 EUR Mug", "Mug"))
    async with patient_client(run.url) as http:
        payer = Payer(http, link)
        asked = await payer.claim(sam)
        await payer.sees("Waiting for")
        reference = lines_of(asked)[2].removeprefix("🧾 ")
        await payer.sees(reference)
        await sam.press(asked, "✅ Received", "received for Mug")
        assert f"Paid by bank transfer, reference {reference}" in asked.text
        assert "1 of 2 left" in asked.text
        await payer.sees("Thank you!")
    assert run.rows("SELECT state FROM payments ORDER BY completed_at")[-1] == ("paid",)
    assert len([one for one in sam.said if "received for Mug" in one.text]) == 1
    found = await sam.say(f"/find {reference.lower()}", "Payment for Mug")
    facts = await sam.press(found, "Details", "To pay it back")
    await sam.press(facts, "Paid back", "add a note")
    await sam.say("Sent back by transfer", "Note saved")
    await sam.say("/payments", "Sent back by transfer")


async def test_a_missing_transfer_goes_back_on_sale_and_may_arrive_late(
    world: World, run: Process
) -> None:
    sam = await connected(world)
    link = link_of(await sam.card("/oneoff 120 EUR Painting", "Painting"))
    async with patient_client(run.url) as http:
        payer = Payer(http, link)
        asked = await payer.claim(sam)
        page = await sam.say("/payments", "Waiting for your answer")
        assert labels(page)[:2] == ["✅ Received", "Not received"]
        await sam.press(asked, "Not received", "really not arrived?")
        await sam.press(asked, "Yes, it hasn't arrived", "haven't found their payment")
        await payer.sees("hasn't found your payment")
        assert not await is_closed(link)
        await sam.press(asked, "It arrived after all", "received for Painting")
        await payer.sees("Thank you!")
        assert await is_closed(link)
    rows = run.rows("SELECT state FROM payments ORDER BY completed_at")
    assert rows[-1] == ("late",)


async def test_a_goal_is_reached_once_by_transfers_that_are_confirmed(
    world: World, run: Process
) -> None:
    """Not by the claim, and not again after a refund."""
    sam = await connected(world)
    card = await sam.card("/donation 5/10/20 EUR Drums", "Drums")
    await sam.press(card, "Edit", "Drums")
    await sam.press(card, "Goal", question_of("ask-goal"))
    await sam.say("100", "Goal updated: ")

    async def claim(amount: str) -> Message:
        async with patient_client(run.url, {"Accept-Language": "en"}) as http:
            return await Payer(http, link_of(card)).claim(sam, amount=["other", amount])

    async def confirm(asked: Message) -> list[str]:
        await sam.press(asked, "✅ Received", " received for Drums")
        return read(asked.text).splitlines()

    first, second = await claim("60"), await claim("43")
    assert GOAL_REACHED not in "\n".join(await confirm(first))
    assert f"{GOAL_REACHED}€103 of €100" in await confirm(second)
    await shown(sam, card, "€103 of €100")
    facts = await sam.press(first, "🧾", "To pay it back")
    question = await sam.press(facts, "Paid back", "add a note")
    await sam.press(question, "Skip", "The buyer left no email address")
    await shown(sam, card, "€43 of €100")
    assert GOAL_REACHED not in "\n".join(await confirm(await claim("57")))
    await shown(sam, card, "€100 of €100")
    assert world.refused == []
