"""The commands `backup` and `restore`: the database kept elsewhere, and put back."""

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
@click.option("--json", "as_json", is_flag=True, help="One JSON object instead of words.")
def backup(to: Path, as_json: bool) -> None:  # noqa: FBT001 - click passes options by name
    """Copy the database to TO, beside a bot that runs.

    TO is a new file, or a folder, in which the file is named by the time. Payments go on meanwhile.
    The copy is of one moment: every payment that was acknowledged before is in it. It is checked,
    readable by its owner alone, and takes no other file's place.

    Where SECRET_KEY is not set, the key that opens the secrets in the database is copied to the
    same name with the ending .key: keep both, and let nobody read them. Where it is set, keep
    SECRET_KEY somewhere else: without it a backup can't be restored.

    To have one each night, call it from cron or a timer; old ones are yours to delete.
    """
    from bot.wiring.maintenance import backups  # noqa: PLC0415 - other commands start without it

    made = backups.backup(config.load(), to, now())
    if made.trouble:
        console.tell(f"The backup is whole; the audit log has no line of it: {made.trouble}")
    if made.refusal:
        console.tell(f"The backup is whole, but restore will refuse it: {made.refusal}")
    key = str(made.key) if made.key else None
    if as_json:
        click.echo(console.json_line({"file": str(made.path), "key": key, **_told(made.contents)}))
        return
    console.print_fact("backup", made.path)
    console.print_fact("key", key or "none: SECRET_KEY is needed to restore it")
    _print(made.contents)


@click.command()
@click.argument("source", metavar="FROM", type=console.FilePath())
@click.option("--replace", is_flag=True, help="Move a database that holds data aside first.")
def restore(source: Path, replace: bool) -> None:  # noqa: FBT001 - click passes options by name
    """Put the backup FROM in the place of DATABASE_URL, while the bot is stopped.

    On this machine or on a new one. FROM is checked before anything is touched, and brought to the
    schema of this version; it stays where it is. A key beside it, with the ending .key, is used.

    What was waiting to be sent when the backup was made may have been sent since: sellers are told
    it with the words that it may be a repetition, and webhooks come again under the same id. What
    happened after the backup is not in it.

    A database that holds data is refused, or moved aside with --replace, under a name with the time
    in it.
    """
    from bot.wiring.maintenance import backups  # noqa: PLC0415 - other commands start without it

    done = backups.restore(config.load(), source, now(), replace=replace)
    console.print_fact("restored", done.path)
    _print(done.contents)
    console.print_fact("may repeat", f"{done.doubtful} that waited to be sent")
    if done.unreadable:
        console.print_fact("unreadable", f"{done.unreadable} that waited: doctor lists them")
    if done.aside:
        console.print_fact("set aside", done.aside)
    console.tell("Start the bot now; `doctor` says whether all is well.")


def _told(found: Contents) -> dict[str, object]:
    return {
        "requests": found.requests,
        "payments": found.payments,
        "newestPayment": console.time_text(found.newest_at),
        "bytes": found.size,
    }


def _print(found: Contents) -> None:
    newest = console.time_text(found.newest_at)
    console.print_fact(
        "payments", f"{found.payments}, the newest of {newest}" if newest else "none"
    )
    console.print_fact("requests", found.requests)
    console.print_fact("size", f"{found.size / MEGABYTE:.1f} MB")
