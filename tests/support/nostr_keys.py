"""Nostr a second time, to judge the product's: keys, events and encryption.

Written after BIP 340, NIP-01, NIP-04 and NIP-44, on the curve and the ciphers of `cryptography`:
nothing of it is nostr-sdk's, which the product uses. The vectors of the specifications hold both.
"""

from __future__ import annotations

import base64
import hmac
import json
import os
import re
import secrets
from hashlib import sha256
from typing import Any, Self

from cryptography.hazmat.primitives import padding
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

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
