"""Nostr without I/O: keys, events, and encryption between two keys, all by nostr-sdk.

Keys are secp256k1 keys with Schnorr signatures (BIP 340); public keys are 64 hex digits. Encryption
is NIP-44 version 2, or NIP-04 for older wallets.
"""

from __future__ import annotations

import json
import re
from enum import StrEnum
from typing import Any

import nostr_sdk

from bot.core import errors, exact_json

HEX64 = re.compile(r"[0-9a-f]{64}")
"""32 bytes in Nostr's notation. nostr-sdk reads other notations too, such as `npub1…`."""

_FAILURES = (nostr_sdk.NostrSdkError, nostr_sdk.InternalError)
"""What nostr-sdk raises: for wrong input, and if its Rust code panics."""


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
        except _FAILURES:
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
        except _FAILURES:
            raise errors.BadAnswer("The sealed text can't be decrypted.") from None


def is_public_key(text: str) -> bool:
    """True if the text is 64 hex digits of a point on the curve."""
    if not HEX64.fullmatch(text):
        return False
    try:
        nostr_sdk.Keys.generate().nip04_encrypt(nostr_sdk.PublicKey.parse(text), "")
    except _FAILURES:
        return False
    return True


def read_event(data: Any) -> nostr_sdk.Event:
    """Read an event that a relay sent. Raises BadAnswer unless its id and signature are valid."""
    try:
        event = nostr_sdk.Event.from_json(exact_json.dumps(data))
        is_valid = event.verify()
    except _FAILURES:
        is_valid = False
    if not is_valid:
        raise errors.BadAnswer("The event is damaged, or its signature does not hold.")
    return event


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
