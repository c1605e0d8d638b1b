"""Faults on demand: refusals, lost answers and slow answers, for tests of the relay."""

from dataclasses import dataclass, field
from random import Random
from typing import Literal

Kind = Literal["error", "cut", "drop", "delay"]


@dataclass(slots=True)
class Fault:
    """One planned misbehaviour.

    error   answer `code` (429 with `retry_after` seconds); with `accepted` the call still counts
    cut     accept the call, then close the connection without a whole answer
    drop    close the connection without accepting the call
    delay   accept the call, then hold the answer for `seconds`

    `method` None means every method but getUpdates, `chat_id` None every chat. Meets such a call
    with the probability `chance`, and is used up after `times` of them.
    """

    kind: Kind
    method: str | None = None
    chat_id: int | None = None
    times: int = 1
    code: int = 500
    description: str = "Internal Server Error"
    retry_after: int | None = None
    seconds: float = 0.0
    accepted: bool = False
    chance: float = 1.0

    def meets(self, method: str, chat_id: int | None) -> bool:
        named = method != "getupdates" if self.method is None else self.method.lower() == method
        return named and self.chat_id in (None, chat_id)


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
