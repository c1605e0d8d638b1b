"""What an operator does about a server that can't be used, by words of its refusal.

A refused connection has no SQLSTATE, so that its text alone tells; other texts stay as they are.
"""

from __future__ import annotations

import re

ADVICE = {
    "password authentication failed": "it refuses the user or the password: check both",
    "no password supplied": "it asks for a password: write postgresql://user:password@host/…",
    r"no pg_hba\.conf entry": (
        "it lets this user connect from here to no such database: allow it in its pg_hba.conf"
    ),
    "permission denied for database": (
        "the user may not connect to this database: GRANT CONNECT ON DATABASE … TO the user"
    ),
    "permission denied for schema": (
        "the user may not create tables in it: make it the owner of the database, or GRANT CREATE"
        " ON SCHEMA public TO the user"
    ),
    "permission denied for": (
        "its tables are another user's: name that user in the URL, or GRANT its rights"
    ),
    "must be owner of": "its tables are another user's: name that user in the URL",
    'database ".*" does not exist': (
        "there is no such database: create it (CREATE DATABASE), or check its name"
    ),
    'role ".*" does not exist': (
        "there is no such user (role): create it (CREATE ROLE … LOGIN), or check its name"
    ),
    "resolve host": "its host is not known: check the name",
    "translate host name": "its host is not known: check the name",
    "connection refused": "nothing answers at its host and port: start the server, or check both",
    "no such file or directory": "nothing answers there: start the server, or check the path",
    "no route to host": "its host can't be reached: check the address and the network",
    "network is unreachable": "its host can't be reached: check the address and the network",
    "timeout expired": (
        "no answer came in time: the server stands still, or a firewall drops the packets"
    ),
    "session is read-only|read-only transaction|session is in hot standby": (
        "the server is a standby, which stores nothing: name the primary, or all hosts as"
        " host1,host2; where a pooler stands between, add pooler=transaction to the parameters, and"
        " restart the pooler"
    ),
    "does not support ssl": "the server has no TLS: enable it there, or set sslmode=prefer",
    "certificate": "its TLS certificate can't be checked: see sslmode and sslrootcert",
    "invalid port number": "its port is not a number from 1 to 65535",
    "connection slots": "all its connections are in use: raise max_connections, or use a pooler",
    "too many clients": "all its connections are in use: raise max_connections, or use a pooler",
    "too many connections": "all its connections are in use: raise the user's or database's limit",
    "starting up": "the server is starting: try again in a moment",
    "shutting down": "the server is stopping: start it again",
    "recovery mode": "the server recovers from a crash: try again in a moment",
}
"""By patterns of what PostgreSQL, libpq and psycopg write; the first that fits counts."""


def advise(reason: str) -> str:
    """Return what is wrong and what to do about it, in one line."""
    for pattern, advice in ADVICE.items():
        if re.search(pattern, reason, re.IGNORECASE):
            return advice
    return " ".join(reason.split())
