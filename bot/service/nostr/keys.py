"""Keys of Nostr: secp256k1 with Schnorr signatures (BIP 340), public keys as 64 hex digits."""

from __future__ import annotations

import os
import re

from coincurve import PrivateKey, PublicKey, PublicKeyXOnly

HEX64 = re.compile(r"[0-9a-f]{64}")
"""32 bytes as Nostr writes them: keys and ids of events."""

_EVEN = b"\x02"
"""Prefix of a compressed point. A shared secret is an x, which is the same for both parities."""


class SecretKey:
    """A secret key that never shows itself; `public` is the key that belongs to it."""

    __slots__ = ("_key", "public")

    def __init__(self, secret: str) -> None:
        """Read 64 hex digits. Raises ValueError, without the secret, if they are no key."""
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
        """Return the unhashed x of the point that both keys share (ECDH of NIP-04 and NIP-44)."""
        point = PublicKey(_EVEN + bytes.fromhex(public)).multiply(self._key.secret)
        return point.format()[1:]


def is_public_key(text: str) -> bool:
    """Return whether the text is 64 hex digits of a point on the curve."""
    if not HEX64.fullmatch(text):
        return False
    try:
        PublicKeyXOnly(bytes.fromhex(text))
    except ValueError:
        return False
    return True


def is_signed(public: str, signature: str, digest: bytes) -> bool:
    """Return whether the key signed the 32 bytes; False for whatever is no key or signature."""
    try:
        return PublicKeyXOnly(bytes.fromhex(public)).verify(bytes.fromhex(signature), digest)
    except ValueError:
        return False
