"""Connection strings of Nostr Wallet Connect: `nostr+walletconnect://WALLET?relay=URL&secret=KEY`.

A string is a key to a wallet. It is sealed in the database and never shown again.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, urlsplit

from bot.core.errors import ForbiddenAddress
from bot.core.net.webhook_addresses import check_url, literal_address
from bot.core.text import sanitize
from bot.core.text.email_addresses import ascii_address
from bot.service.model.payout_problems import BadDetail, Wrong
from bot.service.nostr.keys import SecretKey, is_public_key

if TYPE_CHECKING:
    from bot.core.net.webhook_addresses import AllowList

_SCHEMES = ("nostr+walletconnect", "nostrwalletconnect")
"""The second is what wallets wrote before; both occur with and without the two slashes."""

LONGEST = 2_000
"""Characters of a string; wallets write about 250."""

MOST_RELAYS = 3
"""Relays of a string that are used: each is asked at the same time, and wallets name one or two."""

_HTTP = {"wss": "https", "ws": "http"}


class BadConnection(BadDetail):
    """A connection string that can't be used; the message says what to do, without the secret."""


@dataclass(frozen=True, slots=True)
class Connection:
    """A connection to a wallet: its public key, its relays, and our key, which signs for us."""

    wallet: str
    relays: tuple[str, ...]
    key: SecretKey
    address: str = ""

    @property
    def relay_host(self) -> str:
        return urlsplit(self.relays[0]).hostname or ""

    @property
    def label(self) -> str:
        """Return what names it to its owner: the wallet's Lightning address, or relay and key.

        The key is the public half of ours; the wallet's own may be the same for all its users.
        """
        return self.address or f"{self.relay_host} · {self.key.public[:4]}…{self.key.public[-4:]}"


def parse_connection(text: str, allow: AllowList) -> Connection:
    """Read a string as a wallet shows it. Raises BadConnection."""
    text = sanitize.typed(text)
    scheme, _, rest = text.partition(":")
    if scheme.lower() not in _SCHEMES or len(text) > LONGEST:
        raise BadConnection(
            Wrong.CONNECTION_FORM,
            "This isn't a wallet connection. Copy the whole text that starts with "
            "nostr+walletconnect:// from your wallet.",
        )
    wallet, _, query = rest.removeprefix("//").partition("?")
    fields = parse_qsl(query.replace("+", "%2B"))
    wallet, values = wallet.strip("/").lower(), dict(fields)
    if not is_public_key(wallet):
        raise BadConnection(
            Wrong.CONNECTION_FORM,
            "The wallet's key in this connection is damaged. Copy the whole text from your wallet.",
        )
    relays = [value for name, value in fields if name == "relay"]
    key = _read_key(values.get("secret", ""))
    return Connection(wallet, _read_relays(relays, allow), key, _read_name(values))


def _read_key(secret: str) -> SecretKey:
    try:
        return SecretKey(secret.lower())
    except ValueError:
        raise BadConnection(
            Wrong.CONNECTION_FORM,
            "The secret in this connection is missing or damaged. "
            "Copy the whole text from your wallet.",
        ) from None


def _read_name(values: dict[str, str]) -> str:
    return ascii_address(values.get("lud16", "")) or ""


def _read_relays(urls: list[str], allow: AllowList) -> tuple[str, ...]:
    relays = tuple(dict.fromkeys(urls))[:MOST_RELAYS]
    if not relays:
        raise BadConnection(
            Wrong.CONNECTION_FORM,
            "This connection names no relay. Copy the whole text from your wallet.",
        )
    for url in relays:
        _check_relay(url, allow)
    return relays


def _check_relay(url: str, allow: AllowList) -> None:
    scheme, _, rest = url.partition("://")
    scheme = scheme.lower()
    try:
        host = check_url(f"{_HTTP.get(scheme, scheme)}://{rest}", allow)
    except ForbiddenAddress:
        raise BadConnection(
            Wrong.RELAY_PRIVATE,
            "This connection names a relay that can't be reached from here. "
            "Use a wallet whose relay has a public address that starts with wss://.",
        ) from None
    address = literal_address(host)
    listed = allow.permits_address(address) if address else allow.permits_host(host)
    if scheme != "wss" and not (scheme == "ws" and listed):
        raise BadConnection(
            Wrong.RELAY_PLAIN,
            "This connection names a relay without encryption. "
            "Use a wallet whose relay address starts with wss://.",
        )
