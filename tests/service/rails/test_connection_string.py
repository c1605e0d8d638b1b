"""A connection string is read as wallets write it, and each mistake is explained."""

from __future__ import annotations

import pytest

from bot.core.net.webhook_addresses import AllowList
from bot.service.rails.nostr import SecretKey
from bot.service.rails.nostr_wallet import BadConnection, WalletConnection, parse_connection

SECRET = "71a8c14c1407c113601079c4302dab36460f0ccd0ad506f1f2dc73b5100e4f3c"
WALLET = SecretKey(f"{7:064x}").public
RELAY = "wss://relay.example.com"
GOOD = f"nostr+walletconnect://{WALLET}?relay={RELAY}&secret={SECRET}"
ALLOW = AllowList.parse("127.0.0.1, 10.0.0.0/8, relay.local")


def parse(text: str) -> WalletConnection:
    return parse_connection(text, ALLOW)


@pytest.mark.parametrize(
    "text",
    [
        GOOD,
        f"  {GOOD}\n",
        GOOD.replace("://", ":", 1),
        GOOD.replace("nostr+walletconnect", "nostrwalletconnect"),
        GOOD.replace("nostr+walletconnect", "Nostr+WalletConnect"),
        GOOD.replace(RELAY, "wss%3A%2F%2Frelay.example.com"),
        GOOD.replace(WALLET, WALLET.upper()).replace(SECRET, SECRET.upper()),
        GOOD.replace("?", "/?"),
        f"{GOOD}&pubkey={WALLET}&unknown=1",
    ],
)
def test_every_spelling_of_wallets_is_read(text: str) -> None:
    found = parse(text)
    assert (found.wallet, found.relays) == (WALLET, (RELAY,))
    assert found.key.public == SecretKey(SECRET).public


def test_a_relays_scheme_is_read_in_any_case() -> None:
    """The scheme of an address says the same in capitals (RFC 3986 section 3.1)."""
    loud = "WSS://relay.example.com"
    assert parse(GOOD.replace(RELAY, loud)).relays == (loud,)


def test_several_relays_are_used_up_to_three() -> None:
    more = "".join(f"&relay=wss://r{at}.example.com" for at in range(5))
    assert len(parse(GOOD + more + more).relays) == 3


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("", "isn't a wallet connection"),
        ("name@example.com", "isn't a wallet connection"),
        (GOOD.replace("nostr+walletconnect", "https"), "isn't a wallet connection"),
        (GOOD + "&x=" + "x" * 2_000, "isn't a wallet connection"),
        (GOOD.replace(WALLET, WALLET[:-1]), "wallet's key"),
        (GOOD.replace(WALLET, "ff" * 32), "wallet's key"),
        (GOOD.replace(SECRET, SECRET[:-1]), "secret"),
        (GOOD.replace(SECRET, "0" * 64), "secret"),
        (GOOD.replace("&secret=", "&sekret="), "secret"),
        (GOOD.replace("relay=", "rely="), "names no relay"),
        (GOOD.replace(RELAY, "ws://relay.example.com"), "without encryption"),
        (GOOD.replace(RELAY, "https://relay.example.com"), "without encryption"),
        (GOOD.replace(RELAY, "ftp://relay.example.com"), "can't be reached"),
        (GOOD.replace(RELAY, "wss://user:word@relay.example.com"), "can't be reached"),
        (GOOD.replace(RELAY, "wss://192.168.1.2"), "can't be reached"),
        (GOOD.replace(RELAY, "wss://localhost"), "can't be reached"),
        (GOOD.replace(RELAY, "wss://[::1]:7000"), "can't be reached"),
        (GOOD.replace(RELAY, "wss://relay.example.com:99999"), "can't be reached"),
        (GOOD.replace(RELAY, "wss://"), "can't be reached"),
        (GOOD.replace(RELAY, ""), "names no relay"),
    ],
)
def test_each_mistake_is_explained_without_the_secret(text: str, hint: str) -> None:
    with pytest.raises(BadConnection, match=hint) as caught:
        parse(text)
    assert SECRET[:-1] not in str(caught.value)


@pytest.mark.parametrize("relay", ["ws://127.0.0.1:7777", "ws://10.1.2.3", "ws://relay.local:80"])
def test_an_allowed_host_may_be_reached_without_encryption(relay: str) -> None:
    assert parse(GOOD.replace(RELAY, relay)).relays == (relay,)


def test_an_allowed_port_is_the_only_one_without_encryption() -> None:
    allow = AllowList.parse("relay.local:7777, 127.0.0.1:7777")
    for host in ("relay.local", "127.0.0.1"):
        relay = f"ws://{host}:7777"
        assert parse_connection(GOOD.replace(RELAY, relay), allow).relays == (relay,)
        with pytest.raises(BadConnection):
            parse_connection(GOOD.replace(RELAY, f"ws://{host}:80"), allow)


def test_the_label_is_the_wallets_address_or_its_relay_and_our_public_key() -> None:
    assert parse(GOOD + "&lud16=ada@example.com").label == "ada@example.com"
    public = SecretKey(SECRET).public
    plain = f"relay.example.com · {public[:4]}…{public[-4:]}"
    assert parse(GOOD).label == plain
    assert parse(GOOD + "&lud16=%3Cb%3E").label == plain


def test_a_connection_shows_no_secret() -> None:
    assert SECRET not in repr(parse(GOOD))
