"""What the doctor looks at: everything that an operator can get wrong, and how to mend it."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import httpx
from telegram import Bot
from telegram.error import InvalidToken, TelegramError

from bot.core.db import open_database, sqlite_path
from bot.core.errors import (
    BadAnswer,
    BotError,
    ConfigProblem,
    MailRefused,
    NotReached,
    PeerError,
    Refused,
    StorageError,
    Throttled,
    Unauthorized,
    Unreachable,
)
from bot.core.smtp import parse_sender, parse_server

if TYPE_CHECKING:
    from bot.config import Settings

from bot.chat.client import Client
from bot.service.mail import Mailer
from bot.service.usecases.deliveries import MAILS
from bot.wiring.application import open_vault
from bot.wiring.leftovers import read as left
from bot.wiring.process import loopback

PATIENCE = httpx.Timeout(5.0)
MAIL_PATIENCE = 10.0  # seconds; mail servers hold back their greeting to tell spammers

MEGABYTE = 1_000_000
LEAST_FREE = 100
"""Megabytes on the database's disk below which it is to be mended before it is full."""

REMEDIES = {
    "is locked": "another process holds it: end that one, or look again once it is done",
    "readonly": "let the user that runs the bot write the file and its folder",
    "unable to open": "look at the path: is it a folder, is its disk there?",
    "disk I/O error": "look at the disk: is it full or failing?",
    "is full": "make room on its disk",
    "malformed": "it is damaged: take the last backup",
    "not a database": "it is another file: look at the path",
}
"""What mends what SQLite says, by words of it."""

PEER_REMEDIES: dict[type[BotError], str] = {
    NotReached: "nothing listens there: is it running, is the port right?",
    Unreachable: "it does not answer in time: look at it, then again",
    BadAnswer: "no payment service speaks there: check PAYMENTS_URL",
    Throttled: "it asks us to wait: look again later",
    Unauthorized: "copy APP_ID and APP_SECRET again",
}
"""What mends what the payment service says, the first that fits."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing looked at; where it is not well, `text` says how to mend it."""

    name: str
    well: bool
    text: str


async def examine(settings: Settings) -> list[Finding]:
    """Look at everything once; a database that is not there yet is made."""
    return [
        *_database(settings),
        await _token(settings),
        *_public_url(settings),
        await _reached(settings),
        *await _payments(settings),
        *await _mail(settings),
    ]


def _database(settings: Settings) -> list[Finding]:
    try:
        database = open_database(settings.database_url, writing=True)
    except BotError as error:
        return [_unusable(str(error)), *_disk(settings)]
    try:
        open_vault(settings, database)
        leftovers = database.run(left)
    except StorageError as error:
        return [_unusable(str(error)), *_disk(settings)]
    finally:
        database.close()
    return [
        Finding("database", well=True, text=settings.database_url),
        *_disk(settings),
        *(Finding(queue, well=False, text=text) for queue, text in leftovers.items()),
    ]


def _unusable(reason: str) -> Finding:
    """Say how what SQLite says is mended, where it does not say so itself."""
    remedies = (remedy for words, remedy in REMEDIES.items() if words in reason)
    return Finding("database", well=False, text="; ".join([reason, *remedies]))


def _disk(settings: Settings) -> list[Finding]:
    """Look at the room where the database is, only told where it is little."""
    try:
        folder = Path(sqlite_path(settings.database_url)).parent
        free = shutil.disk_usage(folder).free // MEGABYTE
    except (ConfigProblem, OSError):
        return []  # the database has a finding of its own
    if free >= LEAST_FREE:
        return []
    return [Finding("disk", well=False, text=f"only {free} MB left for {folder}: make room")]


async def _token(settings: Settings) -> Finding:
    if settings.bot_token is None:
        return Finding("BOT_TOKEN", well=False, text="not set: BotFather on Telegram gives you one")
    root, token = settings.telegram_api_url, settings.bot_token.get_secret_value()
    try:
        async with Bot(token, base_url=f"{root}/bot", base_file_url=f"{root}/file/bot") as bot:
            me = bot.bot
    except InvalidToken:
        return Finding("BOT_TOKEN", well=False, text="Telegram does not know it: copy it again")
    except TelegramError as error:
        text = f"Telegram at {root} is not reached ({type(error).__name__}): is there a network?"
        return Finding("BOT_TOKEN", well=False, text=text)
    if not me.supports_inline_queries:
        text = (
            f"@{me.username} has inline mode off: send /setinline to BotFather, or Share won't work"
        )
        return Finding("BOT_TOKEN", well=False, text=text)
    return Finding("BOT_TOKEN", well=True, text=f"@{me.username}")


def _public_url(settings: Settings) -> list[Finding]:
    host = urlsplit(settings.url).hostname or ""
    if "." not in host and ":" not in host:
        text = f"{host} has no dot: Telegram refuses such links, so buttons become text"
        return [Finding("PUBLIC_URL", well=False, text=text)]
    if settings.public_url is None:
        text = f"not set, so payers are sent to {settings.url}: give the address they reach"
        return [Finding("PUBLIC_URL", well=False, text=text)]
    return [Finding("PUBLIC_URL", well=True, text=settings.url)]


async def _reached(settings: Settings) -> Finding:
    """Ask for /livez from outside; a bot that does not run yet can't answer."""
    inside = f"http://{loopback(settings.host)}:{settings.port}/livez"
    async with httpx.AsyncClient(timeout=PATIENCE, trust_env=False) as http:
        if not await _answers(http, inside):
            return Finding("server", well=True, text="not running, so its address was not tried")
        if await _answers(http, f"{settings.url}/livez"):
            return Finding("server", well=True, text=f"answers at {settings.url}")
    text = f"runs, but {settings.url} does not lead to it: look at the proxy or the tunnel"
    return Finding("server", well=False, text=text)


async def _answers(http: httpx.AsyncClient, url: str) -> bool:
    try:
        return (await http.get(url)).is_success
    except httpx.HTTPError:
        return False


async def _payments(settings: Settings) -> list[Finding]:
    if settings.payments_url is None or settings.app_secret is None:
        return []
    client = Client(
        settings.payments_url, settings.app_id or "", settings.app_secret.get_secret_value()
    )
    try:
        await anext(client.pages(), None)
    except (PeerError, Refused) as error:
        remedies = (words for kind, words in PEER_REMEDIES.items() if isinstance(error, kind))
        text = "; ".join([f"{settings.payments_url}: {error}", *list(remedies)[:1]])
        return [Finding("PAYMENTS_URL", well=False, text=text)]
    finally:
        await client.close()
    return [Finding("PAYMENTS_URL", well=True, text=settings.payments_url)]


async def _mail(settings: Settings) -> list[Finding]:
    """Go as far with the mail server as one can without a letter; none is needed."""
    if settings.payments_url is not None:
        return []
    if settings.smtp_url is None:
        return [_no_mail(settings)]
    server = parse_server(settings.smtp_url.get_secret_value())
    sender = parse_sender(settings.smtp_from or "")
    try:
        await Mailer(server, timeout=MAIL_PATIENCE).check(sender.addr_spec)
    except MailRefused as error:
        text = "; ".join(filter(None, (error.told, error.remedy)))
        return [Finding("SMTP_URL", well=False, text=text)]
    text = f"{server.name} lets us in and takes e-mails of {sender.addr_spec}"
    return [Finding("SMTP_URL", well=True, text=text)]


def _no_mail(settings: Settings) -> Finding:
    """Without a mail server new requests can't ask for e-mails; older ones may be owed theirs."""
    waiting = _waiting_mails(settings)
    if waiting:
        them = "1 e-mail waits" if waiting == 1 else f"{waiting} e-mails wait"
        text = f"{them} that nobody sends: set SMTP_URL again"
        return Finding("SMTP_URL", well=False, text=text)
    return Finding("SMTP_URL", well=True, text="not set, so e-mail notifications are refused")


def _waiting_mails(settings: Settings) -> int:
    try:
        database = open_database(settings.database_url)
    except BotError:
        return 0  # the database has a finding of its own
    try:
        (row,) = database.run(
            lambda tx: tx.query(
                "SELECT COUNT(*) AS n FROM outbox WHERE queue = :queue AND state = 'waiting'",
                queue=MAILS.name,
            )
        )
    finally:
        database.close()
    return int(row["n"])
