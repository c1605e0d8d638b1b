"""The PostgreSQL server of the tests: what no other test would show if it were otherwise."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest

from bot.core.database.opening import open_database
from tests.support.postgres_server import PostgresServer
from tests.support.source_tree import ROOT

pytestmark = pytest.mark.process

ABANDONED = """
from tests.support.postgres_server import PostgresServer
server = PostgresServer().start()
print(server.running.pid, server.home, flush=True)
input()
"""


@pytest.mark.parametrize("version", [16, 18])
def test_the_oldest_and_the_newest_version_are_used_by_a_plain_role(version: int) -> None:
    sql = "SELECT current_setting('server_version') AS it, current_setting('is_superuser') AS root"
    with (
        PostgresServer(version=version) as server,
        closing(open_database(server.clone("used"), writing=True)) as db,
    ):
        (found,) = db.run(lambda tx: tx.query(sql))
    assert (found["it"].partition(".")[0], found["root"]) == (str(version), "off")


def test_a_server_and_its_folder_go_with_the_process_that_made_them() -> None:
    command = [sys.executable, "-c", ABANDONED]
    with subprocess.Popen(command, cwd=ROOT, stdin=-1, stdout=-1, text=True) as parent:
        assert parent.stdout
        pid, home = parent.stdout.readline().split()
        parent.send_signal(signal.SIGKILL)
    end = time.monotonic() + 10
    left = [Path("/proc", pid), Path(home)]
    while any(path.exists() for path in left) and time.monotonic() < end:
        time.sleep(0.01)
    assert [path for path in left if path.exists()] == []
