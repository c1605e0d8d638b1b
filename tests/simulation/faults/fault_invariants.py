"""What must hold at the end of every schedule, whatever happened in it."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator

from bot.sandbox.web.messages import CALLBACK_SECONDS
from tests.simulation.faults import alert_reading
from tests.simulation.faults.chat_shop import ChatShop
from tests.simulation.faults.chat_shop_invariants import chat_shop_problems
from tests.simulation.faults.fault_schedule import Schedule
from tests.simulation.faults.faulty_product import SimulatedProduct
from tests.simulation.faults.seller_and_payer import Payer, Seller
from tests.simulation.faults.service_shop import Shop
from tests.simulation.faults.shop_invariants import shop_problems

BY_CHAT = "SELECT id FROM payment_requests WHERE name NOT LIKE '% of the shop'"
"""The requests that sellers made in the chat."""

SENDS = {"sendMessage", "sendPhoto"}


def problems(product: SimulatedProduct, schedule: Schedule) -> list[str]:
    """Return every broken promise in words; empty if there is none."""
    return [
        *product.errors,
        *_owed(product),
        *_payments(product, schedule),
        *(line for seller in schedule.sellers for line in _chat(product, seller)),
        *(line for seller in schedule.sellers for line in _requests(product, seller)),
        *_presses(product),
        *_shop(product, schedule.shop),
    ]


def _shop(product: SimulatedProduct, shop: Shop | None) -> list[str]:
    """Return what is wrong with units, and with the shop: in the chat it sells all there are."""
    if isinstance(shop, ChatShop):
        return chat_shop_problems(product, shop)
    return [*_units(product), *(shop_problems(product, shop) if shop else ())]


def _owed(product: SimulatedProduct) -> Iterator[str]:
    """Check that no work waits, is under way or was given up."""
    for part in product.parts:
        for row in product.unsettled(part):
            yield f"{part} still owes: {row}"


def _payments(product: SimulatedProduct, schedule: Schedule) -> Iterator[str]:
    """Check that service, bot and payers know the same payments, and nobody paid twice."""
    made = product.rows(
        "service", f"SELECT id, user_data FROM payments WHERE request_id IN ({BY_CHAT})"
    )
    got = product.rows("bot", "SELECT transaction_id, body FROM received_payments")
    there = {row["id"]: json.loads(row["user_data"])["email"] for row in made}
    here = {row["transaction_id"]: json.loads(row["body"]).get("email") for row in got}
    if there != here:
        yield f"paid {sorted(there.items())}, recorded {sorted(here.items())}"
    if doubled := alert_reading.doubled(list(there.values())):
        yield f"charged twice: {doubled}"
    yield from (line for payer in schedule.payers if (line := _paid(payer, there)))


def _paid(payer: Payer, there: dict[str, str]) -> str | None:
    """Check that the payers with a receipt are those who paid."""
    if payer.transaction is None:
        return f"{payer.address} was refused and paid" if payer.address in there.values() else None
    if there.get(payer.transaction) != payer.address:
        return f"{payer.address} has a receipt of {payer.transaction}, which is not theirs"
    return None


def _units(product: SimulatedProduct) -> Iterator[str]:
    """Check that the units sold and left add up to the units made."""
    sql = (
        "SELECT name, total_units AS total, remaining_units AS remaining, reserved_units AS"
        " reserved, (SELECT COUNT(*) FROM payments WHERE request_id = payment_requests.id) AS sold"
        f" FROM payment_requests WHERE total_units IS NOT NULL AND id IN ({BY_CHAT})"
    )
    for row in product.rows("service", sql):
        if row["remaining"] + row["sold"] != row["total"] or row["reserved"]:
            yield f"units do not add up: {row}"


def _chat(product: SimulatedProduct, seller: Seller) -> Iterator[str]:
    """Check that each payment has one alert, in order; a second one must be marked."""
    name, chat = seller.person.user.first_name, seller.person.chat
    told = alert_reading.tellings(chat)
    sql = (
        "SELECT body FROM received_payments JOIN listings ON listings.id = listing_id"
        " WHERE listings.seller_id = :id ORDER BY received_payments.rowid"
    )
    owed = [json.loads(r["body"])["email"] for r in product.rows("bot", sql, id=seller.person.id)]
    seen: list[str] = []
    for telling in told:
        fresh = [payer for payer in telling.payers if payer not in seen]
        if len(fresh) < len(telling.payers) and not telling.marked:
            yield f"{name} is told again of {telling.payers}, unmarked"
        due = owed[len(seen) : len(seen) + len(fresh)]
        if sorted(fresh) != sorted(due):
            yield f"{name} is told of {fresh} when {due} were due"
        seen += fresh
    if sorted(seen) != sorted(owed):
        yield f"{name} is told of {len(seen)} payments of {len(owed)}"
    yield from _marks(product, seller)


def _marks(product: SimulatedProduct, seller: Seller) -> Iterator[str]:
    """Check that a message is marked only if an answer of Telegram was lost."""
    chat = seller.person.chat
    marked = sum(alert_reading.is_marked(message) for message in chat.from_bot())
    reasons = product.crashes["bot"] + sum(
        one.doubtful
        for one in product.telegram.exchanges
        if one.kind in SENDS and alert_reading.chat_id_of(one.request.body) == chat.id
    )
    if marked > reasons:
        yield f"{seller.person.user.first_name} sees {marked} marks, {reasons} have a reason"


def _requests(product: SimulatedProduct, seller: Seller) -> Iterator[str]:
    """Check that each request was made once, and that its card came."""
    names = [offer.name for offer in seller.offers]
    names += [seller.draft.name] if seller.draft else []
    sql = "SELECT wish FROM listings WHERE seller_id = :id"
    listed = [json.loads(r["wish"])["name"] for r in product.rows("bot", sql, id=seller.person.id)]
    made = Counter(r["name"] for r in product.rows("service", "SELECT name FROM payment_requests"))
    if sorted(listed) != sorted(names):
        yield f"asked for {names}, listed {listed}"
    for name in names:
        if made[name] != 1:
            yield f"{name} was made {made[name]} times"
        shown = alert_reading.cards(seller.person.chat, name)
        if not shown or not all(map(alert_reading.is_marked, shown[1:])):
            yield f"{name} has the cards {[card.text for card in shown]}"


def _presses(product: SimulatedProduct) -> Iterator[str]:
    """Check that every press was answered while Telegram accepts answers."""
    for query in product.world.callbacks.values():
        young = product.clock.seconds() - query.date < CALLBACK_SECONDS
        if query.answer is None and young:
            yield f"the press {query.data} was never answered"
