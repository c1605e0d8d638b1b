"""A Bot API server as a process, with Telegram's limits; the flood tells it what people do.

`started` runs it. Each public method of `TelegramWorld` is a command: a line of JSON in is its name
and arguments, a line out its result.
"""

from __future__ import annotations

import asyncio
import io
import itertools
import json
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from PIL import Image

from bench.payments import chat_of, told
from bench.stage import OFFER, pay_link
from bot.sandbox.web.server import Mailbox
from bot.sandbox.world import people
from bot.sandbox.world.errors import Fault
from bot.sandbox.world.model import Message
from bot.sandbox.world.people import Person
from bot.sandbox.world.world import World
from tests.proofs import clusters, processes
from tests.support.form_questions import question_of
from tests.support.sellers_and_payers import Seller, link_of

PATIENCE = 60.0
FOREVER = 10**9


@dataclass(frozen=True, slots=True)
class Telegram:
    """A Bot API server in another process."""

    process: processes.Helper
    url: str
    token: str
    smtp: str
    """Where letters are taken."""

    lock: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def ask(self, name: str, **given: Any) -> Any:
        """Run a command of `TelegramWorld`. Raises RuntimeError if it fails."""
        async with self.lock:
            self.process.tell({"name": name, **given})
            answer = await self.process.line()
        if "error" in answer:
            raise RuntimeError(f"{name}: {answer['error']}")
        return answer["result"]


@asynccontextmanager
async def started() -> AsyncIterator[Telegram]:
    """Run the server until the block ends."""
    async with processes.helper("flood_telegram") as process:
        yield Telegram(process, **await process.line())


class TelegramWorld:
    """The people at this Telegram. Each public method is a command; all answer with JSON."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.sellers: list[Person] = []
        self.crowd: list[Person] = []
        self.floods: list[asyncio.Task[None]] = []

    async def open_shops(self, number: int) -> dict[int, str]:
        """Create a donation for each of so many sellers; return pay page paths by chat."""
        self.sellers = [self._join(f"Seller {n}") for n in range(number)]
        return {person.id: await self._offer(person, OFFER) for person in self.sellers}

    async def offer(self, words: str) -> str:
        """Create a request by one more person, in one line; return its pay page's path."""
        return await self._offer(self._join("Another seller"), words)

    async def guided(self, email: str | None = None) -> str:
        """Create a request by one more person, step by step; return its pay page's path.

        It has a picture, or an email address that is told of payments.
        """
        person = self._join("A careful seller")
        await self._offer(person, OFFER)
        return await _guided_request(Seller(person), email)

    async def invite(self, number: int, groups: int = 0) -> None:
        """Add people who have started the bot, and groups of the first of them with it."""
        self.crowd = [self._join(f"Guest {n}") for n in range(number)]
        for n in range(groups):
            self.crowd[0].new_group(f"Group {n}")

    async def chatty(self, every: float) -> None:
        """Start sending /help from each of those people, once in so many seconds."""
        for place, person in enumerate(self.crowd):
            self._begin(self._say(person, None, every, place / len(self.crowd)))

    async def groups(self, every: float) -> None:
        """Start sending /help to each of the groups, once in so many seconds."""
        person = self.crowd[0]
        rooms = [chat for chat in self.world.chats.values() if chat.is_group]
        for place, room in enumerate(rooms):
            self._begin(self._say(person, room, every, place / len(rooms)))

    async def inline(self, rate: float, accounts: int, answer_seconds: float) -> None:
        """Start searching from accounts in turn; each answer of the bot takes time."""
        slow = Fault("delay", "answerInlineQuery", times=FOREVER, seconds=answer_seconds)
        self.world.faults.add(slow)
        everybody = [*self.sellers, *self.crowd][:accounts]
        numbers = itertools.count()

        def search() -> None:
            number = next(numbers)
            everybody[number % len(everybody)].ask_inline(f"coffee {number}")

        self._begin(_steadily(search, 1 / rate))

    async def calm(self) -> None:
        """End every flood."""
        self.world.faults.clear()
        for flood in self.floods:
            flood.cancel()
        await asyncio.gather(*self.floods, return_exceptions=True)
        self.floods = []

    async def quiet(self, seconds: float) -> None:
        """Wait until the bot has not called for so long."""
        since, seen = time.time(), -1
        async with asyncio.timeout(PATIENCE * 5):
            while seen != len(self.world.calls) or time.time() < since + seconds:
                if seen != len(self.world.calls):
                    since, seen = time.time(), len(self.world.calls)
                await asyncio.sleep(seconds / 10)

    async def alerts(self, after: int) -> list[Any]:
        """Return how many calls there were, and chat, time, payments of each alert among them."""
        calls = self.world.calls
        found = [[chat_of(one), one.time, told(one)] for one in calls[after:] if told(one)]
        return [len(calls), found]

    async def counts(self) -> dict[str, int]:
        """Return how many calls were taken, refused by Telegram's limits, and letters came."""
        methods = Counter(call.method for call in self.world.calls)
        refused = sum(call.code == 429 for call in self.world.refused)
        return {**methods, "refused": refused, "letters": self.world.mails.count}

    def _join(self, name: str) -> Person:
        return people.join(self.world, name, started=True)

    async def _offer(self, person: Person, words: str) -> str:
        """Create a request; the first one asks where the money goes."""
        before = len(_pictures(person))
        person.send(words)
        await self.world.wait_for(person.chat.from_bot, PATIENCE)
        if not before:
            person.send(f"$seller{person.id}")
        await self.world.wait_for(lambda: len(_pictures(person)) > before, PATIENCE)
        return urlsplit(pay_link(person)).path

    async def _say(self, person: Person, room: Any, every: float, phase: float) -> None:
        await asyncio.sleep(phase * every)
        await _steadily(lambda: person.send("/help", room), every)

    def _begin(self, flood: Awaitable[None]) -> None:
        self.floods.append(asyncio.ensure_future(flood))


def _pictures(person: Person) -> list[Any]:
    return [message for message in person.chat.from_bot() if message.photo]


async def _steadily(act: Callable[[], object], every: float) -> None:
    """Repeat an act at a steady rate, and catch up on what was missed."""
    due = time.monotonic()
    while True:
        act()
        due += every
        await asyncio.sleep(max(0.0, due - time.monotonic()))


async def _guided_request(seller: Seller, email: str | None) -> str:
    """Make a donation step by step, with a picture or an address that gets letters; its path."""
    kind = await seller.say("/new", question_of("ask-kind"))
    await seller.press(kind, "Donation", question_of("ask-name"))
    await seller.say("Coffee", question_of("ask-amount-donation"))
    review = await seller.say("5 USD", question_of("review"))
    options = await seller.press(review, "More options", "")
    if email:
        await seller.press(options, "Payment emails", "")
        await seller.say(email, "")
    else:
        await seller.press(options, "Photo", "")
        await seller.seen(lambda: seller.person.send_photo(_photo()), "👍")
    review = await seller.press(await _with(seller, "Done"), "Done", "")
    cards = len(seller.cards)
    seller.person.press(await _with(seller, "Create"), "Create")
    await seller.world.wait_for(lambda: len(seller.cards) > cards)
    return urlsplit(link_of(seller.cards[-1])).path


async def _with(seller: Seller, button: str) -> Message:
    """Wait for the newest message that has a button with these words."""

    def look() -> Message | None:
        for message in reversed(seller.said):
            if any(button in one.get("text", "") for one in message.buttons):
                return message
        return None

    found = await seller.world.wait_for(look)
    assert found
    return found


def _photo() -> bytes:
    made = io.BytesIO()
    Image.effect_noise((1600, 1200), 64).convert("RGB").save(made, "JPEG")
    return made.getvalue()


async def main() -> None:
    """Serve the world, say where, and obey until the pipe is closed."""
    async with clusters.strict_telegram() as telegram:
        town, mailbox = TelegramWorld(telegram.world), Mailbox(telegram.world)
        mailbox.open()
        processes.answer({"url": telegram.url, "token": telegram.world.token, "smtp": mailbox.url})
        orders = await processes.orders()
        while line := await orders.readline():
            command = json.loads(line)
            try:
                result = await getattr(town, command.pop("name"))(**command)
                processes.answer({"result": result})
            except Exception as error:  # noqa: BLE001 - whoever asked is told
                processes.answer({"error": repr(error)})
        await town.calm()
        await mailbox.close()


if __name__ == "__main__":
    asyncio.run(main())
