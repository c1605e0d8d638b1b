"""Rules of copies: digests of tables, values that PostgreSQL can't hold, replicas in the way."""

from __future__ import annotations

import pytest

from bot.core.database.postgres.copying import Column, Table, check_rows, digest
from bot.core.database.postgres.transfer import LOOKS, refuse_while_beating
from bot.core.errors import BotError, Unreadable

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


TABLE = Table(
    "posts",
    (
        Column("own", "INTEGER"),
        Column("message_id", "BIGINT"),
        Column("lane", "TEXT"),
        Column("data", "BYTEA"),
    ),
)


def test_values_of_the_declared_types_pass() -> None:
    rows: list[tuple[object, ...]] = [
        (2**31 - 1, 2**63 - 1, "naïve \u202e 👩‍👩‍👧\t\x7f", bytes(range(256))),
        (-(2**31), -(2**63), "", b""),
        (None, None, None, None),
    ]
    assert [*check_rows(TABLE, rows)] == rows


STRANGE: dict[tuple[object, ...], str] = {
    (2**31, 1, "", b""): "posts.own holds a number beyond 32 bits",
    ("1", 1, "", b""): "posts.own holds a text instead of INTEGER",
    (1, 1.5, "", b""): "posts.message_id holds a fraction instead of BIGINT",
    (1, "x", "", b""): "posts.message_id holds a text instead of BIGINT",
    (1, 1, "a\0b", b""): "posts.lane holds a text with a NUL",
    (1, 1, b"\xff", b""): "posts.lane holds bytes instead of TEXT",
    (1, 1, 7, b""): "posts.lane holds a number instead of TEXT",
    (1, 1, "", "text"): "posts.data holds a text instead of BYTEA",
}


def test_another_value_is_named_by_its_column_and_never_shown() -> None:
    for row, message in STRANGE.items():
        with pytest.raises(Unreadable) as caught:
            [*check_rows(TABLE, [row])]
        assert str(caught.value) == message


# Replicas whose beat moves: a command refuses to work beneath them, and beneath no others.


Beats = dict[str, int]


class Replicas:
    """What each look finds, the last one for ever; `slept` adds up the seconds between."""

    def __init__(self, *found: Beats) -> None:
        self.found = [*found]
        self.slept = 0.0

    def look(self) -> Beats:
        return self.found.pop(0) if len(self.found) > 1 else self.found[0]

    def sleep(self, seconds: float) -> None:
        self.slept += seconds


def test_nobody_waits_where_all_were_stopped() -> None:
    replicas = Replicas({})
    assert refuse_while_beating(replicas.look, replicas.sleep) == {}
    assert replicas.slept == 0


def test_a_beat_that_stands_still_for_ten_seconds_is_of_the_dead() -> None:
    replicas = Replicas({"a": 7, "b": 1})
    assert refuse_while_beating(replicas.look, replicas.sleep) == {"a": 7, "b": 1}
    assert replicas.slept == 10


def test_whoever_beats_comes_or_begins_again_until_the_last_look_is_named() -> None:
    for later, name in (({"a": 8}, "a"), ({"a": 7, "new": 0}, "new"), ({"a": 6}, "a")):
        found: list[Beats] = [{"a": 7}] * LOOKS
        replicas = Replicas(*found, later)
        refusal = rf"in use by 1 running replica \({name}\): stop the bot everywhere first"
        with pytest.raises(BotError, match=refusal):
            refuse_while_beating(replicas.look, replicas.sleep)


def test_one_that_stops_meanwhile_is_no_hindrance() -> None:
    replicas = Replicas({"a": 7}, {"a": 7}, {})
    assert refuse_while_beating(replicas.look, replicas.sleep) == {}
