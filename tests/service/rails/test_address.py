"""Lightning addresses are taken as people write them; a wrong one is told apart and explained."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.core.errors import InvalidBody
from bot.service.rails import lightning


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("maria@wallet.example", "maria@wallet.example"),
        (" Maria@Wallet.Example\n", "maria@wallet.example"),
        ("lightning:maria@wallet.example", "maria@wallet.example"),
        ("LIGHTNING:MARIA@WALLET.EXAMPLE", "maria@wallet.example"),
        ("lightning://maria@wallet.example", "maria@wallet.example"),
        ("⚡ maria@wallet.example", "maria@wallet.example"),
        ("m.a-r_1+shop@wallet.example", "m.a-r_1+shop@wallet.example"),
        ("maria@bücher.example", "maria@bücher.example"),
        ("maria@127.0.0.1:5055", "maria@127.0.0.1:5055"),
        ("maria@[::1]:5055", "maria@[::1]:5055"),
    ],
)
def test_an_address_is_taken_as_people_write_it(typed: str, expected: str) -> None:
    assert str(lightning.parse_address(typed)) == expected


def test_the_service_is_asked_at_its_well_known_place() -> None:
    found = lightning.parse_address("Maria+Shop@wallet.example:8443")
    assert found.url("https") == "https://wallet.example:8443/.well-known/lnurlp/maria+shop"


@pytest.mark.parametrize(
    ("typed", "problem"),
    [
        ("", "Enter the Lightning address."),
        (" ", "Enter the Lightning address."),
        ("maria", "has an @"),
        ("lnurl1dp68gurn8ghj7", "That's an LNURL code."),
        ("LNURL1DP68GURN8GHJ7", "That's an LNURL code."),
        ("lnbc10u1pexample", "invoice or an offer"),
        ("lno1qgsyxjtl6luzd9t3pr62xr7eemp6awnejusgf6gw45q75vcfqqqqqqq", "invoice or an offer"),
        ("maria@", "isn't a domain"),
        ("maria@wallet.example/x", "isn't a domain"),
        ("maria@wallet.example?x", "isn't a domain"),
        ("maria@wal let.example", "isn't a domain"),
        ("@wallet.example", "before the @"),
        ("..@wallet.example", "before the @"),
        (".@wallet.example", "before the @"),
        ("a/../b@wallet.example", "before the @"),
        ("a%2e@wallet.example", "before the @"),
        ("märia@wallet.example", "before the @"),
        ("maria@home@wallet.example", "before the @"),
        ("maria@wallet.example:0", "isn't a port"),
        ("maria@wallet.example:70000", "isn't a port"),
        ("a" * 400 + "@wallet.example", "the limit is 320"),
    ],
)
def test_a_wrong_address_is_explained(typed: str, problem: str) -> None:
    with pytest.raises(InvalidBody) as raised:
        lightning.parse_address(typed)
    (found,) = raised.value.info
    assert found.field == "details.address"
    assert problem in found.message


@given(st.text(max_size=40), st.text(max_size=40))
def test_any_text_is_taken_or_explained(user: str, server: str) -> None:
    try:
        found = lightning.parse_address(f"{user}@{server}")
    except InvalidBody:
        return
    assert lightning.parse_address(str(found)) == found
    assert found.url("https").count("/") == 5
