"""Letters are limited by mailbox and seller, joined rather than lost, and can be unsubscribed."""

from __future__ import annotations

from collections.abc import AsyncIterator
from email.message import EmailMessage

import pytest

from bot.core.database.database import Database, Transaction
from bot.core.database.opening import open_database
from bot.core.outbox import outbox
from bot.core.outbox.worker import CRASHED
from bot.service.notifications import notification_queues, recipients
from bot.service.notifications.emails import to_sellers
from bot.service.notifications.letter_texts import LetterOrigin
from bot.service.notifications.recipients import ANSWERED, FROM_SELLER, TO_MAILBOX, UNSUBSCRIBED
from tests.support.databases import SQLITE
from tests.support.mail import VICTIM, LetterHarness, link, open_letter_harness, plain
from tests.support.service_harness import URL

HALF_HOUR = TO_MAILBOX.interval / 1000


@pytest.fixture
async def post(database_url: str) -> AsyncIterator[LetterHarness]:
    """A shop whose application the operator created."""
    async with open_letter_harness(database_url, strangers=False) as it:
        yield it


@pytest.mark.long
async def test_200_payments_in_an_hour_are_a_few_letters_and_none_is_lost(
    post: LetterHarness,
) -> None:
    made = await post.sell(VICTIM)
    for _ in range(200):
        await post.pay(made)
        await post.work(18)
    await post.work(HALF_HOUR)
    assert len(post.letters) <= TO_MAILBOX.burst + 3
    told = sum(plain(letter).count("Coffee") for letter in post.letters)
    assert told == sum(min(count(letter), 50) for letter in post.letters)
    assert sum(map(count, post.letters)) == 200
    assert {state for state, _ in await post.states()} == {"done"}


def count(letter: EmailMessage) -> int:
    """Return how many payments a letter reports, by its subject."""
    word = str(letter["Subject"]).partition(" ")[0]
    return int(word) if word.isdigit() else 1


@pytest.mark.simulation
async def test_a_day_of_payments_stays_within_the_limit(post: LetterHarness) -> None:
    made = await post.sell(VICTIM)
    for _ in range(24 * 6):
        await post.pay(made)
        await post.work(600)
    assert len(post.letters) <= 60


@pytest.mark.long
async def test_the_limit_of_a_mailbox_is_shared_by_all_sellers_and_spellings(
    post: LetterHarness,
) -> None:
    for number in range(20):
        made = await post.sell(f"Victim+{number}@mail.example", f"seller{number}")
        await post.pay(made, 2)
    assert await post.work() == TO_MAILBOX.burst


@pytest.mark.simulation
async def test_a_seller_is_limited_over_all_mailboxes(post: LetterHarness) -> None:
    for number in range(FROM_SELLER.burst + 10):
        await post.pay(await post.sell(f"v{number}@mail.example", "busy"))
    assert await post.work() == FROM_SELLER.burst
    await post.pay(await post.sell("calm@mail.example", "calm"))
    assert await post.work() == 1
    assert await post.work(FROM_SELLER.interval / 1000 * 10) == 10


@pytest.mark.long
async def test_a_restart_allows_no_new_burst_and_loses_nothing(
    post: LetterHarness, database_url: str
) -> None:
    made = await post.sell(VICTIM)
    await post.pay(made, 30)
    assert await post.work() == TO_MAILBOX.burst
    again = open_database(database_url)
    try:
        await post.pay(made, 5)
        post.service.db, post.mails = again, to_sellers(
            again, post.mails._mailer, post.service.clock, LetterOrigin("a@b.example", URL)
        )  # fmt: skip
        assert await post.work() == 0
        assert await post.work(HALF_HOUR) == 1
        assert sum(map(count, post.letters)) == 35
    finally:
        again.close()


@pytest.mark.long
async def test_a_summary_whose_answer_was_lost_is_the_same_again(post: LetterHarness) -> None:
    """Later payments wait for the next summary."""
    made = await post.sell(VICTIM)
    await post.pay(made, 20)
    await post.work()
    await post.pay(made, 7)
    post.office.answers["DATA"] = "451 4.3.0 later"
    await post.work(HALF_HOUR)
    states = [state for state, _ in await post.states()]
    assert (states.count("joined"), states.count("waiting")) == (6, 1)
    await post.pay(made, 2)
    post.office.answers.clear()
    assert await post.work(6) == 1
    assert post.letters[-1]["Subject"] == "7 payments received"
    assert await post.work(HALF_HOUR) == 1
    assert post.letters[-1]["Subject"] == "2 payments received"


@pytest.mark.long
async def test_a_retry_is_limited_too(post: LetterHarness) -> None:
    """An application may retry any number of times."""
    await post.pay(await post.sell(VICTIM))
    await post.work()
    (one,) = (await post.service.seller.get("/v3/deliveries")).json()["items"]
    for _ in range(30):
        answer = await post.service.seller.post(f"/v3/deliveries/{one['id']}/retry")
        assert answer.status_code == 200
        await post.work()
    assert len(post.letters) == TO_MAILBOX.burst


@pytest.mark.long
async def test_a_retry_of_a_summarys_leader_leaves_no_member_behind(post: LetterHarness) -> None:
    made = await post.sell(VICTIM)
    await post.pay(made, 20)
    await post.work()
    await post.pay(made, 3)
    post.office.answers["DATA"] = "451 4.3.0 later"
    await post.work(HALF_HOUR)
    rows = await post.service.db.query("SELECT id FROM outbox WHERE state = 'waiting'")
    post.office.answers.clear()
    post.service.db.run(
        lambda tx: notification_queues.retry(tx, rows[0]["id"], post.service.clock())
    )
    assert await post.work() == 1
    assert {state for state, _ in await post.states()} == {"done"}


@pytest.mark.long
async def test_the_members_of_a_dead_letter_are_settled_with_it(post: LetterHarness) -> None:
    made = await post.sell(VICTIM)
    await post.pay(made, 20)
    post.office.answers["DATA"] = "451 4.3.0 later"
    await post.work()
    post.service.clock.advance(60)
    queue_handler, now = post.mails.queue_handler, post.service.clock()

    def set_aside(tx: Transaction) -> None:
        while claimed := outbox.claim(tx, queue_handler.queue, now, 1):
            outbox.dead_letter(tx, queue_handler.queue, claimed[0], now, CRASHED)
            queue_handler.on_dead_letter(tx, claimed[0])

    post.service.db.run(set_aside)
    assert await post.states() == [("dead", CRASHED)] * 20


@pytest.mark.long
async def test_a_sweep_settles_the_members_of_a_dead_letter(post: LetterHarness) -> None:
    """A restore buries messages that it can't read without settling their letters."""
    made = await post.sell(VICTIM)
    await post.pay(made, 20)
    post.office.answers["DATA"] = "451 4.3.0 later"
    await post.work()
    leader = await post.service.db.query(
        "SELECT letter FROM deliveries d JOIN outbox o ON o.id = d.id WHERE o.state = 'joined'"
    )
    assert len(leader) == 20 - TO_MAILBOX.burst
    post.service.db.run(
        lambda tx: tx.execute(
            "UPDATE outbox SET state = 'dead', settled_at = 1, note = 'set aside' WHERE id = :id",
            id=leader[0]["letter"],
        )
    )
    post.service.db.run(lambda tx: recipients.settle_stranded(tx, post.service.clock()))
    states = await post.states()
    assert states.count(("dead", "set aside")) == 21 - TO_MAILBOX.burst
    assert "joined" not in {state for state, _ in states}


@pytest.mark.only(SQLITE, "its query plans; PostgreSQL's are in test_query_plans.py")
def test_a_sweep_reads_only_joined_notifications(db: Database) -> None:
    """Notifications are stored for a month, and payments wait for the sweep's transaction."""
    plan = db.run(lambda tx: tx.query(f"EXPLAIN QUERY PLAN {recipients.STRANDED}"))
    scans = [row["detail"] for row in plan if row["detail"].startswith("SCAN")]
    assert scans == ["SCAN outbox USING INDEX outbox_joined"]


async def test_every_letter_has_a_one_click_unsubscribe(post: LetterHarness) -> None:
    """By the POST of mail programs (RFC 8058) in any of its encodings."""
    made = await post.sell(VICTIM)
    await post.pay(made)
    await post.work()
    (letter,) = post.letters
    assert letter["List-Unsubscribe-Post"] == "List-Unsubscribe=One-Click"
    path = link(letter, "stop")
    assert letter["List-Unsubscribe"] == f"<{URL}{path}>"
    looked = await post.service.anyone.get(path)
    assert (looked.status_code, looked.headers["cache-control"]) == (200, "no-store")
    await post.pay(made)
    assert await post.work() == 1
    files = {"List-Unsubscribe": (None, "One-Click")}
    assert (await post.service.anyone.post(path, files=files)).status_code == 200
    await post.pay(made, 2)
    assert await post.work() == 0
    assert [one for one in await post.states() if one[0] != "done"] == [("ended", UNSUBSCRIBED)] * 2


async def test_a_form_of_too_many_fields_is_refused(post: LetterHarness) -> None:
    await post.pay(await post.sell(VICTIM))
    await post.work()
    fields = {f"field{number}": "x" for number in range(100)}
    answer = await post.service.anyone.post(link(post.letters[0], "stop"), data=fields)
    assert answer.status_code == 400
    (row,) = await post.service.rows("recipients")
    assert row["state"] == "trusted"


async def test_a_reader_unsubscribes_from_a_seller_or_from_everybody(post: LetterHarness) -> None:
    """For every spelling of the mailbox, and for later sellers."""
    anna, bob = await post.sell(VICTIM, "anna"), await post.sell(VICTIM, "bob")
    await post.pay(anna)
    await post.work()
    path = link(post.letters[0], "stop")
    assert (await post.service.anyone.post(path, data={"scope": "seller"})).status_code == 200
    await post.pay(anna)
    await post.pay(await post.sell("Victim+new@mail.example", "anna"))
    assert await post.work() == 0
    await post.pay(bob)
    assert await post.work() == 1
    ended = await post.service.anyone.post(path, data={"scope": "everybody"})
    assert "from pay.test" in ended.text
    await post.pay(bob)
    await post.pay(await post.sell(VICTIM, "carol"))
    assert await post.work() == 0
    assert (await post.service.anyone.post("/email/stop/guessed")).status_code == 404


async def test_a_confirmation_letter_can_be_unsubscribed(database_url: str) -> None:
    async with open_letter_harness(database_url) as post:
        await post.sell(VICTIM, "mallory")
        await post.work()
        await post.service.anyone.post(link(post.letters[0], "stop"), data={"scope": "everybody"})
        for number in range(5):
            await post.pay(await post.sell(VICTIM, f"mallory{number}"))
        assert await post.work() == 0


async def test_a_letter_names_the_seller_of_its_request(database_url: str) -> None:
    """As they are when it is sent; the question before says nothing of them."""
    async with open_letter_harness(database_url) as post:
        sold = await post.sell(VICTIM, "anna", seller={"name": "Anna's Bakery"})
        await post.work()
        await post.pay(sold)
        await post.service.edit(sold, {"seller": {"name": "Anna & Ben"}})
        await post.service.anyone.post(link(post.letters[0], "confirm"))
        await post.work()
        question, report = (plain(one) for one in post.letters)
    assert "Anna" not in question
    assert report.splitlines()[0] == "Anna & Ben"


async def test_a_message_that_was_hidden_meanwhile_is_not_in_the_letter(
    post: LetterHarness,
) -> None:
    """The payer's words are queued with the letter, and the seller may hide them first."""
    request_id = await post.sell("seller@shop.example")
    await post.pay(request_id, 2)
    added = """UPDATE outbox SET body = REPLACE(body, '"product":', '"message":"Boo","product":')"""
    first = "UPDATE payments SET message_hidden = 1 WHERE id = (SELECT MIN(id) FROM payments)"
    await post.service.db.transaction(lambda tx: [tx.execute(sql) for sql in (added, first)])
    assert await post.work() == 2
    assert sorted("Boo" in plain(one) for one in post.letters) == [False, True]


ASKED = "Coffee: has $5.00 arrived?"


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
async def test_claims_are_limited_as_payments_are_and_joined_with_them(post: LetterHarness) -> None:
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
async def test_a_claim_that_is_answered_by_then_is_in_no_joined_letter(post: LetterHarness) -> None:
    made = await post.sell(VICTIM)
    claimed = [await claim(post, made, number) for number in range(TO_MAILBOX.burst + 2)]
    await answer(post, claimed[-1], "reject")
    await post.work()
    assert subjects(post)[-1] == "2 payments to confirm"
    assert "Total" not in plain(post.letters[-1])
    await post.work(TO_MAILBOX.interval / 1000)
    assert len(post.letters) == TO_MAILBOX.burst
    assert (await post.states())[-1] == ("ended", ANSWERED)


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
