"""Addresses that may be reached through the environment's proxy."""

import pytest

from bot.core.net import http_client


@pytest.mark.parametrize(
    ("url", "leaves"),
    [
        ("https://api.telegram.org", True),
        ("https://93.184.216.34/x", True),
        ("http://127.0.0.1:8080", False),
        ("http://[::1]:8080", False),
        ("http://192.168.1.7:8081", False),
        ("http://localhost:8081", False),
    ],
)
def test_only_public_addresses_use_the_proxy(url: str, *, leaves: bool) -> None:
    assert http_client.may_use_proxy(url) == leaves


def test_certificates_are_loaded_once() -> None:
    assert http_client.ssl_context() is http_client.ssl_context()


@pytest.mark.parametrize(
    ("environment", "proxy"),
    [
        ({}, None),
        ({"HTTPS_PROXY": "http://proxy.example:3128"}, "http://proxy.example:3128"),
        ({"ALL_PROXY": "proxy.example:3128"}, "http://proxy.example:3128"),
        ({"HTTP_PROXY": "http://proxy.example:3128"}, None),
        ({"HTTPS_PROXY": "http://proxy.example:3128", "NO_PROXY": "telegram.org"}, None),
        ({"HTTPS_PROXY": "http://proxy.example:3128", "NO_PROXY": "*"}, None),
    ],
)
def test_the_environment_names_the_proxy_of_an_address(
    environment: dict[str, str], proxy: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert http_client.proxy_for("https://api.telegram.org") == proxy
    assert http_client.proxy_for("https://127.0.0.1:8081") is None
