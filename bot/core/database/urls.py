"""What a DATABASE_URL names: a SQLite file or a PostgreSQL server.

A PostgreSQL URL is libpq's (postgresql.org/docs/current/libpq-connect.html#LIBPQ-CONNSTRING), with
one parameter of ours, `pooler=transaction`: a pooler such as PgBouncer gives each transaction
another connection of the server.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit

from bot.core.database.sqlite.files import sqlite_path
from bot.core.errors import ConfigProblem

if TYPE_CHECKING:
    from urllib.parse import SplitResult

SCHEMES = ("postgresql", "postgres")
POOLER = "pooler"
PASSWORDS = ("password", "sslpassword")
"""Parameters of libpq that are secret."""


@dataclass(frozen=True, slots=True)
class Address:
    """What libpq gets to read, and whether a pooler stands between."""

    url: str
    is_pooled: bool = False


def is_postgres(url: str) -> bool:
    """Return whether a DATABASE_URL names a PostgreSQL server."""
    return url.partition("://")[0].lower() in SCHEMES


def check_url(url: str) -> None:
    """Raise ConfigProblem for a DATABASE_URL that names no database."""
    if is_postgres(url):
        postgres_address(url)
    else:
        sqlite_path(url)


def postgres_address(url: str) -> Address:
    """Return what libpq connects to. Raises ConfigProblem."""
    try:
        parts = urlsplit(url)
    except ValueError:
        raise unreadable() from None
    if _is_cut(parts) or re.search(r"\s", url):
        raise unreadable()
    params = parse_qsl(parts.query, keep_blank_values=True)
    modes = [value for name, value in params if name == POOLER]
    if modes and modes != ["transaction"]:
        raise ConfigProblem(f"DATABASE_URL: {POOLER} can only be transaction")
    query = urlencode([one for one in params if one[0] != POOLER], quote_via=quote)
    return Address(parts._replace(query=query).geturl(), is_pooled=bool(modes))


def safe_url(url: str) -> str:
    """Return the URL for people: a server's without password and parameters."""
    if not is_postgres(url):
        return url
    scheme, _, rest = url.partition("://")
    user, _, server = rest.rpartition("@")  # a password may contain what ends it elsewhere
    user = user.partition(":")[0]
    server = re.split(r"[?#]", server)[0]
    return f"{scheme}://{user}@{server}" if user else f"{scheme}://{server}"


def passwords(url: str) -> list[str]:
    """Return the secrets of a URL, as they are written there and as they are meant."""
    if not is_postgres(url):
        return []
    _, _, rest = url.partition("://")
    written = [rest.rpartition("@")[0].partition(":")[2]]
    written += re.findall(rf"[?&](?:{'|'.join(PASSWORDS)})=([^&#]*)", url)
    return [one for text in written if text for one in {text, unquote(text)}]


def unreadable() -> ConfigProblem:
    """Return the problem of a URL that can't be read; it quotes nothing, as that may be secret."""
    return ConfigProblem(
        "DATABASE_URL: write postgresql://user:password@host/database, with parameters of libpq"
        " alone; in the password write %25 for %, %40 for @, %2F for /, %3F for ?, %23 for # and"
        " %20 for a space"
    )


def _is_cut(parts: SplitResult) -> bool:
    """Return whether a password seems to have ended a part of the URL: libpq would show its rest.

    In it, an @ leaves two, and / ? # leave one where none belongs.
    """
    astray = "@" in parts.path or ("@" in parts.query and "@" not in parts.netloc)
    return bool(parts.fragment) or astray or parts.netloc.count("@") > 1
