"""One request a wish, on servers that know no Idempotency-Key too.

The listing's id travels in the request's custom parameters. When an answer was
lost, the server's list is asked for it, and nothing is created anew before the
list has not had it for a while: the server may still be at work. Where it made
two after all, one stays.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import structlog

from bot.chat.changing import seconds
from bot.core import money
from bot.core.errors import (
    FieldProblem,
    MethodNotAllowed,
    NotFound,
    NotReached,
    PeerError,
    Refused,
    Throttled,
    Unauthorized,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from bot.chat.answers import Answer
    from bot.chat.client import Client
    from bot.chat.conversation import Share
    from bot.chat.edits import Addresses
    from bot.chat.store import Listing
    from bot.core.outbox import Message

log = structlog.get_logger()

SETTLING = 60_000
"""Milliseconds from a lost answer until the server's list is believed not to have the request."""

TIDYING = 300_000
"""Milliseconds until the list is looked through for what a lost create made late."""

ELSEWHERE = (NotFound, MethodNotAllowed)
"""Refusals of a create that no server of the interface gives: PAYMENTS_URL leads elsewhere."""

NAMED = re.compile(r'"([\w.\[\]]+)"')
"""A field as refusals quote it whose words are all that is told."""

EXPIRATION = {"donation": "never", "oneoff": "onPaymentCompleted", "drop": "limit"}
"""The interface's expirationType of each kind (section 1)."""


@dataclass(frozen=True, slots=True)
class Progress:
    """What is known of the tries so far; times in epoch ms.

    `lost` creates were sent whose outcome nobody told us, the last at `lost_at`.
    `told`: what the seller has heard, by key, so that they hear nothing twice.
    """

    since: int
    tries: int = 0
    lost: int = 0
    lost_at: int | None = None
    told: tuple[str, ...] = ()

    @classmethod
    def of(cls, message: Message, now: int) -> Progress:
        """Read what the message carries; a try that was cut short may have sent its create."""
        known = message.body.get("progress")
        if known is None:
            progress = cls(message.created_at)
        else:
            progress = cls(**{**known, "told": tuple(known["told"])}).set_right(now)
        cut_short = message.uncertain or message.attempts > 1
        return progress.after_loss(now) if cut_short else progress

    def set_right(self, now: int) -> Progress:
        """Give the same where the clock was set back since: what was, was now at the latest."""
        lost_at = None if self.lost_at is None else min(self.lost_at, now)
        return replace(self, since=min(self.since, now), lost_at=lost_at)

    def after_loss(self, now: int) -> Progress:
        """Add a create of which nobody knows what became."""
        return replace(self, lost=self.lost + 1, lost_at=now)

    def to_json(self) -> dict[str, Any]:
        """Give what `of` reads."""
        return {name: getattr(self, name) for name in self.__slots__}

    def unsettled(self, now: int, settling: int) -> int:
        """How many ms the server may still be at work on a create whose answer was lost."""
        if self.lost_at is None:
            return 0
        return settling - min(now - self.lost_at, settling)


class Attempt:
    """One try to create a listing's request, after those in `progress`.

    `paid` are the ids of requests whose payments were told.
    """

    def __init__(
        self, client: Client, listing: Listing, progress: Progress, paid: Collection[str]
    ) -> None:
        self._client = client
        self._listing = listing
        self._progress = progress
        self._paid = paid
        self._sent = False
        self._found = 0
        self._untidy = False

    async def run(self, body: Mapping[str, Any], *, settled: bool) -> Answer | None:
        """Find the request or make it; None where it is too early to say that it isn't there."""
        if self._progress.tries or self._progress.lost_at is not None:
            if found := await self._client.find(self._listing.id, self._listing.created_at):
                return await self._keep(found)
            if not settled:
                return None
        self._sent = True
        return await self._client.create(
            body, self._listing.id, owner=f"seller-{self._listing.seller_id}"
        )

    def progress_after(self, error: Exception, now: int) -> Progress:
        """Give what is known after this error: whether the request may have been made."""
        unsure = self._sent and not isinstance(error, NotReached | Throttled | Refused)
        return self._progress.after_loss(now) if unsure else self._progress

    @property
    def leaves_more(self) -> bool:
        """Whether there is or may yet be more at the server than the request that was made."""
        return self._untidy or self._progress.lost > self._found

    def is_final(self, error: Exception) -> bool:
        """Whether trying again is of no use.

        It is where nothing of ours answers, and as long as the request may have been made.
        """
        if isinstance(error, Unauthorized):
            return self._progress.lost_at is None
        return self._sent and isinstance(error, Refused) and not isinstance(error, ELSEWHERE)

    async def _keep(self, found: Sequence[Answer]) -> Answer:
        self._found = len(found)
        kept = next((one for one in found if is_paid(one, self._paid)), found[0])
        try:
            await _remove(self._client, self._listing.id, found, {kept.id, *self._paid})
        except (PeerError, Refused) as error:
            self._untidy = True
            log.warning("made twice", listing=self._listing.id, reason=str(error))
        return kept


async def tidy(client: Client, listing: Listing, paid: Collection[str]) -> None:
    """Delete what a create made late, beside the request that the seller has.

    Raises PeerError and Refused.
    """
    found = await client.find(listing.id, listing.created_at)
    await _remove(client, listing.id, found, {listing.request_id or "", *paid})


async def _remove(
    client: Client, listing_id: str, found: Sequence[Answer], kept: Collection[str]
) -> None:
    """Delete what stands beside `kept`, but nothing that was paid."""
    for extra in found:
        if extra.id in kept:
            continue
        if is_paid(extra):
            log.error("made twice and paid", listing=listing_id, request=extra.id)
            continue
        await client.delete(extra.id)
        log.warning("made twice, one deleted", listing=listing_id, request=extra.id)


def is_paid(answer: Answer, paid: Collection[str] = ()) -> bool:
    """Whether money came for a request, as far as anybody tells."""
    sold = None not in (answer.total_units, answer.remaining_units) and (
        answer.total_units != answer.remaining_units
    )
    return bool(answer.id in paid or answer.paid_count or sold or not answer.is_enabled)


def request_body(
    listing: Listing, addresses: Addresses, instrument: str | None, now: int
) -> dict[str, Any]:
    """Give the body of create (interface, section 2.1) as at `now` (epoch ms).

    `instrument` is the operator's, for a wish that names none. What is not wished for is left out.
    """
    wish = listing.wish
    paid_in = wish.instrument or instrument or wish.currency
    starts = wish.starts_at if (wish.starts_at or 0) > now else None
    webhook = {
        "webhookUrl": f"{addresses.receiver}/{listing.token}",
        "customParameters": {"listing": listing.id},
    }
    product = {
        "name": wish.name,
        "description": wish.description,
        "imageUrl": wish.image and f"{addresses.images}/{wish.image}",
    }
    body = {
        "product": _given(product),
        "instrumentCurrencyCode": paid_in,
        "denominationCurrencyCode": wish.currency if paid_in != wish.currency else None,
        "receivers": [_receiver(share, wish.currency) for share in wish.shares],
        "notifications": _given({"webhook": webhook, "email": wish.email}),
        "expirationType": EXPIRATION[wish.kind],
        "totalUnits": wish.units,
        "requestedUserData": list(wish.asks),
        "redirectUrl": wish.redirect_url,
        "enabledAt": None if starts is None else _iso(starts),
        "expirationInSeconds": None if wish.ends_at is None else seconds(wish.ends_at, now),
    }
    return _given(body)


def _given(fields: dict[str, Any]) -> dict[str, Any]:
    """Leave out what is not wished for."""
    return {name: value for name, value in fields.items() if value not in (None, "", [])}


def _receiver(share: Share, currency: str) -> dict[str, Any]:
    return {
        "sendAmount": money.from_minor(share.amount, currency),
        "destination": share.destination,
    }


def _iso(at: int) -> str:
    """Write a time in epoch ms as ISO 8601 in UTC."""
    moment = datetime.fromtimestamp(at // 1000, UTC) + timedelta(milliseconds=at % 1000)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def problem_of(error: Refused) -> FieldProblem:
    """Give what a refusal is about: the field that it names, in whichever way servers do."""
    if error.info:
        return error.info[0]
    named = NAMED.search(error.message)
    return FieldProblem(named[1] if named else "", error.message)
