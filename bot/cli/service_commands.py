"""The commands `apps`, `deliveries` and `audit`: applications, notifications, and the changes."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

import click

from bot.cli import console
from bot.core import brand, clock, errors
from bot.core.ops import audit as ops_audit
from bot.interface import bodies, refusals, vocabulary
from bot.service.api import from_bodies, to_answers
from bot.service.notifications import notification, notification_queues, notification_rows
from bot.service.requests import applications, changes

# apps: the applications that may use the payment request service.

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
def apps_seller(app_id: str, *, clear: bool, **profile: str | None) -> None:
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
@console.AS_JSON
def apps_list(*, as_json: bool) -> None:
    """List the applications.

    OVERLAP is when the former secrets of an application end that was rotated lately.
    """
    found, moment = console.read_only(applications.list_all), clock.now()
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
def apps_rotate(app_id: str, *, overlap: int | None, at_once: bool) -> None:
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
@console.YES
def apps_revoke(app_id: str, *, yes: bool) -> None:
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


# deliveries: notifications about payments by webhook and email.

STATES = [state.value for state in vocabulary.NotificationState]

ANSWER_LINES = 3
"""The most lines of an answer to show."""


@click.group()
def deliveries() -> None:
    """List, show and retry webhooks, payment emails and receipts."""


@deliveries.command("list")
@console.AS_JSON
@console.limit(notification_rows.SHOWN)
@click.option("--state", type=click.Choice(STATES), help="Only deliveries in this state.")
def deliveries_list(*, as_json: bool, limit: int, state: str | None) -> None:
    """List deliveries: address, state, attempts, time of the next attempt."""
    only = vocabulary.NotificationState(state) if state else None
    found = console.read_only(lambda tx: notification_rows.list_all(tx, limit, only))
    columns = ("id", "request", "address", "state", "attempts", "next")
    console.print_table(columns, [_fields(item) for item in found], as_json=as_json)


@deliveries.command("show")
@click.argument("notification_id", metavar="ID")
def deliveries_show(notification_id: str) -> None:
    """Show the delivery ID and its attempts."""
    found, attempts = console.read_only(
        lambda tx: (
            notification_rows.find(tx, notification_id),
            notification_rows.attempts(tx, notification_id),
        )
    )
    for name, value in _fields(found).items():
        console.print_fact(name, value)
    for number, attempt in enumerate(attempts, start=1):
        came = attempt.status if attempt.status is not None else "no answer"
        text = f"{number} at {console.time_text(attempt.at)}, {came} after {attempt.took} ms"
        console.print_fact("attempt", text)
        lines = [line for line in (attempt.answer or "").split("\n") if line.strip()]
        for line in lines[:ANSWER_LINES]:
            console.print_fact("answer", line)
        if attempt.problem is not None:
            console.print_fact("trouble", attempt.problem)


@deliveries.command("retry")
@click.argument("notification_id", metavar="ID")
def deliveries_retry(notification_id: str) -> None:
    """Send the delivery ID now, starting again at its first attempt.

    It may be delivered, dead or waiting for its next attempt; one that is being sent right now is
    left as it is.
    """
    found = console.in_transaction(
        lambda tx, _vault: notification_queues.retry(tx, notification_id, clock.now())
    )
    click.echo(f"{found.id} is {found.state}")


def _fields(item: notification.Notification) -> dict[str, Any]:
    return {
        "id": item.id,
        "request": item.request_id,
        "address": item.address,
        "state": item.state,
        "attempts": item.attempts,
        "next": console.time_text(item.next_at),
        "channel": item.channel.value,
        "transaction": item.transaction_id,
        "checkout": item.checkout_id,
        "created": console.time_text(item.created_at),
        "settled": console.time_text(item.settled_at),
        "note": item.note,
    }


# audit: changes, newest first.

AUDIT_SHOWN = 100
"""The default number of changes that `audit` lists."""


@click.command()
@click.option(
    "--subject", metavar="ID", help="Only changes of this request, seller or other subject."
)
@console.limit(AUDIT_SHOWN)
@console.AS_JSON
def audit(*, subject: str | None, limit: int, as_json: bool) -> None:
    """List changes, newest first.

    A line has the time, the person or application, the action and the subject. The log holds no
    data of payers and no secrets. Changes are kept for 400 days.
    """
    lines, names = console.read_only(
        lambda tx: (
            ops_audit.read(tx, limit, subject),
            {ops_audit.app(app.id): app.name for app in applications.list_all(tx)},
        )
    )
    rows = []
    for line in lines:
        row: dict[str, Any] = {
            "time": console.time_text(line.at),
            "who": line.actor,
            "name": names.get(line.actor),
            "what": line.action,
            "subject": line.subject,
            "details": line.details,
        }
        if not as_json:
            row["who"] += f" ({row['name']})" if row["name"] else ""
            # A list is shown as JSON, so that its items stay apart.
            texts = (
                value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
                for value in line.details.values()
            )
            row["details"] = ", ".join(map("{}: {}".format, line.details, texts))
        rows.append(row)
    console.print_table(("time", "who", "what", "subject", "details"), rows, as_json=as_json)
