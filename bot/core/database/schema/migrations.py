"""The schema as numbered migrations, in SQL that SQLite and PostgreSQL both take.

Ids are text made by the application, times are UTC epoch milliseconds, money is
minor units of the currency beside it, JSON is text. A migration that has been
released is never changed: add the next one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bot.core.database.schema.audit import AUDIT
from bot.core.database.schema.checkouts import CHECKOUTS
from bot.core.database.schema.crashes import CRASHES
from bot.core.database.schema.dialects import DIALECTS
from bot.core.database.schema.fairness import FAIRNESS
from bot.core.database.schema.first import CHAT, FLOOR, SERVICE
from bot.core.database.schema.holds import HOLDS
from bot.core.database.schema.lists import LISTS
from bot.core.database.schema.own_webhooks import OWN_WEBHOOKS
from bot.core.database.schema.probe import PROBE
from bot.core.database.schema.recipients import RECIPIENTS
from bot.core.database.schema.requests import REQUESTS
from bot.core.database.schema.sums import SUMS

if TYPE_CHECKING:
    from bot.core.database.schema.tables import Step

# Who has a message under way, told from whoever has it later; payments that no webhook told.
RELAY = (
    "ALTER TABLE outbox ADD COLUMN lease TEXT",
    "ALTER TABLE received_payments ADD COLUMN found INTEGER NOT NULL DEFAULT 0",
)

MIGRATIONS: tuple[tuple[Step, ...], ...] = (
    (*FLOOR, *SERVICE, *CHAT),
    CHECKOUTS,
    RELAY,
    (*AUDIT, *LISTS),
    REQUESTS,
    PROBE,
    OWN_WEBHOOKS,
    RECIPIENTS,
    HOLDS,
    DIALECTS,
    FAIRNESS,
    SUMS,
    CRASHES,
)
