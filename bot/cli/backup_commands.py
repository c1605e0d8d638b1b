"""The commands `backup`, `restore` and `migrate-to`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from bot import config
from bot.cli import console
from bot.core import clock, errors
from bot.core.database import urls

if TYPE_CHECKING:
    from bot.app.maintenance import backups
    from bot.core.database import snapshot

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

    A backup of a PostgreSQL database is a SQLite file too, and is restored to either. While it is
    read, the server keeps old versions of rows and can't remove them: run it when little happens.

    For a backup each night, run this from cron or a timer. Delete old backups yourself.
    """
    from bot.app.maintenance import backups  # noqa: PLC0415 - other commands start without it

    made = backups.backup(config.load(), to, clock.now())
    if made.problem:
        console.print_message(
            f"The backup is complete, but the audit log has no entry for it: {made.problem}"
        )
    if made.refusal:
        console.print_message(f"The backup is complete, but restore will refuse it: {made.refusal}")
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
@click.argument("source", metavar="[FROM]", type=console.FilePath(), required=False)
@click.option("--replace", is_flag=True, help="Move a database with data aside first.")
@click.option("--in-place", is_flag=True, help="Mark a database that its server restored.")
def restore(source: Path | None, replace: bool, in_place: bool) -> None:  # noqa: FBT001 - click passes options by name
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
    if in_place == (source is not None) or (in_place and replace):
        raise click.UsageError("give either FROM or --in-place")
    settings = config.load()
    if source is None:
        _restore_in_place(settings)
        return
    done = _restore_from(settings, source, replace=replace)
    console.print_fact("restored", done.place)
    _print_contents(done.contents)
    _print_doubts(done.doubtful, done.unreadable)
    if done.aside:
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
    from bot.app.maintenance import server_moves  # noqa: PLC0415 - other commands start without it

    done = server_moves.move(config.load(), url, clock.now())
    console.print_fact("moved to", done.place)
    _print_contents(done.contents)
    console.print_fact("set aside", done.former)
    console.print_message(
        "Set DATABASE_URL to the new address, then start the bot. To check it, run doctor."
    )


def _restore_from(settings: config.Settings, source: Path, *, replace: bool) -> backups.Restored:
    """Restore a backup into the file or the server of DATABASE_URL."""
    from bot.app.maintenance import backups  # noqa: PLC0415 - other commands start without it

    if not urls.is_postgres(settings.database_url):
        return backups.restore_into_file(settings, source, clock.now(), replace=replace)
    from bot.app.maintenance import server_moves  # noqa: PLC0415 - psycopg is for servers

    return server_moves.restore_into_server(settings, source, clock.now(), replace=replace)


def _restore_in_place(settings: config.Settings) -> None:
    if not urls.is_postgres(settings.database_url):
        raise errors.BotError(
            "restore --in-place: is for PostgreSQL: a SQLite file goes back in time by restore FROM"
        )
    from bot.app.maintenance import server_moves  # noqa: PLC0415 - psycopg is for servers

    doubtful, unreadable = server_moves.restore_in_place(settings, clock.now())
    console.print_fact("marked", urls.safe_url(settings.database_url))
    _print_doubts(doubtful, unreadable)
    console.print_message("Start the bot now. To check it, run doctor.")


def _print_doubts(doubtful: int, unreadable: int) -> None:
    console.print_fact("may repeat", f"{doubtful} messages that waited to be sent")
    if unreadable:
        console.print_fact("unreadable", f"{unreadable} messages that waited: doctor lists them")


def _print_contents(found: snapshot.Contents) -> None:
    newest = console.time_text(found.newest_at)
    console.print_fact(
        "payments", f"{found.payments}, the newest at {newest}" if newest else "none"
    )
    console.print_fact("requests", found.requests)
    console.print_fact("size", f"{found.size / MEGABYTE:.1f} MB")
