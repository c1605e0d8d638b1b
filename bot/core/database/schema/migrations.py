"""The schema as numbered migrations, in SQL that SQLite and PostgreSQL both take.

Ids are text made by the application, times are UTC epoch milliseconds, money is minor units of the
currency beside it, JSON is text. A migration that has been released is never changed: add the next.
"""

from bot.core.database.schema.chat import CHAT
from bot.core.database.schema.floor import FLOOR
from bot.core.database.schema.service import SERVICE

MIGRATIONS: tuple[tuple[str, ...], ...] = ((*FLOOR, *SERVICE, *CHAT),)
"""The statements of each migration; the first has the number 1."""
