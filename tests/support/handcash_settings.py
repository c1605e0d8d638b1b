"""The settings of a bot on HandCash's dialect."""

from __future__ import annotations

from tests.support.handcash_server import HandCash

SECRET = "a secret of HandCash's own"


def keys(server: HandCash) -> dict[str, str]:
    """Return the settings for this server: no WEBHOOK_SECRET, payments in BSV."""
    return {
        "PAYMENTS_URL": server.url,
        "APP_ID": server.app_id,
        "APP_SECRET": server.app_secret,
        "INSTRUMENT_CURRENCY": "BSV",
    }
