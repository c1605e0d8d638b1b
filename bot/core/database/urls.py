"""Parse DATABASE_URL, which names a SQLite file or a PostgreSQL server.

PostgreSQL URLs follow libpq (postgresql.org/docs/current/libpq-connect.html#LIBPQ-CONNSTRING). Our
own parameter `pooler=transaction` means that a pooler such as PgBouncer may give each transaction a
different connection to the server.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit

from bot.core import errors

SCHEMES = ("postgresql", "postgres")
POOLER = "pooler"
PASSWORDS = ("password", "sslpassword")
"""Parameters of libpq that are secret."""


@dataclass(frozen=True, slots=True)
class Address:
    """The address of a PostgreSQL server."""

    url: str
    """As libpq reads it, without our own parameter."""

    is_pooled: bool = False
    """True if a pooler is between us and the server."""


def is_postgres(url: str) -> bool:
    """True if a DATABASE_URL names a PostgreSQL server."""
    return url.partition("://")[0].lower() in SCHEMES


def check_url(url: str) -> None:
    """Raise ConfigProblem for a DATABASE_URL that names no database."""
    if is_postgres(url):
        postgres_address(url)
    else:
        sqlite_path(url)


def postgres_address(url: str) -> Address:
    """Return the server's address. Raises ConfigProblem."""
    try:
        parts = urlsplit(url)
    except ValueError:
        raise unreadable() from None
    # A password with an @ leaves two of them in the URL. If a password contains / ? or #, its rest
    # ends up in another part of the URL, which libpq would show in its errors.
    is_cut = (
        bool(parts.fragment)
        or parts.netloc.count("@") > 1
        or "@" in parts.path
        or ("@" in parts.query and "@" not in parts.netloc)
    )
    if is_cut or re.search(r"\s", url):
        raise unreadable()
    params = parse_qsl(parts.query, keep_blank_values=True)
    modes = [value for name, value in params if name == POOLER]
    if modes and modes != ["transaction"]:
        raise errors.ConfigProblem(f"DATABASE_URL: {POOLER} can only be transaction")
    query = urlencode([one for one in params if one[0] != POOLER], quote_via=quote)
    return Address(parts._replace(query=query).geturl(), is_pooled=bool(modes))


def safe_url(url: str) -> str:
    """Return a displayable URL, without the password and parameters of a server."""
    if not is_postgres(url):
        return url
    scheme, _, rest = url.partition("://")
    user, _, server = rest.rpartition("@")  # a password may contain an @
    user = user.partition(":")[0]
    server = re.split(r"[?#]", server)[0]
    return f"{scheme}://{user}@{server}" if user else f"{scheme}://{server}"


def passwords(url: str) -> list[str]:
    """Return the secrets in a URL, both encoded and decoded."""
    if not is_postgres(url):
        return []
    _, _, rest = url.partition("://")
    written = [rest.rpartition("@")[0].partition(":")[2]]
    written += re.findall(rf"[?&](?:{'|'.join(PASSWORDS)})=([^&#]*)", url)
    return [one for text in written if text for one in {text, unquote(text)}]


def unreadable() -> errors.ConfigProblem:
    """Return the error for an unreadable URL, which quotes nothing because it may be secret."""
    return errors.ConfigProblem(
        "DATABASE_URL: write postgresql://user:password@host/database, with parameters of libpq"
        " alone; in the password write %25 for %, %40 for @, %2F for /, %3F for ?, %23 for # and"
        " %20 for a space"
    )


# The file of a SQLite database, and the names of its predecessors.


STAMP = r"\d{8}T\d{6}Z"
"""A time in the name of a file."""

MOVED, REPLACED = "{}-moved-{}{}", "{}-replaced-{}{}"
"""File name of a database that was moved to a server or replaced by a backup: its old name, the
time and its suffix."""

IS_MOVED = "was moved to a PostgreSQL server, and is {} now: set DATABASE_URL to that server"
IS_REPLACED = "is missing, but a restore has put {} aside: run restore again"


def sqlite_path(url: str) -> str:
    """Return the path of `sqlite:///relative` or `sqlite:////absolute`. Raises ConfigProblem.

    Any other spelling is refused, because it would name a different file than intended.
    """
    scheme, _, rest = url.partition(":")
    path = unquote(rest[len("///") :])
    is_whole = scheme.lower() == "sqlite" and rest.startswith("///") and "\0" not in path
    is_for_shell = path.startswith(("~", "$"))  # nothing expands these here
    if not is_whole or is_for_shell or path in {"", ":memory:"} or "?" in rest or "#" in rest:
        raise errors.ConfigProblem(
            "DATABASE_URL: write sqlite:///data/bot.db or sqlite:////an/absolute/path, without"
            " parameters; in the path write %23 for #, %3F for ? and %25 for %"
        )
    return path


def existing_file(url: str) -> Path:
    """Return the database file of a DATABASE_URL. Raises BotError if there is none."""
    path = Path(sqlite_path(url))
    refuse_lost_file(str(path))
    if not path.is_file():
        raise errors.BotError(
            f"DATABASE_URL: there is no database at {path}: start the bot once or fix the path"
        )
    return path


def url_of(path: Path) -> str:
    """Return the DATABASE_URL of a file."""
    return f"sqlite:///{quote(str(path))}"


def refuse_lost_file(path: str) -> None:
    """Raise ConfigProblem if a database file existed but is missing.

    A new file would be empty, and SQLite would delete an orphaned -wal with its data.
    """
    file, log = Path(path), Path(path + "-wal")
    if file.exists() and file.stat().st_size > 0:
        return
    if log.exists() and log.stat().st_size > 0:
        raise errors.ConfigProblem(
            f"DATABASE_URL: {path} is missing, but {log.name} beside it holds its newest data:"
            " put the file back there"
        )
    neighbours = [one.name for one in file.parent.iterdir()] if file.parent.is_dir() else []
    for name, fate in ((MOVED, IS_MOVED), (REPLACED, IS_REPLACED)):
        pattern = re.compile(name.format(re.escape(file.stem), STAMP, re.escape(file.suffix)))
        if former := max(filter(pattern.fullmatch, neighbours), default=None):
            raise errors.ConfigProblem(
                f"DATABASE_URL: {path} {fate.format(former)}, or move that file to another folder"
                " to begin with an empty database"
            )


def file_identity(path: str) -> tuple[int, int] | None:
    """Return device and inode of the file at `path`; None if there is none.

    Data written to an open file that has been unlinked is lost.
    """
    try:
        found = os.stat(path)  # noqa: PTH116 - before each transaction, and Path costs as much again
    except OSError:
        return None
    return found.st_dev, found.st_ino
