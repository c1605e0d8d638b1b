"""Sums of revenue are exact, however large they are."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.chat.store import payment_rows
from bot.chat.store.link_rows import PaymentLink
from bot.chat.store.payment_rows import Payment, RevenueTotals
from bot.core.database import database
from bot.core.database.database import Database, Transaction
from bot.core.money.amounts import MAX_MINOR, format_money
from tests.support.chat_harness import COFFEE, ChatHarness, service_answer

AMOUNTS = [MAX_MINOR, MAX_MINOR - 1, 1, 999_999_999, 1_000_000_000]


@pytest.fixture
def big_link(chat: ChatHarness) -> PaymentLink:
    """A link whose revenue need more than 64 bits."""
    link = chat.add_link(chat.add_person("Sam"), COFFEE, service_answer())

    def record(tx: Transaction) -> None:
        for number, amount in enumerate(AMOUNTS):
            paid = Payment(link.request_id or "", f"t{number}", amount, "USD", {})
            chat.recorder.record(tx, link.id, paid, None)

    chat.db.run(record)
    return link


def test_revenue_of_a_link_are_exact(chat: ChatHarness, big_link: PaymentLink) -> None:
    taken = chat.db.run(lambda tx: payment_rows.revenue_totals(tx, big_link.id))
    assert taken == RevenueTotals(((sum(AMOUNTS), "USD"),), len(AMOUNTS), units_sold=len(AMOUNTS))
    assert format_money(sum(AMOUNTS), "USD", "en") in chat.texts[-1]


def test_revenue_of_a_day_are_exact(chat: ChatHarness, big_link: PaymentLink) -> None:
    now, seller = chat.clock(), big_link.seller_id
    (day,) = chat.db.run(lambda tx: payment_rows.revenue_between(tx, seller, now, now + 1))
    assert day.totals == RevenueTotals(
        ((sum(AMOUNTS), "USD"),), len(AMOUNTS), units_sold=len(AMOUNTS)
    )


@given(st.lists(st.integers(0, MAX_MINOR), min_size=1, max_size=20))
def test_the_sums_of_the_parts_make_the_sum(amounts: list[int]) -> None:
    """The same whether Python splits an amount or SQL does."""
    split = [database.split_amount(amount) for amount in amounts]
    parts = {"billions": sum(one for one, _ in split), "rest": sum(rest for _, rest in split)}
    assert database.join_amount(parts) == sum(amounts)


@pytest.mark.parametrize("amount", [0, 1, 999_999_999, 10**9, 10**9 + 1, MAX_MINOR])
def test_sql_splits_an_amount_as_python_does(db: Database, amount: int) -> None:
    parts = f"{database.BILLIONS} AS billions, {database.REST} AS rest"
    sql = f"SELECT {parts} FROM (SELECT :amount AS amount)"
    (row,) = db.run(lambda tx: tx.query(sql, amount=amount))
    assert (row["billions"], row["rest"]) == database.split_amount(amount)
    assert {type(part) for part in row.values()} == {int}


@pytest.mark.parametrize("amount", [1, MAX_MINOR])
def test_an_amount_can_be_subtracted_again(amount: int) -> None:
    """A payment recorded with another amount is subtracted before the new amount is added."""
    first, back, second = (
        database.split_amount(10**12),
        database.split_amount(-(10**12)),
        database.split_amount(amount),
    )
    billions, rest = (sum(parts) for parts in zip(first, back, second, strict=True))
    assert database.join_amount({"billions": billions, "rest": rest}) == amount
