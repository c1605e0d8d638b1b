"""When time alone changes a request next."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bot.chat.model.answers import Answer

RESERVATION_LAPSE = 16 * 60 * 1000
"""Milliseconds after which a reservation is checked: a minute more than RESERVATION_SECONDS."""


def next_change(answer: Answer, known: int | None, now: int) -> int | None:
    """Return the next start, end or lapse of a reservation after `now`, all in epoch ms.

    `known` is the moment that was known before; None where nothing is to come.
    """
    moments = [at for at in (answer.enabled_at, answer.expires_at) if at is not None and at > now]
    if answer.reserved_units:
        lapse = now + RESERVATION_LAPSE
        is_near = known is not None and now < known <= lapse
        moments.append(known if known is not None and is_near else lapse)
    return min(moments, default=None)
