"""When a wallet is asked for the money of a checkout; times and spans in ms."""

from __future__ import annotations

SECOND = 1_000
MINUTE, HOUR, DAY = 60 * SECOND, 3_600 * SECOND, 86_400 * SECOND

PACES = ((5 * MINUTE, 5 * SECOND), (15 * MINUTE, 15 * SECOND))
"""Until an age of the invoice, the time between two looks that nobody asks for: many payers leave
the page for the app that pays."""

SLOWEST = MINUTE
GRACE = 10 * MINUTE
"""After its end an invoice is looked at as often as before for so long: wallets settle late."""

AFTERWARDS = (HOUR, DAY)
"""The last looks, so long after the others."""

LAST = GRACE + max(AFTERWARDS)
"""After its end an invoice is looked at no more."""

PATIENCE = LAST + DAY
"""After its end an invoice is given up at a host that takes no call: it may take none for a day."""

CLOSEST = SECOND
"""Between two looks at one checkout, however often an open page or its wallet asks for them."""


def next_look(opened_at: int, expires_at: int, now: int) -> int | None:
    """Return when to look after a look at `now`; None if no money is expected any more."""
    end = expires_at + GRACE
    if now < end:
        pace = next((pace for age, pace in PACES if now - opened_at < age), SLOWEST)
        return min(now + pace, max(end, now + CLOSEST))
    return next((end + later for later in AFTERWARDS if end + later > now), None)
