"""What follows in the database and the queues from what the conversation decided."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bot.chat import history, store
from bot.chat.replies import Reply

if TYPE_CHECKING:
    from bot.chat.conversation import Outcome, Wish
    from bot.chat.usecases.turn import Turn


def follow(turn: Turn, outcome: Outcome) -> None:
    """Carry out what the conversation decided: all of it, in this transaction."""
    person = turn.person
    if outcome.wish is not None and not turn.may_create:
        turn.say(Reply(turn.words("not-allowed")))
        return
    store.save_draft(turn.tx, person.chat_id, person.id, outcome.draft, turn.now)
    if outcome.destination is not None:
        store.save_destination(turn.tx, person.id, outcome.destination)
        was = turn.seller.destination
        history.paid_to(turn.tx, person.id, was, outcome.destination, turn.now)
    for reply in outcome.replies:
        turn.say(reply)
        turn = turn.anew()
    if outcome.wish is not None:
        _wish(turn, outcome.wish)


def _wish(turn: Turn, wish: Wish) -> None:
    """Write a request down, to be created at the service."""
    person = turn.person
    store.save_price(turn.tx, person.id, wish.amount, wish.currency)
    listing = store.add_listing(turn.tx, person.chat_id, person.id, wish, turn.now)
    history.wished(turn.tx, person.id, listing, wish, turn.now)
    turn.call({"call": "create", "listing": listing})
