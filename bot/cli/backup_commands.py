"""The commands `backup` and `restore`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from bot import config
from bot.cli import console
from bot.core.clock import now

if TYPE_CHECKING:
    from pathlib import Path

    from bot.core.database.snapshot import Contents

MEGABYTE = 1_000_000


@click.command()
@click.argument("to", metavar="TO", type=console.FilePath())
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def backup(to: Path, as_json: bool) -> None:  # noqa: FBT001 - click passes options by name
    """Copy the database to TO; the bot can keep running.

    TO is a new file, or a folder, in which the file is named after the time. The copy is a snapshot
    that holds every payment acknowledged before. It is checked, readable by its owner alone, and
    never replaces a file.

    Where SECRET_KEY is not set, the key to the secrets in the database is copied to the same name
    with the ending .key: keep both files, and keep them private. Where it is set, store SECRET_KEY
    elsewhere: without it you can't restore the backup.

    For a backup each night, run this from cron or a timer. Delete old backups yourself.
    """
    from bot.wiring.maintenance import backups  # noqa: PLC0415 - other commands start without it

    made = backups.backup(config.load(), to, now())
    if made.trouble:
        console.print_message(
            f"The backup is complete, but the audit log has no entry for it: {made.trouble}"
        )
    if made.refusal:
        console.print_message(f"The backup is complete, but restore will refuse it: {made.refusal}")
    key = str(made.key) if made.key else None
    if as_json:
        click.echo(
            console.json_line({"file": str(made.path), "key": key, **_as_json(made.contents)})
        )
        return
    console.print_fact("backup", made.path)
    console.print_fact("key", key or "none: SECRET_KEY is needed to restore it")
    _print(made.contents)


@click.command()
@click.argument("source", metavar="FROM", type=console.FilePath())
@click.option("--replace", is_flag=True, help="Move a database with data aside first.")
def restore(source: Path, replace: bool) -> None:  # noqa: FBT001 - click passes options by name
    """Restore the backup FROM; stop the bot first.

    The copy becomes the database of DATABASE_URL, on this machine or a new one, and gets the schema
    of this version. FROM is checked first and stays where it is. A key beside FROM, with the ending
    .key, is used.

    Messages queued at the time of the backup may have been sent since: sellers get them marked as
    possibly repeated, and webhooks are sent again with the same id. Anything that happened after
    the backup is lost.

    A database with data is never replaced, unless --replace moves it aside, to a name with the time
    in it.
    """
    from bot.wiring.maintenance import backups  # noqa: PLC0415 - other commands start without it

    done = backups.restore(config.load(), source, now(), replace=replace)
    console.print_fact("restored", done.path)
    _print(done.contents)
    console.print_fact("may repeat", f"{done.doubtful} messages that waited to be sent")
    if done.unreadable:
        console.print_fact(
            "unreadable", f"{done.unreadable} messages that waited: doctor lists them"
        )
    if done.aside:
        console.print_fact("set aside", done.aside)
    console.print_message("Start the bot now. To check it, run doctor.")


def _as_json(found: Contents) -> dict[str, object]:
    return {
        "requests": found.requests,
        "payments": found.payments,
        "newestPayment": console.time_text(found.newest_at),
        "bytes": found.size,
    }


def _print(found: Contents) -> None:
    newest = console.time_text(found.newest_at)
    console.print_fact(
        "payments", f"{found.payments}, the newest at {newest}" if newest else "none"
    )
    console.print_fact("requests", found.requests)
    console.print_fact("size", f"{found.size / MEGABYTE:.1f} MB")
