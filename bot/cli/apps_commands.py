"""The commands `apps`: the applications that may use the payment request service."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import click

from bot.cli import console
from bot.core import brand, clock, errors
from bot.interface import bodies, refusals
from bot.service.requests import app_rows, applications, changes
from bot.service.wire import from_bodies, to_answers

HOUR = 3600 * 1000
"""Milliseconds."""

LONGEST_OVERLAP = 30 * 24
"""Hours; a secret that is no longer trusted must not sign forever."""

PROFILE = (
    click.option("--image-url", metavar="URL",
                 help="The seller's picture: an http or https address."),
    click.option("--contact",
                 help="How payers reach them: an @username, an email address or a link."),
    click.option("--accent-color", type=click.Choice([*brand.COLOURS, ""]), metavar="COLOR",
                 help=f"One of {', '.join(brand.COLOURS)}."),
    click.option("--description", metavar="TEXT", help="A line about them, up to 160 characters."),
)  # fmt: skip
"""Options of a seller's profile, except the name, whose option differs by command."""


def _profile_options(command: Callable[..., None]) -> Callable[..., None]:
    for option in reversed(PROFILE):
        command = option(command)
    return command


@click.group()
def apps() -> None:
    """Create, list, rotate and revoke applications."""


@apps.command("create")
@click.argument("name")
@click.option("--seller-name", metavar="TEXT", help="The seller's name; NAME by default.")
@_profile_options
def apps_create(name: str, seller_name: str | None, **profile: str | None) -> None:
    """Create the application NAME and print its credentials, once.

    The options describe the seller that payers see, unless a payment request names its own.
    Without any of them, no seller is shown.
    """
    given = _given(name=seller_name, **profile)
    change = _edit({"name": name} | given) if given else None
    seller = changes.edit_seller(None, change) if change else None
    made = console.in_transaction(
        lambda tx, vault: applications.create(tx, vault, name, clock.now(), seller), creates=True
    )
    _print_credentials(made)


@apps.command("seller")
@click.argument("app_id", metavar="ID")
@click.option("--name", metavar="TEXT", help="The seller's name, up to 100 characters.")
@_profile_options
@click.option("--clear", is_flag=True, help="Remove the seller.")
def apps_seller(app_id: str, clear: bool, **profile: str | None) -> None:  # noqa: FBT001 - click passes options by name
    """Show or change the seller of the application ID.

    Payment pages, receipts and emails show the seller, unless a payment request names its own.
    What you leave out stays as it is; an empty value removes it.
    """
    given = _given(**profile)
    if clear and given:
        raise errors.BotError("--clear removes everything: leave the other options out")
    if clear or given:
        change = None if clear else _edit(given)
        seller = console.in_transaction(
            lambda tx, _: applications.change_seller(tx, app_id, change, clock.now())
        )
    else:
        seller = console.read_only(lambda tx: applications.seller_of(tx, app_id))
    shown = to_answers.seller(seller)
    for field, value in (shown.to_json() if shown else {"name": None}).items():
        console.print_fact(field, value)


def _given(**options: str | None) -> dict[str, Any]:
    """Return the given options by their names in the interface; None for an empty value."""
    names = {"image_url": "imageUrl", "accent_color": "accentColor"}
    named = {names.get(name, name): value for name, value in options.items() if value is not None}
    return {name: value or None for name, value in named.items()}


def _edit(given: dict[str, Any]) -> changes.SellerEdit:
    return from_bodies.seller_edit(refusals.checked(bodies.SellerEditBody, given))


@apps.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per line.")
def apps_list(as_json: bool) -> None:  # noqa: FBT001 - click passes options by name
    """List the applications.

    OVERLAP is when the former secrets of an application end that was rotated lately.
    """
    found, moment = console.read_only(app_rows.list_all), clock.now()
    rows = [
        {
            "id": app.id,
            "name": app.name,
            "created": console.time_text(app.created_at),
            "overlap": console.time_text(app.former_until) if app.overlaps(moment) else None,
            "revoked": console.time_text(app.revoked_at),
        }
        for app in found
    ]
    columns = ("id", "name", "created", "overlap", "revoked")
    console.print_table(columns, rows, as_json=as_json)


@apps.command("rotate")
@click.argument("app_id", metavar="ID")
@click.option(
    "--overlap",
    metavar="HOURS",
    type=click.IntRange(0, LONGEST_OVERLAP),
    help=f"How long the old secrets work too.  [default: {applications.OVERLAP // HOUR}]",
)
@click.option("--now", "at_once", is_flag=True, help="End the old secrets at once: they leaked.")
def apps_rotate(app_id: str, overlap: int | None, at_once: bool) -> None:  # noqa: FBT001 - click passes options by name
    """Replace the secrets of the application ID and print the new ones, once.

    For some hours the old APP_SECRET works too, and webhooks are also signed with the old
    WEBHOOK_SECRET, so that programs and receivers have time to switch. If you rotate again before
    that, the oldest of the three stops at once. If a secret has leaked, add --now.
    """
    if at_once and overlap:
        raise click.UsageError("give either --overlap or --now")
    moment = clock.now()
    overlap_ms = applications.OVERLAP if overlap is None and not at_once else (overlap or 0) * HOUR
    made = console.in_transaction(
        lambda tx, vault: applications.rotate(tx, vault, app_id, moment, overlap_ms)
    )
    _await_effect()
    _print_credentials(made)
    if overlap_ms:
        until = console.time_text(moment + overlap_ms)
        console.print_message(
            f"Until {until}, or the next rotation, the old APP_SECRET works too, and webhooks are"
            " also signed with the old WEBHOOK_SECRET. If they leaked, rotate again with --now."
        )


@apps.command("revoke")
@click.argument("app_id", metavar="ID")
@click.option("--yes", is_flag=True, help="Don't ask for confirmation.")
def apps_revoke(app_id: str, yes: bool) -> None:  # noqa: FBT001 - click passes options by name
    """End the access of the application ID, for good.

    Its payment requests stay payable, and webhooks about them are still sent.
    """
    app = console.in_transaction(lambda tx, vault: applications.find_changeable(tx, vault, app_id))
    console.confirm(f"End the access of {app.name} ({app_id}) for good?", yes=yes)
    console.in_transaction(lambda tx, vault: applications.revoke(tx, vault, app_id, clock.now()))
    _await_effect()
    click.echo(f"revoked {app_id}")


def _await_effect() -> None:
    """Wait until no process accepts the former credentials, because the command then says so."""
    time.sleep(applications.FRESH / 1000)


def _print_credentials(made: applications.Credentials) -> None:
    click.echo(f"APP_ID={made.app_id}")
    click.echo(f"APP_SECRET={made.app_secret}")
    click.echo(f"WEBHOOK_SECRET={made.webhook_secret}")
