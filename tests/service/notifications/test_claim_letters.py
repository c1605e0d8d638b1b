"""The letter to a seller about a claim: they have to answer it before it lapses."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from bot.service.notifications.recipients import ANSWERED, TO_MAILBOX
from tests.support.consent_letters import VICTIM, LetterHarness, link, open_letter_harness, plain

ASKED = "Coffee: has $5.00 arrived?"


@pytest.fixture
async def post(database_url: str) -> AsyncIterator[LetterHarness]:
    """A shop whose application the operator created."""
    async with open_letter_harness(database_url, strangers=False) as it:
        yield it


async def claim(post: LetterHarness, request_id: str, number: int = 0) -> str:
    """Claim a checkout of test money; return its id."""
    paid = await post.service.pay(request_id, f"{number:032d}", manner="claimed")
    assert paid.status_code == 303, paid.text
    return paid.headers["location"].rpartition("/")[2]


async def answer(post: LetterHarness, checkout_id: str, call: str) -> None:
    answered = await post.service.seller.post(f"/v3/checkouts/{checkout_id}/{call}")
    assert answered.status_code == 200, answered.text


def subjects(post: LetterHarness) -> list[str]:
    return [str(letter["Subject"]) for letter in post.letters]


async def test_a_claim_is_one_letter_that_says_what_to_do_and_until_when(
    post: LetterHarness,
) -> None:
    checkout_id = await claim(post, await post.sell(VICTIM))
    await post.service.pay((await post.service.rows("checkouts"))[0]["request_id"], "0" * 32)
    await post.work(60)
    assert subjects(post) == [ASKED]
    text = plain(post.letters[0])
    assert "look for it in your account, then confirm or reject" in text
    assert "Please answer by: " in text
    assert link(post.letters[0], "stop")
    (row,) = await post.service.rows("deliveries")
    assert (row["channel"], row["checkout_id"], row["payment_id"]) == ("email", checkout_id, None)


async def test_the_payment_that_is_confirmed_has_its_own_letter(post: LetterHarness) -> None:
    checkout_id = await claim(post, await post.sell(VICTIM))
    await post.work()
    await answer(post, checkout_id, "confirm")
    await post.work()
    assert subjects(post) == [ASKED, "$5.00 for Coffee"]


@pytest.mark.parametrize(("call", "others"), [("confirm", ["$5.00 for Coffee"]), ("reject", [])])
async def test_a_claim_that_is_answered_by_then_has_no_letter(
    post: LetterHarness, call: str, others: list[str]
) -> None:
    checkout_id = await claim(post, await post.sell(VICTIM))
    await answer(post, checkout_id, call)
    await post.work()
    assert subjects(post) == others
    assert (await post.states())[0] == ("ended", ANSWERED)


@pytest.mark.long
async def test_claims_are_limited_as_payments_are_and_joined_with_them(
    post: LetterHarness,
) -> None:
    """A claim costs its payer nothing; whatever they send, a mailbox gets a few letters."""
    made = await post.sell(VICTIM)
    for number in range(TO_MAILBOX.burst + 2):
        await claim(post, made, number)
    await post.service.pay(made, "p" * 32)
    assert await post.work() == TO_MAILBOX.burst
    assert await post.work(TO_MAILBOX.interval / 1000) == 0
    last = post.letters[-1]
    assert last["Subject"] == "1 payment received, 3 payments to confirm"
    text = plain(last)
    assert "3 payers say they've sent the money." in text
    assert "Total: $5.00" in text
    assert text.count("$5.00, not confirmed yet · Coffee") == 3
    assert {state for state, _ in await post.states()} == {"done"}


@pytest.mark.long
async def test_a_claim_that_is_answered_by_then_is_in_no_joined_letter(
    post: LetterHarness,
) -> None:
    made = await post.sell(VICTIM)
    claimed = [await claim(post, made, number) for number in range(TO_MAILBOX.burst + 2)]
    await answer(post, claimed[-1], "reject")
    await post.work()
    assert subjects(post)[-1] == "2 payments to confirm"
    await post.work(TO_MAILBOX.interval / 1000)
    assert len(post.letters) == TO_MAILBOX.burst
    assert (await post.states())[-1] == ("ended", ANSWERED)


@pytest.mark.long
async def test_claims_alone_are_summed_up_without_a_total(post: LetterHarness) -> None:
    made = await post.sell(VICTIM)
    for number in range(TO_MAILBOX.burst + 2):
        await claim(post, made, number)
    await post.work()
    assert subjects(post)[-1] == "3 payments to confirm"
    assert "Total" not in plain(post.letters[-1])


async def test_a_mailbox_that_nobody_confirmed_gets_no_claim(database_url: str) -> None:
    async with open_letter_harness(database_url) as post:
        await claim(post, await post.sell(VICTIM))
        await post.work()
        assert [one for one in subjects(post) if "Confirm your email" not in one] == []


async def test_a_confirmed_mailbox_gets_only_claims_that_still_wait(database_url: str) -> None:
    async with open_letter_harness(database_url) as post:
        made = await post.sell(VICTIM)
        answered = await claim(post, made)
        await claim(post, made, 1)
        await post.work()
        await answer(post, answered, "reject")
        confirmed = await post.service.anyone.post(link(post.letters[0], "confirm"))
        assert confirmed.status_code == 200
        await post.work()
        assert subjects(post)[1:] == [ASKED]
        assert sorted(await post.states()) == [("done", None), ("ended", ANSWERED)]


async def test_an_unsubscribed_seller_gets_no_claim(post: LetterHarness) -> None:
    made = await post.sell(VICTIM)
    await claim(post, made)
    await post.work()
    stopped = await post.service.anyone.post(link(post.letters[0], "stop"))
    assert stopped.status_code == 200
    await claim(post, made, 1)
    await post.work(60)
    assert len(post.letters) == 1
