"""What is known of the tries to create a request, kept in the message that asks for it."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from bot.chat.provider.dialects import Failure

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from bot.core.outbox.outbox import Message


@dataclass(frozen=True, slots=True)
class Progress:
    """What is known of the tries so far; times in epoch ms.

    `lost` creates were sent whose outcome nobody told us, the last at `lost_at`.
    `told`: what the seller has heard, by key, so that they hear nothing twice. `failed` are the
    names of the dialects that led to no request of this price, `failure` what came of the first
    of them, and `doomed` the ids of the requests of another price.
    """

    since: int
    tries: int = 0
    lost: int = 0
    lost_at: int | None = None
    told: tuple[str, ...] = ()
    failed: tuple[str, ...] = ()
    failure: Failure | None = None
    doomed: tuple[str, ...] = ()

    @classmethod
    def of(cls, message: Message, now: int) -> Progress:
        """Read what the message carries; a try that was cut short may have sent its create."""
        known = message.body.get("progress")
        progress = cls.from_json(known) if known else cls(message.created_at)
        progress = progress.set_right(now)
        cut_short = message.uncertain or message.attempts > 1
        return progress.after_loss(now) if cut_short else progress

    def set_right(self, now: int) -> Progress:
        """Return the same where the clock was set back since: what was, was now at the latest."""
        lost_at = None if self.lost_at is None else min(self.lost_at, now)
        return replace(self, since=min(self.since, now), lost_at=lost_at)

    def after_loss(self, now: int) -> Progress:
        """Add a create of which nobody knows what became."""
        return replace(self, lost=self.lost + 1, lost_at=now)

    def after_failure(self, dialect: str, failure: Failure, made: Collection[str] = ()) -> Progress:
        """Add a dialect that led to no request of this price, and those that it `made` instead."""
        return replace(
            self,
            failed=(*self.failed, dialect),
            failure=self.failure or failure,
            doomed=(*self.doomed, *made),
            lost_at=None,
        )

    def to_json(self) -> dict[str, Any]:
        """Return what `from_json` reads."""
        return asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Progress:
        """Read what `to_json` gave, also in a version that knew less."""
        lists = {name: tuple(data.get(name, ())) for name in ("told", "failed", "doomed")}
        failure = data.get("failure")
        return cls(**{**data, **lists, "failure": failure and Failure.from_json(failure)})

    def unsettled(self, now: int, settling: int) -> int:
        """How many ms the server may still be at work on a create whose answer was lost."""
        if self.lost_at is None:
            return 0
        return settling - min(now - self.lost_at, settling)
