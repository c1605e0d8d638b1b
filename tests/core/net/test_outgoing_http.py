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
