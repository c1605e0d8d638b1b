"""A relay (nostr-sdk's LocalRelay) and a wallet behind it that speaks Nostr Wallet Connect.

The relay only passes on what it is sent. The wallet's keys, signatures and encryption are those of
`nostr_keys`, because nostr-sdk is what the product uses.
"""

from __future__ import annotations

import asyncio
import json
import os
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Self
from urllib.parse import quote

import nostr_sdk
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed

from tests.support import nostr_keys
from tests.support.free_ports import free_port, is_listened_to
from tests.support.lightning_invoices import InvoiceDraft, hash_of

RECEIVE = ("make_invoice", "lookup_invoice", "list_transactions", "get_info")
PAY = (*RECEIVE, "pay_invoice", "get_balance")
INFO, REQUEST, RESPONSE = 13194, 23194, 23195


class LocalRelay:
    """A relay on 127.0.0.1 that can be stopped, and started again with nothing remembered."""

    def __init__(self) -> None:
        self.port = int(free_port())
        self.url = f"ws://127.0.0.1:{self.port}"
        self._relay: nostr_sdk.LocalRelay | None = None

    async def start(self) -> None:
        limit = nostr_sdk.RateLimit(max_reqs=500, notes_per_minute=100_000)
        builder = nostr_sdk.LocalRelayBuilder().addr("127.0.0.1").port(self.port)
        self._relay = builder.rate_limit(limit).build()
        await self._relay.run()

    async def stop(self) -> None:
        """Stop, and wait until nobody listens: a shutdown before the relay waits for it is lost."""
        async with asyncio.timeout(10):
            while self._relay and is_listened_to(self.port):
                self._relay.shutdown()
                await asyncio.sleep(0.01)
        self._relay = None

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()


class NwcWallet:
    """A wallet service; `false_answers` change true results, `errors` and `silent` replace them.

    Each answer is sent as often as `copies`, at once, every time as another event.
    """

    def __init__(self, *relays: str, methods: tuple[str, ...] = RECEIVE) -> None:
        self.relays, self.methods = relays, methods
        self.encryption: str | None = "nip44_v2 nip04"
        self.answer_as: str | None = None
        self.key, self.app = nostr_keys.NostrKey.generate(), nostr_keys.NostrKey.generate()
        self.invoices: dict[str, dict[str, Any]] = {}
        self.heard: list[dict[str, Any]] = []
        self.errors: dict[str, str] = {}
        self.silent: set[str] = set()
        self.copies = 1
        self.false_answers: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {}
        self.network = "mainnet"
        self._preimages: dict[str, str] = {}
        self._relays: dict[ClientConnection, asyncio.Task[None]] = {}
        self._taken: asyncio.Queue[str] = asyncio.Queue()  # ids of events, and subscriptions
        self._served: set[str] = set()

    @property
    def public(self) -> str:
        return self.key.public

    @property
    def secret(self) -> str:
        """The app's secret key, which the connection string carries."""
        return self.app.secret

    @property
    def connection(self) -> str:
        relays = "&".join(f"relay={quote(url, safe='')}" for url in self.relays)
        return f"nostr+walletconnect://{self.public}?{relays}&secret={self.secret}"

    async def __aenter__(self) -> Self:
        await self.connect()
        await self.announce()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._disconnect()

    async def connect(self) -> None:
        """Connect and subscribe, once more after a relay came back."""
        await self._disconnect()
        where = {"kinds": [REQUEST], "#p": [self.public]}
        for url in self.relays:
            relay = await connect(url, compression=None, close_timeout=0.2)
            self._relays[relay] = asyncio.create_task(self._listen(relay))
            await relay.send(json.dumps(["REQ", "requests", where]))
            await self._until_taken("requests")

    async def _disconnect(self) -> None:
        for relay, task in self._relays.items():
            await relay.close()
            await task
        self._relays.clear()

    async def announce(self) -> None:
        """Publish the info event, which a relay forgets when it stops."""
        if self.encryption == "unannounced":
            return
        tags = (("encryption", self.encryption),) if self.encryption else ()
        event_id = await self.send(INFO, " ".join(self.methods), tags)
        for _ in self._relays:
            await self._until_taken(event_id)

    async def send(self, kind: int, content: str, tags: nostr_keys.Tags) -> str:
        """Sign an event and send it to all relays; return its id."""
        event = self.key.sign_event(kind, tags, content, int(time.time()))
        for relay in self._relays:
            with suppress(ConnectionClosed):  # one of two relays is enough
                await relay.send(json.dumps(["EVENT", event]))
        return str(event["id"])

    async def _until_taken(self, name: str) -> None:
        async with asyncio.timeout(5):
            while await self._taken.get() != name:
                pass

    def settle(self, payment_hash: str) -> None:
        """Receive the money of an invoice."""
        preimage = self._preimages[payment_hash]
        paid = {"state": "settled", "settled_at": int(time.time()), "preimage": preimage}
        self.invoices[payment_hash] |= paid

    async def _listen(self, relay: ClientConnection) -> None:
        with suppress(ConnectionClosed):
            async for frame in relay:
                match json.loads(frame):
                    case ["EVENT", "requests", event]:
                        await self._serve(event)
                    case ["EOSE", name] | ["OK", name, True, *_]:
                        self._taken.put_nowait(name)

    async def _serve(self, event: dict[str, Any]) -> None:
        """Answer a request once; wallets answer nothing to a key that they don't know."""
        tags = {tag[0]: tag[1] for tag in event["tags"] if len(tag) > 1}
        is_new = event["id"] not in self._served
        self._served.add(event["id"])
        if not is_new or event["pubkey"] != self.app.public or not nostr_keys.is_genuine(event):
            return
        if int(tags.get("expiration", time.time())) < int(time.time()):
            return
        scheme, schemes = tags.get("encryption", "nip04"), self._schemes()
        if scheme not in schemes:
            error = {"error": {"code": "UNSUPPORTED_ENCRYPTION", "message": ""}}
            await self._answer(event, schemes[0], error)
            return
        assert ("?iv=" in event["content"]) == (scheme == "nip04")
        body = json.loads(self.key.open(self.app.public, event["content"]))
        self.heard.append(body | {"scheme": scheme, "id": event["id"]})
        if not self.silent & {body["method"], "*"}:
            await self._answer(event, self.answer_as or scheme, await self._result_of(body))

    def _schemes(self) -> list[str]:
        announced = self.encryption or "nip04"
        return ["nip44_v2"] if announced == "unannounced" else announced.split()

    async def _result_of(self, body: dict[str, Any]) -> dict[str, Any]:
        method = body["method"]
        if method in self.errors:
            return {"error": {"code": self.errors[method], "message": "as the test wants"}}
        if method not in (*self.methods, "get_info"):
            return {"result_type": method, "error": {"code": "RESTRICTED", "message": "no"}}
        try:
            result = await getattr(self, method)(body.get("params") or {})
        except KeyError:
            return {"result_type": method, "error": {"code": "NOT_FOUND", "message": "none"}}
        false_answer = self.false_answers.get(method, dict)
        return {"result_type": method, "result": false_answer(result)}

    async def _answer(self, event: dict[str, Any], scheme: str, body: dict[str, Any]) -> None:
        tags = (("p", event["pubkey"]), ("e", event["id"]))
        for _ in range(self.copies):
            sealed = self.key.seal(scheme, self.app.public, json.dumps(body))
            await self.send(RESPONSE, sealed, tags)

    async def get_info(self, _params: dict[str, Any]) -> dict[str, Any]:
        return {"alias": "wallet", "network": self.network, "methods": list(self.methods)}

    async def make_invoice(self, params: dict[str, Any]) -> dict[str, Any]:
        now, preimage = int(time.time()), os.urandom(32).hex()
        payment_hash, expiry = hash_of(preimage), params["expiry"]
        draft = InvoiceDraft(params["amount"], now * 1000, expiry, payment_hash)
        self._preimages[payment_hash] = preimage
        self.invoices[payment_hash] = {
            "type": "incoming",
            "state": "pending",
            "invoice": draft.write(),
            "payment_hash": payment_hash,
            "preimage": "",
            "amount": params["amount"],
            "created_at": now,
            "expires_at": now + expiry,
            "settled_at": None,
        }
        return dict(self.invoices[payment_hash])

    async def lookup_invoice(self, params: dict[str, Any]) -> dict[str, Any]:
        return dict(self.invoices[params["payment_hash"]])

    async def list_transactions(self, _params: dict[str, Any]) -> dict[str, Any]:
        return {"transactions": [one for one in self.invoices.values() if one["settled_at"]]}
