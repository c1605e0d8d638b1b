"""What is stored of a seller: a form for each chat, links in their order, what accounts take."""

from __future__ import annotations

from functools import partial
from itertools import pairwise

from bot.chat.model.drafts import NewDraft
from bot.chat.model.payout import PayoutAccount
from bot.chat.store import seller_rows
from bot.chat.store.seller_rows import BATCH
from bot.core.database.database import Transaction
from bot.sandbox.world.people import Person
from tests.support.chat_harness import COFFEE, ChatHarness, service_answer
from tests.support.form_harness import LIGHTNING, SEPA

GROUP = -100


def add_links(chat: ChatHarness, person: Person, count: int) -> list[str]:
    """Add live links of the same millisecond; return their ids, newest first."""
    told = [service_answer(id=f"{number:024x}") for number in range(count)]
    return sorted((chat.add_link(person, COFFEE, one).id for one in told), reverse=True)


def test_a_seller_has_a_form_in_each_chat(chat: ChatHarness, sam: Person) -> None:
    draft = NewDraft(id="abc123", step="kind")

    def write(tx: Transaction) -> list[bool]:
        seller_rows.ensure_seller(tx, sam.id, "en", chat.clock())
        seller_rows.save_draft(tx, GROUP, sam.id, draft, chat.clock())
        here, there = (seller_rows.find_draft(tx, at, sam.id) for at in (GROUP, sam.id))
        return [here is not None, there is not None]

    assert chat.db.run(write) == [True, False]


def test_links_of_one_moment_are_read_once_each_in_their_order(
    chat: ChatHarness, sam: Person
) -> None:
    links = add_links(chat, sam, BATCH + 2)

    def read(tx: Transaction) -> list[list[str]]:
        pages: list[list[str]] = []
        while not pages or pages[-1]:
            before = pages[-1][-1] if pages else None
            found = seller_rows.live_links_before(tx, sam.id, before)
            pages.append([link.id for link in found])
        return pages

    assert chat.db.run(read) == [links[:BATCH], links[BATCH:], []]
    assert chat.db.run(lambda tx: seller_rows.newest_link(tx, sam.id)) == links[0]
    for link, older in pairwise(links[:3]):
        newer = chat.link(link)
        assert chat.db.run(partial(seller_rows.next_older_link, link=newer)) == older


def test_a_wallet_takes_every_currency_and_a_bank_its_own(chat: ChatHarness, sam: Person) -> None:
    add_links(chat, sam, 2)  # in USD

    def count(*accounts: PayoutAccount) -> int:
        return chat.db.run(lambda tx: seller_rows.links_without(tx, sam.id, accounts))

    assert [count(), count(SEPA), count(LIGHTNING), count(SEPA, LIGHTNING)] == [2, 2, 0, 0]
