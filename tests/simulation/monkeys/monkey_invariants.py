"""What must hold after the hour, whatever anybody did in it."""

from __future__ import annotations

import html
import itertools
import json
import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING, Any

from bot.chat.model.replies import decode_data
from bot.core.outbox.queue_policy import ALERT
from bot.core.text.translations import languages, t
from tests.simulation.monkeys.goods_invariants import goods_problems
from tests.simulation.monkeys.monkey_hour import Hour
from tests.simulation.monkeys.monkey_product import SimulatedProduct
from tests.simulation.monkeys.monkey_sellers import Seller
from tests.simulation.monkeys.typed_words import PAYER, PRIVATE, PUBLIC
from tests.simulation.simulated_time import NOON

if TYPE_CHECKING:
    from bot.sandbox.world.model import Message
    from bot.sandbox.world.world import Call


TAG = re.compile("<[^<>]*>")
TAKINGS = ("card-paid", "card-taken")
"""What only a seller reads of a request."""

ALERTS = ("alert", "alert-from", "alert-words", "alert-words-from")
"""How alerts begin: without the payer's words, or with them."""

OF_PAYERS = {"look", "bought", "receipt", "receipt-remove"}
"""What buttons about somebody else's request carry: its card, and receipts that were kept."""

SHUT = ("Forbidden: bot was blocked", "Forbidden: bot was kicked", "Bad Request: group chat was up")
GONE = ("Bad Request: message to edit not found",)
PAID = "SELECT user_data FROM payments WHERE request_id = :request"
UNHEARD = 10.0
"""Seconds within which something may be said to a chat that was shut, or that spoke since."""

ANSWERED_WITHIN = 10.0
"""Seconds until a press is answered: Telegram takes answers for half a minute or so."""


def problems(product: SimulatedProduct, hour: Hour) -> list[str]:
    """Return every broken promise in words; empty if there is none."""
    return [
        *hour.stuck,
        *_refused(product),
        *_presses(product),
        *_searches(product, hour),
        *_given_up(product),
        *(line for seller in hour.sellers for line in _chat(seller)),
        *(line for seller in hour.sellers for line in _requests(product, seller)),
        *_shared(product),
        *_payments(product, hour),
        *goods_problems(product, hour),
    ]


def _refused(product: SimulatedProduct) -> Iterator[str]:
    """Check that Telegram refused no call that the product could have known to be wrong.

    A chat that was shut a moment ago, and a message that they took out of their chat.
    """
    for call in product.world.refused:
        if not _is_news(product, call):
            told = {name: str(value)[:200] for name, value in call.params.items()}
            yield f"refused {call.method} at {call.time - NOON / 1000:.3f}: {call.reason} {told}"


def _is_news(product: SimulatedProduct, call: Call) -> bool:
    chat = product.world.chats.get(int(call.params.get("chat_id") or 0))
    if chat is None:
        return False
    if call.reason in GONE:
        message = chat.messages.get(int(call.params.get("message_id") or 0))
        return message is not None and message.deleted
    is_shut = call.reason.startswith(SHUT)
    return is_shut and any(0 <= call.time - at <= UNHEARD for at in product.shut.get(chat.id, ()))


def _presses(product: SimulatedProduct) -> Iterator[str]:
    """Check that each press was answered in time; Telegram refuses a second answer."""
    answered = {
        call.params["callback_query_id"]: call.time
        for call in product.world.calls_of("answerCallbackQuery")
    }
    for query in product.world.callbacks.values():
        at = answered.get(query.id)
        if at is None:
            yield f"the press {query.data} of {query.sender.first_name} was never answered"
        elif at - query.date > ANSWERED_WITHIN:
            yield f"the press {query.data} was answered after {at - query.date:.0f} s"
        if query.answer and PUBLIC.search(query.answer["text"] or ""):
            yield f"the press {query.data} was answered by a name: {query.answer}"


def _searches(product: SimulatedProduct, hour: Hour) -> Iterator[str]:
    """Check that each search was answered with the seller's own requests alone."""
    marks = {seller.id: seller.mark for seller in hour.sellers}
    for query in product.world.inline_queries.values():
        if not query.answered:
            yield f"the search {query.query!r} was never answered"
        told = json.dumps(query.results)
        foreign = {*PUBLIC.findall(told)} - {f"{marks[query.sender.id].number:03}"}
        if foreign or PRIVATE.search(told):
            yield f"the search of {query.sender.first_name} found {told}"


def _given_up(product: SimulatedProduct) -> Iterator[str]:
    """Check that no update and no message was given up, but for answers to people who blocked."""
    sql = "SELECT queue, lane, priority, note, body FROM outbox WHERE state = 'dead'"
    shut = {str(chat_id) for chat_id in product.shut}
    for row in product.rows(sql):
        is_shut = row["queue"] == "messages" and row["lane"] in shut
        if not is_shut or row["priority"] == ALERT or not row["note"].startswith(SHUT):
            yield f"given up: {row}"


def _versions(message: Message) -> Iterator[tuple[str, Any]]:
    """Return every version of a message, with its buttons."""
    for version in message.history:
        content, markup = version.content, version.markup
        yield str(content.get("text", content.get("caption", ""))), markup
    yield message.text, message.markup


def _chat(seller: Seller) -> Iterator[str]:
    """Check that nobody sees private words of others, and of requests only what payers see."""
    number = f"{seller.mark.number:03}"
    visited = {f"{one:03}" for one in seller.visited}
    for message in seller.chat.messages.values():
        if not message.sender.is_bot and message.via_bot is None:
            continue
        for text, markup in _versions(message):
            all_of_it = f"{text} {json.dumps(markup)}"
            private = {*PRIVATE.findall(all_of_it)} - {number}
            public = {*PUBLIC.findall(all_of_it)} - {number}
            if private or public - visited:
                yield f"{seller.mark.public} sees {private or public}: {all_of_it}"
            if public:
                yield from _public_card(seller, text, markup)


def _shared(product: SimulatedProduct) -> Iterator[str]:
    """Check that posts in other chats are the person's own and have only public words."""
    for message in product.world.inline_messages.values():
        own = message.sender.first_name.removeprefix("S").zfill(3)
        for text, markup in _versions(message):
            all_of_it = f"{text} {json.dumps(markup)}"
            foreign = {*PUBLIC.findall(all_of_it)} - {own}
            if foreign or PRIVATE.search(all_of_it) or _tells_revenue(text):
                yield f"{message.sender.first_name} posted {all_of_it}"


def _public_card(seller: Seller, text: str, markup: Any) -> Iterator[str]:
    """Check that another person's card shows no revenue and offers no changes."""
    if _tells_revenue(text):
        yield f"{seller.mark.public} reads what somebody took: {text}"
    rows = (markup or {}).get("inline_keyboard", [])
    for button in (button for row in rows for button in row):
        action = decode_data(button.get("callback_data", ""))
        if action and action[0] not in OF_PAYERS:
            yield f"{seller.mark.public} is offered {action} of somebody else's: {text}"


def _tells_revenue(text: str) -> bool:
    return any(pattern.search(text) for pattern in _said(*TAKINGS))


@cache
def _said(*keys: str) -> list[re.Pattern[str]]:
    """Compile patterns of the texts of these keys, in any language and with any values."""
    found = []
    for language, key, paid in itertools.product(languages(), keys, (0, 1, 7)):
        values = dict.fromkeys(("amount", "name", "payer", "message"), "§")
        words = html.unescape(TAG.sub("", t(language, key, paid=paid, **values)))
        parts = (re.escape(part).replace("7", r"\d+") for part in words.split("§"))
        found.append(re.compile(".+".join(parts)))
    return found


def _requests(product: SimulatedProduct, seller: Seller) -> Iterator[str]:
    """Check that only its seller stopped, deleted or changed a request."""
    number = f"{seller.mark.number:03}"
    sql = "SELECT id, state, alerts, poster_text, wish FROM listings WHERE seller_id = :id"
    for row in product.rows(sql, id=seller.id):
        done = {"deleted": "delete-yes", "stopped": "stop"}.get(row["state"])
        if done and f"{done}:{row['id']}" not in seller.pressed:
            yield f"{row['id']} of {seller.mark.public} is {row['state']} by somebody else"
        if row["alerts"] != "on" and f"alerts:{row['id']}:{row['alerts']}" not in seller.pressed:
            yield f"the alerts of {row['id']} were changed by somebody else"
        words = f"{row['wish']} {row['poster_text']}"
        if {*PUBLIC.findall(words), *PRIVATE.findall(words)} - {number}:
            yield f"{row['id']} of {seller.mark.public} has somebody else's words: {words}"
        if row["state"] == "creating":
            yield f"{row['id']} is still {row['state']}"


def _payments(product: SimulatedProduct, hour: Hour) -> Iterator[str]:
    """Check that each payment reached its seller once, and no drop sold more than it had."""
    sellers = {seller.id: seller for seller in hour.sellers}
    sql = "SELECT listings.id, seller_id, request_id FROM listings WHERE request_id IS NOT NULL"
    for row in product.rows(sql):
        seller = sellers[row["seller_id"]]
        if f"alerts:{row['id']}:off" in seller.pressed:
            continue
        paid = product.rows(PAID, request=row["request_id"])
        addresses = [json.loads(one["user_data"])["email"] for one in paid]
        told = Counter(_told(seller))
        missing = [one for one in addresses if told[one] != 1]
        if missing:
            yield f"{seller.mark.public} was not told once of {[(m, told[m]) for m in missing]}"


def _told(seller: Seller) -> Iterator[str]:
    """Return the payers whom the alerts in a seller's chat name."""
    for message in seller.chat.messages.values():
        versions = [text for text, _ in _versions(message)] if message.sender.is_bot else []
        alerts = [text for text in versions if any(one.search(text) for one in _said(*ALERTS))]
        if alerts:
            yield from PAYER.findall(alerts[0])


def figures(product: SimulatedProduct) -> dict[str, int]:
    """Count what happened: an hour in which nothing happens proves nothing."""
    world = product.world
    counted = {
        name: product.rows(f"SELECT COUNT(*) AS number FROM {name}")[0]["number"]
        for name in ("listings", "payments", "images", "posts")
    }
    return {
        **counted,
        "presses": len(world.callbacks),
        "searches": len(world.inline_queries),
        "shared": len(world.inline_messages),
        "messages": len(world.calls_of("sendMessage", "sendPhoto", "sendDocument")),
        "edits": len([call for call in world.calls if call.method.startswith("edit")]),
        "refused": len(world.refused),
    }
