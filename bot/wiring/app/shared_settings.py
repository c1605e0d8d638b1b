"""The settings that all replicas over one database have to share, compared without their values.

Each replica stores a keyed digest of each. The key is the SECRET_KEY, so that nobody who reads the
database can try values, and replicas with different keys differ in everything.
"""

from __future__ import annotations

import hmac
import json
from typing import TYPE_CHECKING

from pydantic import SecretStr

if TYPE_CHECKING:
    from bot.config import Settings

OWN = frozenset(
    [
        *("host", "port", "forwarded_allow_ips", "database_url"),
        *("metrics_token", "log_level", "log_format"),
    ]
)
"""Settings that each replica may have of its own: how it is reached, and how it is watched."""

DIGITS = 12
"""Hexadecimal digits of a digest: it only has to differ by accident."""


def digest_settings(settings: Settings) -> str:
    """Return the digests of the shared settings, as JSON by name."""
    key = settings.secret_key.get_secret_value() if settings.secret_key else ""
    names = (name for name in type(settings).model_fields if name not in OWN)
    return json.dumps({name.upper(): _digest(key, name, settings) for name in names})


def find_differences(digests: str, others: str) -> list[str]:
    """Return the names of the settings that differ; a version may have some that others lack."""
    ours, theirs = json.loads(digests), json.loads(others)
    return [name for name in ours if name in theirs and ours[name] != theirs[name]]


def _digest(key: str, name: str, settings: Settings) -> str:
    value = settings.url if name == "public_url" else getattr(settings, name)
    plain = value.get_secret_value() if isinstance(value, SecretStr) else value
    text = f"setting {name} {plain!r}"
    return hmac.digest(key.encode(), text.encode(), "sha256").hex()[:DIGITS]
