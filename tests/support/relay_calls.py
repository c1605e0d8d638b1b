"""Calls of a wallet over relays, and its answers, true and false."""

from __future__ import annotations

import json
import time
from typing import Any

from bot.service.rails.nostr import Scheme
from bot.service.rails.nostr_wallet import (
    RESPONSE,
    Call,
    WalletConnection,
    Wallets,
    parse_connection,
)
from bot.service.rails.relays import Relays
from tests.support.nostr_keys import NostrKey
from tests.support.scripted_relay import Request
from tests.support.service_harness import LOOPBACK

WALLET, APP, STRANGER, LOUD = (NostrKey(f"{number:064x}") for number in (7, 8, 9, 10))
"""A wallet, our own key, somebody else's, and another wallet."""


def now() -> int:
    return int(time.time() * 1000)


def answer(
    request: Request, body: Any = None, wallet: NostrKey = WALLET, **changes: Any
) -> dict[str, Any]:
    """The wallet's answer to a request, or one with other parts."""
    text = body or {"result_type": "get_info", "result": {"methods": ["make_invoice"]}}
    parts: dict[str, Any] = {
        "kind": RESPONSE,
        "tags": (("p", APP.public), ("e", request.event["id"])),
        "content": wallet.seal("nip44_v2", APP.public, json.dumps(text)),
        "created_at": request.event["created_at"],
    }
    signer: NostrKey = changes.pop("key", wallet)
    return signer.sign_event(**parts | changes)


def connection(*urls: str, wallet: NostrKey = WALLET) -> WalletConnection:
    relays = "&".join(f"relay={url}" for url in urls)
    text = f"nostr+walletconnect://{wallet.public}?{relays}&secret={8:064x}"
    return parse_connection(text, LOOPBACK)


async def call(
    relays: Relays, *urls: str, patience: tuple[float, ...] = (5.0,), wallet: NostrKey = WALLET
) -> dict[str, Any]:
    asked = connection(*urls, wallet=wallet)
    return await Wallets(relays, now).call(asked, Scheme.NIP44, Call("get_info", {}, patience))


async def honest(request: Request) -> None:
    await request.acknowledge()
    await request.send_event(answer(request))
