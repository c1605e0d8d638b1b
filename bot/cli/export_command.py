"""The command `export`: payments, requests and sellers for other programs."""

from __future__ import annotations

import asyncio
import os
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from bot import config
from bot.chat.store.personal_data import export as chat
from bot.chat.store.personal_data import kept
from bot.cli import console
from bot.cli.export_formats import Csv, Lines
from bot.core.clock import now
from bot.core.database.database import open_for_command
from bot.core.errors import BotError
from bot.core.ops import audit
from bot.service.store.personal_data import export_rows as store
from bot.service.store.personal_data.export_rows import FOREVER, ExportFilter
from bot.service.wire import export_records
from bot.service.wire.field_types import iso

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator
    from pathlib import Path
    from typing import BinaryIO

    from bot.core.database.database import Database

WHAT = ("payments", "requests", "sellers", "receipts")
WITH_PAYERS = ("payments", "receipts")
"""What is exported with payers' personal data."""


@click.command()
@click.argument("what", type=click.Choice(WHAT), default="payments")
@click.option(
    "--format", "form", type=click.Choice(["csv", "json"]), default="csv", show_default=True,
    help="CSV for spreadsheets, or one JSON object per line.",
)  # fmt: skip
@click.option(
    "--since", type=console.Moment(), default=0, metavar="DATE", help="Only from DATE on."
)
@click.option(
    "--until", type=console.Moment(), default=FOREVER, metavar="DATE", help="Only before DATE."
)
@click.option("--request", "request_id", metavar="ID", help="Only this request.")
@click.option("--payers/--no-payers", default=True, help="Include payers' personal data.")
@click.option("--output", type=console.FilePath(), metavar="FILE", help="Write to a new file.")
def export(what: str, form: str, output: Path | None, **options: Any) -> None:
    """Write all payments, requests, sellers or kept receipts to standard output or a new file.

    Amounts are exact, with the decimals of their currency; times are ISO 8601 in UTC. DATE is a
    date, a time or an age such as 30d. Payments are sorted by request, then by time; oversold ones
    are included. If PAYMENTS_URL names another server, you get the payments that the chat recorded.

    In CSV, text that a spreadsheet would take for a formula gets an apostrophe in front. A file
    starts with a byte order mark, by which Excel recognizes UTF-8; standard output does not.
    """
    settings = config.load()
    if what == "requests" and settings.payments_url:
        raise BotError(
            "export requests: the server that PAYMENTS_URL names stores them, not this one"
        )
    if what == "sellers" and options["request_id"]:
        raise BotError("export sellers: --request is for payments and requests")
    payers = options.pop("payers")
    wanted = ExportFilter(now(), **options)
    table = Csv(for_people=output is not None) if form == "csv" else Lines()
    database = open_for_command(settings.database_url)  # an export must not create one
    try:
        _record_export(database, what, payers=payers)
        if what == "receipts":
            found = _receipts(database, wanted, payers=payers)
        elif what == "sellers":
            found = _sellers(database, wanted, settings.url)
        elif settings.payments_url:
            found = _recorded_payments(database, wanted, payers=payers)
        else:
            found = _records(database, what, wanted, payers=payers)
        with _opened(output) as file:
            asyncio.run(_write(found, table, file))
    finally:
        database.close()


def _record_export(database: Database, what: str, *, payers: bool) -> None:
    details = {"payers": payers and what in WITH_PAYERS}
    database.run(
        lambda tx: audit.record(tx, audit.operator(), "data.exported", what, now(), details)
    )


async def _records(
    db: Database, what: str, wanted: ExportFilter, *, payers: bool
) -> AsyncIterator[dict[str, Any]]:
    if what == "requests":
        async for row in store.requests(db, wanted):
            yield export_records.request(row)
        return
    returned = await chat.paid_back(db)
    async for row in store.payments(db, wanted):
        mark = returned.get((row["request_id"], row["id"]))
        record = export_records.payment(row, payers=payers)
        of_chat = chat.payback_fields(mark, iso, payers=payers)  # marked before the service was
        yield record if record["paidBackAt"] else record | of_chat


async def _sellers(db: Database, wanted: ExportFilter, url: str) -> AsyncIterator[dict[str, Any]]:
    from bot.chat.cards.image_route import PATH  # noqa: PLC0415 - other exports start without it

    async for row in chat.sellers(db, wanted.since, wanted.until):
        yield chat.seller_record(row, iso(row["created_at"]), f"{url}{PATH}")


async def _receipts(
    db: Database, wanted: ExportFilter, *, payers: bool
) -> AsyncIterator[dict[str, Any]]:
    async for row in kept.exported(db, wanted.since, wanted.until, wanted.request_id):
        yield kept.kept_record(row, iso, payers=payers)


async def _recorded_payments(
    db: Database, wanted: ExportFilter, *, payers: bool
) -> AsyncIterator[dict[str, Any]]:
    async for row in chat.recorded_payments(db, wanted.since, wanted.until, wanted.request_id):
        yield chat.export_record(row, iso, payers=payers)


async def _write(found: AsyncIterator[dict[str, Any]], table: Csv | Lines, file: BinaryIO) -> None:
    async for record in found:
        file.write(table.line(record).encode())
    file.flush()


@contextmanager
def _opened(output: Path | None) -> Iterator[BinaryIO]:
    """Open the output; delete a file that is not finished."""
    if output is None:
        yield sys.stdout.buffer
        return
    try:
        handle = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        raise BotError(f"{output}: already exists: choose another name") from None
    except OSError as error:
        raise BotError(f"{output}: {error.strerror}") from error
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
    except OSError as error:
        output.unlink(missing_ok=True)
        raise BotError(f"{output}: {error.strerror}") from error
    except BaseException:
        output.unlink(missing_ok=True)
        raise
