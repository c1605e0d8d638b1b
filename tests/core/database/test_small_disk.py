"""A PostgreSQL server on a full disk refuses writes, and goes on when there is room."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest

from tests.support.small_disk import SmallDisk, can_mount

GROW = b"INSERT INTO t SELECT repeat(md5(random()::text), 30) FROM generate_series(1, 5000)"

pytestmark = [
    pytest.mark.process,
    pytest.mark.skipif(not can_mount(), reason="the kernel forbids user namespaces"),
]


@pytest.fixture
def server() -> Iterator[SmallDisk]:
    with SmallDisk() as it:
        yield it


def test_a_full_disk_refuses_writes_until_there_is_room(server: SmallDisk) -> None:
    with psycopg.connect(server.clone("small"), autocommit=True) as connection:
        connection.execute("CREATE TABLE t (x TEXT)")
        with server.full():
            with pytest.raises(psycopg.errors.DiskFull):
                connection.execute(GROW)
            row = connection.execute("SELECT COUNT(*) FROM t").fetchone()
            assert row == (0,)
        connection.execute(GROW)
        assert connection.execute("SELECT COUNT(*) FROM t").fetchone() == (5000,)
