"""Nostr without I/O: keys, events, and encryption between two keys.

Keys are secp256k1 keys with Schnorr signatures (BIP 340); public keys are 64 hex digits. Encryption
is NIP-44 version 2, or NIP-04 for older wallets.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
import os
import re
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from coincurve import PrivateKey, PublicKey, PublicKeyXOnly
from cryptography.hazmat.primitives import padding
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from bot.core import errors

HEX64 = re.compile(r"[0-9a-f]{64}")
"""32 bytes in Nostr's notation, as used for keys and event ids."""

_EVEN = b"\x02"
"""Prefix of a compressed point. A shared secret is an x coordinate, the same for both parities."""


class SecretKey:
    """A secret key that no log or traceback shows, with its `public` key."""

    __slots__ = ("_key", "public")

    def __init__(self, secret: str) -> None:
        """Read 64 hex digits. Raises ValueError, without the secret, if they aren't a key."""
        if not HEX64.fullmatch(secret):
            raise ValueError("a secret key has 64 hex digits")
        try:
            self._key = PrivateKey(bytes.fromhex(secret))
        except ValueError:
            raise ValueError("the secret key is out of range") from None
        self.public = self._key.public_key.format()[1:].hex()

    def __repr__(self) -> str:
        return f"SecretKey(public={self.public})"

    def sign(self, digest: bytes) -> str:
        """Sign 32 bytes; return the signature's 128 hex digits."""
        return self._key.sign_schnorr(digest, os.urandom(32)).hex()

    def shared_with(self, public: str) -> bytes:
        """Return the unhashed x coordinate of the shared point (ECDH of NIP-04 and NIP-44)."""
        point = PublicKey(_EVEN + bytes.fromhex(public)).multiply(self._key.secret)
        return point.format()[1:]


def is_public_key(text: str) -> bool:
    """True if the text is 64 hex digits of a point on the curve."""
    if not HEX64.fullmatch(text):
        return False
    try:
        PublicKeyXOnly(bytes.fromhex(text))
    except ValueError:
        return False
    return True


def is_signed(public: str, signature: str, digest: bytes) -> bool:
    """True if the key signed the 32 bytes; False for an invalid key or signature."""
    try:
        return PublicKeyXOnly(bytes.fromhex(public)).verify(bytes.fromhex(signature), digest)
    except ValueError:
        return False


# Events, and the filters that request events (NIP-01).

Tags = tuple[tuple[str, ...], ...]

_FIELDS = ("id", "pubkey", "created_at", "kind", "tags", "content", "sig")


@dataclass(frozen=True, slots=True)
class Event:
    """An event with a valid id and signature."""

    id: str
    pubkey: str
    created_at: int
    """Unix seconds."""

    kind: int
    tags: Tags
    content: str
    sig: str

    def values(self, name: str) -> tuple[str, ...]:
        """Return the first value of each tag with this name."""
        return tuple(tag[1] for tag in self.tags if len(tag) > 1 and tag[0] == name)

    def as_json(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in _FIELDS}


@dataclass(frozen=True, slots=True)
class Filter:
    """The events to request from a relay."""

    kind: int
    author: str
    tags: tuple[tuple[str, str], ...] = field(default=())
    """Names and values of tags; an event must have all of them."""

    def matches(self, event: Event) -> bool:
        """True if the event matches. A relay may send events that were not requested."""
        return (
            event.kind == self.kind
            and event.pubkey == self.author
            and all(value in event.values(name) for name, value in self.tags)
        )

    def as_json(self) -> dict[str, Any]:
        # Only the newest stored event: a wallet may have stored thousands, which would count as a
        # flood and end the connection that all wallets of the relay share.
        asked = {"kinds": [self.kind], "authors": [self.author], "limit": 1}
        return asked | {f"#{name}": [value] for name, value in self.tags}


def sign_event(key: SecretKey, kind: int, tags: Tags, content: str, created_at: int) -> Event:
    """Make and sign an event."""
    digest = _digest(key.public, created_at, kind, tags, content)
    sig = key.sign(digest)
    return Event(digest.hex(), key.public, created_at, kind, tags, content, sig)


def read_event(data: Any) -> Event:
    """Read an event that a relay sent. Raises BadAnswer unless its id and signature are valid."""
    if not _is_well_formed(data):
        raise errors.BadAnswer("The event has a field that is missing or of the wrong type.")
    fields = {name: data[name] for name in _FIELDS} | {"tags": tuple(map(tuple, data["tags"]))}
    event = Event(**fields)
    try:
        digest = _digest(event.pubkey, event.created_at, event.kind, event.tags, event.content)
    except UnicodeEncodeError:
        raise errors.BadAnswer("The event holds half of a surrogate pair.") from None
    if digest.hex() != event.id:
        raise errors.BadAnswer("The event has another id than its content.")
    if not is_signed(event.pubkey, event.sig, digest):
        raise errors.BadAnswer("The event's signature does not hold.")
    return event


def _is_well_formed(data: Any) -> bool:
    return (
        isinstance(data, dict)
        and all(isinstance(data.get(name), str) for name in ("id", "pubkey", "content", "sig"))
        and all(type(data.get(name)) is int for name in ("created_at", "kind"))
        and isinstance(data.get("tags"), list)
        and all(_is_tag(tag) for tag in data["tags"])
    )


def _is_tag(tag: Any) -> bool:
    return isinstance(tag, list) and all(isinstance(value, str) for value in tag)


def _digest(pubkey: str, created_at: int, kind: int, tags: Tags, content: str) -> bytes:
    """Return the SHA-256 of the canonical JSON, which is the event's id."""
    fields = [0, pubkey, created_at, kind, tags, content]
    text = json.dumps(fields, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).digest()


# Encryption.

MAX_PLAIN = 65_535
"""Maximum bytes of a text, because its length field has two bytes (NIP-44)."""

MAX_SEALED = 87_472
"""Characters of the longest encrypted text; nothing longer is decoded."""

_VERSION = b"\x02"
_LEAST_SEALED, _LEAST_RAW = 132, 99
_NONCE, _MAC = 32, 32
_SMALLEST_PAD = 32
_SMALL_CHUNKS = 256
_KEYS = 76
"""Bytes of one message's keys: 32 for ChaCha20, 12 for its nonce, 32 for the HMAC."""


class Scheme(StrEnum):
    """An encryption by its name in a wallet's info event (NIP-47)."""

    NIP44 = "nip44_v2"
    NIP04 = "nip04"

    @property
    def other(self) -> Scheme:
        return Scheme.NIP04 if self is Scheme.NIP44 else Scheme.NIP44


class Cryptor:
    """Encrypts and decrypts texts between two keys with a shared secret."""

    __slots__ = ("_conversation_key", "_shared")

    def __init__(self, shared: bytes) -> None:
        self._shared = shared
        self._conversation_key = conversation_key(shared)

    def seal(self, scheme: Scheme, text: str) -> str:
        """Encrypt a text of at most MAX_PLAIN bytes."""
        if scheme is Scheme.NIP44:
            return seal_nip44(self._conversation_key, text, os.urandom(_NONCE))
        return seal_nip04(self._shared, text, os.urandom(16))

    def open(self, sealed: str) -> str:
        """Decrypt by the scheme of the text, because a wallet may answer in another scheme.

        Raises BadAnswer.
        """
        if len(sealed) > MAX_SEALED:
            raise errors.BadAnswer("The sealed text is too long.")
        try:
            if "?iv=" in sealed:
                return _open_nip04(self._shared, sealed)
            return open_nip44(self._conversation_key, sealed)
        except (ValueError, binascii.Error):  # of base64, padding and UTF-8
            raise errors.BadAnswer("The sealed text can't be decrypted.") from None


def conversation_key(shared: bytes) -> bytes:
    """Return NIP-44's key of two parties (HKDF-extract)."""
    return hmac.digest(b"nip44-v2", shared, "sha256")


def seal_nip44(key: bytes, text: str, nonce: bytes) -> str:
    """Encrypt a text of 1 to MAX_PLAIN bytes. Never reuse a nonce (32 bytes)."""
    plain = text.encode()
    if not 1 <= len(plain) <= MAX_PLAIN:
        raise ValueError("a text has 1 to 65,535 bytes")
    cipher_key, cipher_nonce, mac_key = _message_keys(key, nonce)
    padded = len(plain).to_bytes(2, "big") + plain.ljust(padded_length(len(plain)), b"\0")
    box = _chacha20(cipher_key, cipher_nonce, padded)
    mac = hmac.digest(mac_key, nonce + box, "sha256")
    return base64.b64encode(_VERSION + nonce + box + mac).decode()


def open_nip44(key: bytes, sealed: str) -> str:
    """Decrypt. Raises ValueError for another version, a wrong MAC or wrong padding."""
    if not _LEAST_SEALED <= len(sealed) <= MAX_SEALED:
        raise ValueError("size")
    raw = base64.b64decode(sealed, validate=True)
    if len(raw) < _LEAST_RAW or raw[:1] != _VERSION:
        raise ValueError("version")
    nonce, box, mac = raw[1 : 1 + _NONCE], raw[1 + _NONCE : -_MAC], raw[-_MAC:]
    cipher_key, cipher_nonce, mac_key = _message_keys(key, nonce)
    if not hmac.compare_digest(mac, hmac.digest(mac_key, nonce + box, "sha256")):
        raise ValueError("MAC")
    padded = _chacha20(cipher_key, cipher_nonce, box)
    size = int.from_bytes(padded[:2], "big")
    if not size or len(padded) != 2 + padded_length(size):
        raise ValueError("padding")
    return padded[2 : 2 + size].decode()


def padded_length(size: int) -> int:
    """Return the length to which a text of `size` bytes is padded, to hide its exact length."""
    if size <= _SMALLEST_PAD:
        return _SMALLEST_PAD
    power = 1 << (size - 1).bit_length()
    chunk = _SMALLEST_PAD if power <= _SMALL_CHUNKS else power // 8
    return chunk * ((size - 1) // chunk + 1)


def seal_nip04(shared: bytes, text: str, iv: bytes) -> str:
    """Encrypt with AES-256-CBC; the key is the shared secret itself."""
    padder = padding.PKCS7(128).padder()
    encryptor = Cipher(algorithms.AES(shared), modes.CBC(iv)).encryptor()
    box = encryptor.update(padder.update(text.encode()) + padder.finalize())
    box += encryptor.finalize()
    return f"{base64.b64encode(box).decode()}?iv={base64.b64encode(iv).decode()}"


def _open_nip04(shared: bytes, sealed: str) -> str:
    box, _, iv = (part.encode() for part in sealed.partition("?iv="))
    mode = modes.CBC(base64.b64decode(iv, validate=True))
    decryptor = Cipher(algorithms.AES(shared), mode).decryptor()
    unpadder = padding.PKCS7(128).unpadder()
    padded = decryptor.update(base64.b64decode(box, validate=True)) + decryptor.finalize()
    return (unpadder.update(padded) + unpadder.finalize()).decode()


def _message_keys(key: bytes, nonce: bytes) -> tuple[bytes, bytes, bytes]:
    """Derive the keys of one message (HKDF-expand)."""
    keys = block = b""
    for count in (1, 2, 3):
        block = hmac.digest(key, block + nonce + bytes([count]), "sha256")
        keys += block
    return keys[:32], keys[32:44], keys[44:_KEYS]


def _chacha20(key: bytes, nonce: bytes, data: bytes) -> bytes:
    """Encrypt or decrypt from block 0; `cryptography` expects the block number before the nonce."""
    return Cipher(algorithms.ChaCha20(key, bytes(4) + nonce), mode=None).encryptor().update(data)
