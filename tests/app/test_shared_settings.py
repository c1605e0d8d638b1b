"""The digests by which replicas find out that their settings differ."""

from __future__ import annotations

import json
from typing import Any

import pytest

from bot.app.resources import OWN, digest_settings, find_differences
from bot.config import Settings

SECRET = "correct-horse-battery-staple"
GIVEN: dict[str, Any] = {
    "secret_key": SECRET,
    "bot_token": "123456:ABC-DEF",
    "public_url": "https://pay.example.org",
    "rails": "lightning,bank",
}


def digests(**given: Any) -> str:
    return digest_settings(Settings(_env_file=None, **GIVEN | given))


def test_equal_settings_have_equal_digests() -> None:
    assert digests() == digests()
    assert find_differences(digests(), digests()) == []


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("bot_token", "123456:ABC-XYZ"),
        ("public_url", "https://shop.example.org"),
        ("rails", "bank,lightning"),  # payers are offered them in this order
        ("api_rate", "30/minute"),
        ("allowed_sellers", "7,8"),
    ],
)
def test_a_setting_that_differs_is_named(name: str, value: str) -> None:
    assert find_differences(digests(), digests(**{name: value})) == [name.upper()]


def test_another_secret_key_makes_every_setting_differ() -> None:
    assert "RAILS" in find_differences(digests(), digests(secret_key="another"))


def test_how_a_replica_is_reached_and_watched_is_its_own_matter() -> None:
    given = {
        "host": "0.0.0.0",
        "port": 9000,
        "forwarded_allow_ips": "10.0.0.0/8",
        "database_url": "sqlite:///other.db",
        "metrics_token": "token",
        "log_level": "debug",
        "log_format": "json",
    }
    assert given.keys() == OWN
    assert find_differences(digests(), digests(**given)) == []


def test_every_other_setting_is_compared() -> None:
    """A new setting is one that replicas share, until somebody decides otherwise."""
    compared = {name.lower() for name in json.loads(digests())}
    assert compared == Settings.model_fields.keys() - OWN


def test_without_a_public_url_the_default_address_is_compared() -> None:
    """It has the port of each replica: links of one would lead to another."""
    one, other = digests(public_url=None, port=8080), digests(public_url=None, port=8081)
    assert find_differences(one, other) == ["PUBLIC_URL"]


def test_a_setting_that_one_version_lacks_is_no_difference() -> None:
    older = json.loads(digests())
    del older["RAILS"]
    assert find_differences(digests(), json.dumps(older)) == []
    assert find_differences(json.dumps(older), digests()) == []


def test_digests_have_no_value_and_cannot_be_tried_without_the_key() -> None:
    text = digests()
    assert not [value for value in GIVEN.values() if value in text]
    assert json.loads(text)["RAILS"] != json.loads(digests(secret_key="x"))["RAILS"]
