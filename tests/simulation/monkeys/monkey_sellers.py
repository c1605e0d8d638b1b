"""The acts of a seller in the hour, one at a time, drawn from the seller's own random source."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from random import Random
from typing import TYPE_CHECKING, Any

from bot.sandbox.world import people
from bot.sandbox.world.errors import WorldError
from bot.sandbox.world.people import Person
from tests.simulation.monkeys import buttons, typed_words
from tests.simulation.monkeys.monkey_product import SimulatedProduct
from tests.simulation.monkeys.typed_words import Mark

if TYPE_CHECKING:
    from bot.sandbox.world.model import Chat, Message


LANGUAGES = ("en", "de", "de-AT", "pt-br", None)
RECENT = 4
"""Messages at the end of a chat that people look at."""

INLINE_SECONDS = 10.0
KEEN = 0.9
"""How often a seller who has just asked for a question answers it."""


@dataclass
class Seller:
    """A person who sells, the marks of their words, and what they have done so far.

    `visited` are the marks of others whose links they followed, `pressed` all that they pressed,
    and `keen` is the number of acts for which they go on with what they have begun. `is_shop`: they
    give buyers something.
    """

    person: Person
    mark: Mark
    product: SimulatedProduct
    chance: Random
    crowd: list[Seller] = field(repr=False)
    groups: list[Chat] = field(default_factory=list, repr=False)
    visited: set[int] = field(default_factory=set)
    pressed: set[str] = field(default_factory=set)
    keen: int = 0
    is_shop: bool = False

    @property
    def id(self) -> int:
        return self.person.id

    @property
    def chat(self) -> Chat:
        return self.person.chat

    @property
    def draft(self) -> dict[str, Any] | None:
        """Return the open form as it is stored."""
        sql = "SELECT body FROM drafts WHERE seller_id = :id"
        found = self.product.rows(sql, id=self.id)
        return json.loads(found[0]["body"]) if found else None

    @property
    def links(self) -> list[str]:
        sql = "SELECT id FROM listings WHERE seller_id = :id ORDER BY id"
        return [row["id"] for row in self.product.rows(sql, id=self.id)]

    @property
    def offered(self) -> list[str]:
        """Return the callback data of the buttons now in the chat."""
        return self._seen(len(self.chat.messages))

    def having(self, data: str) -> Message:
        """Return the last message that has a button with this data."""
        return next(
            one for one in reversed(self.chat.from_bot()) if data in buttons.data_of(one, now=True)
        )

    # -- filling in a form

    def answer(self) -> str:
        """Answer what the form under way asks, else begin one."""
        draft = self.draft
        if draft is None:
            return self.create()
        presses = [data for data in self._seen(RECENT) if data.startswith(f"draft:{draft['id']}:")]
        verbs = {data: data.split(":")[2] for data in presses}
        wanted = buttons.wanted(draft, self.chance)
        fitting = [data for data, verb in verbs.items() if verb in wanted]
        codes = [data for data in fitting if data.endswith(":codes")]
        if fitting:
            return self._press(self.chance.choice(codes * 4 + fitting))
        if draft["step"] == "picture":
            return self.photo()
        if draft["step"] in {"goods", "codes"} and self.chance.random() < 0.4:
            return self.document()
        return self._type(self.mark.answer(draft["step"], draft["form"], self.chance))

    def create(self) -> str:
        """Begin a form, or say all in one line."""
        return self._type(self.chance.choice(["/new", *[self.mark.line(self.chance)] * 2]))

    def give(self) -> str:
        """Set what buyers get or may choose, or send more codes."""
        if not self.links:
            return self.create()
        pressed = self.chance.choice(buttons.GIVEN)
        sql = "SELECT id FROM listings WHERE seller_id = :id AND {} ORDER BY id"
        takes = "state = 'live' AND wish LIKE '%\"drop\"%'"
        has = "request_id IN (SELECT request_id FROM codes)"
        wanted = sql.format(has if pressed.startswith("codes") else takes)
        fitting = [row["id"] for row in self.product.rows(wanted, id=self.id)]
        self.keen = 3
        return self._press(pressed.format(self.chance.choice(fitting * 3 + self.links)))

    def mark_payment(self) -> str:
        """Press a button of a payment, each kind as often: what was sent, paid back or hidden."""
        found: dict[str, list[str]] = {}
        for data in self._seen(len(self.chat.messages)):
            word = data.partition(":")[0]
            if word in buttons.OF_PAYMENTS:
                found.setdefault(word, []).append(data)
        if not found:
            return self.answer()
        self.keen = self.chance.randint(0, 2)
        return self._press(self.chance.choice(found[self.chance.choice([*found])]))

    def keep(self) -> str:
        """Keep the receipt of any payment, or one that there is not."""
        sql = "SELECT id, request_id FROM payments ORDER BY id"
        found = self.product.rows(sql)
        if not found:
            return "nobody paid"
        paid = self.chance.choice(found)
        sql = "SELECT seller_id FROM listings WHERE request_id = :id"
        owner = self.product.rows(sql, id=paid["request_id"])[0]["seller_id"]
        self.visited.update(one.mark.number for one in self.crowd if one.id == owner)
        transaction = self.chance.choice([paid["id"], paid["id"], paid["id"], "0" * 24])
        self.person.start(f"r-{paid['request_id']}-{transaction}")
        return f"keeps the receipt {transaction}"

    # -- pressing

    def press(self) -> str:
        """Press a button of what was said last."""
        return self._press_any(self._seen(RECENT))

    def press_old(self) -> str:
        """Press a button that any message ever had."""
        return self._press_any(self._seen())

    def press_twice(self) -> str:
        """Press the same button twice at once, or five times."""
        found = self._seen(RECENT)
        if not found:
            return "nothing to press"
        data = self.chance.choice(found)
        for _ in range(self.chance.choice([1, 1, 4])):
            self._press(data)
        return self._press(data) + " again and again"

    def press_foreign(self) -> str:
        """Press what only somebody else has a button for."""
        other = self.chance.choice(self.crowd)
        if not other.links or self.chance.random() < 0.3:
            return self._press_any([one for one in other._seen() if not one.startswith("look:")])
        link = self.chance.choice(other.links)
        if self.chance.random() < 0.1:
            self.visited.add(other.mark.number)
            return self._press(f"look:{link}")
        return self._press(self.chance.choice(buttons.FORGED).format(link))

    def press_rubbish(self) -> str:
        """Press what no button of ours carries, or not any more."""
        rubbish = ["x", "list:999999", "payments:aaaaaaaaaa:1", "draft:aaaaaa:skip", "é" * 32]
        return self._press_any(rubbish)

    def _press_any(self, found: list[str]) -> str:
        return self._press(self.chance.choice(found)) if found else "nothing to press"

    def _press(self, data: str) -> str:
        having = [one for one in self._said() if data in buttons.data_of(one)]
        pressed = (having or self._said())[-1:]
        for message in pressed:
            self.person.press_old(message, data)
            self.pressed.add(data)
        return f"presses {data} of {[message.id for message in pressed]}"

    def _said(self) -> list[Message]:
        return [one for one in self.chat.messages.values() if one.sender.is_bot]

    def _seen(self, recent: int = 0) -> list[str]:
        """Return callback data: of the last messages, or of all buttons there ever were."""
        if recent:
            shown = self.chat.from_bot()[-recent:]
            return [data for message in shown for data in buttons.data_of(message, now=True)]
        return [data for message in self._said() for data in buttons.data_of(message)]

    # -- typing and sending

    def command(self) -> str:
        return self._type(self.chance.choice(typed_words.COMMANDS))

    def nonsense(self) -> str:
        return self._type(typed_words.nonsense(self.chance))

    def anything(self) -> str:
        return self._type(typed_words.anything(self.chance))

    def photo(self) -> str:
        self.person.send_photo(
            self.chance.choice(typed_words.photos()), self.chance.choice(["", "hm"])
        )
        return "sends a photo"

    def document(self) -> str:
        """Send a file: any, or what the form under way asks for."""
        draft = self.draft or {}
        name, data = self.chance.choice(typed_words.documents())
        if draft.get("step") in {"goods", "codes"} and self.chance.random() < 0.7:
            more = draft["step"] == "codes"
            way = typed_words.MORE_IN_FILE if more else typed_words.IN_FILE
            name, data = "codes.csv", self.mark.codes(way, self.chance).encode()
        self.person.send_document(name, data)
        return f"sends {name}"

    def edit(self) -> str:
        """Change what they wrote themselves."""
        own = [
            one for one in self.chat.visible if one.sender.id == self.id and "text" in one.content
        ]
        if own:
            self.person.edit(self.chance.choice(own), "/new")
        return "edits a message"

    def follow(self) -> str:
        """Follow a link: their own, somebody else's, or one that leads nowhere."""
        whose = self.chance.choice([self, *self.chance.sample(self.crowd, 2)])
        links = [*whose.links, "r_", "aaaaaaaaaa", "-" * 60]
        link = self.chance.choice(links)
        self.visited.add(whose.mark.number)
        self.person.start(f"r_{link}")
        return f"follows the link of {link}"

    def _type(self, text: str) -> str:
        self.person.send(text)
        return f"types {text[:60]!r}" + ("…" if len(text) > 60 else "")

    # -- what is not for the bot alone

    def inline(self) -> str:
        """Look for a request and post what is found, or not."""
        if not self.links:
            return self.create()
        text = self.chance.choice(["", "", self.mark.public, *self.links, "%_!", "zzz"])
        places = [
            self.chat,
            self.person.dialog(self.chance.choice(self.crowd).person),
            *self._joined(),
        ]
        place = self.chance.choice(places)
        self.product.begin(self._post(text, place))
        return f"types @bot {text!r} in {place.id}"

    async def _post(self, text: str, place: Chat) -> None:
        offset = self.chance.choice(["", "", "", "1", "rubbish"])
        found = await self.person.inline(text, place, offset, INLINE_SECONDS)
        if found.drafts and self.chance.random() < 0.8:
            chosen = self.chance.choice(list(found.drafts))
            with suppress(WorldError):
                self.person.choose(found, chosen, place)
                self.product.note(f"{self.mark.public} posts {chosen} in {place.id}")

    def speak_in_group(self) -> str:
        """Write in a group, to the bot or not, or press a button there."""
        joined = self._joined()
        if not joined:
            return "is in no group"
        group = self.chance.choice(joined)
        said = group.from_bot()
        if said and self.chance.random() < 0.3:
            self.person.press_old(self.chance.choice(said), self.chance.choice(["new", "list:0"]))
            return f"presses in {group.id}"
        text = self.chance.choice([*typed_words.COMMANDS, "hello", self.mark.line(self.chance)])
        self.person.send(text, group, said[-1] if said and self.chance.random() < 0.3 else None)
        return f"types {text!r} in {group.id}"

    def _joined(self) -> list[Chat]:
        return [one for one in self.groups if one.migrated_to is None]

    def change_group(self) -> str:
        """Put the bot out of a group, take it in again, or make it a supergroup."""
        joined = self._joined()
        if not joined:
            return "is in no group"
        group = self.chance.choice(joined)
        if group.bot_status == "kicked":
            self.person.add_bot(group)
            return f"takes the bot into {group.id}"
        if group.kind == "group" and self.chance.random() < 0.3:
            self.groups.append(self.person.migrate(group))
            self.product.shuts(group.id)
            return f"makes {group.id} a supergroup"
        self.person.remove_bot(group)
        self.product.shuts(group.id)
        return f"puts the bot out of {group.id}"

    # -- what the bot only notices

    def delete(self) -> str:
        """Take a message out of the chat: for both, as Telegram lets them."""
        visible = self.chat.visible
        if not visible:
            return "nothing to delete"
        message = self.chance.choice(visible)
        self.product.world.remove(message)
        return f"deletes message {message.id}"

    def block(self) -> str:
        self.person.block()
        self.product.shuts(self.id)
        return "blocks the bot"

    def come_back(self) -> str:
        """Start the bot again, by the button or by Start."""
        if self.chance.random() < 0.5:
            self.person.unblock()
            return "unblocks the bot"
        self.person.start()
        return "presses Start"

    def change_language(self) -> str:
        user, language = self.person.user, self.chance.choice(LANGUAGES)
        self.person = people.join(
            self.product.world, user.first_name, user_id=user.id, language_code=language
        )
        return f"speaks {language}"

    def act(self) -> str:
        """Perform one random act; return it in words."""
        if self.chat.bot_status == "kicked":
            self.product.shuts(self.id)
            deaf: tuple[Callable[[], str], ...] = (
                self.come_back, self.press_old, self.inline, self.speak_in_group,
            )  # fmt: skip
            return self.chance.choices(deaf, (4, 1, 1, 1))[0]()
        if self.keen:
            self.keen -= 1
            if self.chance.random() < KEEN:
                return self.answer()
        acts = ACTS_OF_SHOPS if self.is_shop else ACTS
        (chosen,) = self.chance.choices(list(acts), list(acts.values()))
        return chosen(self)


ACTS: dict[Callable[[Seller], str], float] = {
    Seller.answer: 45,
    Seller.create: 12,
    Seller.give: 15,
    Seller.mark_payment: 15,
    Seller.keep: 3,
    Seller.press: 25,
    Seller.press_old: 9,
    Seller.press_twice: 7,
    Seller.press_foreign: 8,
    Seller.press_rubbish: 1,
    Seller.command: 8,
    Seller.nonsense: 4,
    Seller.anything: 3,
    Seller.photo: 1.5,
    Seller.document: 1,
    Seller.edit: 0.5,
    Seller.follow: 4,
    Seller.inline: 25,
    Seller.speak_in_group: 3,
    Seller.change_group: 0.5,
    Seller.delete: 2,
    Seller.block: 0.7,
    Seller.change_language: 1,
}
"""How often each is done, beside the others."""

ACTS_OF_SHOPS = ACTS | {Seller.give: 120, Seller.mark_payment: 100}
"""The same for those who give buyers something, and mark what they have paid."""
