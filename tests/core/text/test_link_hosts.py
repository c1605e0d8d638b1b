"""Links in a request lead to the host that they name."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from bot.core.text import links
from bot.service.requests.request import ascii_url


@pytest.mark.parametrize("host", ["xn--zz--.example", "xn--a", "bü..example"])
@pytest.mark.parametrize("check", [links.check_redirect, links.check_picture])
def test_a_link_with_an_invalid_host_is_refused(check: Callable[[str], str], host: str) -> None:
    with pytest.raises(ValueError, match="has no valid host"):
        check(f"https://{host}/")


@pytest.mark.parametrize(
    ("url", "target"),
    [
        ("https://faß.example/", "https://xn--fa-hia.example/"),
        ("https://xn--fa-hia.example:8080/", "https://xn--fa-hia.example:8080/"),
        ("https://a_b.example/", "https://a_b.example/"),
    ],
)
def test_a_redirect_leads_to_the_host_of_browsers(url: str, target: str) -> None:
    """Another encoding of the name would send payers to the owner of another domain."""
    assert ascii_url(links.check_redirect(url)) == target


@pytest.mark.parametrize("host", ["☕.example", "xn--53h.example"])
def test_hosts_with_symbols_are_encoded_as_in_browsers(host: str) -> None:
    """IDNA 2008 has no symbols, UTS 46 accepts them."""
    assert ascii_url(f"https://{host}/a") == "https://xn--53h.example/a"


@pytest.mark.parametrize(
    ("host", "mixes"),
    [
        ("example.org", False),
        ("münchen.example", False),
        ("пример.example", False),
        ("παράδειγμα.example", False),
        ("日本の東京タワーtokyo.example", False),
        ("서울seoul.example", False),
        ("קפה.example", False),
        ("☕coffee-2.example", False),
        ("\u0440aypal.example", True),
        ("www.p\u0430ypal.example", True),
        ("googl\u03bf.example", True),
        ("पaypal.example", True),
        ("日本\u0440.example", True),
        ("a\u02bcb.example", True),
    ],
)
def test_a_host_of_mixed_scripts_is_told_from_one_of_a_single_script(
    host: str, *, mixes: bool
) -> None:
    assert links.mixes_scripts(host) == mixes
    encoded = links.ascii_host(host)
    assert links.mixes_scripts(links.unicode_host(encoded)) == mixes
    shown = f"https://{encoded if mixes else host}:81/{host}?{host}"
    assert links.shown_url(f"https://{host}:81/{host}?{host}") == shown
    assert links.shown_address(f"anna@{host}") == f"anna@{encoded if mixes else host}"


@pytest.mark.parametrize(
    "url", ["", "x", "tg://resolve?domain=p\u0430y", "https://", "https://xn--aypal-uye.example/"]
)
def test_any_other_url_is_shown_as_it_is(url: str) -> None:
    assert links.shown_url(url) == url
