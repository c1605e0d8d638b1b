"""Calls wallets by Nostr Wallet Connect (NIP-47).

A seller connects a wallet with a string: `nostr+walletconnect://WALLET?relay=URL&secret=KEY`. The
string gives access to the wallet, so it is stored encrypted and never shown again.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import nostr_sdk

from bot.core import errors, exact_json
from bot.core.net import webhook_addresses
from bot.core.text import contacts, sanitize
from bot.interface import vocabulary
from bot.service.rails import host_calls, rail, relays

DetailError = vocabulary.DetailError

# Keys and encryption, by nostr-sdk. Keys are secp256k1 keys with Schnorr signatures (BIP 340);
# public keys are 64 hex digits. Encryption is NIP-44 version 2, or NIP-04 for older wallets.

HEX64 = re.compile(r"[0-9a-f]{64}")
"""32 bytes in Nostr's notation. nostr-sdk reads other notations too, such as `npub1…`."""


class Scheme(StrEnum):
    """An encryption by its name in a wallet's info event (NIP-47)."""

    NIP44 = "nip44_v2"
    NIP04 = "nip04"

    @property
    def other(self) -> Scheme:
        return Scheme.NIP04 if self is Scheme.NIP44 else Scheme.NIP44


class SecretKey:
    """A secret key that no log or traceback shows, with its `public` key."""

    __slots__ = ("_keys", "public")

    def __init__(self, secret: str) -> None:
        """Read 64 hex digits. Raises ValueError, without the secret, if they aren't a key."""
        if not HEX64.fullmatch(secret):
            raise ValueError("a secret key has 64 hex digits")
        try:
            self._keys = nostr_sdk.Keys.parse(secret)
        except relays.FAILURES:
            raise ValueError("the secret key is out of range") from None
        self.public: str = self._keys.public_key().to_hex()

    def __repr__(self) -> str:
        return f"SecretKey(public={self.public})"

    def sign_event(
        self, kind: int, tags: tuple[tuple[str, str], ...], content: str, created_at: int
    ) -> nostr_sdk.Event:
        """Make and sign an event; `created_at` in Unix seconds."""
        unsigned = (
            nostr_sdk.EventBuilder(nostr_sdk.Kind(kind), content)
            .tags([nostr_sdk.Tag.parse([*tag]) for tag in tags])
            .custom_created_at(nostr_sdk.Timestamp.from_secs(created_at))
            .finalize_unsigned(self._keys.public_key())
        )
        return self._keys.sign_event(unsigned)

    def seal(self, scheme: Scheme, public: str, text: str) -> str:
        """Encrypt a text of 1 to 65,408 bytes for a public key; ours have fewer than 2,000."""
        encrypt = self._keys.nip44_encrypt if scheme is Scheme.NIP44 else self._keys.nip04_encrypt
        return str(encrypt(nostr_sdk.PublicKey.parse(public), text))

    def open(self, public: str, sealed: str) -> str:
        """Decrypt a text of a public key by the text's scheme: a wallet may answer in another one.

        Raises BadAnswer.
        """
        decrypt = self._keys.nip04_decrypt if "?iv=" in sealed else self._keys.nip44_decrypt
        try:
            return str(decrypt(nostr_sdk.PublicKey.parse(public), sealed))
        except relays.FAILURES:
            raise errors.BadAnswer("The sealed text can't be decrypted.") from None


def is_public_key(text: str) -> bool:
    """True if the text is 64 hex digits of a point on the curve."""
    if not HEX64.fullmatch(text):
        return False
    try:
        nostr_sdk.Keys.generate().nip04_encrypt(nostr_sdk.PublicKey.parse(text), "")
    except relays.FAILURES:
        return False
    return True


# Connections.

_SCHEMES = ("nostr+walletconnect", "nostrwalletconnect")
"""Older wallets write the second scheme. Both occur with and without the two slashes."""

LONGEST_CONNECTION = 2_000
"""Characters of a connection string; wallets write about 250."""

MOST_RELAYS = 3
"""Maximum relays of a connection, used simultaneously; wallets name one or two."""

_HTTP = {"wss": "https", "ws": "http"}


@dataclass(frozen=True, slots=True)
class WalletConnection:
    """A connection to a wallet."""

    wallet: str
    """Public key of the wallet."""

    relays: tuple[str, ...]
    key: SecretKey
    """Our key, which signs the calls."""

    address: str = ""
    """Lightning address of the wallet, "" if there is none."""

    @property
    def relay_host(self) -> str:
        return urlsplit(self.relays[0]).hostname or ""

    @property
    def label(self) -> str:
        """Return the display name: the wallet's Lightning address, or relay and key.

        The key is our public key, because a wallet's key may be the same for all its users.
        """
        return self.address or f"{self.relay_host} · {self.key.public[:4]}…{self.key.public[-4:]}"


def parse_connection(text: str, allow: webhook_addresses.AllowList) -> WalletConnection:
    """Read a connection string from a wallet.

    Raises BadDetail, whose message says how to fix it, without the secret.
    """
    text = sanitize.typed(text)
    scheme, _, rest = text.partition(":")
    if scheme.lower() not in _SCHEMES or len(text) > LONGEST_CONNECTION:
        raise rail.BadDetail(
            DetailError.CONNECTION_FORM,
            "This isn't a wallet connection. Copy the whole text that starts with "
            "nostr+walletconnect:// from your wallet.",
        )
    wallet, _, query = rest.removeprefix("//").partition("?")
    fields = parse_qsl(query.replace("+", "%2B"))
    wallet, values = wallet.strip("/").lower(), dict(fields)
    if not is_public_key(wallet):
        raise _damaged("The wallet's key in this connection is damaged.")
    try:
        key = SecretKey(values.get("secret", "").lower())
    except ValueError:
        raise _damaged("The secret in this connection is missing or damaged.") from None
    named = dict.fromkeys(value for name, value in fields if name == "relay")
    relays = tuple(named)[:MOST_RELAYS]
    if not relays:
        raise _damaged("This connection names no relay.")
    for url in relays:
        _check_relay(url, allow)
    address = contacts.ascii_address(values.get("lud16", "")) or ""
    return WalletConnection(wallet, relays, key, address)


def _damaged(problem: str) -> rail.BadDetail:
    message = f"{problem} Copy the whole text from your wallet."
    return rail.BadDetail(DetailError.CONNECTION_FORM, message)


def _check_relay(url: str, allow: webhook_addresses.AllowList) -> None:
    scheme, _, rest = url.partition("://")
    scheme = scheme.lower()
    plain = f"{_HTTP.get(scheme, scheme)}://{rest}"
    try:
        host = webhook_addresses.check_url(plain, allow)
    except errors.ForbiddenAddress:
        raise rail.BadDetail(
            DetailError.RELAY_PRIVATE,
            "This connection names a relay that can't be reached from here. "
            "Use a wallet whose relay has a public address that starts with wss://.",
        ) from None
    address, port = webhook_addresses.literal_address(host), webhook_addresses.endpoint(plain).port
    listed = allow.permits_address(address, port) if address else allow.permits_host(host, port)
    if scheme != "wss" and not (scheme == "ws" and listed):
        raise rail.BadDetail(
            DetailError.RELAY_PLAIN,
            "This connection names a relay without encryption. "
            "Use a wallet whose relay address starts with wss://.",
        )


# Calls.

INFO, REQUEST, RESPONSE = 13194, 23194, 23195
"""Kinds of events."""

INFO_SECONDS = 2.0
"""Seconds to wait for the info event, which relays store for some days."""

TOO_FAST = "rate-limited"
"""The prefix of a relay's refusal after too many requests (NIP-01)."""

CLOSED_SECONDS = 15
"""Seconds without a call to a relay after such a refusal, which names no time."""

EXPIRES_AFTER = 60
"""Seconds after which a request expires; some wallets refuse requests that don't expire."""

UNKNOWN_SCHEME = "UNSUPPORTED_ENCRYPTION"


def tag_value(event: nostr_sdk.Event, name: str) -> str:
    """Return the value of an event's first tag with this name, "" if there is none."""
    return next((tag.content() or "" for tag in event.tags() if tag.kind() == name), "")


def newest_of(author: str, kind: int, **tags: str) -> nostr_sdk.Filter:
    """Return a filter for events of one author and kind that have all of the tags.

    Of stored events only the newest: a wallet may have stored thousands, which would count as a
    flood and end the connection that all wallets of the relay share.
    """
    asked = {"authors": [author], "kinds": [kind], "limit": 1}
    return nostr_sdk.Filter.from_json(
        json.dumps(asked | {f"#{name}": [value] for name, value in tags.items()})
    )


class WalletError(errors.PeerError):
    """An error returned by the wallet; `code` comes from NIP-47 or is the wallet's own."""

    def __init__(self, code: str) -> None:
        super().__init__(f"the wallet answered {code}")
        self.code = code


@dataclass(frozen=True, slots=True)
class Call:
    """A method of a wallet and its parameters."""

    method: str
    params: dict[str, Any]
    patience: Sequence[float]
    """Time limit of each try, in seconds. A wallet or relay that has just restarted has lost the
    request and drops an event that it has already seen. So each try is a new event. Only calls that
    change nothing are tried twice.
    """


class Wallets:
    """Calls wallets over relays; `now` is in epoch ms, `calls` has the budgets of relays."""

    def __init__(
        self,
        relays: relays.Relays,
        now: Callable[[], int],
        calls: host_calls.HostCalls | None = None,
    ) -> None:
        self._relays = relays
        self._now = now
        self._calls = calls

    async def find_scheme(self, connection: WalletConnection) -> Scheme:
        """Return the best encryption that the wallet announces.

        If the wallet announces nothing, return NIP-04 (as NIP-47 says); `call` notices if that is
        wrong.
        """
        info = newest_of(connection.wallet, INFO)
        newest: nostr_sdk.Event | None = None
        urls = await self._take_calls(connection)
        left = set(urls)
        try:
            async with (
                asyncio.timeout(INFO_SECONDS),
                self._relays.asking(urls, connection.wallet, info) as heard,
            ):
                while left:
                    match await heard.get():
                        case relays.NoMore(url) | relays.Refusal(url, _):
                            left.discard(url)
                        case nostr_sdk.Event() as event:
                            newest = max(newest or event, event, key=lambda one: one.created_at())
        except TimeoutError:
            pass
        announced = tag_value(newest, "encryption") if newest else ""
        schemes = announced.replace(",", " ").split()  # in any order
        return Scheme.NIP44 if Scheme.NIP44 in schemes else Scheme.NIP04

    async def call(
        self, connection: WalletConnection, scheme: Scheme, call: Call
    ) -> dict[str, Any]:
        """Return the wallet's result.

        Raises Unreachable if there is no answer, WalletError if the wallet returns an error, and
        BadAnswer if the answer is invalid.
        """
        try:
            return await self._call(connection, scheme, call)
        except WalletError as error:
            if error.code != UNKNOWN_SCHEME:
                raise
        return await self._call(connection, scheme.other, call)

    async def _call(
        self, connection: WalletConnection, scheme: Scheme, call: Call
    ) -> dict[str, Any]:
        *first, last = call.patience
        for seconds in first:
            try:
                return await self._try(connection, scheme, call, seconds)
            except errors.Unreachable:
                continue
        return await self._try(connection, scheme, call, last)

    async def _try(
        self, connection: WalletConnection, scheme: Scheme, call: Call, seconds: float
    ) -> dict[str, Any]:
        text = exact_json.dumps({"method": call.method, "params": call.params})
        now = self._now() // 1000
        tags = (
            ("p", connection.wallet),
            ("encryption", scheme.value),
            ("expiration", str(now + EXPIRES_AFTER)),
        )
        sealed = connection.key.seal(scheme, connection.wallet, text)
        event = connection.key.sign_event(REQUEST, tags, sealed, now)
        answer = await self._answer(connection, event, seconds)
        opened = connection.key.open(connection.wallet, answer.content())
        return _result_of(opened, call.method)

    async def _answer(
        self, connection: WalletConnection, event: nostr_sdk.Event, seconds: float
    ) -> nostr_sdk.Event:
        """Return the first event that is signed by the wallet and answers this request."""
        tags = {"p": connection.key.public, "e": event.id().to_hex()}
        answers = newest_of(connection.wallet, RESPONSE, **tags)
        refused: dict[str, str] = {}
        urls = await self._take_calls(connection)
        try:
            async with (
                asyncio.timeout(seconds),
                self._relays.asking(urls, connection.wallet, answers, event) as heard,
            ):
                while True:
                    match await heard.get():
                        case nostr_sdk.Event() as answer:
                            return answer
                        case relays.Refusal(url, why):
                            refused[url] = why
                            if self._calls and why.startswith(TOO_FAST):
                                await self._calls.close(_host(url), CLOSED_SECONDS)
                            if len(refused) == len(urls):
                                raise errors.Unreachable(f"no relay takes the request: {why}")
        except TimeoutError:
            raise errors.Unreachable(f"no answer within {seconds:g} seconds") from None

    async def _take_calls(self, connection: WalletConnection) -> list[str]:
        """Return the relays that may be called now. Raises Throttled if there are none."""
        urls: list[str] = []
        for url in connection.relays:
            try:
                if self._calls:
                    await self._calls.take(_host(url))
            except errors.Throttled:
                if not urls and url == connection.relays[-1]:
                    raise
            else:
                urls.append(url)
        return urls


def _host(url: str) -> str:
    return urlsplit(url).hostname or ""


def _result_of(text: str, method: str) -> dict[str, Any]:
    """Read a decrypted answer; some errors name no method."""
    try:
        answer = exact_json.loads(text)
    except exact_json.JsonError:
        raise errors.BadAnswer("The wallet's answer is no JSON.") from None
    if not isinstance(answer, dict):
        raise errors.BadAnswer("The wallet's answer is no object.")
    if error := answer.get("error"):
        code = error.get("code") if isinstance(error, dict) else None
        # Only a plain code is safe to log, unlike other text from the wallet.
        is_plain = isinstance(code, str) and code.isascii() and code.replace("_", "").isalpha()
        raise WalletError(str(code)[:40] if is_plain else "OTHER")
    result = answer.get("result")
    if answer.get("result_type") != method or not isinstance(result, dict):
        raise errors.BadAnswer("The wallet's answer is to another question.")
    return result
