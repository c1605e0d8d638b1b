"""The commands of the operator; `python -m bot --help` lists them."""

from __future__ import annotations

import asyncio
import contextlib
import json
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

import click
import uvloop

from bot import config
from bot.core import harmless
from bot.core.db import open_database, sqlite_path
from bot.core.errors import BotError, ConfigError, ConfigProblem
from bot.core.ops import configure_logging
from bot.service.model.delivery import DeliveryState
from bot.service.usecases import apps as app_usecases
from bot.service.usecases import deliveries as delivery_usecases
from bot.wiring.application import Application, now, open_vault, steady

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from bot.config import Settings
    from bot.core.db import Transaction
    from bot.core.vault import Vault
    from bot.service.model.delivery import Attempt, Delivery
    from bot.service.usecases.apps import Credentials

T = TypeVar("T")

BAD_SETTING = 2
"""The exit code for a setting that can't be worked with."""

HOUR = 3600 * 1000
"""In milliseconds."""

LONGEST_OVERLAP = 30 * 24
"""Hours: a secret that is not trusted any more should not sign for ever."""

STATES = [state.value for state in DeliveryState]

ANSWER_LINES = 3
"""How much of an answer is shown."""


class Commands(click.Group):
    """The commands; what the design foresees ends with a line for people, not a traceback."""

    def invoke(self, context: click.Context) -> Any:
        """Run the command and turn its error into lines and an exit code."""
        try:
            return super().invoke(context)
        except (ConfigError, ConfigProblem) as error:
            _end(str(error), BAD_SETTING)
        except BotError as error:
            _end(str(error), 1)


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
def main() -> None:
    """Make payment requests by chatting on Telegram, and serve them."""


@main.command()
def run() -> None:
    """Run everything on the real Telegram; BOT_TOKEN is needed."""
    settings = _settings()
    if settings.bot_token is None:
        raise ConfigError(["BOT_TOKEN: is needed to run; BotFather on Telegram gives you one"])
    uvloop.run(_serve(settings))


@main.command()
@click.option("--no-browser", is_flag=True, help="Don't open the chat page.")
def demo(no_browser: bool) -> None:  # noqa: FBT001 - click passes options by name
    """Run everything on a Telegram of our own, with a chat page in the browser."""
    uvloop.run(_demo(_settings(), browser=not no_browser))


@main.command()
def service() -> None:
    """Run the payment request service alone."""
    uvloop.run(_serve(_settings(), chat=False))


@main.group()
def apps() -> None:
    """Manage the applications that may use the payment request service."""


@apps.command("create")
@click.argument("name")
def apps_create(name: str) -> None:
    """Make an application called NAME and print its credentials, once."""
    _print_credentials(_in_database(lambda tx, vault: app_usecases.create(tx, vault, name, now())))


@apps.command("list")
@click.option("--json", "as_json", is_flag=True, help="One JSON object a line.")
def apps_list(as_json: bool) -> None:  # noqa: FBT001 - click passes options by name
    """List the applications."""
    found = _in_database(lambda tx, _vault: app_usecases.every(tx))
    rows = [
        {
            "id": app.id,
            "name": app.name,
            "created": _time(app.created_at),
            "revoked": _time(app.revoked_at),
        }
        for app in found
    ]
    _print_table(("id", "name", "created", "revoked"), rows, as_json=as_json)


@apps.command("rotate")
@click.argument("app_id", metavar="ID")
@click.option(
    "--overlap",
    metavar="HOURS",
    type=click.IntRange(0, LONGEST_OVERLAP),
    default=app_usecases.OVERLAP // HOUR,
    show_default=True,
    help="How long webhooks are signed with the former secret too; 0 ends it at once.",
)
def apps_rotate(app_id: str, overlap: int) -> None:
    """Give the application ID new secrets and print them, once.

    The old APP_SECRET ends at once. The old WEBHOOK_SECRET signs beside the new one for some hours
    more, so that receivers can change theirs in the meantime. Rotated again before that, the oldest
    of the three ends at once.
    """
    moment, lasting = now(), overlap * HOUR
    made = _in_database(lambda tx, vault: app_usecases.rotate(tx, vault, app_id, moment, lasting))
    _print_credentials(made)
    if lasting:
        until = _time(moment + lasting)
        _tell(f"The former WEBHOOK_SECRET signs too until {until}, or until the next rotation.")


@apps.command("revoke")
@click.argument("app_id", metavar="ID")
def apps_revoke(app_id: str) -> None:
    """End the access of the application ID."""
    _in_database(lambda tx, vault: app_usecases.revoke(tx, vault, app_id, now()))
    click.echo(f"revoked {app_id}")


@main.group()
def deliveries() -> None:
    """Look after the webhooks and e-mails that were sent, or could not be."""


@deliveries.command("list")
@click.option("--json", "as_json", is_flag=True, help="One JSON object a line.")
@click.option(
    "--limit",
    type=click.IntRange(min=1),
    default=delivery_usecases.SHOWN,
    show_default=True,
    help="How many, the newest first.",
)
@click.option("--state", type=click.Choice(STATES), help="Only deliveries in this state.")
def deliveries_list(as_json: bool, limit: int, state: str | None) -> None:  # noqa: FBT001 - click passes options by name
    """List deliveries: what was sent where, and what comes next."""
    only = DeliveryState(state) if state else None
    found = _in_database(lambda tx, _vault: delivery_usecases.every(tx, limit, only))
    columns = ("id", "request", "address", "state", "attempts", "next")
    _print_table(columns, [_delivery(item) for item in found], as_json=as_json)


@deliveries.command("show")
@click.argument("delivery_id", metavar="ID")
def deliveries_show(delivery_id: str) -> None:
    """Show the delivery ID with everything known of it, attempt by attempt."""
    found, attempts = _in_database(
        lambda tx, _vault: (
            delivery_usecases.show(tx, delivery_id),
            delivery_usecases.attempts(tx, delivery_id),
        )
    )
    for name, value in _delivery(found).items():
        _print_fact(name, value)
    for number, attempt in enumerate(attempts, start=1):
        _print_attempt(number, attempt)


@deliveries.command("retry")
@click.argument("delivery_id", metavar="ID")
def deliveries_retry(delivery_id: str) -> None:
    """Send the delivery ID at once, from its first attempt on.

    Whether it was delivered, is dead or waits for its next attempt; one that is being sent just now
    stays as it is.
    """
    found = _in_database(lambda tx, _vault: delivery_usecases.retry(tx, delivery_id, now()))
    click.echo(f"{found.id} is {found.state}")


@main.command()
def doctor() -> None:
    """Say what is wrong with the configuration and how to mend it."""
    from bot.wiring.doctor import examine  # noqa: PLC0415 - other commands start without it

    problems = 0
    for finding in asyncio.run(examine(config.load())):
        text = harmless.text(finding.text)
        click.echo(f"{'ok  ' if finding.well else 'MEND'} {finding.name}: {text}")
        problems += not finding.well
    sys.exit(1 if problems else 0)


async def _serve(settings: Settings, *, chat: bool = True) -> None:
    await Application(settings, chat=chat, steady=steady).run()


async def _demo(settings: Settings, *, browser: bool) -> None:
    from bot.wiring.demo import prepare  # noqa: PLC0415 - the sandbox is for the demo alone

    stage = prepare(settings)
    application = Application(
        stage.settings, routes=stage.routes, closers=[stage.close], steady=steady
    )
    click.echo(f"\n  Chat with the bot: {stage.page}\n")
    if browser:
        asyncio.get_running_loop().call_later(1.0, _open_page, stage.page)
    await application.run()


def _open_page(page: str) -> None:
    """Open the page where there is a desktop; elsewhere the printed address must do."""
    import webbrowser  # noqa: PLC0415 - the demo alone opens one

    with contextlib.suppress(webbrowser.Error):
        browser = webbrowser.get()
        if type(browser) is not webbrowser.GenericBrowser:  # those draw in the terminal
            browser.open(page)


def _settings() -> Settings:
    settings = config.load()
    configure_logging(settings.log_level, settings.log_format, config.secrets(settings))
    return settings


def _in_database(work: Callable[[Transaction, Vault], T]) -> T:
    settings = config.load()
    path = Path(sqlite_path(settings.database_url))
    is_new = not path.exists()
    database = open_database(settings.database_url)
    if is_new:
        _tell(f"made a new database at {path}")
    try:
        vault = open_vault(settings, database)
        return database.run(lambda tx: work(tx, vault))
    finally:
        database.close()


def _print_credentials(made: Credentials) -> None:
    click.echo(f"APP_ID={made.app_id}")
    click.echo(f"APP_SECRET={made.app_secret}")
    click.echo(f"WEBHOOK_SECRET={made.webhook_secret}")


def _delivery(item: Delivery) -> dict[str, Any]:
    return {
        "id": item.id,
        "request": item.request_id,
        "address": item.address,
        "state": item.state,
        "attempts": item.attempts,
        "next": _time(item.next_at),
        "channel": item.channel.value,
        "transaction": item.transaction_id,
        "created": _time(item.created_at),
        "settled": _time(item.settled_at),
        "note": item.note,
    }


def _print_fact(name: str, value: object) -> None:
    text = harmless.line(str(value)) if value is not None else "-"
    click.echo(f"{name + ':':<13} {text}")


def _print_attempt(number: int, attempt: Attempt) -> None:
    """Print what came of an attempt, with the first lines of what the other side said."""
    came = attempt.status if attempt.status is not None else "no answer"
    _print_fact("attempt", f"{number} at {_time(attempt.at)}, {came} after {attempt.took} ms")
    lines = [line for line in (attempt.answer or "").split("\n") if line.strip()]
    for line in lines[:ANSWER_LINES]:
        _print_fact("answer", line)
    if attempt.trouble is not None:
        _print_fact("trouble", attempt.trouble)


def _print_table(
    columns: Sequence[str], rows: Sequence[Mapping[str, Any]], *, as_json: bool
) -> None:
    """Print a table of these columns for people, or all as one JSON object a line for programs."""
    if as_json:
        for row in rows:
            click.echo(_json(row))
        return
    lines = [[name.upper() for name in columns]]
    lines += [
        [harmless.line(str(row[name])) if row[name] is not None else "-" for name in columns]
        for row in rows
    ]
    widths = [max(len(line[i]) for line in lines) for i in range(len(columns))]
    for line in lines:
        click.echo("  ".join(map(str.ljust, line, widths)).rstrip())


def _json(row: Mapping[str, Any]) -> str:
    """Write JSON in printable ASCII: what strangers gave would else steer the terminal."""
    return json.dumps(row).replace("\x7f", "\\u007f")


def _tell(text: str) -> None:
    """Say to people what is none of the output that programs read."""
    click.echo(harmless.text(text), err=True)


def _time(moment: int | None) -> str | None:
    """Give an epoch ms as ISO 8601 in UTC, to the second."""
    if moment is None:
        return None
    return datetime.fromtimestamp(moment / 1000, UTC).isoformat(timespec="seconds")


def _end(text: str, code: int) -> NoReturn:
    for line in text.splitlines():
        _tell(line)
    sys.exit(code)
