"""Sums of takings are exact, however much that is."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.chat.payments.recording import Ledger
from bot.chat.store import received_payments
from bot.chat.store.received_payments import Payment
from bot.core.database import big_sums
from bot.core.database.database import open_database
from bot.core.database.schema import migrations
from bot.core.database.schema.sums import SUMS
from bot.core.money.amounts import MAX_MINOR, format_money
from tests.support.chat_harness import COFFEE, answer

if TYPE_CHECKING:
    from pathlib import Path

    from bot.chat.store.listings import Listing
    from bot.core.database.database import Database, Transaction
    from tests.support.chat_harness import ChatHarness

AMOUNTS = [MAX_MINOR, MAX_MINOR - 1, 1, 999_999_999, 1_000_000_000]


@pytest.fixture
def rich(chat: ChatHarness) -> Listing:
    """A listing that took more than 64 bits hold."""
    listing = chat.add_listing(chat.add_person("Sam"), COFFEE, answer())

    def record(tx: Transaction) -> None:
        for number, amount in enumerate(AMOUNTS):
            paid = Payment(listing.request_id or "", f"t{number}", amount, "USD", {})
            Ledger(tx, chat.queues, chat.clock()).record(listing.id, paid, None)

    chat.db.run(record)
    return listing


def test_what_a_listing_took_is_exact_beyond_64_bits(chat: ChatHarness, rich: Listing) -> None:
    (taken,) = chat.db.run(lambda tx: received_payments.takings(tx, rich.id))
    assert taken == (sum(AMOUNTS), "USD")
    assert format_money(sum(AMOUNTS), "USD", "en") in chat.texts[-1]


def test_what_a_day_took_is_exact_beyond_64_bits(chat: ChatHarness, rich: Listing) -> None:
    now, seller = chat.clock(), rich.seller_id
    (day,) = chat.db.run(lambda tx: received_payments.takings_between(tx, seller, now, now + 1))
    assert (day.amounts, day.count) == (((sum(AMOUNTS), "USD"),), len(AMOUNTS))


def test_what_an_earlier_version_could_not_add_up_is_exact(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its sum had become a floating-point number; the payments themselves are whole."""
    url, before = f"sqlite:///{tmp_path}/bot.db", migrations.MIGRATIONS.index(SUMS)
    with monkeypatch.context() as earlier:
        earlier.setattr(migrations, "MIGRATIONS", migrations.MIGRATIONS[:before])
        with closing(open_database(url)) as db:
            db.run(earn)
    with closing(open_database(url)) as db:
        assert db.run(lambda tx: received_payments.takings(tx, "listing")) == [
            (sum(AMOUNTS), "USD")
        ]


def earn(tx: Transaction) -> None:
    """Payments whose sum that version kept in one number."""
    tx.execute(
        "INSERT INTO listings (id, seller_id, chat_id, token, state, wish, created_at)"
        " VALUES ('listing', 7, 7, 't', 'live', '{}', 1)"
    )
    for number, amount in enumerate(AMOUNTS):
        tx.execute(
            "INSERT INTO received_payments (request_id, transaction_id, listing_id, amount,"
            " currency, body, received_at)"
            " VALUES ('r', :number, 'listing', :amount, 'USD', '{}', 1)",
            number=f"t{number}",
            amount=amount,
        )
        tx.execute(
            "INSERT INTO takings (listing_id, currency, amount, payments)"
            " VALUES ('listing', 'USD', :amount, 1) ON CONFLICT (listing_id, currency)"
            " DO UPDATE SET amount = takings.amount + excluded.amount,"
            " payments = takings.payments + 1",
            amount=amount,
        )
    (kept,) = tx.query("SELECT amount FROM takings")
    assert isinstance(kept["amount"], float)


@given(st.lists(st.integers(0, MAX_MINOR), min_size=1, max_size=20))
def test_parts_that_the_database_adds_up_are_the_sum(amounts: list[int]) -> None:
    """The same whether Python splits an amount or SQL does."""
    split = [big_sums.split(amount) for amount in amounts]
    parts = {"billions": sum(one for one, _ in split), "rest": sum(rest for _, rest in split)}
    assert big_sums.whole(parts) == sum(amounts)


@pytest.mark.parametrize("amount", [0, 1, 999_999_999, 10**9, 10**9 + 1, MAX_MINOR])
def test_sql_splits_an_amount_as_python_does(db: Database, amount: int) -> None:
    parts = f"{big_sums.BILLIONS} AS billions, {big_sums.REST} AS rest"
    sql = f"SELECT {parts} FROM (SELECT :amount AS amount)"
    (row,) = db.run(lambda tx: tx.query(sql, amount=amount))
    assert (row["billions"], row["rest"]) == big_sums.split(amount)
    assert {type(part) for part in row.values()} == {int}


@pytest.mark.parametrize("amount", [1, MAX_MINOR])
def test_what_is_taken_back_leaves_the_rest(amount: int) -> None:
    """A payment that turns out to be another takes the place of the first."""
    first, back, second = big_sums.split(10**12), big_sums.split(-(10**12)), big_sums.split(amount)
    billions, rest = (sum(parts) for parts in zip(first, back, second, strict=True))
    assert big_sums.whole({"billions": billions, "rest": rest}) == amount
