"""Sellers and payers of the whole product: their acts, and the messages that follow."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import httpx
import zxingcpp
from PIL import Image

from bot.sandbox.world import people
from tests.support.form_questions import question_of
from tests.support.service_harness import form_token

if TYPE_CHECKING:
    from bot.sandbox.world.model import Json, Message
    from bot.sandbox.world.world import World


SECONDS = 15.0
NOT_A_LINK = re.compile(r"[^\s<>]*://[^\s<>]*/pay/[0-9a-f]{24}")


@dataclass
class Seller:
    """A person at a Telegram client; every act waits for the bot's message."""

    person: people.Person

    @property
    def world(self) -> World:
        return self.person.world

    @property
    def said(self) -> list[Message]:
        """Return the bot's messages in their chat, oldest first."""
        return self.person.chat.from_bot()

    async def start(self, payload: str = "") -> Message:
        return await self.seen(lambda: self.person.start(payload), "")

    async def say(self, text: str, expect: str) -> Message:
        """Send a text; return the message that is then new or changed and has these words."""
        return await self.seen(lambda: self.person.send(text), expect)

    async def press(self, message: Message, button: str, expect: str) -> Message:
        """Press a button, of the card's More if need be; a message with these words follows."""
        await self.reach(message, button)
        pressed = []
        shown = await self.seen(lambda: pressed.append(self.person.press(message, button)), expect)
        await self.person.answer(pressed[0], SECONDS)
        return shown

    async def refresh(self, card: Message, expect: str) -> None:
        """Press Refresh and wait for these words; the card may have changed to them by itself."""
        await self.reach(card, "Refresh")
        await self.person.answer(self.person.press(card, "Refresh"), SECONDS)
        await self.world.wait_for(lambda: expect in card.text, SECONDS)

    async def reach(self, card: Message, button: str) -> None:
        """Press More and wait for the menu, unless the message has such a button itself."""
        if has_button(card, button) or not has_button(card, "More"):
            return
        await self.person.answer(self.person.press(card, "More"), SECONDS)
        await self.world.wait_for(lambda: has_button(card, button), SECONDS)

    async def edit(self, card: Message) -> None:
        """Press Edit and wait for the menu; the card may also change because of a payment."""
        await self.person.answer(self.person.press(card, "Edit"), SECONDS)
        await self.world.wait_for(lambda: "Poster text" in labels(card), SECONDS)

    async def toast(self, message: Message, button: str) -> str:
        """Press a button; the words that pop up for it."""
        return await self.words(message, message.button(button)["callback_data"])

    async def words(self, message: Message, data: str) -> str:
        """Press a button of an old view; the words that pop up for it."""
        answer = await self.person.answer(self.person.press_old(message, data), SECONDS)
        return str(answer["text"])

    async def seen(self, act: Callable[[], object], expect: str) -> Message:
        """Perform an act; return the message that is then new or changed and has these words.

        A question that only lost its buttons has not changed.
        """
        before = {message.id: (len(message.history), message.text) for message in self.said}

        def is_fresh(message: Message) -> bool:
            edits, text = before.get(message.id, (-1, ""))
            is_finished = message.text == text and not message.buttons
            return edits != len(message.history) and not is_finished

        def look() -> Message | None:
            return next((m for m in self.said if is_fresh(m) and expect in m.text), None)

        act()
        try:
            found = await self.world.wait_for(look, SECONDS)
        except TimeoutError:
            told = [m.text for m in self.said if is_fresh(m)]
            raise AssertionError(f"{expect!r} was not said, but {told}") from None
        assert found is not None
        return found

    async def card(self, line: str, name: str) -> Message:
        """Create with a one-line form; the card."""
        card = await self.say(line, name)
        assert card.photo, card.text
        return card

    async def alert(self, paying: Coroutine[Any, Any, httpx.Response]) -> Message:
        """Await a payment; return its alert."""
        before = len(self.alerts)
        answer = await paying
        assert answer.status_code == 303, answer.text
        await self.world.wait_for(lambda: len(self.alerts) > before, SECONDS)
        return self.alerts[before]

    @property
    def alerts(self) -> list[Message]:
        return [message for message in self.said if "received for" in message.text]

    async def first_card(self) -> Message:
        """Wait for the first message with a QR picture."""
        await self.world.wait_for(lambda: self.cards, SECONDS)
        return self.cards[0]

    @property
    def cards(self) -> list[Message]:
        """Return the messages with a QR picture, oldest first."""
        return [message for message in self.said if message.photo]


def seller(world: World, name: str = "Sam", *, language: str | None = "en") -> Seller:
    """Add a person who has started the bot in their client but has not written yet."""
    return Seller(people.join(world, name, language_code=language, started=True))


async def seller_with_destination(world: World, name: str = "Sam") -> Seller:
    """Add a person and set their destination."""
    found = seller(world, name)
    asked = await found.say("/settings", "You haven't set a payout address yet")
    await found.press(asked, "Set payout address", question_of("ask-destination-settings"))
    await found.say("$anna", "From now on, your money goes to $anna.")
    return found


def link_of(card: Message) -> str:
    """Return the pay link of a card's button, else the one in its text."""
    for button in card.buttons:
        if "/pay/" in button.get("url", ""):
            return str(button["url"])
    found = NOT_A_LINK.search(card.text)
    assert found, card.text
    return found[0]


async def make_code_drop(seller: Seller, codes: list[str]) -> str:
    """Make a drop whose buyers get codes, by chatting; return its link."""
    card = await seller.card(f"/drop {len(codes)} 5 EUR Voucher", "Voucher")
    await seller.edit(card)
    await seller.press(card, "What buyers get", question_of("ask-goods"))
    listed = "\n".join(codes).encode()
    which = await seller.seen(
        lambda: seller.person.send_document("codes.txt", listed), question_of("ask-which-goods")
    )
    await seller.press(which, "Codes", "Buyers now get: ")
    return link_of(card)


def decoded(world: World, card: Message) -> str:
    """Decode the QR picture as it was sent."""

    file = world.files.get(card.photo or "")
    assert file
    picture = Image.open(io.BytesIO(file.data))
    (code,) = zxingcpp.read_barcodes(picture)
    return str(code.text)


async def pay(link: str, *, token: str | None = None, **data: str) -> httpx.Response:
    """Open the pay page and send its form, as a browser without scripts does."""
    async with httpx.AsyncClient(trust_env=False, timeout=SECONDS) as payer:
        page = await payer.get(link)
        assert page.status_code == 200, page.text
        token = token or form_token(page.text)
        return await payer.post(link, data={"token": token, **data})


async def open_pay_page(link: str) -> httpx.Response:
    async with httpx.AsyncClient(trust_env=False, timeout=SECONDS) as payer:
        return await payer.get(link)


async def is_closed(link: str) -> bool:
    """Return whether the page has no form: a stop takes effect after a second."""
    return "<form" not in (await open_pay_page(link)).text


def texts(messages: list[Message]) -> list[str]:
    return [message.text for message in messages]


def lines_of(message: Message) -> list[str]:
    return message.text.splitlines()


def unnumbered(alert: Message) -> list[str]:
    """Return the lines of an alert without the transaction number, which is drawn at random."""
    return [line for line in lines_of(alert) if not line.startswith("🧾")]


def has_button(message: Message, part: str) -> bool:
    return any(part in label for label in labels(message))


def labels(message: Message) -> list[str]:
    return [button["text"] for button in message.buttons]


def inline_button(article: Json) -> Json:
    button: Json = article["reply_markup"]["inline_keyboard"][0][0]
    return button
