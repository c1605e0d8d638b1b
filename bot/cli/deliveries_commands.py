"""The commands `deliveries`: notifications about payments by webhook and email."""

from __future__ import annotations

from typing import Any

import click

from bot.cli import console
from bot.core import clock
from bot.interface import vocabulary
from bot.service.notifications import notification, notification_queues, notification_rows

STATES = [state.value for state in vocabulary.NotificationState]

ANSWER_LINES = 3
"""The most lines of an answer to show."""


@click.group()
def deliveries() -> None:
    """List, show and retry webhooks, payment emails and receipts."""


@deliveries.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per line.")
@click.option(
    "--limit",
    type=click.IntRange(1, console.MAX_LISTED),
    default=notification_rows.SHOWN,
    show_default=True,
    help="How many, newest first.",
)
@click.option("--state", type=click.Choice(STATES), help="Only deliveries in this state.")
def deliveries_list(as_json: bool, limit: int, state: str | None) -> None:  # noqa: FBT001 - click passes options by name
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
            notification_queues.find(tx, notification_id),
            notification_rows.attempts(tx, notification_id),
        )
    )
    for name, value in _fields(found).items():
        console.print_fact(name, value)
    for number, attempt in enumerate(attempts, start=1):
        _print_attempt(number, attempt)


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


def _print_attempt(number: int, attempt: notification.Attempt) -> None:
    """Print the outcome of an attempt, with the first lines of the answer."""
    came = attempt.status if attempt.status is not None else "no answer"
    console.print_fact(
        "attempt", f"{number} at {console.time_text(attempt.at)}, {came} after {attempt.took} ms"
    )
    lines = [line for line in (attempt.answer or "").split("\n") if line.strip()]
    for line in lines[:ANSWER_LINES]:
        console.print_fact("answer", line)
    if attempt.problem is not None:
        console.print_fact("trouble", attempt.problem)
