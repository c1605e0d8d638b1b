"""The commands `apps`: the applications that may use the payment request service."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from bot.cli import console
from bot.core.clock import now
from bot.service.store.apps import list_all
from bot.service.usecases import applications as usecases

if TYPE_CHECKING:
    from bot.service.usecases.applications import Credentials

HOUR = 3600 * 1000
"""In milliseconds."""

LONGEST_OVERLAP = 30 * 24
"""Hours: a secret that is no longer trusted must not sign for ever."""


@click.group()
def apps() -> None:
    """Create, list, rotate and revoke applications of the payment request service."""


@apps.command("create")
@click.argument("name")
def apps_create(name: str) -> None:
    """Create the application NAME and print its credentials, once."""
    _print_credentials(
        console.in_transaction(lambda tx, vault: usecases.create(tx, vault, name, now()))
    )


@apps.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per line.")
def apps_list(as_json: bool) -> None:  # noqa: FBT001 - click passes options by name
    """List the applications."""
    found = console.read_only(list_all)
    rows = [
        {
            "id": app.id,
            "name": app.name,
            "created": console.time_text(app.created_at),
            "revoked": console.time_text(app.revoked_at),
        }
        for app in found
    ]
    console.print_table(("id", "name", "created", "revoked"), rows, as_json=as_json)


@apps.command("rotate")
@click.argument("app_id", metavar="ID")
@click.option(
    "--overlap",
    metavar="HOURS",
    type=click.IntRange(0, LONGEST_OVERLAP),
    default=usecases.OVERLAP // HOUR,
    show_default=True,
    help="Sign webhooks with the former secret too for this long; 0 ends it at once.",
)
def apps_rotate(app_id: str, overlap: int) -> None:
    """Replace the secrets of the application ID and print the new ones, once.

    The old APP_SECRET stops working at once. Webhooks are signed with the old WEBHOOK_SECRET too
    for some hours, so that receivers have time to change it. If you rotate again before that, the
    oldest of the three stops at once.
    """
    moment, lasting = now(), overlap * HOUR
    made = console.in_transaction(
        lambda tx, vault: usecases.rotate(tx, vault, app_id, moment, lasting)
    )
    _print_credentials(made)
    if lasting:
        until = console.time_text(moment + lasting)
        console.print_message(
            f"Until {until}, or the next rotation, the former WEBHOOK_SECRET signs too."
        )


@apps.command("revoke")
@click.argument("app_id", metavar="ID")
def apps_revoke(app_id: str) -> None:
    """End the access of the application ID."""
    console.in_transaction(lambda tx, vault: usecases.revoke(tx, vault, app_id, now()))
    click.echo(f"revoked {app_id}")


def _print_credentials(made: Credentials) -> None:
    click.echo(f"APP_ID={made.app_id}")
    click.echo(f"APP_SECRET={made.app_secret}")
    click.echo(f"WEBHOOK_SECRET={made.webhook_secret}")
