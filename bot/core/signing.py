"""Webhook signatures as in Standard Webhooks 1.0 (HMAC-SHA256 over id, time and body).

The package `standardwebhooks` computes the signatures. Times and headers are checked here, because
its `verify` reads the clock itself and raises other exceptions.
"""

from __future__ import annotations

import base64
import binascii
import hmac
import secrets as randomness
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import lru_cache

from standardwebhooks import Webhook

from bot.core import errors

PREFIX = "whsec_"
SECRET_BYTES = 24  # the minimum that Standard Webhooks recommends
TOLERANCE = timedelta(minutes=5)

_ID, _TIMESTAMP, _SIGNATURE = "webhook-id", "webhook-timestamp", "webhook-signature"
_VERSION = "v1,"
_TIMESTAMP_DIGITS = 12


def new_secret() -> str:
    """Create a secret for one application: `whsec_` and base64 of 24 random bytes."""
    return PREFIX + base64.b64encode(randomness.token_bytes(SECRET_BYTES)).decode()


def check_secret(secret: str) -> None:
    """Check the form of a secret. Raises BadSignature."""
    _signer(secret)


def sign(secrets: Sequence[str], message_id: str, now: datetime, body: bytes) -> dict[str, str]:
    """Return the headers for a UTF-8 body, signed with each secret of a rotation.

    Raises BadSignature if a secret is malformed, and ValueError (a bug) if there is no secret,
    `now` is naive, or the body is not UTF-8.
    """
    if not secrets:
        raise ValueError("signing needs a secret")
    at, text = _utc(now), body.decode()
    signatures = [_signer(secret).sign(message_id, at, text) for secret in secrets]
    return {_ID: message_id, _TIMESTAMP: str(int(at.timestamp())), _SIGNATURE: " ".join(signatures)}


def verify(secrets: Sequence[str], headers: Mapping[str, str], body: bytes, now: datetime) -> None:
    """Check that one of the secrets signed this body within five minutes of `now`.

    Header names may have any case. Raises BadSignature, even if there is no secret.
    """
    given = {name.lower(): value for name, value in headers.items()}
    message_id, signature = given.get(_ID), given.get(_SIGNATURE)
    if not (message_id and signature):
        raise errors.BadSignature("The webhook headers are missing")
    timestamp = given.get(_TIMESTAMP, "")
    if not (timestamp.isascii() and timestamp.isdigit()) or len(timestamp) > _TIMESTAMP_DIGITS:
        raise errors.BadSignature("The webhook's timestamp is missing or malformed")
    if abs(int(timestamp) - _utc(now).timestamp()) > TOLERANCE.total_seconds():
        raise errors.BadSignature("The webhook's timestamp is more than five minutes off")
    at = datetime.fromtimestamp(int(timestamp), UTC)
    try:
        text = body.decode()
        expected = [_signer(secret).sign(message_id, at, text).encode() for secret in secrets]
        offered = [part.encode() for part in signature.split() if part.startswith(_VERSION)]
    except UnicodeError:
        raise errors.BadSignature("The webhook is not UTF-8") from None
    matches = [hmac.compare_digest(ours, theirs) for ours in expected for theirs in offered]
    if not any(matches):
        raise errors.BadSignature("No signature of the webhook is by a secret known here")


def _utc(now: datetime) -> datetime:
    if now.tzinfo is None:
        raise ValueError("times here carry their zone")
    return now.astimezone(UTC)


@lru_cache(maxsize=256)
def _signer(secret: str) -> Webhook:
    """Return the signer of a validated secret: the package silently drops non-base64 characters."""
    encoded = secret.removeprefix(PREFIX).rstrip("=")
    try:
        key = base64.b64decode(encoded + "=" * (-len(encoded) % 4), validate=True)
    except (binascii.Error, ValueError):
        raise errors.BadSignature("A webhook secret is whsec_ and base64") from None
    if not key:
        raise errors.BadSignature("A webhook secret is empty")
    return Webhook(key)
