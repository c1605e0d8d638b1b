"""A relay (nostr-sdk's LocalRelay) and a wallet behind it that speaks Nostr Wallet Connect.

The wallet is nostr-sdk's client: none of its signatures and encryption are ours.
"""

from __future__ import annotations

import asyncio
import json
import os
import time
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from typing import Any, Self
from urllib.parse import quote

import nostr_sdk as nostr

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
        self._relay: nostr.LocalRelay | None = None

    async def start(self) -> None:
        limit = nostr.RateLimit(max_reqs=500, notes_per_minute=100_000)
        builder = nostr.LocalRelayBuilder().addr("127.0.0.1").port(self.port).rate_limit(limit)
        self._relay = builder.build()
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
        self.keys, self.app = nostr.Keys.generate(), nostr.Keys.generate()
        self.invoices: dict[str, dict[str, Any]] = {}
        self.heard: list[dict[str, Any]] = []
        self.errors: dict[str, str] = {}
        self.silent: set[str] = set()
        self.copies = 1
        self.false_answers: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {}
        self.network = "mainnet"
        self._preimages: dict[str, str] = {}
        self._client: nostr.Client
        self._task: asyncio.Task[None] | None = None

    @property
    def public(self) -> str:
        return str(self.keys.public_key().to_hex())

    @property
    def secret(self) -> str:
        """The app's secret key, which the connection string carries."""
        return str(self.app.secret_key().to_hex())

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
        """Connect and subscribe, once more after a relay came back.

        By itself, a client may stay with a connection that its former relay never closed.
        """
        await self._disconnect()
        self._client = nostr.Client()
        for url in self.relays:
            await self._client.add_relay(nostr.RelayUrl.parse(url))
        await self._client.connect()
        await self._client.try_connect(timedelta(seconds=3))
        stream = self._client.notifications()
        where = nostr.Filter().kind(nostr.Kind(REQUEST)).pubkey(self.keys.public_key())
        await self._client.subscribe(nostr.ReqTarget.auto([where]), id="requests")
        self._task = asyncio.create_task(self._listen(stream))

    async def _disconnect(self) -> None:
        if self._task is None:
            return
        self._task.cancel()
        with suppress(asyncio.CancelledError):
            await self._task
        await self._client.shutdown()

    async def announce(self) -> None:
        """Publish the info event, which a relay forgets when it stops."""
        if self.encryption != "unannounced":
            tags = [["encryption", self.encryption]] if self.encryption else []
            await self.send(INFO, " ".join(self.methods), tags)

    async def send(self, kind: int, content: str, tags: list[list[str]]) -> None:
        parsed = [nostr.Tag.parse(tag) for tag in tags]
        event = nostr.EventBuilder(nostr.Kind(kind), content).tags(parsed).finalize(self.keys)
        await self._client.send_event(event)

    def settle(self, payment_hash: str) -> None:
        """Receive the money of an invoice."""
        preimage = self._preimages[payment_hash]
        paid = {"state": "settled", "settled_at": int(time.time()), "preimage": preimage}
        self.invoices[payment_hash] |= paid

    def seal(self, scheme: str, text: str) -> str:
        to = self.app.public_key()
        encrypt = self.keys.nip44_encrypt if scheme == "nip44_v2" else self.keys.nip04_encrypt
        return str(encrypt(to, text))

    async def _listen(self, stream: nostr.ClientNotificationStream) -> None:
        while (item := await stream.next()) is not None:
            if item.is_new_event() and item.event.kind().as_u16() == REQUEST:
                await self._serve(item.event)

    async def _serve(self, event: nostr.Event) -> None:
        if event.author().to_hex() != self.app.public_key().to_hex() or event.is_expired():
            return  # wallets answer nothing to a key that they don't know
        tags = {tag.to_vec()[0]: tag.to_vec()[1] for tag in event.tags() if tag.len() > 1}
        scheme, schemes = tags.get("encryption", "nip04"), self._schemes()
        if scheme not in schemes:
            error = {"error": {"code": "UNSUPPORTED_ENCRYPTION", "message": ""}}
            await self._answer(event, schemes[0], error)
            return
        decrypt = self.keys.nip44_decrypt if scheme == "nip44_v2" else self.keys.nip04_decrypt
        body = json.loads(decrypt(event.author(), event.content()))
        self.heard.append(body | {"scheme": scheme, "id": event.id().to_hex()})
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

    async def _answer(self, event: nostr.Event, scheme: str, body: dict[str, Any]) -> None:
        tags = [["p", event.author().to_hex()], ["e", event.id().to_hex()]]
        sealed = [self.seal(scheme, json.dumps(body)) for _ in range(self.copies)]
        await asyncio.gather(*(self.send(RESPONSE, one, tags) for one in sealed))

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
