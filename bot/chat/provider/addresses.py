"""Our addresses as a payment server gets them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

KEEP = "r-{requestId}-{transactionId}"
"""The deep link to a receipt; the service fills in the ids."""


@dataclass(frozen=True, slots=True)
class Addresses:
    """Our addresses as the server gets them: `receiver` of webhooks, `images` of pictures.

    `events` are those that the receiver asks for, empty where it gets payments alone. `bot_name`
    returns the bot's username, empty until Telegram was reached; None for another server than the
    embedded one, which alone links its receipts to the bot. `chat_page` is the address where people
    chat with the bot if that isn't Telegram.
    """

    receiver: str
    images: str
    events: tuple[str, ...] = ()
    bot_name: Callable[[], str] | None = None
    chat_page: str | None = None

    @property
    def keep(self) -> str | None:
        """Return the link that keeps a payer's receipt in Telegram, for any payment."""
        name = self.bot_name() if self.bot_name else ""
        return f"{self.chat_page or f'https://t.me/{name}'}?start={KEEP}" if name else None
