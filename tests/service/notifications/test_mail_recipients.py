"""An address that a stranger names gets one letter, and no other until its holder confirms."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from bot.app.maintenance import payer_erasure
from bot.core.text import contacts
from bot.service.notifications import notification_queues
from bot.service.notifications.notification import CONFIRMABLE, DAY, MOST_ASKS, MOST_OPEN
from bot.service.notifications.recipients import ASK_MAILBOX, ASK_SELLER, UNCONFIRMED
from tests.support.databases import text_of
from tests.support.mail import VICTIM, LetterHarness, link, open_letter_harness, plain
from tests.support.service_harness import NOON_ISO, REQUESTS_PATH, refusal_code, refused_fields

WORDS = "Call +44 20 7946 0958 about your invoice"
WEEK = CONFIRMABLE / 1000


@pytest.fixture
async def post(database_url: str) -> AsyncIterator[LetterHarness]:
    async with open_letter_harness(database_url) as it:
        yield it


async def test_180_payments_bring_a_stranger_one_letter_without_the_sellers_words(
    post: LetterHarness,
) -> None:
    made = await post.sell(VICTIM, "mallory", product={"name": WORDS, "description": WORDS})
    await post.pay(made, 180)
    await post.work()
    (letter,) = post.letters
    assert letter["To"] == VICTIM
    for part in letter.walk():
        if not part.is_multipart():
            assert "invoice" not in part.get_content()
            assert "7946" not in part.get_content()
    assert "invoice" not in str(letter["Subject"]) + str(letter["From"])
    assert await post.work(WEEK - 1) == 0


@pytest.mark.long
async def test_payments_before_the_confirmation_come_in_one_summary(post: LetterHarness) -> None:
    made = await post.sell(VICTIM, "anna")
    await post.pay(made, 180)
    await post.work()
    answer = await post.service.anyone.post(link(post.letters[0], "confirm"))
    assert (answer.status_code, "Address confirmed" in answer.text) == (200, True)
    assert await post.work() == 1
    summary = post.letters[1]
    assert summary["Subject"] == "180 payments received"
    assert "Total: $900.00." in plain(summary)
    assert "130 more" in plain(summary)
    assert plain(summary).count("Coffee") == 50
    states = await post.states()
    assert {state for state, _ in states} == {"done"}
    assert next(note for _, note in states if note).startswith("in one letter with email-")
    await post.pay(made)
    assert await post.work() == 1
    assert post.letters[2]["Subject"] == "$5.00 for Coffee"


async def test_opening_the_link_confirms_nothing(post: LetterHarness) -> None:
    """Mail scanners open every link, so a confirmation needs a POST."""
    made = await post.sell(VICTIM, "anna")
    await post.pay(made)
    await post.work()
    path = link(post.letters[0], "confirm")
    for method in ("GET", "HEAD", "GET"):
        page = await post.service.anyone.request(method, path)
        assert page.status_code == 200
    assert "v•••@mail.example" in page.text
    assert VICTIM not in page.text
    assert '<button name="scope" value="confirm">' in page.text
    assert page.headers["cache-control"] == "no-store"
    assert "default-src 'none'" in page.headers["content-security-policy"]
    assert await post.work() == 0
    assert (await post.service.get(made))["notifications"]["emailState"] == "unconfirmed"


async def test_the_pages_speak_the_readers_language(post: LetterHarness) -> None:
    await post.sell(VICTIM, "anna")
    await post.work()
    for kind, word in (("confirm", "Adresse bestätigen?"), ("stop", "abbestellen")):
        page = await post.service.anyone.get(
            link(post.letters[0], kind), headers={"Accept-Language": "de"}
        )
        assert word in page.text


async def test_a_link_works_once_and_for_a_week(post: LetterHarness) -> None:
    await post.sell(VICTIM, "anna")
    await post.work()
    path = link(post.letters[0], "confirm")
    first = await post.service.anyone.post(path)
    again = await post.service.anyone.post(path)
    assert [answer.status_code for answer in (first, again)] == [200, 200]
    assert "<button" not in again.text
    assert (await post.service.anyone.post("/email/confirm/guessed")).status_code == 404

    await post.service.anyone.post(link(post.letters[0], "stop"))
    late = await post.service.anyone.post(path)
    assert "No more emails" in late.text
    (row,) = await post.service.rows("recipients")
    assert row["state"] == "ended"

    await post.sell("bob@mail.example", "bob")
    await post.work()
    post.service.clock.advance(WEEK)
    expired = await post.service.anyone.post(link(post.letters[1], "confirm"))
    assert (expired.status_code, "expired" in expired.text) == (410, True)


async def test_notifications_to_an_unconfirmed_address_end_when_the_link_expires(
    post: LetterHarness,
) -> None:
    made = await post.sell(VICTIM, "anna")
    await post.pay(made, 3)
    await post.work()
    assert await post.work(WEEK) == 0
    assert await post.states() == [("ended", UNCONFIRMED)] * 3
    listed = (await post.service.seller.get("/v3/deliveries?state=ended")).json()["items"]
    assert [one["note"] for one in listed] == [UNCONFIRMED] * 3


async def test_the_seller_sees_the_status_of_the_address(post: LetterHarness) -> None:
    made = await post.sell(VICTIM, "anna")
    told = (await post.service.get(made))["notifications"]
    assert told == {"email": VICTIM, "emailState": "unconfirmed"}
    await post.work()
    await post.service.anyone.post(link(post.letters[0], "confirm"))
    told = (await post.service.get(made))["notifications"]
    assert told["emailState"] == "confirmed"
    assert told["emailConfirmedAt"] == NOON_ISO
    await post.service.anyone.post(link(post.letters[0], "stop"))
    assert (await post.service.get(made))["notifications"]["emailState"] == "ended"


async def test_naming_an_address_repeatedly_sends_one_question(post: LetterHarness) -> None:
    """By new requests, by edits, in other spellings of one mailbox."""
    made = await post.sell(VICTIM, "mallory")
    for number in range(20):
        await post.sell([VICTIM, VICTIM.upper(), "Victim@MAIL.example"][number % 3], "mallory")
        for address in ("other@mail.example", VICTIM):
            body = {"notifications": {"email": address}}
            assert (await post.service.edit(made, body)).status_code == 200
    await post.work()
    assert sorted(letter["To"] for letter in post.letters) == ["other@mail.example", VICTIM]
    for number in range(6):
        await post.sell(f"victim+{number}@mail.example", "mallory")
    await post.work()
    await post.work(DAY / 1000)
    asked = [letter for letter in post.letters if letter["To"].startswith("victim")]
    assert len(asked) == MOST_ASKS


async def test_an_expired_link_is_replaced_when_the_seller_names_the_address_again(
    post: LetterHarness,
) -> None:
    """A limited number of times; the former link no longer works."""
    for number in range(MOST_ASKS + 2):
        await post.sell(VICTIM, "anna")
        assert await post.work() == (number < MOST_ASKS)
        post.service.clock.advance(WEEK)
    await post.sell(VICTIM, "anna")
    assert (await post.service.anyone.get(link(post.letters[0], "confirm"))).status_code == 404


async def test_questions_to_one_mailbox_are_limited_over_all_sellers(post: LetterHarness) -> None:
    for number in range(30):
        await post.sell(f"vic.tim+{number}@googlemail.com", f"mallory{number}")
    assert await post.work() == ASK_MAILBOX.burst
    assert await post.work(DAY / 1000) == 1


@pytest.mark.long
async def test_a_question_delayed_by_other_sellers_is_sent_later(post: LetterHarness) -> None:
    """Its seven days begin when it is sent, also for the payments that wait for it."""
    for number in range(12):
        await post.sell(VICTIM, f"mallory{number}")
    await post.pay(await post.sell(VICTIM, "anna"))
    assert await post.work() == ASK_MAILBOX.burst
    asked = [await post.work(DAY / 1000) for _ in range(10)]
    assert asked == [1] * 10
    assert [state for state, _ in await post.states()] == ["waiting"]
    row = next(row for row in await post.service.rows("recipients") if row["owner"] == "anna")
    assert row["state"] == "unconfirmed"
    answer = await post.service.anyone.post(f"/email/confirm/{row['token']}")
    assert answer.status_code == 200
    assert await post.work() == 1


async def test_a_seller_has_few_questions_and_few_unconfirmed_addresses(
    post: LetterHarness,
) -> None:
    for number in range(MOST_OPEN):
        await post.sell(f"v{number}@mail.example", "mallory")
    refused = await post.name("one-more@mail.example", "mallory")
    assert refusal_code(refused) == (400, "invalidBody")
    assert refused_fields(refused) == ["notifications.email"]
    assert await post.work() == ASK_SELLER.burst
    assert (await post.name("one-more@mail.example", "anna")).status_code == 200


async def test_a_confirmation_counts_for_one_seller_only(post: LetterHarness) -> None:
    anna = await post.sell(VICTIM, "anna")
    mallory = await post.sell(VICTIM, "mallory")
    await post.work()
    asked = {row["owner"]: row["token"] for row in await post.service.rows("recipients")}
    await post.service.anyone.post(f"/email/confirm/{asked['anna']}")
    await post.pay(anna)
    await post.pay(mallory, 9)
    assert await post.work() == 1


async def test_a_trusted_application_names_addresses_without_confirmation(
    database_url: str,
) -> None:
    """The answers of its requests have no email state."""
    async with open_letter_harness(database_url, strangers=False) as post:
        made = await post.sell(VICTIM)
        assert (await post.service.get(made))["notifications"] == {"email": VICTIM}
        await post.pay(made)
        assert await post.work() == 1
        assert post.letters[0]["Subject"] == "$5.00 for Coffee"


async def test_an_owner_is_a_short_reference(post: LetterHarness) -> None:
    for owner in ("", "x" * 65, "a b", "a.b"):
        answer = await post.name(VICTIM, owner)
        assert (answer.status_code, refused_fields(answer)) == (400, ["Owner-Ref"])
    assert await post.service.rows("payment_requests") == []
    answer = await post.service.seller.get(REQUESTS_PATH)
    assert answer.status_code == 200


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("anna@shop.example", "Anna@SHOP.example", True),
        ("anna@shop.example", "anna+tag@shop.example", True),
        ("an.na@gmail.com", "anna@googlemail.com", True),
        ("an.na@shop.example", "anna@shop.example", False),
        ("anna@faß.de", "anna@xn--fa-hia.de", True),
        ("+@shop.example", "+a@shop.example", False),
    ],
)
def test_one_mailbox_has_one_digest(one: str, other: str, *, same: bool) -> None:
    assert (contacts.mailbox_digest(one) == contacts.mailbox_digest(other)) is same
    assert one not in contacts.mailbox_digest(one)


async def test_an_erased_address_is_nowhere_in_the_database_and_gets_no_letter(
    post: LetterHarness,
) -> None:
    """Also from waiting letters; that it unsubscribed stays stored as a digest."""
    made = await post.sell(VICTIM, "anna")
    await post.pay(made, 3)
    await post.work()
    stop = link(post.letters[0], "stop")
    await post.service.anyone.post(stop, data={"scope": "everybody"})
    db = post.service.db
    scope = db.run(lambda tx: payer_erasure.parse_scope(tx, [VICTIM.upper()], None, None))
    found = await payer_erasure.survey(db, scope)
    assert found.counts["recipients"] == 1
    await payer_erasure.erase(db, found, post.service.clock())
    assert VICTIM not in (await text_of(db)).lower()
    await post.pay(made)
    await post.pay(await post.sell(VICTIM, "bob"))
    rows = await post.service.rows("deliveries")
    db.run(lambda tx: notification_queues.retry(tx, rows[0]["id"], post.service.clock()))
    assert await post.work(WEEK) == 0


@pytest.mark.parametrize("word", ["Anna@Bücher.example", "anna@xn--bcher-kva.example"])
async def test_an_address_is_erased_in_whichever_spelling_of_its_domain(
    post: LetterHarness, word: str
) -> None:
    await post.sell("anna@bücher.example", "anna")
    db = post.service.db
    scope = db.run(lambda tx: payer_erasure.parse_scope(tx, [word], None, None))
    await payer_erasure.erase(db, await payer_erasure.survey(db, scope), post.service.clock())
    assert await post.service.rows("recipients") == []
    (row,) = await post.service.rows("payment_requests")
    assert row["email"] is None
