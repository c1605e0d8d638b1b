"""Settings from the environment and `.env`; nothing else reads the environment.

Each field is the setting of the same name in upper case; `.env.example` lists
them all with their defaults, and a test holds the two together.
"""

from __future__ import annotations

import ipaddress
import re
from typing import Annotated, Any, Literal
from urllib.parse import SplitResult, urlsplit

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    SecretStr,
    StringConstraints,
    ValidationError,
)
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from bot.core import signing
from bot.core.database import urls
from bot.core.database.database import check_url, is_postgres
from bot.core.errors import BotError, ConfigError
from bot.core.mail import smtp
from bot.core.money import amounts
from bot.core.net.rates import Rate, parse_rate
from bot.core.net.webhook_addresses import AllowList
from bot.core.text import contacts, links
from bot.service.model import payout

TELEGRAM = "https://api.telegram.org"
HTTP = ("http", "https")
WEBHOOK_PORTS = (443, 80, 88, 8443)
"""The ports to which Telegram delivers updates (core.telegram.org/bots/api#setwebhook); another Bot
API server delivers to any port, over plain http too."""
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
    """Split a list of addresses; a comma within a query (`?pair=XBTEUR,XBTUSD`) splits nothing."""
    found: list[str] = []
    for part in _split(value):
        if found and "?" in found[-1] and "://" not in part and part != RATES_TABLE:
            found[-1] += f",{part}"
        else:
            found.append(part)
    return tuple(found)


def _checked(check: Any) -> AfterValidator:
    """Build a validator that keeps the value and raises the errors of `check`."""

    def validate(value: Any) -> Any:
        try:
            check(value.get_secret_value() if isinstance(value, SecretStr) else value)
        except BotError as error:
            raise ValueError(str(error)) from error
        return value

    return AfterValidator(validate)


def _address(value: str) -> SplitResult:
    parts = urlsplit(value)
    has_blank = " " in value or not value.isprintable()  # urlsplit silently drops some
    if parts.scheme not in HTTP or not parts.hostname or parts.port == 0 or has_blank:
        raise ValueError("write a complete address, such as https://example.org")
    return parts


def _root(value: str) -> str:
    parts = _address(value)
    if parts.query or parts.fragment or parts.username:
        raise ValueError("write the address without user, query and fragment")
    return value.rstrip("/")


def _token(value: SecretStr) -> SecretStr:
    if not re.fullmatch(r"\d+:[A-Za-z0-9_-]{3,}", value.get_secret_value()):
        raise ValueError("a token looks like 123456:ABC-DEF: copy it from BotFather")
    return value


def _network(values: tuple[str, ...]) -> None:
    for value in values:
        if value != "*":
            ipaddress.ip_network(value, strict=False)


def _rails(values: tuple[str, ...]) -> tuple[str, ...]:
    known = f"write {payout.SANDBOX}, or any of {', '.join(payout.KINDS)}"
    if not values:
        raise ValueError(known)
    for value in values:
        if value not in (payout.SANDBOX, *payout.KINDS):
            raise ValueError(f"{value!r} isn't a way to pay: {known}")
    if len(set(values)) != len(values):
        raise ValueError("name each way to pay once")
    if payout.SANDBOX in values and len(values) > 1:
        raise ValueError(f"test money and real money can't be offered together: {known}")
    return values


def _sources(values: tuple[str, ...]) -> tuple[str, ...]:
    if values == (RATES_TABLE,):
        return values
    if not values or RATES_TABLE in values:
        raise ValueError(
            f"write the addresses of sources, or {RATES_TABLE} alone for the packaged table"
        )
    for value in values:
        _address(value)
    if len({urlsplit(value).netloc for value in values}) != len(values):
        raise ValueError("name each source once: they are told apart by their host")
    return values


RateSetting = Annotated[Rate | None, NoDecode, BeforeValidator(parse_rate)]
Names = Annotated[tuple[str, ...], NoDecode, BeforeValidator(_split)]
Trimmed = StringConstraints(strip_whitespace=True)
Root = Annotated[str, AfterValidator(_root)]


class Settings(BaseSettings):
    """The operator's settings; `load` checks them as a whole."""

    model_config = SettingsConfigDict(
        env_file=".env",
        env_file_encoding="utf-8",
        extra="ignore",
        frozen=True,
        env_ignore_empty=True,
    )

    bot_token: Annotated[SecretStr, AfterValidator(_token)] | None = None
    telegram_api_url: Root = TELEGRAM
    telegram_mode: Literal["polling", "webhook"] = "polling"
    telegram_rate: RateSetting = Rate(30, 1)
    telegram_chat_rate: RateSetting = Rate(1, 1)
    telegram_group_rate: RateSetting = Rate(20, 60)
    public_url: Root | None = None
    host: str = "127.0.0.1"
    port: Annotated[int, Field(ge=1, le=65535)] = 8080
    forwarded_allow_ips: Annotated[Names, _checked(_network)] = ("127.0.0.1",)
    database_url: Annotated[str, _checked(check_url), Field(repr=False)] = "sqlite:///data/bot.db"
    secret_key: SecretStr | None = None
    payments_url: Root | None = None
    app_id: str | None = None
    app_secret: SecretStr | None = None
    webhook_secret: Annotated[SecretStr, _checked(signing.check_secret)] | None = None
    instrument_currency: Annotated[str, _checked(amounts.exponent)] | None = None
    smtp_url: Annotated[SecretStr, _checked(smtp.parse_server)] | None = None
    smtp_from: Annotated[str, _checked(smtp.parse_sender)] | None = None
    rails: Annotated[Names, AfterValidator(_rails)] = (payout.SANDBOX,)
    rail_allow: Annotated[str, _checked(AllowList.parse)] = ""
    claim_hours: Annotated[int, Field(ge=1, le=2160)] = 168
    rates_urls: Annotated[
        tuple[str, ...], NoDecode, BeforeValidator(_split_addresses), AfterValidator(_sources)
    ] = RATES_SOURCES
    payer_holds: Annotated[int, Field(ge=0, le=1_000_000)] = 5
    redirect_schemes: Annotated[Names, _checked(links.check_schemes)] = ()
    reservation_seconds: Annotated[int, Field(ge=1, le=86_400)] = 900
    api_rate: RateSetting = Rate(1200, 60)
    payer_rate: RateSetting = Rate(60, 60)
    webhook_allow: Annotated[str, _checked(AllowList.parse)] = ""
    allowed_sellers: Annotated[tuple[int, ...], NoDecode, BeforeValidator(_split)] = ()
    operator_contact: Annotated[str, Trimmed, AfterValidator(contacts.check_contact)] | None = None
    metrics_token: SecretStr | None = None
    log_level: Literal["debug", "info", "warning", "error"] = "info"
    log_format: Literal["text", "json"] = "text"

    @property
    def test_money(self) -> bool:
        """Return whether the embedded service is paid in test money."""
        return self.rails == (payout.SANDBOX,)

    @property
    def url(self) -> str:
        """Return the address that payers and webhooks reach, without a trailing slash."""
        return self.public_url or f"http://127.0.0.1:{self.port}"


def load(**given: Any) -> Settings:
    """Read the settings; `given` takes precedence over the environment.

    Raises ConfigError with one line for each problem.
    """
    try:
        settings = Settings(**given)
    except ValidationError as error:
        raise ConfigError([_line(problem) for problem in error.errors()]) from None
    if problems := list(_contradictions(settings)):
        raise ConfigError(problems)
    return settings


def secrets(settings: Settings) -> list[str]:
    """Return all secrets among the settings; the log hides them."""
    values = (getattr(settings, name) for name in type(settings).model_fields)
    found = [value.get_secret_value() for value in values if isinstance(value, SecretStr)]
    if settings.smtp_url is not None:
        found += smtp.passwords(settings.smtp_url.get_secret_value())
    return [*found, *urls.passwords(settings.database_url)]


def _line(problem: Any) -> str:
    name = str(problem["loc"][0]).upper()
    message = problem["msg"].removeprefix("Value error, ")
    return message if message.startswith(f"{name}:") else f"{name}: {message}"


def _contradictions(settings: Settings) -> Any:
    """Yield problems of settings that are valid alone, but not together."""
    if is_postgres(settings.database_url) and settings.secret_key is None:
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
