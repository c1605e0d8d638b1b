"""Letters that waited when recipients came: none is lost, and each can be sent again."""

from __future__ import annotations

import json
from contextlib import closing
from functools import partial
from typing import TYPE_CHECKING

from bot.core.database.database import open_database
from bot.core.database.schema import migrations
from bot.core.database.schema.recipients import RECIPIENTS
from bot.service.usecases import delivery_queues
from tests.core.database.test_migrations import CREDENTIALS, REQUEST, add, fill
from tests.support.consent_letters import VICTIM, posted
from tests.support.service_harness import NOON

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import pytest

    from bot.core.database.database import Transaction

MIGRATIONS = migrations.MIGRATIONS
BODY = {
    "appId": CREDENTIALS.app_id, "requestId": REQUEST, "userData": {},
    "amount": 500, "currency": "USD", "remainingUnits": None, "reservedUnits": None,
    "completedAt": NOON, "oversold": False, "address": VICTIM, "product": "Coffee",
}  # fmt: skip


def owe(tx: Transaction) -> None:
    """A letter that waits and one that was given up; no request names their address any more."""
    add(tx, "lanes", queue="mails", lane=VICTIM, open_at=NOON, priority=0)
    for number, state in enumerate(("waiting", "dead"), 1):
        it, payment = f"email-{number:024x}", f"{number:024x}"
        body = json.dumps({**BODY, "transactionId": payment})
        add(
            tx, "outbox",
            id=it, queue="mails", lane=VICTIM, priority=0, body=body, state=state,
            due_at=NOON, created_at=NOON, settled_at=None if state == "waiting" else NOON,
        )  # fmt: skip
        add(
            tx, "deliveries",
            id=it, app_id=CREDENTIALS.app_id, request_id=REQUEST, payment_id=payment,
            channel="email", address=VICTIM, created_at=NOON,
        )  # fmt: skip


async def test_a_letter_that_waited_is_sent_and_one_given_up_can_be(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = partial(fill, app_id=CREDENTIALS.app_id)
    versions: list[tuple[int, Callable[[Transaction], None]]]
    versions = [(1, first), (MIGRATIONS.index(RECIPIENTS), owe)]
    for version, work in versions:
        with monkeypatch.context() as then:
            then.setattr(migrations, "MIGRATIONS", MIGRATIONS[:version])
            with closing(open_database(f"sqlite:///{tmp_path}/bot.db")) as db:
                db.run(work)
    async with posted(tmp_path, strangers=False) as post:
        assert await post.work() == 1
        again = partial(
            delivery_queues.retry, delivery_id=f"email-{2:024x}", now=post.service.clock()
        )
        post.service.db.run(again)
        assert await post.work() == 1
        assert [letter["To"] for letter in post.letters] == [VICTIM] * 2
