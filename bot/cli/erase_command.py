"""The command `erase`: payers' data is erased, the money stays."""

from __future__ import annotations

import asyncio
import sys
from typing import TYPE_CHECKING

import click

from bot import config
from bot.cli import console
from bot.core.clock import now
from bot.core.database.database import existing_file, is_postgres, open_for_command

if TYPE_CHECKING:
    from bot.wiring.maintenance.payer_erasure import Erased, Found

ELSEWHERE = (
    "Existing backups still contain it: delete them yourself. Alerts, webhooks and emails that were"
    " sent can't be called back."
)

LEFT = "{} rows with such data came meanwhile: run the same command again"


@click.command()
@click.argument("who", metavar="[WHO]...", nargs=-1)
@click.option("--before", type=console.Moment(), metavar="DATE", help="Only data from before DATE.")
@click.option("--request", "request_id", metavar="ID", help="Only data given for this request.")
@click.option("--yes", is_flag=True, help="Don't ask for confirmation.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def erase(
    who: tuple[str, ...],
    before: int | None,
    request_id: str | None,
    yes: bool,  # noqa: FBT001 - click passes options by name
    as_json: bool,  # noqa: FBT001 - as above
) -> None:
    """Erase payers' data or a seller's profile and accounts; payments are kept.

    WHO is an email address, a paymail or a phone number, in any spelling, or the id of a payment,
    which means everything that its payer entered. Payers' names and messages go with it, sellers'
    notes on the payment, and the receipt of it that is kept in Telegram; who gave nothing else is
    found by the payment's id. Messages and notes of other payments lose the address. --before
    takes a date, or an age such as 90d. With both, only data that matches both is erased; without
    WHO, the data of every payer. What is erased can't be restored.

    An address that gets emails about payments won't get any more. If it has unsubscribed, that is
    remembered. Receipts lose their addresses, and queued receipts are not sent.

    To erase a seller's profile, give their contact, or the reference that an application gave with
    the requests (such as seller-4711). Name, picture, contact and description are removed from all
    payment requests of that seller, and so is the profile that they set up in the chat, where
    seller-4711 is the seller with the Telegram ID 4711. The accounts that their money goes to are
    deleted with their keys, so that nobody can pay them until they connect one. Other texts and
    addresses of sellers are not touched.

    To erase all receipts that a payer keeps in Telegram, give their Telegram account, such as
    buyer-4711.

    Queued messages are sent without the data. The bot can keep running. At the end, the database
    file is rewritten so that no erased byte is left in it. A PostgreSQL database is vacuumed: the
    server then writes over the erased rows as it needs their room, and its log, standbys and
    archives keep them for as long as they are kept. Exits with 1 if data may be left, and says what
    to do.
    """
    from bot.wiring.maintenance import payer_erasure  # noqa: PLC0415 - other commands start without it

    url = config.load().database_url
    database = open_for_command(url)
    try:
        scope = asyncio.run(
            database.read(lambda tx: payer_erasure.parse_scope(tx, who, before, request_id))
        )
        found = asyncio.run(payer_erasure.survey(database, scope))
        _announce(found)
        if found.rows:
            console.confirm("Erase it for good?", yes=yes)
        erased = asyncio.run(payer_erasure.erase(database, scope, found, now()))
        left = asyncio.run(payer_erasure.survey(database, scope)).rows
    finally:
        database.close()
    compacted = _compact(url, payer_erasure.TOUCHED)
    words = _on_server(left) if is_postgres(url) else _in_file(left, compacted=compacted)
    _report(found, erased, {"left": left, "compacted": compacted}, words, as_json=as_json)
    sys.exit(1 if left or not compacted else 0)


def _announce(found: Found) -> None:
    if not found.rows:
        console.print_message("No data of them is stored.")
        return
    console.print_message(
        f"Found payer data in {found.payments} payments, {found.checkouts} checkouts and"
        f" {found.recorded} payments recorded by the chat."
    )
    if found.recipients:
        console.print_message(
            f"Found {found.recipients} entries as a recipient of emails about payments."
        )
    if found.sellers:
        console.print_message(
            f"Found {found.sellers} places that show who the seller is or where their money goes."
        )
    if found.kept:
        console.print_message(f"Found {found.kept} receipts kept in Telegram.")


def _compact(url: str, tables: tuple[str, ...]) -> bool:
    """Remove deleted rows from the file, or make their room on a server free to be written over."""
    if is_postgres(url):
        from bot.core.database.transfer.sessions import vacuum  # noqa: PLC0415 - psycopg is for servers

        vacuum(url, tables)
        return True
    from bot.core.database.snapshot import compact  # noqa: PLC0415 - other commands start without it

    return compact(existing_file(url))


def _report(
    found: Found, erased: Erased, rest: dict[str, int | bool], words: str, *, as_json: bool
) -> None:
    facts = {
        "payments": found.payments,
        "checkouts": found.checkouts,
        "told": found.recorded,
        "messages": erased.messages,
        "recipients": found.recipients,
    }
    facts |= {"sellers": found.sellers} if found.sellers else {}
    facts |= {"kept": found.kept} if found.kept else {}
    if as_json:
        click.echo(console.json_line({**facts, **rest}))
        return
    for name, number in facts.items():
        console.print_fact("recorded" if name == "told" else name, number)
    console.print_fact("file", words)
    console.print_message(ELSEWHERE)


def _on_server(left: int) -> str:
    if left:
        return LEFT.format(left)
    return "vacuumed; the server's log, standbys and archives keep erased data for their time"


def _in_file(left: int, *, compacted: bool) -> str:
    if left:
        return LEFT.format(left)
    if not compacted:
        return "too large to rewrite while the bot runs: stop it and run the same command again"
    return "rewritten; no erased data is left in it"
