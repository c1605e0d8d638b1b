"""The figure `peers`: all comparisons, as the section of docs/benchmarks.md."""

from __future__ import annotations

from bench.peers import environments
from bench.peers.bots import bots
from bench.peers.codes import codes
from bench.peers.lnbits import lnbits
from bench.peers.section import section
from bench.report import facts

NOTE = """
LNbits runs with its default SQLite and FakeWallet, so no Lightning network is part of its times;
its rate limit is lifted, it has no access log and no log files. Its payment is an internal one of
an invoice, each paid once; ours is the post of the pay form. Both answer after the commit. The
lag of a webhook counts from the payment's answer at the client, at half of what LNbits bears, to
one endpoint. Memory is that of all processes, ours by `bot run`, LNbits' by its command `lnbits`,
which are two that share pages. Pay links are drawn at level M with a border of four modules and
the same pixels a module; `qrencode` starts a process for each picture, as a program that uses it
would. The bots poll the same Bot API server and give the same answer; only ours stores updates
and answers.
"""


async def peers() -> str:
    """Measure all peers; the section."""
    versions = environments.versions()
    rows = [*codes(), *await bots(), *await lnbits()]
    return section(rows, [*facts(), f"- Peers: {versions}"], NOTE)
