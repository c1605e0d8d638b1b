"""The command `erase`: what payers said about themselves goes, the money stays."""

from __future__ import annotations

import asyncio
import sys
from typing import TYPE_CHECKING

import click

from bot import config
from bot.cli import console
from bot.cli.date_option import Moment
from bot.core.clock import now
from bot.core.database import snapshot
from bot.core.database.database import open_database

if TYPE_CHECKING:
    from bot.wiring.maintenance.payer_erasure import Bytes, Erased, Found

ELSEWHERE = (
    "Backups that were made before still hold it, and what was sent (alerts, webhooks, e-mails)"
    " is where it went."
)

GIVEN = {"payments.user_data", "checkouts.user_data", "received_payments.body"}
"""Columns that hold what payers gave: what is erased stands there only if it came meanwhile."""


@click.command()
@click.argument("who", metavar="[WHO]...", nargs=-1)
@click.option("--before", type=Moment(), metavar="DATE", help="Only what was paid before: 90d.")
@click.option("--request", "request_id", metavar="ID", help="Only what was given for this request.")
@click.option("--yes", is_flag=True, help="Don't ask first.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object instead of words.")
def erase(
    who: tuple[str, ...],
    before: int | None,
    request_id: str | None,
    yes: bool,  # noqa: FBT001 - click passes options by name
    as_json: bool,  # noqa: FBT001 - as above
) -> None:
    """Erase what payers said about themselves, for good; payments and sums stay.

    WHO is an e-mail address, a paymail or a phone number, however typed, or the id of a payment,
    which stands for all that its payer gave with it. --before takes a date or an age such as 90d.
    Given together, they narrow each other; without WHO everybody is meant.

    An address that is told of payments by e-mail is told no more; that it wants none stays known.

    What waits to be sent is sent without it. The bot may run meanwhile. At the end the database
    file is written anew, so that nothing is left in its bytes, and they are searched for it. Exits
    with 1 where something is left, and says what to do.
    """
    from bot.wiring.maintenance import payer_erasure  # noqa: PLC0415 - other commands start without it

    url = config.load().database_url
    path = snapshot.file_of(url)
    database = open_database(url)
    try:
        scope = asyncio.run(
            database.read(lambda tx: payer_erasure.parse_scope(tx, who, before, request_id))
        )
        found = asyncio.run(payer_erasure.survey(database, scope))
        _announce(found)
        if not found.nothing and not yes:
            click.confirm("Erase it for good?", abort=True, err=True)
        done = asyncio.run(payer_erasure.erase(database, scope, found, now()))
    finally:
        database.close()
    left = payer_erasure.clean(path, done.gone)
    _report(found, done, left, as_json=as_json)
    sys.exit(1 if left.left else 0)


def _announce(found: Found) -> None:
    if found.nothing:
        console.tell("Nothing is kept of them.")
        return
    console.tell(
        f"Payer data of {found.payments} payments, {found.checkouts} checkouts and {found.told}"
        " payments told in the chat."
    )
    if found.recipients:
        console.tell(f"Named {found.recipients} times to be told of payments by e-mail.")


def _report(found: Found, done: Erased, left: Bytes, *, as_json: bool) -> None:
    facts = {
        "payments": found.payments,
        "checkouts": found.checkouts,
        "told": found.told,
        "messages": done.messages,
        "recipients": found.recipients,
    }
    if as_json:
        seen = {"searched": left.traced, "values": left.of, "left": left.left}
        holders = {"compacted": left.compacted, "holders": list(left.holders)}
        click.echo(console.json_line({**facts, **seen, **holders}))
        return
    for name, number in facts.items():
        console.print_fact(name, number)
    console.print_fact("bytes", _bytes(left))
    console.tell(ELSEWHERE)


def _bytes(left: Bytes) -> str:
    """Say what is left in the file, and what to do about it."""
    looked = f"{left.traced} values looked for"
    if left.of > left.traced:
        looked = f"{left.traced} of {left.of} values looked for"
    if not left.left:
        return f"nothing is left in the file ({looked})"
    if left.holders:
        where = ", ".join(left.holders)
        return f"{left.left} left ({looked}) in {where}: {_advice(left)}"
    if not left.compacted:
        return f"{left.left} left ({looked}) in free space: stop the bot and run the same again"
    return f"{left.left} left ({looked}): somebody wrote meanwhile: run the same again"


def _advice(left: Bytes) -> str:
    if GIVEN.issuperset(left.holders):
        return "it came meanwhile: run the same again"
    return (
        "what waits there or is a seller's own is not touched. Run it again later with the"
        " addresses and numbers themselves as WHO: the same again knows no others"
    )
