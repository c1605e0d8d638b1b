"""One request a wish, on servers that know no Idempotency-Key too.

The listing's id travels in the request's custom parameters. When an answer was
lost, the server's list is asked for it, and nothing is created anew before the
list has not had it for a while: the server may still be at work. Where it made
two after all, one stays. What has another price than its seller's is deleted, and
made anew in the next dialect: what failed is committed before anything is deleted,
so that whoever goes on after a crash knows which requests may go.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import structlog

from bot.chat.model.answers import was_paid
from bot.chat.provider.dialects import DIALECTS, Failure, PriceCheck, check_price, is_about_spelling
from bot.core.errors import (
    BotError,
    FieldProblem,
    InvalidBody,
    MethodNotAllowed,
    NotFound,
    NotReached,
    PeerError,
    Refused,
    Throttled,
    Unauthorized,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from bot.chat.model.answers import Answer
    from bot.chat.provider.client import Client
    from bot.chat.provider.dialects import Dialect
    from bot.chat.requests.create_progress import Progress
    from bot.chat.store.listings import Listing

log = structlog.get_logger()

SETTLING = 60_000
"""Milliseconds from a lost answer until the server's list is believed not to have the request."""

TIDYING = 300_000
"""Milliseconds until the list is looked through for what a lost create made late."""

ELSEWHERE = (NotFound, MethodNotAllowed)
"""Refusals of a create that no server of the interface gives: PAYMENTS_URL leads elsewhere."""

NAMED = re.compile(r'"([\w.\[\]]+)"')
"""A field as refusals quote it whose words are all that is told."""


class OtherPrice(BotError):
    """The server made `requests` of another price than was wished for."""

    def __init__(self, requests: Sequence[Answer]) -> None:
        super().__init__(f"the server made it for {_told(requests[0]) or 'an untold price'}")
        self.requests = tuple(requests)


class NoDialect(BotError):
    """No spelling leads to the price that was wished for."""

    def __init__(self) -> None:
        super().__init__("no spelling of the currencies leads to the price that was wished for")


@dataclass(frozen=True, slots=True)
class Order:
    """A request that is to be made, paid in `instrument`; `dialects` are tried in their order.

    `paid` are the ids of requests whose payments were told.
    """

    listing: Listing
    instrument: str
    dialects: tuple[Dialect, ...]
    paid: Collection[str] = ()


class Attempt:
    """One try to create a listing's request, after those in `progress`."""

    def __init__(self, client: Client, order: Order, progress: Progress) -> None:
        self._client = client
        self._order = order
        self._progress = progress
        self._sent = self._is_made = False
        self._found = 0
        self._untidy = False
        self._checks: dict[str, PriceCheck] = {}
        self.is_left = False
        self.spoken: Dialect | None = None

    async def run(
        self, write: Callable[[Dialect], Mapping[str, Any]], *, settled: bool
    ) -> Answer | None:
        """Find the request or make it; None where it is too early to say that it isn't there.

        Raises OtherPrice, NoDialect, PeerError and Refused.
        """
        await self._delete_doomed()
        if self._progress.tries or self._progress.lost_at is not None:
            if kept := await self._find():
                return kept
            if not settled:
                return None
        dialect = self._dialect
        if dialect is None:
            raise NoDialect
        self._sent = True
        owner = f"seller-{self._order.listing.seller_id}"
        made = await self._client.create(write(dialect), self._key(dialect), owner=owner)
        self._is_made = True
        if await self._is_other(made):
            raise OtherPrice([made])
        self.spoken = dialect
        return made

    def is_unchecked(self, made: Answer) -> bool:
        """Whether the server doesn't tell what this request costs."""
        return self._checks.get(made.id) is PriceCheck.MISSING

    def progress_after(self, error: Exception, now: int) -> Progress:
        """Return what is known after this error: what failed, whether the request may be there."""
        dialect = self._dialect
        if isinstance(error, OtherPrice) and dialect:
            made = [one.id for one in error.requests]
            return self._progress.after_failure(
                dialect.name, Failure(_told(error.requests[0])), made
            )
        if self.is_misspelled(error) and dialect and isinstance(error, Refused):
            problem = problem_of(error)
            failure = Failure(refusal=(problem.field, problem.message))
            return self._progress.after_failure(dialect.name, failure)
        untaken = isinstance(error, NotReached | Throttled | Refused)
        unsure = self._is_made or (self._sent and not untaken)
        return self._progress.after_loss(now) if unsure else self._progress

    @property
    def leaves_more(self) -> bool:
        """Whether there is or may yet be more at the server than the request that was made."""
        return self._untidy or self._progress.lost > self._found

    def is_misspelled(self, error: Exception) -> bool:
        """Whether another spelling may help against this error."""
        if isinstance(error, OtherPrice):
            return True
        several = len(self._order.dialects) > 1
        if not several or not self._sent or not isinstance(error, InvalidBody):
            return False
        return is_about_spelling(problem_of(error))

    def is_final(self, error: Exception) -> bool:
        """Whether trying again is of no use.

        It is where nothing of ours answers, and as long as the request may have been made.
        """
        if isinstance(error, Unauthorized):
            return self._progress.lost_at is None
        return self._sent and isinstance(error, Refused) and not isinstance(error, ELSEWHERE)

    @property
    def _dialect(self) -> Dialect | None:
        """The first that has not failed."""
        left = (one for one in self._order.dialects if one.name not in self._progress.failed)
        return next(left, None)

    def _key(self, dialect: Dialect) -> str:
        """Each dialect makes another body, and a server may hold a key against its body."""
        listing_id = self._order.listing.id
        return listing_id if dialect is DIALECTS[0] else f"{listing_id}-{dialect.name}"

    async def _delete_doomed(self) -> None:
        """Delete the requests of another price. Raises NoDialect where the server won't."""
        for request_id in self._progress.doomed:
            if request_id in self._order.paid:
                continue
            try:
                await self._client.delete(request_id)
            except Refused as error:
                self.is_left = True
                log.error("not deleted", request=request_id, reason=str(error))  # noqa: TRY400 - foreseen
                raise NoDialect from error

    async def _find(self) -> Answer | None:
        """Return the request that the server's list has for the listing, and delete any beside it.

        Raises OtherPrice where the create that was lost made one of another price.
        """
        listing = self._order.listing
        listed = await self._client.find_by_listing(listing.id, listing.created_at)
        found = [one for one in listed if one.id not in self._progress.doomed]
        others = [one for one in found if await self._is_other(one)]
        right = [one for one in found if one not in others]
        if others and not right:
            raise OtherPrice(others)
        return await self._keep(right, others) if right else None

    async def _is_other(self, answer: Answer) -> bool:
        """Whether a request has another price than was wished for; one that was paid stays.

        After a dialect that failed, a price that isn't told is none that can be believed.
        """
        if answer.id in self._order.paid or answer.paid_count:
            return False
        checked = self._checks[answer.id] = await self._checked(answer)
        return checked is PriceCheck.WRONG or (
            checked is PriceCheck.MISSING and bool(self._progress.failed)
        )

    async def _checked(self, answer: Answer) -> PriceCheck:
        """Compare the price, by what is read back where the answer doesn't tell it.

        Raises PeerError: what could not be read now is no price that a server doesn't tell.
        """
        wish, instrument = self._order.listing.wish, self._order.instrument
        if (told := check_price(answer, wish, instrument)) is not PriceCheck.MISSING:
            return told
        try:
            return check_price(await self._client.get(answer.id), wish, instrument)
        except Refused:
            return PriceCheck.MISSING

    async def _keep(self, right: Sequence[Answer], others: Sequence[Answer]) -> Answer:
        order, client = self._order, self._client
        self._found = len(right) + len(others)
        kept = next((one for one in right if was_paid(one, order.paid)), right[0])
        try:
            for other in others:
                await client.delete(other.id)
            await _remove(client, order.listing.id, right, {kept.id, *order.paid})
        except (PeerError, Refused) as error:
            self._untidy = True
            log.warning("made twice", listing=order.listing.id, reason=str(error))
        return kept


def _told(answer: Answer) -> str | None:
    """Write the price that a server tells, in its own words."""
    price = answer.price
    return None if price is None else f"{price.amount} {price.currency}"


async def tidy(client: Client, listing: Listing, paid: Collection[str]) -> None:
    """Delete what a create made late, beside the request that the seller has.

    Raises PeerError and Refused.
    """
    found = await client.find_by_listing(listing.id, listing.created_at)
    await _remove(client, listing.id, found, {listing.request_id or "", *paid})


async def _remove(
    client: Client, listing_id: str, found: Sequence[Answer], kept: Collection[str]
) -> None:
    """Delete what stands beside `kept`, but nothing that was paid."""
    for extra in found:
        if extra.id in kept:
            continue
        if was_paid(extra):
            log.error("made twice and paid", listing=listing_id, request=extra.id)
            continue
        await client.delete(extra.id)
        log.warning("made twice, one deleted", listing=listing_id, request=extra.id)


def problem_of(error: Refused) -> FieldProblem:
    """Give what a refusal is about: the field that it names, in whichever way servers do."""
    if error.info:
        return error.info[0]
    named = NAMED.search(error.message)
    return FieldProblem(named[1] if named else "", error.message)
