"""A wallet of Nostr Wallet Connect, with the keys, events and encryption that it needs."""

from __future__ import annotations

import asyncio
import base64
import hmac
import json
import os
import re
import secrets
import time
from collections.abc import Callable
from contextlib import suppress
from hashlib import sha256
from typing import Any, Self
from urllib.parse import quote

import nostr_sdk
from cryptography.hazmat.primitives import padding
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed

from tests.support.free_ports import free_port, is_listened_to
from tests.support.lightning_wallet import InvoiceDraft, hash_of

FIELD = 2**256 - 2**32 - 977
ORDER = 0xFFFFFFFF_FFFFFFFF_FFFFFFFF_FFFFFFFE_BAAEDCE6_AF48A03B_BFD25E8C_D0364141
CURVE = ec.SECP256K1()

Point = tuple[int, int]
Tags = tuple[tuple[str, ...], ...]


# Points of the curve.


def lift(x: int) -> Point:
    """Return the point with this x and an even y. Raises ValueError if there is none."""
    square = (pow(x, 3, FIELD) + 7) % FIELD
    y = pow(square, (FIELD + 1) // 4, FIELD)
    if x >= FIELD or y * y % FIELD != square:
        raise ValueError("no point of the curve")
    return x, FIELD - y if y % 2 else y


def of_generator(number: int) -> Point:
    """Return this multiple of the generator."""
    found = ec.derive_private_key(number, CURVE).public_key().public_numbers()
    return found.x, found.y


def add(one: Point | None, two: Point | None) -> Point | None:
    if one is None or two is None:
        return one or two
    if one[0] == two[0] and one[1] != two[1]:
        return None
    if one == two:
        slope = 3 * one[0] ** 2 * pow(2 * one[1], -1, FIELD)
    else:
        slope = (two[1] - one[1]) * pow(two[0] - one[0], -1, FIELD)
    x = (slope**2 - one[0] - two[0]) % FIELD
    return x, (slope * (one[0] - x) - one[1]) % FIELD


def multiply(point: Point | None, number: int) -> Point | None:
    total = None
    while number:
        total = add(total, point) if number % 2 else total
        point, number = add(point, point), number // 2
    return total


# Signatures of BIP 340.


def tagged(tag: str, data: bytes) -> int:
    name = sha256(tag.encode()).digest()
    return int.from_bytes(sha256(name + name + data).digest())


def challenge(x: int, public: str, digest: bytes) -> int:
    data = x.to_bytes(32) + bytes.fromhex(public) + digest
    return tagged("BIP0340/challenge", data) % ORDER


def is_signed(public: str, signature: str, digest: bytes) -> bool:
    x, rest = int(signature[:64], 16), int(signature[64:], 16)
    if len(signature) != 128 or x >= FIELD or not 0 < rest < ORDER:
        return False
    try:
        point = lift(int(public, 16))
    except ValueError:
        return False
    taken = multiply(point, ORDER - challenge(x, public, digest))
    found = add(of_generator(rest), taken)
    return found is not None and found[0] == x and found[1] % 2 == 0


# Events of NIP-01.


def event_digest(event: dict[str, Any]) -> bytes:
    names = ("pubkey", "created_at", "kind", "tags", "content")
    fields = [0, *(event[name] for name in names)]
    return sha256(json.dumps(fields, separators=(",", ":"), ensure_ascii=False).encode()).digest()


def is_genuine(event: dict[str, Any]) -> bool:
    """True if an event has the id of its content, signed by its author."""
    digest = event_digest(event)
    return event["id"] == digest.hex() and is_signed(event["pubkey"], event["sig"], digest)


class NostrKey:
    """A secret key: 64 hex digits."""

    def __init__(self, secret: str) -> None:
        self.secret = secret
        number = int(secret, 16)
        self._private = ec.derive_private_key(number, CURVE)
        x, y = of_generator(number)
        self._number = ORDER - number if y % 2 else number
        self.public = f"{x:064x}"

    @classmethod
    def generate(cls) -> Self:
        return cls(f"{1 + secrets.randbelow(ORDER - 1):064x}")

    def sign(self, digest: bytes, aux: bytes = bytes(32)) -> str:
        masked = (self._number ^ tagged("BIP0340/aux", aux)).to_bytes(32)
        nonce = tagged("BIP0340/nonce", masked + bytes.fromhex(self.public) + digest) % ORDER
        x, y = of_generator(nonce)
        nonce = ORDER - nonce if y % 2 else nonce
        rest = (nonce + challenge(x, self.public, digest) * self._number) % ORDER
        return f"{x:064x}{rest:064x}"

    def sign_event(self, kind: int, tags: Tags, content: str, created_at: int) -> dict[str, Any]:
        fields: dict[str, Any] = {
            "pubkey": self.public,
            "created_at": created_at,
            "kind": kind,
            "tags": [[*tag] for tag in tags],
            "content": content,
        }
        digest = event_digest(fields)
        return fields | {"id": digest.hex(), "sig": self.sign(digest)}

    def shared_with(self, public: str) -> bytes:
        """Return the x of the shared point, which is all of it that NIP-04 and NIP-44 use."""
        point = b"\x02" + bytes.fromhex(public)
        theirs = ec.EllipticCurvePublicKey.from_encoded_point(CURVE, point)
        return self._private.exchange(ec.ECDH(), theirs)

    def seal(self, scheme: str, public: str, text: str) -> str:
        shared = self.shared_with(public)
        if scheme == "nip04":
            return seal_nip04(shared, text, os.urandom(16))
        return seal_nip44(conversation_key(shared), text, os.urandom(32))

    def open(self, public: str, sealed: str) -> str:
        shared = self.shared_with(public)
        if "?iv=" in sealed:
            return open_nip04(shared, sealed)
        return open_nip44(conversation_key(shared), sealed)


# Encryption of NIP-44, version 2.


def conversation_key(shared: bytes) -> bytes:
    return hmac.digest(b"nip44-v2", shared, "sha256")


def padded_length(size: int) -> int:
    power = 1 << (size - 1).bit_length()
    chunk = max(32, power // 8)
    return max(32, chunk * -(-size // chunk))


def seal_nip44(key: bytes, text: str, nonce: bytes) -> str:
    plain = text.encode()
    padded = len(plain).to_bytes(2) + plain.ljust(padded_length(len(plain)), b"\0")
    return seal_padded(key, padded, nonce)


def seal_padded(key: bytes, padded: bytes, nonce: bytes) -> str:
    cipher, mac_key = _nip44(key, nonce)
    box = cipher.encryptor().update(padded)
    mac = hmac.digest(mac_key, nonce + box, "sha256")
    return base64.b64encode(b"\x02" + nonce + box + mac).decode()


def open_nip44(key: bytes, sealed: str) -> str:
    raw = base64.b64decode(sealed, validate=True)
    nonce, box, mac = raw[1:33], raw[33:-32], raw[-32:]
    cipher, mac_key = _nip44(key, nonce)
    assert raw[:1] == b"\x02"
    assert mac == hmac.digest(mac_key, nonce + box, "sha256")
    padded = cipher.encryptor().update(box)
    size = int.from_bytes(padded[:2])
    assert len(padded) == 2 + padded_length(size)
    return padded[2 : 2 + size].decode()


def _nip44(key: bytes, nonce: bytes) -> tuple[Cipher[None], bytes]:
    """Return the cipher of one message, and the key of its MAC (HKDF-expand)."""
    keys = block = b""
    for count in (1, 2, 3):
        block = hmac.digest(key, block + nonce + bytes([count]), "sha256")
        keys += block
    return Cipher(algorithms.ChaCha20(keys[:32], bytes(4) + keys[32:44]), None), keys[44:76]


# Encryption of NIP-04: AES-256-CBC, whose key is the shared secret itself.


def seal_nip04(shared: bytes, text: str, iv: bytes) -> str:
    padder = padding.PKCS7(128).padder()
    encryptor = Cipher(algorithms.AES(shared), modes.CBC(iv)).encryptor()
    box = encryptor.update(padder.update(text.encode()) + padder.finalize())
    return f"{base64.b64encode(box).decode()}?iv={base64.b64encode(iv).decode()}"


def open_nip04(shared: bytes, sealed: str) -> str:
    found = re.fullmatch(r"(.+)\?iv=(.+)", sealed)
    assert found
    box, iv = (base64.b64decode(part, validate=True) for part in found.groups())
    unpadder = padding.PKCS7(128).unpadder()
    padded = Cipher(algorithms.AES(shared), modes.CBC(iv)).decryptor().update(box)
    return (unpadder.update(padded) + unpadder.finalize()).decode()


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
        self.key, self.app = NostrKey.generate(), NostrKey.generate()
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

    async def send(self, kind: int, content: str, tags: Tags) -> str:
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
        if not is_new or event["pubkey"] != self.app.public or not is_genuine(event):
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
