"""Calls of a wallet by Nostr Wallet Connect (NIP-47)."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import urlsplit

from bot.core import exact_json
from bot.core.errors import BadAnswer, PeerError, Throttled, Unreachable
from bot.service.nostr.encryption import Cryptor, Scheme
from bot.service.nostr.events import Event, Filter, sign_event
from bot.service.nostr.relay_connection import NoMore, Refusal

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from bot.service.nostr.connection_string import Connection
    from bot.service.nostr.relays import Relays

INFO, REQUEST, RESPONSE = 13194, 23194, 23195
"""Kinds of events."""

INFO_SECONDS = 2.0
"""Seconds for the info event, which relays store; they forget it after days."""

TOO_FAST = "rate-limited"
"""How a relay begins its refusal where too much is asked of it (NIP-01)."""

CLOSED_SECONDS = 15
"""Seconds without a call of a relay after that: it names no time."""

EXPIRES_AFTER = 60
"""Seconds after which a request is worthless; some wallets refuse one that does not tell."""

UNKNOWN_SCHEME = "UNSUPPORTED_ENCRYPTION"


class Calls(Protocol):
    """The budgets of hosts (service/rails/host_calls.py)."""

    async def take(self, host: str) -> None:
        """Wait until a call may go. Raises Throttled."""

    async def close(self, host: str, seconds: float) -> None:
        """Call a host no more for so many seconds."""


class WalletError(PeerError):
    """An error that the wallet answered; `code` is one of NIP-47's, or the wallet's own."""

    def __init__(self, code: str) -> None:
        super().__init__(f"the wallet answered {code}")
        self.code = code


@dataclass(frozen=True, slots=True)
class Call:
    """A method of a wallet and its parameters.

    `patience` are the seconds of each try. A wallet or relay that was just restarted lost the
    request, and drops one that it knows: so each try is a new event, and what only reads has two.
    """

    method: str
    params: dict[str, Any]
    patience: Sequence[float]


class Wallets:
    """Calls wallets over relays; `now` is in epoch ms, `calls` has the budgets of relays."""

    def __init__(self, relays: Relays, now: Callable[[], int], calls: Calls | None = None) -> None:
        self._relays = relays
        self._now = now
        self._calls = calls

    async def find_scheme(self, connection: Connection) -> Scheme:
        """Return the best encryption that the wallet announces.

        Without an announcement it is NIP-04, as NIP-47 says; `call` finds out if that is wrong.
        """
        newest: Event | None = None
        urls = await self._take_calls(connection)
        left = set(urls)
        try:
            async with (
                asyncio.timeout(INFO_SECONDS),
                self._relays.asking(urls, Filter(INFO, connection.wallet)) as heard,
            ):
                while left:
                    match await heard.get():
                        case NoMore(url) | Refusal(url, _):
                            left.discard(url)
                        case Event() as event:
                            newest = max(newest or event, event, key=lambda info: info.created_at)
        except TimeoutError:
            pass
        return _scheme_of(newest)

    async def call(self, connection: Connection, scheme: Scheme, call: Call) -> dict[str, Any]:
        """Return the wallet's result.

        Raises Unreachable for silence, WalletError for an error and BadAnswer for nonsense.
        """
        try:
            return await self._call(connection, scheme, call)
        except WalletError as error:
            if error.code != UNKNOWN_SCHEME:
                raise
        return await self._call(connection, scheme.other, call)

    async def _call(self, connection: Connection, scheme: Scheme, call: Call) -> dict[str, Any]:
        *first, last = call.patience
        for seconds in first:
            try:
                return await self._try(connection, scheme, call, seconds)
            except Unreachable:
                continue
        return await self._try(connection, scheme, call, last)

    async def _try(
        self, connection: Connection, scheme: Scheme, call: Call, seconds: float
    ) -> dict[str, Any]:
        cryptor = Cryptor(connection.key.shared_with(connection.wallet))
        text = exact_json.dumps({"method": call.method, "params": call.params})
        now = self._now() // 1000
        tags = (
            ("p", connection.wallet),
            ("encryption", scheme.value),
            ("expiration", str(now + EXPIRES_AFTER)),
        )
        event = sign_event(connection.key, REQUEST, tags, cryptor.seal(scheme, text), now)
        answer = await self._answer(connection, event, seconds)
        return _result_of(cryptor.open(answer.content), call.method)

    async def _answer(self, connection: Connection, event: Event, seconds: float) -> Event:
        """Return the first event that the wallet signed as the answer to this very request."""
        tags = (("p", connection.key.public), ("e", event.id))
        where = Filter(RESPONSE, connection.wallet, tags)
        refused: dict[str, str] = {}
        urls = await self._take_calls(connection)
        try:
            async with (
                asyncio.timeout(seconds),
                self._relays.asking(urls, where, event) as heard,
            ):
                while True:
                    match await heard.get():
                        case Event() as answer:
                            return answer
                        case Refusal(url, why):
                            refused[url] = why
                            if self._calls and why.startswith(TOO_FAST):
                                await self._calls.close(_host(url), CLOSED_SECONDS)
                            if len(refused) == len(urls):
                                raise Unreachable(f"no relay takes the request: {why}")
        except TimeoutError:
            raise Unreachable(f"no answer within {seconds:g} seconds") from None

    async def _take_calls(self, connection: Connection) -> list[str]:
        """Return the relays that may be asked now. Raises Throttled where none may."""
        urls: list[str] = []
        for url in connection.relays:
            try:
                if self._calls:
                    await self._calls.take(_host(url))
            except Throttled:
                if not urls and url == connection.relays[-1]:
                    raise
            else:
                urls.append(url)
        return urls


def _host(url: str) -> str:
    return urlsplit(url).hostname or ""


def _scheme_of(info: Event | None) -> Scheme:
    """Return the best scheme of an info event; wallets write them in any order."""
    tags = info.values("encryption") if info else ()
    schemes = tags[0].replace(",", " ").split() if tags else ()
    return Scheme.NIP44 if Scheme.NIP44 in schemes else Scheme.NIP04


def _result_of(text: str, method: str) -> dict[str, Any]:
    """Read a decrypted answer; an early error names no method."""
    try:
        answer = exact_json.loads(text)
    except exact_json.JsonError:
        raise BadAnswer("The wallet's answer is no JSON.") from None
    if not isinstance(answer, dict):
        raise BadAnswer("The wallet's answer is no object.")
    if error := answer.get("error"):
        code = error.get("code") if isinstance(error, dict) else None
        raise WalletError(_code(code))
    result = answer.get("result")
    if answer.get("result_type") != method or not isinstance(result, dict):
        raise BadAnswer("The wallet's answer is to another question.")
    return result


def _code(code: Any) -> str:
    """Return a code that can be logged: others' text is not."""
    known = isinstance(code, str) and code.isascii() and code.replace("_", "").isalpha()
    return code[:40] if known else "OTHER"
