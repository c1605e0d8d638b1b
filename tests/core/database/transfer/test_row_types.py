"""Values that a SQLite file can hold and PostgreSQL can't are refused before they are sent."""

from __future__ import annotations

import pytest

from bot.core.database.inspection import Column, Table
from bot.core.database.postgres.transfer import check_rows
from bot.core.errors import Unreadable

TABLE = Table(
    "posts",
    (
        Column("own", "INTEGER"),
        Column("message_id", "BIGINT"),
        Column("lane", "TEXT"),
        Column("data", "BYTEA"),
    ),
)


@pytest.mark.parametrize(
    "row",
    [
        (2**31 - 1, 2**63 - 1, "naïve \u202e 👩‍👩‍👧\t\x7f", bytes(range(256))),
        (-(2**31), -(2**63), "", b""),
        (None, None, None, None),
    ],
)
def test_values_of_the_declared_types_pass(row: tuple[object, ...]) -> None:
    assert [*check_rows(TABLE, [row])] == [row]


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ((2**31, 1, "", b""), "posts.own holds a number beyond 32 bits"),
        (("1", 1, "", b""), "posts.own holds a text instead of INTEGER"),
        ((1, 1.5, "", b""), "posts.message_id holds a fraction instead of BIGINT"),
        ((1, "x", "", b""), "posts.message_id holds a text instead of BIGINT"),
        ((1, 1, "a\0b", b""), "posts.lane holds a text with a NUL"),
        ((1, 1, b"\xff", b""), "posts.lane holds bytes instead of TEXT"),
        ((1, 1, 7, b""), "posts.lane holds a number instead of TEXT"),
        ((1, 1, "", "text"), "posts.data holds a text instead of BYTEA"),
    ],
)
def test_another_value_is_named_by_its_column_and_never_shown(
    row: tuple[object, ...], message: str
) -> None:
    with pytest.raises(Unreadable) as caught:
        [*check_rows(TABLE, [row])]
    assert str(caught.value) == message
