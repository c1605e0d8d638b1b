"""Settings from the environment and `.env`; nothing else reads the environment.

Each field is the setting of the same name in upper case. `.env.example` lists all settings with
their defaults; a test compares the two.
"""

from __future__ import annotations

import io
import ipaddress
import logging
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

from dotenv import parser
from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    SecretStr,
    StringConstraints,
    ValidationError,
)
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from bot.core import errors, signing
from bot.core.database import private_files, urls
from bot.core.money import amounts
from bot.core.net import mail, rates, webhook_addresses
from bot.core.text import contacts, links
from bot.interface import vocabulary

logging.getLogger("dotenv").setLevel(logging.ERROR)  # `find_unknown` reports unreadable lines

TELEGRAM = "https://api.telegram.org"
ENV_FILE = ".env"
PORTS = {"http": 80, "https": 443}
EVERYWHERE = ("0.0.0.0", "::")  # noqa: S104 - compared, not bound
"""Values of HOST that mean all addresses of the machine; `::` includes the IPv4 addresses."""

WEBHOOK_PORTS = (443, 80, 88, 8443)
"""The ports to which Telegram delivers updates (core.telegram.org/bots/api#setwebhook); another Bot
API server delivers to any port, and over plain http."""
RATES_TABLE = "table"
RATES_SOURCES = (
    "https://api.coinbase.com/v2/exchange-rates?currency=BTC",
    "https://bitpay.com/rates",
    "https://api.yadio.io/exrates/BTC",
)
"""Public sources of exchange rates that need no key."""


def _split(value: Any) -> Any:
    if isinstance(value, str):
        return tuple(part.strip() for part in value.split(",") if part.strip())
    return value


def _split_addresses(value: Any) -> Any:
    """Split a list of addresses, but not at a comma within a query (`?pair=XBTEUR,XBTUSD`)."""
    found: list[str] = []
    for part in _split(value):
        if found and "?" in found[-1] and "://" not in part and part != RATES_TABLE:
            found[-1] += f",{part}"
        else:
            found.append(part)
    return tuple(found)


def _checked(check: Any) -> AfterValidator:
    """Build a validator that returns the value unchanged and raises the errors of `check`."""

    def validate(value: Any) -> Any:
        try:
            check(value.get_secret_value() if isinstance(value, SecretStr) else value)
        except errors.BotError as error:
            raise ValueError(str(error)) from error
        return value

    return AfterValidator(validate)


def _address(value: str) -> str:
    """Return an address with scheme and host in lower case and ASCII, for comparisons."""
    parts = urlsplit(value.strip())
    has_blank = re.search(r"\s", value.strip()) or not value.strip().isprintable()
    if parts.scheme not in PORTS or not parts.hostname or parts.port == 0 or has_blank:
        raise ValueError("write a complete address, such as https://example.org")
    user, at, _ = parts.netloc.rpartition("@")
    try:
        server = links.authority(urlsplit(f"//{parts.netloc[len(user + at) :]}"))
    except ValueError:
        raise ValueError(f"{parts.hostname} is not the name of a host") from None
    server = server.removesuffix(f":{PORTS[parts.scheme]}")
    return parts._replace(netloc=f"{user}{at}{server}").geturl()


def _root(value: str) -> str:
    address = _address(value)
    parts = urlsplit(address)
    if parts.query or parts.fragment or "@" in parts.netloc:
        raise ValueError("write the address without user, query and fragment")
    return address.rstrip("/")


def _site(value: str) -> str:
    root = _root(value)
    if urlsplit(root).path:
        raise ValueError(
            "write the address without a path: pages lie at /pay, /qr and others of this host,"
            " so give the bot a host of its own, such as https://pay.example.org"
        )
    return root


def _host(value: str) -> str:
    """Return the host to listen on: a name, or an address in its usual spelling."""
    if address := webhook_addresses.literal_address(value):
        return str(getattr(address, "ipv4_mapped", None) or address)
    if not re.fullmatch(r"[\w-]{1,63}(?:\.[\w-]{1,63})*\.?", value.strip()):
        raise ValueError("write an address of this machine or its name: 127.0.0.1, :: or localhost")
    return value.strip().lower()


def _token(value: SecretStr) -> SecretStr:
    if not re.fullmatch(r"\d+:[A-Za-z0-9_-]{3,}", value.get_secret_value()):
        raise ValueError("a token looks like 123456:ABC-DEF: copy it from BotFather")
    return value


def _network(values: tuple[str, ...]) -> None:
    for value in values:
        if value != "*":
            ipaddress.ip_network(value, strict=False)


def _rails(values: tuple[str, ...]) -> tuple[str, ...]:
    known = f"write {vocabulary.SANDBOX}, or any of {', '.join(vocabulary.PAYOUT_KINDS)}"
    if not values:
        raise ValueError(known)
    for value in values:
        if value not in (vocabulary.SANDBOX, *vocabulary.PAYOUT_KINDS):
            raise ValueError(f"{value!r} isn't a way to pay: {known}")
    if len(set(values)) != len(values):
        raise ValueError("name each way to pay once")
    if vocabulary.SANDBOX in values and len(values) > 1:
        raise ValueError(f"test money and real money can't be offered together: {known}")
    return values


def _sources(values: tuple[str, ...]) -> tuple[str, ...]:
    if values == (RATES_TABLE,):
        return values
    if not values or RATES_TABLE in values:
        raise ValueError(
            f"write the addresses of sources, or {RATES_TABLE} alone for the packaged table"
        )
    found = tuple(map(_address, values))
    if len({urlsplit(value).netloc for value in found}) != len(found):
        raise ValueError("name each source once: they are told apart by their host")
    return found


LONG = 8
"""Length in characters from which a name may have two typos, and from which a variable may be a
misspelt setting."""

RateSetting = Annotated[rates.Rate | None, NoDecode, BeforeValidator(rates.parse_rate)]
Names = Annotated[tuple[str, ...], NoDecode, BeforeValidator(_split)]
Trimmed = StringConstraints(strip_whitespace=True)
Root = Annotated[str, AfterValidator(_root)]


class Settings(BaseSettings):
    """The operator's settings; `load` also checks their combinations."""

    model_config = SettingsConfigDict(
        env_file=ENV_FILE,
        env_file_encoding="utf-8",
        extra="ignore",
        frozen=True,
        env_ignore_empty=True,
    )

    bot_token: Annotated[SecretStr, AfterValidator(_token)] | None = None
    telegram_api_url: Root = TELEGRAM
    telegram_mode: Literal["polling", "webhook"] = "polling"
    telegram_rate: RateSetting = rates.Rate(30, 1)
    telegram_chat_rate: RateSetting = rates.Rate(1, 1)
    telegram_group_rate: RateSetting = rates.Rate(20, 60)
    public_url: Annotated[str, AfterValidator(_site)] | None = None
    host: Annotated[str, AfterValidator(_host)] = "127.0.0.1"
    port: Annotated[int, Field(ge=1, le=65535)] = 8080
    forwarded_allow_ips: Annotated[Names, _checked(_network)] = ("127.0.0.1", "::1")
    database_url: Annotated[str, Trimmed, _checked(urls.check_url), Field(repr=False)] = (
        "sqlite:///data/bot.db"
    )
    secret_key: SecretStr | None = None
    payments_url: Root | None = None
    app_id: str | None = None
    app_secret: SecretStr | None = None
    webhook_secret: Annotated[SecretStr, _checked(signing.check_secret)] | None = None
    instrument_currency: Annotated[str, _checked(amounts.exponent)] | None = None
    smtp_url: Annotated[SecretStr, _checked(mail.parse_server)] | None = None
    smtp_from: Annotated[str, _checked(mail.parse_sender)] | None = None
    rails: Annotated[Names, AfterValidator(_rails)] = (vocabulary.SANDBOX,)
    rail_allow: Annotated[str, _checked(webhook_addresses.AllowList.parse)] = ""
    claim_hours: Annotated[int, Field(ge=1, le=2160)] = 168
    rates_urls: Annotated[
        tuple[str, ...], NoDecode, BeforeValidator(_split_addresses), AfterValidator(_sources)
    ] = RATES_SOURCES
    host_calls: RateSetting = rates.Rate(300, 60)
    payer_holds: Annotated[int, Field(ge=0, le=1_000_000)] = 5
    redirect_schemes: Annotated[Names, _checked(links.check_schemes)] = ()
    reservation_seconds: Annotated[int, Field(ge=1, le=86_400)] = 900
    api_rate: RateSetting = rates.Rate(1200, 60)
    payer_rate: RateSetting = rates.Rate(60, 60)
    webhook_allow: Annotated[str, _checked(webhook_addresses.AllowList.parse)] = ""
    allowed_sellers: Annotated[tuple[int, ...], NoDecode, BeforeValidator(_split)] = ()
    operator_contact: Annotated[str, Trimmed, AfterValidator(contacts.check_contact)] | None = None
    metrics_token: SecretStr | None = None
    log_level: Literal["debug", "info", "warning", "error"] = "info"
    log_format: Literal["text", "json"] = "text"

    @property
    def test_money(self) -> bool:
        """True if the embedded service accepts test money."""
        return self.rails == (vocabulary.SANDBOX,)

    @property
    def converts(self) -> bool:
        """True if prices are converted into what the rails of the embedded service pay with."""
        return not self.test_money and set(self.rails) != {vocabulary.BANK}

    @property
    def asks_rates(self) -> bool:
        """True if prices are converted at the rates of public sources."""
        return self.converts and self.rates_urls != (RATES_TABLE,)

    @property
    def url(self) -> str:
        """Return the public address for payers and webhooks, without a trailing slash."""
        return self.public_url or self.local_url

    @property
    def local_url(self) -> str:
        """Return the address of the bot for callers on the same machine."""
        host = "127.0.0.1" if self.host in EVERYWHERE else self.host
        return f"http://{f'[{host}]' if ':' in host else host}:{self.port}"


def load(**given: Any) -> Settings:
    """Read the settings; `given` takes precedence over the environment.

    Raises ConfigError with a line for each problem, including names that look misspelt.
    """
    try:
        settings = Settings(**given)
        problems = list(_contradictions(settings))
    except ValidationError as error:
        problems = [_line(problem) for problem in error.errors()]
    except (OSError, UnicodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it isn't UTF-8 text"
        raise errors.ConfigError([f"{ENV_FILE}: can't be read: {reason}"]) from None
    if problems:
        raise errors.ConfigError(
            [*problems, *(str(one) for one in find_unknown() if one.is_mistake)]
        )
    return settings


@dataclass(frozen=True, slots=True)
class UnknownName:
    """A name in `.env` or the environment that isn't a setting, and what to do about it.

    `is_mistake` is True if the name was meant to be a setting; otherwise it may belong to another
    program.
    """

    name: str
    advice: str
    is_mistake: bool

    def __str__(self) -> str:
        return f"{self.name}: {self.advice}"


def find_unknown() -> Iterator[UnknownName]:
    """Yield names in `.env` that aren't settings, its unreadable lines, and misspelt variables.

    The environment has names of many programs, so only a single typo counts there.
    """
    file = Path(ENV_FILE)
    text = io.StringIO(file.read_text("utf-8") if file.is_file() else "")
    bindings = [*parser.parse_stream(text)]
    written = {one.key.upper(): one.key for one in bindings if one.key and one.value}
    known = {name.upper() for name in Settings.model_fields}
    environment = {name.upper() for name in os.environ} - known
    taken = {name for name in known if name in written or os.environ.get(name)}
    for line in (one.original.line for one in bindings if one.error):
        yield UnknownName(ENV_FILE, f"line {line} can't be read: write NAME=value", is_mistake=True)
    for name in sorted(written.keys() - known):
        if meant := _nearest(name, known):
            useless = f"isn't a setting, so its line in {ENV_FILE} does nothing"
            yield UnknownName(written[name], f"{useless}: did you mean {meant}?", is_mistake=True)
        elif name not in environment:  # it is in both if systemd reads the file too
            advice = f"isn't a setting: nothing reads it from {ENV_FILE}"
            yield UnknownName(written[name], advice, is_mistake=False)
    for name in sorted(environment - written.keys()):
        meant = _nearest(name, known) if "_" in name and len(name) >= LONG else None
        if meant and meant not in taken and _slips(name, meant) == 1:
            advice = f"isn't a setting, but a variable of the environment: did you mean {meant}?"
            yield UnknownName(name, advice, is_mistake=True)


def _nearest(name: str, known: set[str]) -> str | None:
    """Return the setting meant by a name that is misspelt or has other words around it."""
    plain = re.sub(r"[^A-Z0-9]+", "_", name.upper()).strip("_")
    by_slips = sorted((_slips(plain, one), one) for one in known)
    if by_slips[0][0] <= (2 if len(plain) >= LONG else 1):
        return by_slips[0][1]
    within = (one for one in known if "_" in one and f"_{one}_" in f"_{plain}_")
    return max(within, key=len, default=None)


def _slips(one: str, other: str) -> int:
    """Count the typos: letters to add, leave out, replace or swap with their neighbours."""
    before: list[int] = []
    row = list(range(len(other) + 1))
    for i, a in enumerate(one, start=1):
        former, before, row = before, row, [i]
        for j, b in enumerate(other, start=1):
            row.append(min(before[j] + 1, row[-1] + 1, before[j - 1] + (a != b)))
            if i > 1 and j > 1 and (a, one[i - 2]) == (other[j - 2], b):
                row[j] = min(row[j], former[j - 2] + 1)
    return row[-1]


def secrets(settings: Settings) -> list[str]:
    """Return all secrets among the settings, for the log to hide."""
    values = (getattr(settings, name) for name in type(settings).model_fields)
    found = [value.get_secret_value() for value in values if isinstance(value, SecretStr)]
    if settings.smtp_url is not None:
        found += mail.smtp_passwords(settings.smtp_url.get_secret_value())
    return [*found, *urls.passwords(settings.database_url)]


def find_exposed_file(settings: Settings) -> Path | None:
    """Return the path of `.env` if it has secrets and every user of this machine may read it."""
    file = Path(ENV_FILE)
    if not private_files.is_open_to_all(file):
        return None
    bindings = parser.parse_stream(io.StringIO(file.read_text("utf-8")))
    values = [one.value for one in bindings if one.value]
    known = filter(None, secrets(settings))
    has_secrets = any(secret in value for secret in known for value in values)
    return file.absolute() if has_secrets else None


def _line(problem: Any) -> str:
    name = str(problem["loc"][0]).upper()
    message = problem["msg"].removeprefix("Value error, ")
    return message if message.startswith(f"{name}:") else f"{name}: {message}"


def _contradictions(settings: Settings) -> Any:
    """Yield problems of settings that are valid separately, but not together."""
    if urls.is_postgres(settings.database_url) and settings.secret_key is None:
        yield (
            "SECRET_KEY: a PostgreSQL database needs it, the same for every replica: without one,"
            " a key is kept beside a SQLite file; make one with: openssl rand -hex 32"
        )
    if settings.payments_url:
        if not settings.app_id:
            yield "APP_ID: PAYMENTS_URL needs the application's id at that server"
        if not settings.app_secret:
            yield "APP_SECRET: PAYMENTS_URL needs the application's secret at that server"
    if settings.smtp_url is not None and settings.smtp_from is None:
        yield "SMTP_FROM: SMTP_URL needs the address that emails come from"
    if settings.smtp_from is not None and settings.smtp_url is None:
        yield "SMTP_URL: SMTP_FROM needs the server that takes the emails"
    if settings.telegram_mode == "webhook" and settings.telegram_api_url == TELEGRAM:
        address = urlsplit(settings.url)
        if address.scheme != "https":
            yield "PUBLIC_URL: TELEGRAM_MODE=webhook needs an https address that Telegram can reach"
        elif (address.port or WEBHOOK_PORTS[0]) not in WEBHOOK_PORTS:
            ports = ", ".join(map(str, WEBHOOK_PORTS))
            yield f"PUBLIC_URL: Telegram delivers updates to the ports {ports} only"
