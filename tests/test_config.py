"""Settings: each problem is one line that names the setting and says how to fix it."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import ValidationError
from telegram.constants import SUPPORTED_WEBHOOK_PORTS, FloodLimit

from bot import config
from bot.core.errors import ConfigError
from bot.core.net.rates import Rate
from bot.core.ops.log_setup import HideSecrets
from bot.sandbox.world.world import TOKEN


@pytest.fixture(autouse=True)
def no_settings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Remove `.env` and the settings of this machine."""
    monkeypatch.chdir(tmp_path)
    for name in config.Settings.model_fields:
        monkeypatch.delenv(name.upper(), raising=False)


def test_without_any_setting_the_defaults_hold() -> None:
    settings = config.load()
    assert (settings.url, settings.database_url) == (
        "http://127.0.0.1:8080",
        "sqlite:///data/bot.db",
    )
    assert config.secrets(settings) == []


def test_the_limits_of_telegram_are_those_that_python_telegram_bot_knows() -> None:
    """They are copied, because commands that don't serve start without the library."""
    settings = config.load()
    assert list(config.WEBHOOK_PORTS) == SUPPORTED_WEBHOOK_PORTS
    assert settings.telegram_rate == Rate(FloodLimit.MESSAGES_PER_SECOND, 1)
    assert settings.telegram_chat_rate == Rate(FloodLimit.MESSAGES_PER_SECOND_PER_CHAT, 1)
    assert settings.telegram_group_rate == Rate(FloodLimit.MESSAGES_PER_MINUTE_PER_GROUP, 60)


WEBHOOK = {"TELEGRAM_MODE": "webhook"}
FROM = {"SMTP_FROM": "shop@example.org"}
FREE = {"SECRET_KEY", "APP_ID", "APP_SECRET", "METRICS_TOKEN"}
"""Settings that may be any text."""

BAD: list[tuple[dict[str, str], list[str]]] = [
    ({"PUBLIC_URL": "example.org"}, ["PUBLIC_URL: write a complete address"]),
    ({"PUBLIC_URL": "https://example.org:99999"}, ["PUBLIC_URL: Port out of range"]),
    ({"PUBLIC_URL": "https://example.org/shop"}, ["PUBLIC_URL: write the address without a path"]),
    ({"PUBLIC_URL": "HTTPS://example.org/a/"}, ["PUBLIC_URL: write the address without a path"]),
    ({"PUBLIC_URL": "https://example.org/;a"}, ["PUBLIC_URL: write the address without a path"]),
    ({"PUBLIC_URL": "https://example.org?a"}, ["PUBLIC_URL: write the address without user"]),
    ({"PUBLIC_URL": "https://example.org#a"}, ["PUBLIC_URL: write the address without user"]),
    ({"PUBLIC_URL": "https://-shop .org"}, ["PUBLIC_URL: write a complete address"]),
    ({"PUBLIC_URL": "https://xn--a.org"}, ["PUBLIC_URL: xn--a.org is not the name of a host"]),
    ({"HOST": "http://127.0.0.1"}, ["HOST: write an address of this machine or its name"]),
    ({"HOST": "127.0.0.1:8080"}, ["HOST: write an address of this machine or its name"]),
    ({"HOST": "a..b"}, ["HOST: write an address of this machine or its name"]),
    ({"TELEGRAM_API_URL": "ftp://example.org"}, ["TELEGRAM_API_URL: write a complete address"]),
    ({"TELEGRAM_MODE": "pigeon"}, ["TELEGRAM_MODE: "]),
    ({"TELEGRAM_RATE": "30/hour"}, ["TELEGRAM_RATE: write a rate such as 30/second"]),
    ({"TELEGRAM_CHAT_RATE": "1"}, ["TELEGRAM_CHAT_RATE: write a rate such as 30/second"]),
    ({"TELEGRAM_GROUP_RATE": "0/minute"}, ["TELEGRAM_GROUP_RATE: write a rate such as"]),
    ({"DATABASE_URL": "mysql://localhost/bot"}, ["DATABASE_URL: write sqlite:///data/bot.db"]),
    (
        {"DATABASE_URL": "postgresql://bot:pa@ss/word@db.example/bot", "SECRET_KEY": "k"},
        ["DATABASE_URL: write postgresql://user:password@host/database"],
    ),
    (
        {"DATABASE_URL": "postgresql://bot@db.example/bot"},
        ["SECRET_KEY: a PostgreSQL database needs it"],
    ),
    ({"PAYMENTS_URL": "pay"}, ["PAYMENTS_URL: write a complete address"]),
    ({"LOG_LEVEL": "loud"}, ["LOG_LEVEL: "]),
    ({"PORT": "http"}, ["PORT: "]),
    (
        {**WEBHOOK, "PUBLIC_URL": "https://example.org:9000"},
        ["PUBLIC_URL: Telegram delivers updates to the ports 443, 80, 88, 8443 only"],
    ),
    ({"PUBLIC_URL": "https://u@example.org"}, ["PUBLIC_URL: write the address without user"]),
    ({"TELEGRAM_MODE": "webhook"}, ["PUBLIC_URL: TELEGRAM_MODE=webhook needs an https"]),
    (
        {"PAYMENTS_URL": "https://pay.example.org"},
        ["APP_ID: PAYMENTS_URL needs", "APP_SECRET: PAYMENTS_URL needs"],
    ),
    ({"API_RATE": "many"}, ["API_RATE: "]),
    ({"PAYER_RATE": "-1/second"}, ["PAYER_RATE: "]),
    ({"WEBHOOK_ALLOW": "10.0.0.0/99"}, ["WEBHOOK_ALLOW: "]),
    ({"FORWARDED_ALLOW_IPS": "proxy"}, ["FORWARDED_ALLOW_IPS: "]),
    ({"ALLOWED_SELLERS": "1,sam"}, ["ALLOWED_SELLERS: "]),
    ({"RESERVATION_SECONDS": "0"}, ["RESERVATION_SECONDS: "]),
    ({"LOG_FORMAT": "xml"}, ["LOG_FORMAT: "]),
    ({"INSTRUMENT_CURRENCY": "ABC"}, ["INSTRUMENT_CURRENCY: "]),
    ({"RAILS": "gold"}, ["RAILS: 'gold' isn't a way to pay: write sandbox, or any of bank,"]),
    ({"RAILS": ","}, ["RAILS: write sandbox, or any of bank, lightning, lnbits, nwc"]),
    ({"RAILS": "bank,bank"}, ["RAILS: name each way to pay once"]),
    ({"RAILS": "bank,sandbox"}, ["RAILS: test money and real money can't be offered together"]),
    ({"RAIL_ALLOW": "10.0.0.0/99"}, ["RAIL_ALLOW: "]),
    ({"RAIL_ALLOW": "http://wallet.local:5000"}, ["RAIL_ALLOW: 'http://wallet.local:5000' is"]),
    ({"CLAIM_HOURS": "0"}, ["CLAIM_HOURS: "]),
    ({"CLAIM_HOURS": "2161"}, ["CLAIM_HOURS: "]),
    ({"RATES_URLS": "coinbase"}, ["RATES_URLS: write a complete address"]),
    (
        {"RATES_URLS": "table,https://bitpay.com/rates"},
        ["RATES_URLS: write the addresses of sources"],
    ),
    (
        {"RATES_URLS": "https://a.example/?x=y,table"},
        ["RATES_URLS: write the addresses of sources"],
    ),
    ({"RATES_URLS": "https://a.example/x,https://a.example/y"}, ["RATES_URLS: name each source"]),
    ({"RATES_URLS": "https://a.example/x,HTTPS://A.example/y"}, ["RATES_URLS: name each source"]),
    ({"PAYER_HOLDS": "-1"}, ["PAYER_HOLDS: "]),
    ({"HOST_CALLS": "300/hour"}, ["HOST_CALLS: write a rate such as"]),
    ({"REDIRECT_SCHEMES": "myapp,javascript"}, ["REDIRECT_SCHEMES: javascript opens no app"]),
    ({"REDIRECT_SCHEMES": "DATA"}, ["REDIRECT_SCHEMES: data opens no application"]),
    ({"REDIRECT_SCHEMES": "file"}, ["REDIRECT_SCHEMES: file opens no application"]),
    ({"REDIRECT_SCHEMES": "myapp://"}, ["REDIRECT_SCHEMES: 'myapp://' is no scheme: write"]),
    ({"PORT": "0"}, ["PORT: "]),
    ({"WEBHOOK_SECRET": "guess"}, ["WEBHOOK_SECRET: A webhook secret is whsec_ and base64"]),
    ({**FROM, "SMTP_URL": "mail.example.org"}, ["SMTP_URL: write smtp://user:password@"]),
    ({**FROM, "SMTP_URL": "http://mail.example.org"}, ["SMTP_URL: write smtp://"]),
    ({**FROM, "SMTP_URL": "smtp://mail.example.org:99999"}, ["SMTP_URL: write smtp://"]),
    ({**FROM, "SMTP_URL": "smtp://shop:open/sesame@mail"}, ["SMTP_URL: write smtp://"]),
    ({**FROM, "SMTP_URL": "smtp://shop@mail"}, ["SMTP_URL: write both user and password"]),
    ({"SMTP_URL": "smtp://mail", "SMTP_FROM": "shop"}, ["SMTP_FROM: write an address such as"]),
    ({"SMTP_URL": "smtp://mail.example.org"}, ["SMTP_FROM: SMTP_URL needs the address"]),
    (FROM, ["SMTP_URL: SMTP_FROM needs the server"]),
    ({"OPERATOR_CONTACT": "the operator"}, ["OPERATOR_CONTACT: must be an @username"]),
    ({"BOT_TOKEN": "123"}, ["BOT_TOKEN: a token looks like 123456:ABC-DEF"]),
]


@pytest.mark.parametrize(("given", "problems"), BAD, ids=str)
def test_a_bad_setting_is_one_line_that_names_it(
    monkeypatch: pytest.MonkeyPatch, given: dict[str, str], problems: list[str]
) -> None:
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(ConfigError) as caught:
        config.load()
    assert len(caught.value.problems) == len(problems), caught.value.problems
    for line, problem in zip(caught.value.problems, problems, strict=True):
        assert line.startswith(problem)
        assert "\n" not in line


def test_only_the_sandbox_is_test_money(monkeypatch: pytest.MonkeyPatch) -> None:
    assert config.load().test_money
    monkeypatch.setenv("RAILS", "bank,lightning")
    assert not config.load().test_money


def test_the_log_knows_the_secrets_and_the_settings_do_not_print_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("BOT_TOKEN", TOKEN)
    monkeypatch.setenv("SECRET_KEY", "a key")
    settings = config.load()
    assert sorted(config.secrets(settings)) == sorted([TOKEN, "a key"])
    assert TOKEN not in repr(settings)
    assert "a key" not in repr(settings)


@pytest.mark.parametrize(
    ("text", "mode", "exposed"),
    [
        ("METRICS_TOKEN=x-secret", 0o644, True),
        ("METRICS_TOKEN=x-secret", 0o604, True),
        ("METRICS_TOKEN=x-secret", 0o602, True),
        ("export secret_key='x-secret'  # key", 0o644, True),
        ("SMTP_URL=smtp://a:x-secret@mail.example\nSMTP_FROM=a@b.example", 0o644, True),
        ("DATABASE_URL=postgresql://a:x-secret@db.example/b\nSECRET_KEY=k", 0o644, True),
        ("METRICS_TOKEN=x-secret", 0o640, False),
        ("METRICS_TOKEN=x-secret", 0o600, False),
        ("PORT=8081\n#METRICS_TOKEN=x-secret", 0o644, False),
    ],
)
def test_a_file_is_exposed_if_everybody_can_read_secrets_in_it(
    tmp_path: Path, text: str, mode: int, *, exposed: bool
) -> None:
    """A group may read it: root may own it and have the bot in its group."""
    file = tmp_path / ".env"
    file.write_text(text, "utf-8")
    file.chmod(mode)
    assert config.find_exposed_file(config.load()) == (file if exposed else None)


def test_without_a_file_nothing_is_exposed() -> None:
    assert config.find_exposed_file(config.load(metrics_token="x-secret")) is None


def test_the_mail_servers_password_is_hidden_in_every_spelling(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    url = "smtp://shop:open%2Fsesame@mail.example.org"
    monkeypatch.setenv("SMTP_URL", url)
    monkeypatch.setenv("SMTP_FROM", "Our shop <shop@example.org>")
    settings = config.load()
    assert sorted(config.secrets(settings)) == ["open%2Fsesame", "open/sesame", url]
    hide = HideSecrets(config.secrets(settings))
    assert "sesame" not in hide(None, "", f"{url} open/sesame open%2Fsesame {settings!r}")


def test_a_problem_of_the_mail_server_does_not_repeat_its_password(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for wrong in ("smtp://shop:sesame@", "smtp://shop:sesame/@mail", "smtp://shop:sesame@mail:x"):
        monkeypatch.setenv("SMTP_URL", wrong)
        with pytest.raises(ConfigError) as caught:
            config.load()
        assert "sesame" not in str(caught.value)


def test_a_trailing_slash_of_an_address_is_removed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PUBLIC_URL", "https://pay.example.org/")
    assert config.load().url == "https://pay.example.org"


@pytest.mark.parametrize(
    ("host", "url"),
    [
        ("127.0.0.1", "http://127.0.0.1:8080"),
        ("0.0.0.0", "http://127.0.0.1:8080"),
        ("::", "http://127.0.0.1:8080"),
        ("::1", "http://[::1]:8080"),
        ("[2001:db8::7]", "http://[2001:db8::7]:8080"),
        ("192.168.1.7", "http://192.168.1.7:8080"),
        ("localhost", "http://localhost:8080"),
        ("shop.local", "http://shop.local:8080"),
    ],
)
def test_without_public_url_links_lead_to_where_the_bot_listens(host: str, url: str) -> None:
    settings = config.load(host=host)
    assert (settings.local_url, settings.url) == (url, url)
    assert config.load(host=host, public_url="https://a.example").url == "https://a.example"


def test_every_setting_that_can_be_wrong_has_a_case() -> None:
    named = {problem.partition(":")[0] for _, problems in BAD for problem in problems}
    assert named | FREE == {name.upper() for name in config.Settings.model_fields}


def test_all_problems_are_reported_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BOT_TOKEN", "123")
    monkeypatch.setenv("PORT", "70000")
    monkeypatch.setenv("API_RATE", "many")
    with pytest.raises(ConfigError) as caught:
        config.load()
    names = [line.partition(":")[0] for line in caught.value.problems]
    assert names == ["BOT_TOKEN", "PORT", "API_RATE"]
    assert str(caught.value).splitlines() == list(caught.value.problems)


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("telegram_api_url", "http://127.0.0.1:8081/", "http://127.0.0.1:8081"),
        ("telegram_mode", "polling", "polling"),
        ("telegram_rate", "0", None),
        ("telegram_chat_rate", "2/second", Rate(2, 1)),
        ("telegram_group_rate", " 20/minute ", Rate(20, 60)),
        ("telegram_api_url", "HTTPS://API.Telegram.org:443", "https://api.telegram.org"),
        ("telegram_api_url", "http://bot_api:8081/telegram/", "http://bot_api:8081/telegram"),
        ("public_url", " HTTPS://Example.ORG// ", "https://example.org"),
        ("public_url", "HTTP://Example.ORG:80", "http://example.org"),
        ("public_url", "https://example.org:8443/?#", "https://example.org:8443"),
        ("public_url", "https://köln.example", "https://xn--kln-sna.example"),
        ("public_url", "https://[2001:DB8:0::1]:8443", "https://[2001:db8::1]:8443"),
        ("payments_url", "HTTPS://Pay.Example.org/v1/@shop/", "https://pay.example.org/v1/@shop"),
        ("host", "::", "::"),
        ("host", "[::1]", "::1"),
        ("host", "0:0::1", "::1"),
        ("host", "::ffff:127.0.0.1", "127.0.0.1"),
        ("host", "127.1", "127.0.0.1"),
        ("host", " Localhost ", "localhost"),
        ("host", "", "127.0.0.1"),
        ("port", "65535", 65535),
        ("forwarded_allow_ips", "10.0.0.0/8, ::1,", ("10.0.0.0/8", "::1")),
        ("forwarded_allow_ips", "", ("127.0.0.1", "::1")),
        ("forwarded_allow_ips", "*", ("*",)),
        ("database_url", "sqlite:////var/lib/bot.db", "sqlite:////var/lib/bot.db"),
        ("database_url", "SQLite:///bot.db", "SQLite:///bot.db"),
        ("database_url", "PostgreSQL://b@db.example/b", "PostgreSQL://b@db.example/b"),
        ("instrument_currency", "MNEE", "MNEE"),
        ("smtp_url", "", None),
        ("smtp_from", "", None),
        ("rails", "sandbox", ("sandbox",)),
        ("rails", " nwc, bank,", ("nwc", "bank")),
        ("rail_allow", "wallet.local:5000, 127.0.0.1", "wallet.local:5000, 127.0.0.1"),
        ("claim_hours", "72", 72),
        ("rates_urls", "table", ("table",)),
        ("rates_urls", "http://127.0.0.1:8000/rates", ("http://127.0.0.1:8000/rates",)),
        (
            "rates_urls",
            "https://a.example/Ticker?pair=XBTEUR,XBTUSD, https://b.example/x",
            ("https://a.example/Ticker?pair=XBTEUR,XBTUSD", "https://b.example/x"),
        ),
        ("operator_contact", "", None),
        ("operator_contact", " help@example.org ", "help@example.org"),
        ("operator_contact", "@ops_team", "@ops_team"),
        ("reservation_seconds", "86400", 86_400),
        ("api_rate", "", Rate(1200, 60)),
        ("payer_rate", "5/second", Rate(5, 1)),
        ("webhook_allow", "[::1]:80, 10.0.0.0/8", "[::1]:80, 10.0.0.0/8"),
        ("allowed_sellers", "1, 2,3", (1, 2, 3)),
        ("log_level", "debug", "debug"),
        ("log_format", "json", "json"),
    ],
)
def test_a_valid_value_is_accepted(
    monkeypatch: pytest.MonkeyPatch, name: str, text: str, value: object
) -> None:
    monkeypatch.setenv(name.upper(), text)
    others = {"app_id": "a", "app_secret": "s", "secret_key": "k"}
    assert getattr(config.load(**others), name) == value


def test_another_bot_api_server_delivers_to_any_address(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TELEGRAM_MODE", "webhook")
    monkeypatch.setenv("TELEGRAM_API_URL", "http://127.0.0.1:8081")
    assert config.load().url == "http://127.0.0.1:8080"


def test_the_environment_takes_precedence_over_the_file(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / ".env").write_text(
        "PORT=9001  # where\nHOST=0.0.0.0\nEDITOR=vi\nAPP_ID=\n", "utf-8"
    )
    monkeypatch.setenv("PORT", "9002")
    settings = config.load()
    assert (settings.host, settings.port, settings.app_id) == ("0.0.0.0", 9002, None)


MISSPELT = [
    ("PUBLIC_ULR", "PUBLIC_URL"),
    ("public_urls", "PUBLIC_URL"),
    ("PUBLICURL", "PUBLIC_URL"),
    ("PUBLIC-URL", "PUBLIC_URL"),
    ("BOT_TOKN", "BOT_TOKEN"),
    ("TELEGRAM_BOT_TOKEN", "BOT_TOKEN"),
    ("BOT_TOKEN_FILE", "BOT_TOKEN"),
    ("SMTP_FROM_NAME", "SMTP_FROM"),
    ("RAIL", "RAILS"),
    ("PROT", "PORT"),
    ("export DATABASE_URI", "DATABASE_URL"),
]


@pytest.mark.parametrize(("written", "meant"), MISSPELT)
def test_a_misspelt_setting_in_the_file_is_named_with_the_nearest_right_one(
    tmp_path: Path, written: str, meant: str
) -> None:
    (tmp_path / ".env").write_text(f'\ufeffPORT="9001"\r\n{written}=x\r\n', "utf-8")
    name = written.removeprefix("export ")
    text = f"{name}: isn't a setting, so its line in .env does nothing: did you mean {meant}?"
    (found,) = config.find_unknown()
    assert (str(found), found.is_mistake) == (text, True)
    assert config.load().port == 9001
    with pytest.raises(ConfigError) as caught:
        config.load(port=0)
    assert caught.value.problems[1:] == (text,)


def test_other_names_in_the_file_are_those_of_other_programs(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """One that the environment has too was read from the file by another program, as systemd."""
    (tmp_path / ".env").write_text("EDITOR=vi\nTZ=UTC\nCOMPOSE_FILE=\nPUBLIC_ULR=\n", "utf-8")
    monkeypatch.delenv("EDITOR", raising=False)
    monkeypatch.setenv("TZ", "UTC")
    assert [(str(one), one.is_mistake) for one in config.find_unknown()] == [
        ("EDITOR: isn't a setting: nothing reads it from .env", False)
    ]


def test_a_line_of_the_file_that_cannot_be_read_is_named_but_not_quoted(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("PORT=9001\nBOT_TOKEN: 1:a-secret\nPUBLIC URL=x\n", "utf-8")
    assert [str(one) for one in config.find_unknown() if one.is_mistake] == [
        ".env: line 2 can't be read: write NAME=value",
        ".env: line 3 can't be read: write NAME=value",
    ]


def test_a_file_in_another_encoding_is_one_line(tmp_path: Path) -> None:
    for encoding in ("utf-16", "latin-1"):
        (tmp_path / ".env").write_text("OPERATOR_CONTACT=é", encoding)
        with pytest.raises(ConfigError) as caught:
            config.load()
        assert caught.value.problems == (".env: can't be read: it isn't UTF-8 text",)


@pytest.mark.parametrize(
    ("name", "meant"),
    [("PUBLIC_ULR", "PUBLIC_URL"), ("PAYMENT_URL", "PAYMENTS_URL"), ("BOT_TOKN", "BOT_TOKEN")],
)
def test_a_variable_that_is_a_slip_away_from_a_setting_is_named(
    monkeypatch: pytest.MonkeyPatch, name: str, meant: str
) -> None:
    monkeypatch.setenv(name, "x")
    (found,) = config.find_unknown()
    words = f"isn't a setting, but a variable of the environment: did you mean {meant}?"
    assert str(found) == f"{name}: {words}"
    monkeypatch.setenv(meant, "123:abc" if meant == "BOT_TOKEN" else "https://a.example")
    assert [*config.find_unknown()] == []


@pytest.mark.parametrize(
    "name",
    [
        *("HOSTS", "PORTS", "PROT", "HOSTNAME", "HOSTTYPE", "PATH", "RAIL", "LOGLEVEL", "APP_IDS"),
        *("TELEGRAM_BOT_TOKEN", "TELEGRAM_API_ID", "TELEGRAM_API_KEY", "SECRET_KEY_BASE"),
        *("SMTP_USER", "SMTP_HOST", "APP_SECRET_KEY", "BOT_SERVICE_PORT", "DATABASE_HOST"),
    ],
)
def test_variables_of_other_programs_are_no_misspelt_settings(
    monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv(name, "x")
    assert [*config.find_unknown()] == []


def test_settings_do_not_change() -> None:
    settings = config.load()
    with pytest.raises(ValidationError, match="frozen"):
        settings.port = 1  # type: ignore[misc]
    assert settings.port == 8080


@pytest.mark.parametrize("name", ["PUBLIC_URL", "PAYMENTS_URL", "TELEGRAM_API_URL"])
@pytest.mark.parametrize("address", ["http://a b", "http://a\tb", "http://a\x7fb", "http://a/b c"])
def test_an_address_with_blanks_or_control_characters_is_refused(
    monkeypatch: pytest.MonkeyPatch, name: str, address: str
) -> None:
    monkeypatch.setenv(name, address)
    with pytest.raises(ConfigError) as caught:
        config.load()
    assert caught.value.problems == (
        f"{name}: write a complete address, such as https://example.org",
    )


def test_the_log_hides_the_password_of_the_database() -> None:
    url = "postgresql://bot:s3%40cret@db.example/bot"
    settings = config.load(database_url=url, secret_key="k")
    assert {"s3%40cret", "s3@cret"} <= set(config.secrets(settings))
    assert "s3" not in repr(settings)
