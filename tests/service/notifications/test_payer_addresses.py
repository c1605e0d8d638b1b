"""Nobody pays with an address at which no letter arrives: page and mailer have one rule."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bot.core.text.contacts import mailbox_digest
from tests.support.databases import SQLITE
from tests.support.payer_receipts import open_receipt_harness

HOSTS = st.sampled_from(
    [
        *("mail.example", "EXAMPLE.org", "münchen.de", "例え.jp", "faß.de", "a_b.example"),
        *("shop.test", "printer.local", "xn--a.example", "foo-.example", "a..b.example"),
        *("[127.0.0.1]", "1.2", "host"),
    ]
)
NAMES = st.text("aZ09é字.+-_'=?\"\\ ,;:<>()@%!/\t\n\x01\u200e", min_size=1, max_size=66)
ADDRESSES = st.lists(
    st.emails() | st.builds("{}@{}".format, NAMES, HOSTS),
    min_size=10,
    max_size=10,
    unique_by=mailbox_digest,
)


@pytest.mark.only(SQLITE, "the rule of addresses knows no database")
@settings(
    max_examples=12,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(addresses=ADDRESSES)
async def test_what_the_pay_page_takes_the_mailer_sends(
    new_database: Callable[[], str], addresses: list[str]
) -> None:
    async with open_receipt_harness(new_database()) as post:
        request_id = await post.ask()
        answers = [await post.pay(request_id, address) for address in addresses]
        assert {answer.status_code for answer in answers} <= {303, 400}
        paid = await post.service.rows("payments")
        assert len(paid) == sum(answer.status_code == 303 for answer in answers)
        await post.work()
        stored = sorted(json.loads(row["user_data"])["email"] for row in paid)
        assert sorted(letter["to"] for letter in post.letters) == stored
        assert {state for state, _ in await post.states()} <= {"done"}
