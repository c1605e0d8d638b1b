"""The operator's commands; `python -m bot --help` lists them."""

from __future__ import annotations

import asyncio
import contextlib
import sys
from typing import TYPE_CHECKING, Any

import click
import uvloop

from bot import __version__, config
from bot.app import resources
from bot.cli import console, data_commands, service_commands
from bot.core import errors, gc_frozen
from bot.core.text import sanitize

if TYPE_CHECKING:
    from bot.app import application

BAD_SETTING = 2
"""The exit code for a bad setting."""

DEMO_PAGE = "/chat"


class Commands(click.Group):
    """The group of all commands; an expected error is printed as a line, without a traceback."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Refuse arguments that aren't text: neither the database nor a terminal accepts them."""
        text = "".join(args)
        # Bytes that are not UTF-8 have become lone surrogates (PEP 383).
        if "\0" in text or any("\ud800" <= char <= "\udfff" for char in text):
            raise click.UsageError("An argument is not UTF-8 text, or it contains a NUL.", ctx)
        with console.reported_output():  # --help and --version
            return super().parse_args(ctx, args)

    def invoke(self, context: click.Context) -> Any:
        """Run the command; print its error as lines and set an exit code."""
        try:
            with console.reported_output():
                return super().invoke(context)
        except (errors.ConfigError, errors.ConfigProblem) as error:
            console.exit_with(str(error), BAD_SETTING)
        except errors.BotError as error:
            console.exit_with(str(error), 1)


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="payment-request-bot", message="%(prog)s %(version)s")
def main() -> None:
    """Make payment links in a Telegram chat, and serve them."""


@main.command()
@click.option(
    "--role",
    type=click.Choice([role.value for role in resources.Role]),
    default=resources.Role.ALL.value,
    show_default=True,
    help="What this replica does over PostgreSQL: serve requests (api), stand for the lead, which"
    " runs the chat (lead), or both (all).",
)
def run(role: str) -> None:
    """Run everything on the real Telegram; needs BOT_TOKEN.

    SIGTERM, SIGINT and SIGHUP, which comes when the terminal closes, let what is under way finish,
    10 seconds at most. Under nohup, SIGHUP is ignored. Settings are read at the start alone.
    """
    settings = console.settings()
    if settings.bot_token is None:
        raise errors.ConfigError(
            ["BOT_TOKEN: is needed to run: get one from BotFather on Telegram"]
        )
    uvloop.run(_serve(settings, role=resources.Role(role)))


@main.command()
@click.option("--no-browser", is_flag=True, help="Don't open the chat page.")
def demo(*, no_browser: bool) -> None:
    """Run everything on a built-in Telegram, in your browser."""
    uvloop.run(_demo(console.settings(), browser=not no_browser))


@main.command()
def service() -> None:
    """Run the payment request service alone; signals stop it as they stop run."""
    uvloop.run(_serve(console.settings(), chat=False))


@main.command()
@click.option("--service", "alone", is_flag=True, help="Leave Telegram out: `service` runs alone.")
def doctor(*, alone: bool) -> None:
    """Check the configuration, and explain how to fix what is wrong."""
    from bot.app.doctor import examination  # noqa: PLC0415 - other commands start without it

    problems = 0
    for finding in asyncio.run(examination.examine(config.load(), chat=not alone)):
        text = sanitize.text(finding.text)
        click.echo(f"{'ok  ' if finding.ok else 'FIX '} {finding.name}: {text}")
        problems += not finding.ok
    sys.exit(1 if problems else 0)


for command in (
    *(service_commands.apps, service_commands.audit, service_commands.deliveries),
    *(data_commands.backup, data_commands.restore, data_commands.migrate_to),
    *(data_commands.erase, data_commands.export),
):
    main.add_command(command)


def _application() -> type[application.Application]:
    """Import the application only now: commands without it start in half the time."""
    with gc_frozen.gc_frozen():
        from bot.app import application  # noqa: PLC0415 - see above
    return application.Application


async def _serve(
    settings: config.Settings, *, chat: bool = True, role: resources.Role = resources.Role.ALL
) -> None:
    await _application()(settings, chat=chat, role=role).run()


async def _demo(settings: config.Settings, *, browser: bool) -> None:
    with gc_frozen.gc_frozen():
        from bot.app import application  # noqa: PLC0415 - as in _application
        from bot.sandbox.web import server  # noqa: PLC0415 - only the demo needs the sandbox
    changed, routes, close = application.prepare_demo(settings)
    product = application.Application(changed, routes=routes, close=close, chat_page=DEMO_PAGE)
    product.wrap(server.AllowOwnFrames)  # the chat page shows pay pages
    page = f"{settings.local_url}{DEMO_PAGE}"
    click.echo(f"\n  Chat with the bot: {page}\n")
    if browser:
        asyncio.get_running_loop().call_later(1.0, _open_page, page)
    await product.run()


def _open_page(page: str) -> None:
    """Open the page in a browser, if there is a desktop."""
    import webbrowser  # noqa: PLC0415 - only the demo opens a page

    with contextlib.suppress(webbrowser.Error):
        browser = webbrowser.get()
        if type(browser) is not webbrowser.GenericBrowser:  # generic browsers draw in the terminal
            browser.open(page)
