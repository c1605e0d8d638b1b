"""The command `audit`: a list of changes."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from bot.cli import console
from bot.core.ops import audit as log
from bot.service.store import apps

if TYPE_CHECKING:
    from bot.core.ops.audit import Line

SHOWN = 100
"""The default number of changes listed."""

COLUMNS = ("time", "who", "what", "subject", "details")


@click.command()
@click.option(
    "--subject", metavar="ID", help="Only changes of this request, seller or other subject."
)
@click.option(
    "--limit",
    type=click.IntRange(1, console.MAX_LISTED),
    default=SHOWN,
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
            log.read(tx, limit, subject),
            {log.app(app.id): app.name for app in apps.list_all(tx)},
        )
    )
    rows = [_json(line, names) if as_json else _row(line, names) for line in lines]
    console.print_table(COLUMNS, rows, as_json=as_json)


def _row(line: Line, names: dict[str, str]) -> dict[str, Any]:
    name = names.get(line.actor)
    return {
        "time": console.time_text(line.at),
        "who": f"{line.actor} ({name})" if name else line.actor,
        "what": line.action,
        "subject": line.subject,
        "details": ", ".join(f"{key}: {_detail(value)}" for key, value in line.details.items()),
    }


def _json(line: Line, names: dict[str, str]) -> dict[str, Any]:
    return {
        "time": console.time_text(line.at),
        "who": line.actor,
        "name": names.get(line.actor),
        "what": line.action,
        "subject": line.subject,
        "details": line.details,
    }


def _detail(value: Any) -> str:
    """Format a detail for people; a list as JSON, so that its parts stay apart."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
