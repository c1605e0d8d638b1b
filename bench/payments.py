"""Payments of donations on the stage: made at the pay page, counted in what the chats are told."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from bench.stage import PRICE

if TYPE_CHECKING:
    from bot.sandbox.world.world import Call


ALERT = re.compile(r"💰 <b>\$([\d,]+)\.00</b> received for")


def told(call: Call) -> int:
    """Count the payments in a call: an alert has one, a digest several, other messages none."""
    found = ALERT.search(str(call.params.get("text"))) if call.method == "sendMessage" else None
    return int(found[1].replace(",", "")) // PRICE if found else 0


def chat_of(call: Call) -> int:
    """Return the chat of a call."""
    return int(call.params["chat_id"])
