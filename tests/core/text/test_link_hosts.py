"""The addresses in a request lead to the host that they name."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from bot.core.text import links
from bot.service.model.redirects import ascii_url

if TYPE_CHECKING:
    from collections.abc import Callable


@pytest.mark.parametrize("host", ["xn--zz--.example", "xn--a", "bü..example"])
@pytest.mark.parametrize("check", [links.check_redirect, links.check_picture])
def test_an_address_of_a_host_that_is_none_is_refused(
    check: Callable[[str], str], host: str
) -> None:
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
def test_a_redirect_leads_where_browsers_would_go(url: str, target: str) -> None:
    """To another name, and a payer would be sent to whoever owns that one."""
    assert ascii_url(links.check_redirect(url)) == target


@pytest.mark.parametrize("host", ["☕.example", "xn--53h.example"])
def test_hosts_with_symbols_are_looked_up_as_browsers_do(host: str) -> None:
    """IDNA 2008 has none, UTS 46 lets them through."""
    assert ascii_url(f"https://{host}/a") == "https://xn--53h.example/a"
