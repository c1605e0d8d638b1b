"""Payers who post the form of a pay page, and post it again where no answer came.

Each is a bare connection, so that a crowd costs less than the replicas.
"""

from __future__ import annotations

import asyncio
import itertools
import random
import re
import resource
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from tests.support.raw_payers import Answer, posted

PAID, REFUSED, UNAVAILABLE = 303, 409, 503
PATIENCE = 40.0
"""Longer than any answer of the product may take."""

AGAIN_SECONDS = 0.3
"""The mean of seconds after which a form is posted again."""

AGAIN = {502, UNAVAILABLE}
"""What a proxy answers for a replica that died, and the product while it can't store."""

RETRY_AFTER = re.compile(r"^retry-after: *\d+\r?$", re.IGNORECASE | re.MULTILINE)
FILES = 16_384


@dataclass(slots=True)
class Payers:
    """Everybody who pays at these addresses in turn; `receipts` is what they have, by form.

    `statuses` are all answers, and the names of errors where none came.
    """

    addresses: Sequence[str]
    seed: int = 18
    receipts: dict[str, str] = field(default_factory=dict)
    outcomes: dict[str, int] = field(default_factory=dict)
    statuses: Counter[str] = field(default_factory=Counter)
    doubled: int = 0
    longest: float = 0.0
    _turns: Iterator[str] = field(init=False)
    _dice: random.Random = field(init=False)

    def __post_init__(self) -> None:
        self._turns = itertools.cycle(self.addresses)
        self._dice = random.Random(self.seed)

    @property
    def paid(self) -> int:
        return sum(outcome == PAID for outcome in self.outcomes.values())

    @property
    def refused(self) -> int:
        return sum(outcome == REFUSED for outcome in self.outcomes.values())

    def unexpected(self, *but: str) -> str:
        """Name the answers that no payer may get: all but paid, refused, a 503 that says when."""
        fine = {f"{PAID}", f"{REFUSED}", f"{UNAVAILABLE}", *but}
        found = {name: n for name, n in self.statuses.items() if name not in fine}
        return ", ".join(f"{n} x {name}" for name, n in sorted(found.items())) or "none"

    async def pay(self, request_id: str, number: int) -> int:
        """Post the form of payer `number` until the page decides; return the status."""
        token = f"{request_id[:8]}-{number:018d}"
        while (status := await self._post(request_id, token)) not in {PAID, REFUSED}:
            if status and status not in AGAIN:
                break
            await asyncio.sleep(self._dice.uniform(0.5, 1.5) * AGAIN_SECONDS)
        self.outcomes[token] = status
        return status

    async def _post(self, request_id: str, token: str) -> int:
        loop = asyncio.get_running_loop()
        began = loop.time()
        try:
            async with asyncio.timeout(PATIENCE):
                answer = await posted(next(self._turns), request_id, token)
        except (OSError, TimeoutError, ValueError) as error:
            self.statuses[type(error).__name__] += 1
            return 0
        finally:
            self.longest = max(self.longest, loop.time() - began)
        self._note(token, answer)
        return answer.status

    def _note(self, token: str, answer: Answer) -> None:
        is_bare = answer.status == UNAVAILABLE and not RETRY_AFTER.search(answer.text)
        self.statuses[f"{answer.status}{' without Retry-After' if is_bare else ''}"] += 1
        if answer.status == PAID:
            receipt = answer.location.rpartition("/")[2]
            self.doubled += self.receipts.setdefault(token, receipt) != receipt

    async def pay_steadily(
        self, request_ids: Sequence[str], number: int, seconds: float, first: int = 0
    ) -> None:
        """Begin so many payments at an even pace, whether those before have been answered."""
        loop = asyncio.get_running_loop()
        due = loop.time()
        async with asyncio.TaskGroup() as payers:
            for n in range(first, first + number):
                payers.create_task(self.pay(request_ids[n % len(request_ids)], n))
                due += seconds / number
                await asyncio.sleep(max(0.0, due - loop.time()))


def open_files() -> None:
    """Allow this process a connection for each payer."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = FILES if hard == resource.RLIM_INFINITY else min(FILES, hard)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
