"""Changes of a request at the service: what was done, never what was only asked for.

When the answer to a change is lost, the server is asked how the request stands, and
that is what the seller hears.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from bot.chat.fields.wire_values import seconds_until
from bot.chat.store.listings import DELETED, LIVE, STOPPED
from bot.core.errors import NotFound, NotReached, PeerError, Refused, Throttled

if TYPE_CHECKING:
    from bot.chat.model.answers import Answer
    from bot.chat.model.wish import Wish
    from bot.chat.provider.client import Client
    from bot.chat.store.listings import Listing

SOON = 24 * 3600 * 1000
"""Milliseconds; an end nearer than this was put there by a stop, whatever the server's clock."""

APART = 60_000
"""Milliseconds between an end that was asked for and what a server makes of it, at most."""

STATES = {"stop": STOPPED, "resume": LIVE, "delete-yes": DELETED}
"""What each change makes of a listing."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What is known after a call: the server's word, the listing's new state, a text to add."""

    answer: Answer | None = None
    state: str | None = None
    words: str | None = None


async def look(client: Client, listing: Listing, now: int) -> Outcome:
    """Ask how a request stands; one that goes on at the server is no longer stopped here.

    Raises NotFound where it is gone, Refused and PeerError.
    """
    answer = await client.get(listing.request_id or "")
    goes_on = listing.state == STOPPED and not is_over(answer, listing, now)
    return Outcome(answer, LIVE if goes_on else None)


async def change(client: Client, listing: Listing, call: str, now: int) -> Outcome:
    """Stop, resume or delete a request, and see how it then stands.

    Raises NotFound where it is gone, Refused, and PeerError where nobody can say what was done;
    NotReached and Throttled where nothing was.
    """
    request_id = listing.request_id or ""
    try:
        await _make(client, listing, call, now)
    except (NotReached, Throttled):
        raise
    except PeerError as error:
        return await _doubted(client, listing, call, now, error)
    if call == "delete-yes":
        return Outcome(state=STATES[call])
    return Outcome(await seen(client, request_id) or _assumed(listing, call, now), STATES[call])


async def _make(client: Client, listing: Listing, call: str, now: int) -> None:
    request_id = listing.request_id or ""
    match call:
        case "stop":
            await client.stop(request_id)
        case "resume":
            ends_at = end_after(listing.wish, now)
            await client.resume(
                request_id, None if ends_at is None else seconds_until(ends_at, now)
            )
        case "delete-yes":
            await client.delete(request_id)


def end_after(wish: Wish, now: int) -> int | None:
    """Give the end (epoch ms) that a request has once it goes on: one that has passed is none."""
    return wish.ends_at if wish.ends_at is not None and wish.ends_at > now else None


async def _doubted(
    client: Client, listing: Listing, call: str, now: int, error: PeerError
) -> Outcome:
    """See whether a change was made of which no answer came; raise `error` if nobody can say."""
    try:
        answer = await client.get(listing.request_id or "")
    except NotFound:
        if call != "delete-yes":
            raise
        return Outcome(state=DELETED)
    except (PeerError, Refused):
        raise error from None
    if call != "delete-yes" and is_over(answer, listing, now) == (call == "stop"):
        return Outcome(answer, STATES[call])
    return Outcome(answer, words="service-unchanged")


async def seen(client: Client, request_id: str) -> Answer | None:
    """Give the request after a change that was made, None where the server falls silent."""
    try:
        return await client.get(request_id)
    except NotFound:
        raise
    except (PeerError, Refused):
        return None


def _assumed(listing: Listing, call: str, now: int) -> Answer | None:
    """Give what was known with the change that the server said it made."""
    if listing.answer is None or call == "stop":
        return listing.answer
    return replace(listing.answer, expires_at=end_after(listing.wish, now), is_enabled=True)


def is_over(answer: Answer, listing: Listing, now: int) -> bool:
    """Whether a request has ended, or ends as one does that was stopped just now."""
    ends = answer.expires_at
    if ends is not None and ends <= now + (0 if _is_own(ends, listing) else SOON):
        return True
    begun = answer.enabled_at is None or answer.enabled_at <= now
    return begun and not answer.is_enabled


def _is_own(ends: int, listing: Listing) -> bool:
    """Whether it is the end that the seller wished for, by the server's clock or by ours."""
    known = listing.answer.expires_at if listing.answer and listing.state == LIVE else None
    wished = listing.wish.ends_at
    return ends == known or (wished is not None and abs(ends - wished) <= APART)
