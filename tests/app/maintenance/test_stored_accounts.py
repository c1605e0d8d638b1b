"""Payout accounts in a restored database, and in one whose seller is erased."""

from __future__ import annotations

import pytest

from bot.app.maintenance import payer_erasure, restores
from bot.chat.model.payout import PayoutAccount
from bot.chat.store import seller_rows
from bot.core.database.database import Transaction
from bot.core.database.vault import Vault
from bot.core.errors import BotError
from bot.interface.vocabulary import BANK, LIGHTNING
from tests.support.real_rails import SECRET, TO_ANNA, connect
from tests.support.service_harness import KEY, NOON, ServiceHarness


async def erase(service: ServiceHarness, who: str) -> None:
    """Erase a person; nothing of them is found again."""
    scope = service.db.run(lambda tx: payer_erasure.parse_scope(tx, [who], None, None))
    found = await payer_erasure.survey(service.db, scope)
    await payer_erasure.erase(service.db, found, NOON)
    assert found.counts["sellers"]
    assert (await payer_erasure.survey(service.db, scope)).rows == 0


async def test_the_details_of_accounts_are_sealed_with_the_new_key(real: ServiceHarness) -> None:
    await connect(real)
    new = Vault("another key")
    real.db.run(lambda tx: restores.reseal(tx, Vault(KEY), new))
    (account,) = await real.rows("payout_accounts")
    assert SECRET in new.open(account["details"])


async def test_erasing_a_seller_deletes_their_accounts_and_what_payers_were_shown(
    real: ServiceHarness,
) -> None:
    await connect(real, BANK, owner="anna")
    real.clock.advance(1)
    await connect(real, LIGHTNING, owner="anna")
    await connect(real, owner="bert")
    made = await real.create(receivers=TO_ANNA, instrumentCurrencyCode="EUR")
    await real.pay(made["id"])
    (checkout,) = await real.rows("checkouts")
    assert "DE89" in checkout["pay_with"]
    look = {"look": '{"key": "of a wallet"}'}
    await real.db.transaction(lambda tx: tx.execute("UPDATE checkouts SET look = :look", **look))
    await erase(real, "Anna")
    lines = [row for row in await real.rows("audit") if row["action"].startswith("payout.")]
    assert ["bert" in row["details"] for row in lines if row["details"] != "{}"] == [True]
    assert [row["owner"] for row in await real.rows("payout_accounts")] == ["bert"]
    (checkout,) = await real.rows("checkouts")
    assert (checkout["pay_with"], checkout["look"]) == (None, None)
    assert (await real.get(made["id"]))["status"] == "noPayoutAccount"


async def test_what_payers_were_shown_of_a_deleted_account_is_erased_too(
    real: ServiceHarness,
) -> None:
    await connect(real, BANK, owner="anna")
    made = await real.create(receivers=TO_ANNA, instrumentCurrencyCode="EUR")
    await real.pay(made["id"])
    await real.db.transaction(lambda tx: tx.execute("DELETE FROM payout_accounts"))
    await erase(real, "anna")
    (checkout,) = await real.rows("checkouts")
    assert checkout["pay_with"] is None


async def test_accounts_go_with_the_profile_of_their_owner(real: ServiceHarness) -> None:
    """A contact names the seller; the accounts are those of the same reference."""
    await connect(real, owner="anna")
    real.seller.headers["Owner-Ref"] = "anna"
    await real.create(receivers=TO_ANNA, seller={"name": "Anna", "contact": "@anna_bakes"})
    await erase(real, "@anna_bakes")
    assert await real.rows("payout_accounts") == []


async def test_a_reference_without_any_account_is_nobody(real: ServiceHarness) -> None:
    await connect(real, owner="bert")
    with pytest.raises(BotError, match="no payment has this id"):
        await erase(real, "anna")


async def test_erasing_a_seller_deletes_what_the_chat_knows_of_their_accounts(
    real: ServiceHarness,
) -> None:
    """With the form that asks for one: it may hold an account that was never saved."""
    account = PayoutAccount("a1", BANK, "sepa", automatic=False, currencies=("EUR",), label="DE89")

    def know(tx: Transaction) -> None:
        for seller_id in (7, 8):
            seller_rows.ensure_seller(tx, seller_id, "en", NOON)
            seller_rows.save_accounts(tx, seller_id, [account])
            tx.execute(
                "INSERT INTO drafts (chat_id, seller_id, body, updated_at)"
                " VALUES (:id, :id, '{}', 0)",
                id=seller_id,
            )

    real.db.run(know)
    await erase(real, "seller-7")
    for table in ("seller_accounts", "drafts"):
        assert [row["seller_id"] for row in await real.rows(table)] == [8]
