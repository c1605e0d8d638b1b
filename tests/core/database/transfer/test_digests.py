"""Digests are equal for the same rows in any order, and for no others."""

from __future__ import annotations

from bot.core.database.postgres.transfer import digest

ROWS: list[tuple[object, ...]] = [(1, "é", None), (2, "", b"\0"), (2, "", b"\0")]


def test_the_order_of_rows_is_of_no_account() -> None:
    assert digest(ROWS) == digest(reversed(ROWS))


def test_a_row_changed_lost_or_doubled_is_found() -> None:
    others: list[list[tuple[object, ...]]] = [
        ROWS[:2],
        [*ROWS, ROWS[0]],
        [(1, "e", None), *ROWS[1:]],
        [(1, "é", ""), *ROWS[1:]],
        [("1", "é", None), *ROWS[1:]],
        [(1, "é", None), (1, "é", None), (1, "é", None)],
    ]
    assert all(digest(ROWS) != digest(other) for other in others)


def test_two_rows_that_are_equal_do_not_cancel_each_other() -> None:
    assert digest([(1,), (2,), (2,)]) != digest([(1,), (3,), (3,)])
