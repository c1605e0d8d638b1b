"""Errors, faults on demand, and Telegram's limits.

ApiError     Telegram's refusal of a bot's call, answered as JSON
WorldError   a person's act that a Telegram client would not offer
"""

import math
from dataclasses import dataclass, field
from random import Random
from typing import Any, Literal


class ApiError(Exception):
    """A refused Bot API call: HTTP status, Telegram's description, `parameters` if any."""

    def __init__(self, code: int, description: str, **parameters: int) -> None:
        super().__init__(description)
        self.code = code
        self.description = description
        self.parameters = parameters

    def json(self) -> dict[str, Any]:
        """Return the body as Telegram writes it: ok, error_code, description, parameters."""
        body: dict[str, Any] = {
            "ok": False,
            "error_code": self.code,
            "description": self.description,
        }
        return body | ({"parameters": self.parameters} if self.parameters else {})


class WorldError(Exception):
    """A person's act that a Telegram client would not offer; the message says why."""


def bad_request(reason: str, **parameters: int) -> ApiError:
    return ApiError(400, f"Bad Request: {reason}", **parameters)


def forbidden(reason: str) -> ApiError:
    return ApiError(403, f"Forbidden: {reason}")


def conflict(reason: str) -> ApiError:
    return ApiError(409, f"Conflict: {reason}")


def too_many(seconds: int) -> ApiError:
    """Return 429 with the seconds to wait, in the description and in `parameters.retry_after`."""
    return ApiError(429, f"Too Many Requests: retry after {seconds}", retry_after=seconds)


# Faults on demand: refusals, lost answers and slow answers, for tests of the bot.


FaultKind = Literal["error", "cut", "drop", "delay", "picture"]

WITH_PICTURE = frozenset({"sendphoto", "senddocument", "editmessagemedia"})
"""Methods whose calls have a picture or a file, in lower case."""


@dataclass(slots=True)
class Fault:
    """One planned misbehaviour of a kind.

    error   answer `code` (429 with `retry_after` seconds); with `accepted` the call still counts
    cut     accept the call, then close the connection without a whole answer
    drop    close the connection without accepting the call
    delay   accept the call, then hold the answer for `seconds`
    picture refuse a call with a picture: 400 and `description`, by default Telegram's words for a
            picture that it can't process
    """

    kind: FaultKind

    method: str | None = None
    """The affected method; None for every method except getUpdates."""

    chat_id: int | None = None
    """The affected chat; None for every chat."""

    times: int = 1
    """The number of affected calls."""

    code: int = 500
    description: str = ""
    retry_after: int | None = None
    seconds: float = 0.0
    accepted: bool = False

    chance: float = 1.0
    """The probability that a matching call is affected."""

    def meets(self, method: str, chat_id: int | None) -> bool:
        is_named = method != "getupdates" if self.method is None else self.method.lower() == method
        if self.kind == "picture":
            is_named &= method in WITH_PICTURE
        return is_named and self.chat_id in (None, chat_id)

    def refusal(self) -> ApiError:
        """Return the refusal that the call is answered with."""
        if self.retry_after is not None:
            return too_many(self.retry_after)
        if self.kind == "picture":
            return bad_request(self.description or "IMAGE_PROCESS_FAILED")
        return ApiError(self.code, self.description or "Internal Server Error")


@dataclass(slots=True)
class Faults:
    """The planned faults, oldest first; `dice` decides whether a fault with a `chance` occurs."""

    planned: list[Fault] = field(default_factory=list)
    dice: Random = field(default_factory=lambda: Random(0))  # noqa: S311 - no secret

    def add(self, fault: Fault) -> Fault:
        self.planned.append(fault)
        return fault

    def clear(self) -> None:
        self.planned.clear()

    def take(self, method: str, chat_id: int | None) -> Fault | None:
        """Return and count the fault for this call, or None; `method` is in lower case."""
        for fault in self.planned:
            if fault.meets(method, chat_id) and self.dice.random() < fault.chance:
                fault.times -= 1
                self.planned = [planned for planned in self.planned if planned.times > 0]
                return fault
        return None


# Telegram's limits on how fast a bot may send.
#
# The source is core.telegram.org/bots/faq, "My bot is hitting limits": one message a second in a
# chat with short bursts, 20 a minute in a group, about 30 a second in all. Telegram answers 429
# to edits as well and publishes no figures for them: here an edit counts as a message of its
# chat. An edit of an inline message, whose chat the bot doesn't know, has the rate of a group.


JITTER_SECONDS = 0.25
"""Tolerance: Telegram's own count isn't exact, and a bot that respects the rates must not fail
because of network delays."""


@dataclass(frozen=True, slots=True)
class Rate:
    """`count` messages per `seconds`, and up to `burst` messages at once after a rest."""

    count: float
    seconds: float
    burst: int

    @property
    def interval(self) -> float:
        return self.seconds / self.count


@dataclass(frozen=True, slots=True)
class Limits:
    """The rates; None switches a rate off."""

    chat: Rate | None = Rate(1, 1.0, 4)
    group: Rate | None = Rate(20, 60.0, 20)

    inline: Rate | None = Rate(20, 60.0, 4)
    """For the edits of one inline message."""

    total: Rate | None = Rate(30, 1.0, 30)


NO_LIMITS = Limits(chat=None, group=None, inline=None, total=None)


@dataclass(slots=True)
class Limiter:
    """Counts messages by the generic cell rate algorithm, for each chat and for all together."""

    limits: Limits
    _due: dict[int | str | None, float] = field(default_factory=dict)

    def take(self, chat_id: int, now: float, *, group: bool) -> int:
        """Count a message or edit and return 0; if over the limit, return the seconds to wait."""
        return self._take(chat_id, self.limits.group if group else self.limits.chat, now)

    def take_inline(self, inline_message_id: str, now: float) -> int:
        """Count an edit of an inline message; returns the same as `take`."""
        return self._take(inline_message_id, self.limits.inline, now)

    def _take(self, place: int | str, own: Rate | None, now: float) -> int:
        cells = ((place, own), (None, self.limits.total))
        kept: list[tuple[int | str | None, Rate]] = [(key, rate) for key, rate in cells if rate]
        wait = max((self._wait(key, rate, now) for key, rate in kept), default=0.0)
        if wait > JITTER_SECONDS:
            return math.ceil(wait - JITTER_SECONDS)
        for key, rate in kept:
            self._due[key] = max(self._due.get(key, now), now) + rate.interval
        return 0

    def _wait(self, key: int | str | None, rate: Rate, now: float) -> float:
        return self._due.get(key, now) - (rate.burst - 1) * rate.interval - now
