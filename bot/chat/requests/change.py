"""Stopping, resuming and deleting at the service.

After a lost answer the server is asked for the request, so that the seller reads what was done.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from bot.chat.messages.jobs import DeleteRequest, ResumeRequest, StopRequest
from bot.chat.model.wish import seconds_until
from bot.chat.store.listings import DELETED, LIVE, STOPPED
from bot.core.errors import NotFound, NotReached, PeerError, Refused, Throttled

if TYPE_CHECKING:
    from bot.chat.messages.jobs import ChangeJob
    from bot.chat.model.answers import Answer
    from bot.chat.model.wish import Wish
    from bot.chat.provider.client import Client
    from bot.chat.store.listings import Listing

STOP_HORIZON = 24 * 3600 * 1000
"""Milliseconds; an unexpected end nearer than this comes from a stop, by any server's clock."""

CLOCK_TOLERANCE = 60_000
"""Milliseconds between the end that was asked for and the server's, at most."""

STATES: dict[type[ChangeJob], str] = {
    StopRequest: STOPPED,
    ResumeRequest: LIVE,
    DeleteRequest: DELETED,
}
"""A listing's state after each change."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What is known after a call: the answer, the listing's new state, the key of a text to add."""

    answer: Answer | None = None
    state: str | None = None
    text: str | None = None


async def check(client: Client, listing: Listing, now: int) -> Outcome:
    """Fetch a request; one that can be paid at the server is not stopped here any more.

    Raises NotFound, Refused and PeerError.
    """
    answer = await client.get(listing.request_id or "")
    is_resumed = listing.state == STOPPED and not is_over(answer, listing, now)
    return Outcome(answer, LIVE if is_resumed else None)


async def change(client: Client, listing: Listing, job: ChangeJob, now: int) -> Outcome:
    """Stop, resume or delete a request, and fetch it afterwards.

    Raises NotFound, Refused, NotReached and Throttled if nothing was done, and PeerError if the
    outcome is not known.
    """
    request_id, state = listing.request_id or "", STATES[type(job)]
    try:
        await _send(client, listing, job, now)
    except (NotReached, Throttled):
        raise
    except PeerError as error:
        return await _find_out(client, listing, job, now, error)
    if state == DELETED:
        return Outcome(state=state)
    return Outcome(await fetch(client, request_id) or _assumed(listing, job, now), state)


async def _send(client: Client, listing: Listing, job: ChangeJob, now: int) -> None:
    request_id = listing.request_id or ""
    match job:
        case StopRequest():
            await client.stop(request_id)
        case ResumeRequest():
            ends_at = end_after(listing.wish, now)
            seconds = None if ends_at is None else seconds_until(ends_at, now)
            await client.resume(request_id, seconds)
        case DeleteRequest():
            await client.delete(request_id)


def end_after(wish: Wish, now: int) -> int | None:
    """Return the end (epoch ms) of a resumed request: an end in the past is none."""
    return wish.ends_at if wish.ends_at is not None and wish.ends_at > now else None


async def _find_out(
    client: Client, listing: Listing, job: ChangeJob, now: int, error: PeerError
) -> Outcome:
    """Fetch a request to find out whether a change was made; raise `error` if that fails."""
    is_deleted = isinstance(job, DeleteRequest)
    try:
        answer = await client.get(listing.request_id or "")
    except NotFound:
        if not is_deleted:
            raise
        return Outcome(state=DELETED)
    except (PeerError, Refused):
        raise error from None
    if not is_deleted and is_over(answer, listing, now) == isinstance(job, StopRequest):
        return Outcome(answer, STATES[type(job)])
    return Outcome(answer, text="service-unchanged")


async def fetch(client: Client, request_id: str) -> Answer | None:
    """Fetch a request after a change, None if the server fails now; raises NotFound."""
    try:
        return await client.get(request_id)
    except NotFound:
        raise
    except (PeerError, Refused):
        return None


def _assumed(listing: Listing, job: ChangeJob, now: int) -> Answer | None:
    """Return the known answer with the change that the server confirmed."""
    if listing.answer is None or isinstance(job, StopRequest):
        return listing.answer
    return replace(listing.answer, expires_at=end_after(listing.wish, now), is_enabled=True)


def is_over(answer: Answer, listing: Listing, now: int) -> bool:
    """Check whether a request has ended, or ends as one does that was stopped just now."""
    ends = answer.expires_at
    if ends is not None and ends <= now + (0 if _is_wished(ends, listing) else STOP_HORIZON):
        return True
    has_begun = answer.enabled_at is None or answer.enabled_at <= now
    return has_begun and not (answer.is_enabled or answer.lacks_account)


def _is_wished(ends: int, listing: Listing) -> bool:
    """Check whether it is the end that the seller wished for, by the server's clock or by ours."""
    known = listing.answer.expires_at if listing.answer and listing.state == LIVE else None
    wished = listing.wish.ends_at
    return ends == known or (wished is not None and abs(ends - wished) <= CLOCK_TOLERANCE)
