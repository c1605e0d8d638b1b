"""Faults on demand: refusals, lost answers and slow answers, for tests of the relay."""

from dataclasses import dataclass, field
from random import Random
from typing import Literal

from bot.sandbox.world.errors import ApiError, bad_request, too_many

Kind = Literal["error", "cut", "drop", "delay", "picture"]

PICTURED = frozenset({"sendphoto", "senddocument", "editmessagemedia"})
"""Methods that bring a picture or a file, in lower case."""


@dataclass(slots=True)
class Fault:
    """One planned misbehaviour.

    error   answer `code` (429 with `retry_after` seconds); with `accepted` the call still counts
    cut     accept the call, then close the connection without a whole answer
    drop    close the connection without accepting the call
    delay   accept the call, then hold the answer for `seconds`
    picture refuse a call that brings a picture with 400 and `description`, which says by default
            what Telegram does of one that it can't process

    `method` None means every method but getUpdates, or that brings a picture; `chat_id` None every
    chat. Meets such a call with the probability `chance`, and is used up after `times` of them.
    """

    kind: Kind
    method: str | None = None
    chat_id: int | None = None
    times: int = 1
    code: int = 500
    description: str = ""
    retry_after: int | None = None
    seconds: float = 0.0
    accepted: bool = False
    chance: float = 1.0

    def meets(self, method: str, chat_id: int | None) -> bool:
        named = method != "getupdates" if self.method is None else self.method.lower() == method
        if self.kind == "picture":
            named &= method in PICTURED
        return named and self.chat_id in (None, chat_id)

    def refusal(self) -> ApiError:
        """Return the refusal that the call is answered with."""
        if self.retry_after is not None:
            return too_many(self.retry_after)
        if self.kind == "picture":
            return bad_request(self.description or "IMAGE_PROCESS_FAILED")
        return ApiError(self.code, self.description or "Internal Server Error")


@dataclass(slots=True)
class Faults:
    """The faults still to come, oldest first; `dice` says which calls chance picks."""

    planned: list[Fault] = field(default_factory=list)
    dice: Random = field(default_factory=lambda: Random(0))  # noqa: S311 - no secret

    def add(self, fault: Fault) -> Fault:
        self.planned.append(fault)
        return fault

    def clear(self) -> None:
        self.planned.clear()

    def take(self, method: str, chat_id: int | None) -> Fault | None:
        """Take the fault for this call (method in lower case), counted down; None for none."""
        for fault in self.planned:
            if fault.meets(method, chat_id) and self.dice.random() < fault.chance:
                fault.times -= 1
                self.planned = [one for one in self.planned if one.times > 0]
                return fault
        return None
