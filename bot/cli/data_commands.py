"""The commands `audit`, `export` and `erase`, which list, export and erase data."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import click

from bot import config
from bot.app.maintenance import exports
from bot.cli import console
from bot.core import clock, errors
from bot.core.database import opening, urls
from bot.core.ops import audit as ops_audit
from bot.service.requests import app_rows

if TYPE_CHECKING:
    from bot.app.maintenance import payer_erasure

AUDIT_SHOWN = 100
"""The default number of changes that `audit` lists."""

AUDIT_COLUMNS = ("time", "who", "what", "subject", "details")

EXPORTED = ("payments", "requests", "sellers", "receipts")

STILL_ELSEWHERE = (
    "Existing backups still contain it: delete them yourself. Alerts, webhooks and emails that were"
    " sent can't be called back."
)

ALWAYS_REPORTED = ("payments", "checkouts", "told", "messages", "recipients")

FOUND = {
    "recipients": "Found {} entries as a recipient of emails about payments.",
    "sellers": "Found {} places that show who the seller is or where their money goes.",
    "kept": "Found {} receipts kept in Telegram.",
}

ROWS_LEFT = "{} rows with such data came meanwhile: run the same command again"


# audit: a list of changes.


@click.command()
@click.option(
    "--subject", metavar="ID", help="Only changes of this request, seller or other subject."
)
@click.option(
    "--limit",
    type=click.IntRange(1, console.MAX_LISTED),
    default=AUDIT_SHOWN,
    show_default=True,
    help="How many, newest first.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per line.")
def audit(subject: str | None, limit: int, as_json: bool) -> None:  # noqa: FBT001 - click passes options by name
    """List changes, newest first.

    A line has the time, the person or application, the action and the subject. The log holds no
    data of payers and no secrets. Changes are kept for 400 days.
    """
    lines, names = console.read_only(
        lambda tx: (
            ops_audit.read(tx, limit, subject),
            {ops_audit.app(app.id): app.name for app in app_rows.list_all(tx)},
        )
    )
    rows = [_json(line, names) if as_json else _row(line, names) for line in lines]
    console.print_table(AUDIT_COLUMNS, rows, as_json=as_json)


def _row(line: ops_audit.Line, names: dict[str, str]) -> dict[str, Any]:
    name = names.get(line.actor)
    details = []
    for key, value in line.details.items():
        # A list is shown as JSON, so that its items stay apart.
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        details.append(f"{key}: {text}")
    return {
        "time": console.time_text(line.at),
        "who": f"{line.actor} ({name})" if name else line.actor,
        "what": line.action,
        "subject": line.subject,
        "details": ", ".join(details),
    }


def _json(line: ops_audit.Line, names: dict[str, str]) -> dict[str, Any]:
    return {
        "time": console.time_text(line.at),
        "who": line.actor,
        "name": names.get(line.actor),
        "what": line.action,
        "subject": line.subject,
        "details": line.details,
    }


# export: payments, requests, sellers and receipts for other programs.


@click.command()
@click.argument("what", type=click.Choice(EXPORTED), default="payments")
@click.option(
    "--format", "form", type=click.Choice(["csv", "json"]), default="csv", show_default=True,
    help="CSV for spreadsheets, or one JSON object per line.",
)  # fmt: skip
@click.option(
    "--since", type=console.Moment(), default=0, metavar="DATE", help="Only from DATE on."
)
@click.option(
    "--until",
    type=console.Moment(),
    default=exports.FOREVER,
    metavar="DATE",
    help="Only before DATE.",
)
@click.option("--request", "request_id", metavar="ID", help="Only this request.")
@click.option("--payers/--no-payers", default=True, help="Include payers' personal data.")
@click.option("--output", type=console.FilePath(), metavar="FILE", help="Write to a new file.")
def export(what: str, form: str, output: Path | None, **options: Any) -> None:
    """Write all payments, requests, sellers or kept receipts to standard output or a new file.

    Amounts are exact, with the decimals of their currency; times are ISO 8601 in UTC. DATE is a
    date, a time or an age such as 30d. Payments are sorted by request, then by time; oversold ones
    are included. If PAYMENTS_URL names another server, you get the payments that the chat recorded.

    In CSV, text that a spreadsheet would take for a formula gets an apostrophe in front. A file is
    for people: it starts with a byte order mark, by which Excel recognizes UTF-8, and an id that a
    spreadsheet would take for a number, such as 1e5510…, gets an apostrophe too. Standard output is
    for programs and has neither.
    """
    settings = config.load()
    if what == "requests" and settings.payments_url:
        raise errors.BotError(
            "export requests: the server that PAYMENTS_URL names stores them, not this one"
        )
    if what == "sellers" and options["request_id"]:
        raise errors.BotError("export sellers: --request is for payments and requests")
    wanted = exports.ExportFilter(clock.now(), url=settings.url, **options)
    is_elsewhere = what == "payments" and settings.payments_url
    kind = exports.EXPORTS[exports.RECORDED_PAYMENTS if is_elsewhere else what]
    table: console.Csv | console.JsonLines = console.JsonLines()
    if form == "csv":
        table = console.Csv(kind.header(wanted), for_people=output is not None)
    database = opening.open_for_command(settings.database_url)  # an export must not create one
    details = {"payers": wanted.payers and kind.has_payers}
    try:
        database.run(
            lambda tx: ops_audit.record(
                tx, ops_audit.operator(), "data.exported", what, clock.now(), details
            )
        )
        found = exports.read(database, kind, wanted)
        with _open_output(output) as file:
            asyncio.run(_write(found, table, file))
    finally:
        database.close()


async def _write(
    found: AsyncIterator[dict[str, Any]], table: console.Csv | console.JsonLines, file: BinaryIO
) -> None:
    file.write(table.head().encode())
    async for record in found:
        file.write(table.line(record).encode())
    file.flush()


@contextmanager
def _open_output(output: Path | None) -> Iterator[BinaryIO]:
    """Open the output; delete the file if it is not finished."""
    if output is None:
        yield sys.stdout.buffer
        return
    try:
        handle = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        raise errors.BotError(f"{output}: already exists: choose another name") from None
    except OSError as error:
        raise errors.BotError(f"{output}: {error.strerror}") from error
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
    except OSError as error:
        output.unlink(missing_ok=True)
        raise errors.BotError(f"{output}: {error.strerror}") from error
    except BaseException:
        output.unlink(missing_ok=True)
        raise


# erase: erases payers' data, keeps the payments.


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
    from bot.app.maintenance import payer_erasure  # noqa: PLC0415 - other commands start without it

    url = config.load().database_url
    database = opening.open_for_command(url)
    try:
        scope = asyncio.run(
            database.read(lambda tx: payer_erasure.parse_scope(tx, who, before, request_id))
        )
        found = asyncio.run(payer_erasure.survey(database, scope))
        _announce(found)
        if found.rows:
            console.confirm("Erase it for good?", yes=yes)
        erased = asyncio.run(payer_erasure.erase(database, found, clock.now()))
        left = asyncio.run(payer_erasure.survey(database, scope)).rows
    finally:
        database.close()
    compacted = _compact(url, payer_erasure.TOUCHED)
    text = _describe_file(url, left, compacted=compacted)
    _report(found, erased, {"left": left, "compacted": compacted}, text, as_json=as_json)
    sys.exit(1 if left or not compacted else 0)


def _announce(found: payer_erasure.Found) -> None:
    if not found.rows:
        console.print_message("No data of them is stored.")
        return
    counts = found.counts
    console.print_message(
        f"Found payer data in {counts['payments']} payments, {counts['checkouts']} checkouts and"
        f" {counts['told']} payments recorded by the chat."
    )
    for name, text in FOUND.items():
        if counts[name]:
            console.print_message(text.format(counts[name]))


def _compact(url: str, tables: tuple[str, ...]) -> bool:
    """Remove deleted rows from the file, or free their space on a server; False if that failed."""
    if urls.is_postgres(url):
        from bot.core.database.postgres import transfer_target  # noqa: PLC0415 - psycopg is for servers

        transfer_target.vacuum(url, tables)
        return True
    from bot.core.database import snapshot  # noqa: PLC0415 - other commands start without it

    return snapshot.compact(urls.existing_file(url))


def _report(
    found: payer_erasure.Found,
    erased: payer_erasure.Erased,
    rest: dict[str, int | bool],
    file: str,
    *,
    as_json: bool,
) -> None:
    counts = {"messages": erased.messages, **found.counts}
    facts = {name: counts.get(name, 0) for name in ALWAYS_REPORTED}
    facts |= {name: counts[name] for name in ("sellers", "kept") if name in counts}
    if as_json:
        click.echo(console.json_line({**facts, **rest}))
        return
    for name, number in facts.items():
        console.print_fact("recorded" if name == "told" else name, number)
    console.print_fact("file", file)
    console.print_message(STILL_ELSEWHERE)


def _describe_file(url: str, left: int, *, compacted: bool) -> str:
    if left:
        return ROWS_LEFT.format(left)
    if urls.is_postgres(url):
        return "vacuumed; the server's log, standbys and archives keep erased data for their time"
    if not compacted:
        return "too large to rewrite while the bot runs: stop it and run the same command again"
    return "rewritten; no erased data is left in it"
