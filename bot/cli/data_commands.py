"""The commands `backup`, `restore`, `migrate-to`, `export` and `erase`."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import closing, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import click

from bot import config
from bot.app.maintenance import exports
from bot.cli import console
from bot.core import clock, errors
from bot.core.database import opening, urls
from bot.core.ops import audit as ops_audit

if TYPE_CHECKING:
    from bot.core.database import snapshot

# backup, restore and migrate-to: copies of the database.

MEGABYTE = 1_000_000


@click.command()
@click.argument("to", metavar="TO", type=console.file_path)
@console.AS_JSON_OBJECT
def backup(to: Path, *, as_json: bool) -> None:
    """Copy the database to TO; the bot can keep running.

    TO is a new file, or a folder, in which the file is named after the time. The copy is a snapshot
    that holds every payment acknowledged before. It is checked, readable by its owner alone, and
    never replaces a file.

    Where SECRET_KEY is not set, the key to the secrets in the database is copied to the same name
    with the ending .key: keep both files, and keep them private. Where it is set, store SECRET_KEY
    elsewhere: without it you can't restore the backup.

    A backup of a PostgreSQL database is a SQLite file too, and is restored to either. While it is
    read, the server keeps old versions of rows and can't remove them: run it when little happens.

    For a backup each night, run this from cron or a timer. Delete old backups yourself.
    """
    from bot.app.maintenance import backups  # noqa: PLC0415 - other commands start without it

    made = backups.backup(config.load(), to, clock.now())
    for warning in made.warnings:
        console.print_message(f"The backup is complete, but {warning}")
    key = str(made.key) if made.key else None
    if as_json:
        record = {
            "file": str(made.path),
            "key": key,
            "requests": made.contents.requests,
            "payments": made.contents.payments,
            "newestPayment": console.time_text(made.contents.newest_at),
            "bytes": made.contents.size,
        }
        click.echo(console.json_line(record))
        return
    console.print_fact("backup", made.path)
    console.print_fact("key", key or "none: SECRET_KEY is needed to restore it")
    _print_contents(made.contents)


@click.command()
@click.argument("source", metavar="[FROM]", type=console.file_path, required=False)
@click.option("--replace", is_flag=True, help="Move a database with data aside first.")
@click.option("--in-place", is_flag=True, help="Mark a database that its server restored.")
def restore(source: Path | None, *, replace: bool, in_place: bool) -> None:
    """Restore the backup FROM; stop the bot first.

    The copy becomes the database of DATABASE_URL, on this machine or a new one, and gets the schema
    of this version. FROM is checked first and stays where it is. A key beside FROM, with the ending
    .key, is used. FROM may come from SQLite or from PostgreSQL, whatever DATABASE_URL names.

    Messages queued at the time of the backup may have been sent since: sellers get them marked as
    possibly repeated, and webhooks are sent again with the same id. Anything that happened after
    the backup is lost.

    A database with data is never replaced, unless --replace moves it aside, to a name with the time
    in it: a file, or a schema of a PostgreSQL database.

    If a PostgreSQL database went back in time by other means (a recovery to a point in time, a
    snapshot, a failover to a standby that lagged behind), run restore --in-place without FROM: it
    marks the queued messages in the same way and copies nothing.
    """
    from bot.app.maintenance import restores  # noqa: PLC0415 - other commands start without it

    if in_place == (source is not None) or (in_place and replace):
        raise click.UsageError("give either FROM or --in-place")
    settings = config.load()
    if source is None:
        marked = restores.restore_in_place(settings, clock.now())
        console.print_fact("marked", urls.safe_url(settings.database_url))
    else:
        done = restores.restore(settings, source, clock.now(), replace=replace)
        marked = done.marked
        console.print_fact("restored", done.place)
        _print_contents(done.contents)
    console.print_fact("may repeat", f"{marked.doubtful} messages that waited to be sent")
    if marked.unreadable:
        text = f"{marked.unreadable} messages that waited: doctor lists them"
        console.print_fact("unreadable", text)
    if source and done.aside:
        console.print_fact("set aside", done.aside)
    console.print_message("Start the bot now. To check it, run doctor.")


@click.command("migrate-to")
@click.argument("url", metavar="URL")
def migrate_to(url: str) -> None:
    """Move the installation to the PostgreSQL database URL; stop the bot first.

    DATABASE_URL names the SQLite file to move from, and URL an empty database, such as
    postgresql://bot@db.example/bot; a password can be in a file that PGPASSFILE names, instead of
    in URL. Everything is copied in one transaction and compared row by row. Nothing is lost, and
    what waits to be sent is sent once.

    SECRET_KEY must be set: a server has no key file. Secrets are sealed with it again.

    At the end the file is renamed, so that nothing starts on it by mistake. If the move fails, the
    file is as it was, and the database URL is empty.
    """
    from bot.app.maintenance import restores  # noqa: PLC0415 - other commands start without it

    done = restores.move(config.load(), url, clock.now())
    console.print_fact("moved to", done.place)
    _print_contents(done.contents)
    console.print_fact("set aside", done.aside)
    console.print_message(
        "Set DATABASE_URL to the new address, then start the bot. To check it, run doctor."
    )


def _print_contents(found: snapshot.Contents) -> None:
    newest = console.time_text(found.newest_at)
    console.print_fact(
        "payments", f"{found.payments}, the newest at {newest}" if newest else "none"
    )
    console.print_fact("requests", found.requests)
    console.print_fact("size", f"{found.size / MEGABYTE:.1f} MB")


# export: payments, requests, sellers and receipts for other programs.

EXPORTED = ("payments", "requests", "sellers", "receipts")


@click.command()
@click.argument("what", type=click.Choice(EXPORTED), default="payments")
@click.option(
    "--format", "form", type=click.Choice(["csv", "json"]), default="csv", show_default=True,
    help="CSV for spreadsheets, or one JSON object per line.",
)  # fmt: skip
@click.option("--since", type=console.date, default=0, metavar="DATE", help="Only from DATE on.")
@click.option(
    "--until",
    type=console.date,
    default=exports.FOREVER,
    metavar="DATE",
    help="Only before DATE.",
)
@click.option("--request", "request_id", metavar="ID", help="Only this request.")
@click.option("--payers/--no-payers", default=True, help="Include payers' personal data.")
@click.option("--output", type=console.file_path, metavar="FILE", help="Write to a new file.")
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
    head, line = "", console.json_record
    if form == "csv":
        table = console.Csv(kind.header(wanted), for_people=output is not None)
        head, line = table.head(), table.line
    noted = ops_audit.operator(), "data.exported", what, clock.now()
    details = {"payers": wanted.payers and kind.has_payers}
    # An export must not create a database.
    with closing(opening.open_for_command(settings.database_url)) as db:
        db.run(lambda tx: ops_audit.record(tx, *noted, details))
        found = exports.read(db, kind, wanted)
        with _open_output(output) as file:
            file.write(head.encode())
            asyncio.run(_write(found, line, file))
            file.flush()


async def _write(
    found: AsyncIterator[dict[str, Any]], line: Callable[[dict[str, Any]], str], file: BinaryIO
) -> None:
    async for record in found:
        file.write(line(record).encode())


@contextmanager
def _open_output(output: Path | None) -> Iterator[BinaryIO]:
    """Open the output; delete the file if it is not finished."""
    if output is None:
        yield sys.stdout.buffer
        return
    try:
        with open(output, "xb", opener=partial(os.open, mode=0o600)) as file:
            yield file
    except FileExistsError:
        raise errors.BotError(f"{output}: already exists: choose another name") from None
    except BaseException as error:
        with suppress(OSError):
            output.unlink()
        if isinstance(error, OSError):
            raise errors.BotError(f"{output}: {error.strerror}") from error
        raise


# erase: erases payers' data, keeps the payments.

STILL_ELSEWHERE = (
    "Existing backups still contain it: delete them yourself. Alerts, webhooks and emails that were"
    " sent can't be called back."
)

FOUND = {
    "recipients": "Found {} entries as a recipient of emails about payments.",
    "sellers": "Found {} places that show who the seller is or where their money goes.",
    "kept": "Found {} receipts kept in Telegram.",
    "forms": "Found {} open forms in Telegram.",
}


@click.command()
@click.argument("who", metavar="[WHO]...", nargs=-1)
@click.option("--before", type=console.date, metavar="DATE", help="Only data from before DATE.")
@click.option("--request", "request_id", metavar="ID", help="Only data given for this request.")
@console.YES
@console.AS_JSON_OBJECT
def erase(
    who: tuple[str, ...],
    *,
    before: int | None,
    request_id: str | None,
    yes: bool,
    as_json: bool,
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

    To erase all receipts that a payer keeps in Telegram, and the form that they have begun there,
    give their Telegram account, such as buyer-4711. A seller's open form goes with their profile.

    Queued messages are sent without the data. The bot can keep running. At the end, the database
    file is rewritten so that no erased byte is left in it. A PostgreSQL database is vacuumed: the
    server then writes over the erased rows as it needs their room, and its log, standbys and
    archives keep them for as long as they are kept. Exits with 1 if data may be left, and says what
    to do.
    """
    from bot.app.maintenance import payer_erasure  # noqa: PLC0415 - other commands start without it

    url = config.load().database_url
    with closing(opening.open_for_command(url)) as db:
        scope = asyncio.run(
            db.read(lambda tx: payer_erasure.parse_scope(tx, who, before, request_id))
        )
        found = asyncio.run(payer_erasure.survey(db, scope))
        counts = found.counts
        if found.rows:
            console.print_message(
                f"Found payer data in {counts['payments']} payments, {counts['checkouts']}"
                f" checkouts and {counts['told']} payments recorded by the chat."
            )
            for name in filter(counts.get, FOUND):
                console.print_message(FOUND[name].format(counts[name]))
            console.confirm("Erase it for good?", yes=yes)
        else:
            console.print_message("No data of them is stored.")
        erased = asyncio.run(payer_erasure.erase(db, found, clock.now()))
        left = asyncio.run(payer_erasure.survey(db, scope)).rows
    compacted = _compact(url, payer_erasure.TOUCHED)
    facts = {name: counts[name] for name in ("payments", "checkouts", "told")}
    facts |= {"messages": erased.messages, "recipients": counts["recipients"]}
    facts |= {name: counts[name] for name in ("sellers", "kept", "forms") if name in counts}
    if as_json:
        click.echo(console.json_line({**facts, "left": left, "compacted": compacted}))
    else:
        for name, number in facts.items():
            console.print_fact("recorded" if name == "told" else name, number)
        console.print_fact("file", _describe_file(url, left, compacted=compacted))
        console.print_message(STILL_ELSEWHERE)
    sys.exit(1 if left or not compacted else 0)


def _compact(url: str, tables: tuple[str, ...]) -> bool:
    """Remove deleted rows from the file, or free their space on a server; False if that failed."""
    if urls.is_postgres(url):
        from bot.core.database.postgres import transfer  # noqa: PLC0415 - psycopg is for servers

        transfer.vacuum(url, tables)
        return True
    from bot.core.database import snapshot  # noqa: PLC0415 - other commands start without it

    return snapshot.compact(urls.existing_file(url))


def _describe_file(url: str, left: int, *, compacted: bool) -> str:
    if left:
        return f"{left} rows with such data came meanwhile: run the same command again"
    if urls.is_postgres(url):
        return "vacuumed; the server's log, standbys and archives keep erased data for their time"
    if not compacted:
        return "too large to rewrite while the bot runs: stop it and run the same command again"
    return "rewritten; no erased data is left in it"
