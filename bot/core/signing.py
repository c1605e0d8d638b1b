"""Webhook signatures by Standard Webhooks 1.0 (HMAC-SHA256 over id, time and body).

The `standardwebhooks` package computes them. Its `verify` reads the clock itself and lets stray
exceptions through, so time and headers are checked here.
"""

from __future__ import annotations

import base64
import binascii
import hmac
import secrets as randomness
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from standardwebhooks import Webhook

from bot.core.errors import BadSignature

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

PREFIX = "whsec_"
SECRET_BYTES = 24  # the least that Standard Webhooks recommends
TOLERANCE = timedelta(minutes=5)

_ID, _TIMESTAMP, _SIGNATURE = "webhook-id", "webhook-timestamp", "webhook-signature"
_VERSION = "v1,"
_TIMESTAMP_DIGITS = 12


def new_secret() -> str:
    """Secret for one application, `whsec_` and base64 of 24 random bytes."""
    return PREFIX + base64.b64encode(randomness.token_bytes(SECRET_BYTES)).decode()


def check_secret(secret: str) -> None:
    """Return only if `secret` can sign; BadSignature says what is wrong with its form."""
    _hook(secret)


def sign(secrets: Sequence[str], message_id: str, now: datetime, body: bytes) -> dict[str, str]:
    """Headers for a UTF-8 body, one signature a secret, so that secrets can be rotated.

    Raises BadSignature for a malformed secret; ValueError (a bug) for none, a naive `now`
    or a body that is not UTF-8.
    """
    if not secrets:
        raise ValueError("signing needs a secret")
    at, text = _utc(now), body.decode()
    signatures = [_hook(secret).sign(message_id, at, text) for secret in secrets]
    return {
        _ID: message_id,
        _TIMESTAMP: str(int(at.timestamp())),
        _SIGNATURE: " ".join(signatures),
    }


def verify(secrets: Sequence[str], headers: Mapping[str, str], body: bytes, now: datetime) -> None:
    """Return only if one of the secrets signed this body within five minutes of `now`.

    Header names in any case. Raises BadSignature for everything else that a sender can send,
    and where there is no secret.
    """
    given = {name.lower(): value for name, value in headers.items()}
    message_id, signature = given.get(_ID), given.get(_SIGNATURE)
    if not (message_id and signature):
        raise BadSignature("The webhook headers are missing")
    at = _sent_at(given.get(_TIMESTAMP, ""), _utc(now))
    try:
        text = body.decode()
        expected = [_hook(secret).sign(message_id, at, text).encode() for secret in secrets]
        offered = [part.encode() for part in signature.split() if part.startswith(_VERSION)]
    except UnicodeError:
        raise BadSignature("The webhook is not UTF-8") from None
    matches = [hmac.compare_digest(ours, theirs) for ours in expected for theirs in offered]
    if not any(matches):
        raise BadSignature("No signature of the webhook is by a secret known here")


def _sent_at(timestamp: str, now: datetime) -> datetime:
    """Time of a timestamp header, Unix seconds, where it is near enough to `now`."""
    digits = timestamp.isascii() and timestamp.isdigit()
    if not digits or len(timestamp) > _TIMESTAMP_DIGITS:
        raise BadSignature("The webhook's timestamp is missing or malformed")
    distance = int(timestamp) - now.timestamp()
    if abs(distance) > TOLERANCE.total_seconds():
        raise BadSignature("The webhook's timestamp is more than five minutes off")
    return datetime.fromtimestamp(int(timestamp), UTC)


def _utc(now: datetime) -> datetime:
    if now.tzinfo is None:
        raise ValueError("times here carry their zone")
    return now.astimezone(UTC)


def _hook(secret: str) -> Webhook:
    """Signer of one secret; the package itself would drop what is not base64 without a word."""
    encoded = secret.removeprefix(PREFIX).rstrip("=")
    try:
        key = base64.b64decode(encoded + "=" * (-len(encoded) % 4), validate=True)
    except (binascii.Error, ValueError):
        raise BadSignature("A webhook secret is whsec_ and base64") from None
    if not key:
        raise BadSignature("A webhook secret is empty")
    return Webhook(key)
