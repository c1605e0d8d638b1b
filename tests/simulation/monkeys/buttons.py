"""What the buttons carry that sellers press, and how they are found in messages."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bot.sandbox.world.model import Message


FORGED = (
    "card:{}", "refresh:{}", "stop:{}", "resume:{}", "delete:{}", "delete-yes:{}", "edit:{}",
    "edit-not:{}", "duplicate:{}", "poster:{}", "alerts:{}", "alerts:{}:off", "payments:{}:0",
    "poster:{}:square-dark", "edit:{}:name",
)  # fmt: skip
"""What buttons carry that only a request's own seller has."""


GIVEN = (
    *["edit:{}:goods"] * 2, *["edit:{}:perbuyer"] * 3, "edit:{}:thanks", "edit:{}:goal",
    *["codes:{}"] * 3,
)  # fmt: skip
"""What sellers press to say what buyers get or may choose."""

OF_PAYMENTS = ("payment", "sent", "sent-undo", "paid-back", "paid-back-undo", "hide", "hide-undo")
"""What the buttons of a payment carry."""


def wanted(draft: dict[str, Any], chance: Random) -> frozenset[str]:
    """Return the buttons that answer the form's question."""
    verbs = {
        "kind": {"kind"},
        "amount": {"amount"},
        "zone": {"zone"},
        "instrument": {"instrument"},
        "asks": {"ask", "options"},
        "options": {"open", "done"} if chance.random() < 0.6 else {"done"},
        "goods": {"goods", "done"} if draft.get("readings") or chance.random() < 0.2 else set(),
        "review": {"create"} if chance.random() < 0.7 else {"options"},
    }
    if draft.get("asleep"):
        return frozenset({"continue", "restart"})
    return frozenset(verbs.get(draft["step"], ()))


def data_of(message: Message, *, now: bool = False) -> list[str]:
    """Return the callback data of a message's buttons, those it had before included."""
    return [
        button["callback_data"]
        for markup in ([] if now else [version.markup for version in message.history])
        + [message.markup]
        for row in (markup or {}).get("inline_keyboard", [])
        for button in row
        if "callback_data" in button
    ]
