"""The file that a buyer gets, as Telegram has it from its seller."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bot.chat.model.goods import FILE
from bot.chat.store import listings
from bot.chat.store.personal_data.erase import listing_id_of

if TYPE_CHECKING:
    from bot.chat.model.receipt import DeliveredFile
    from bot.core.database.database import Transaction

METHODS = {
    "document": "sendDocument",
    "photo": "sendPhoto",
    "video": "sendVideo",
    "animation": "sendAnimation",
    "audio": "sendAudio",
    "voice": "sendVoice",
}
"""How a file is sent again; Telegram changes no file's kind. Others are on the receipt's page."""


def telegram_file(
    tx: Transaction, request_id: str, bought: DeliveredFile | None = None
) -> tuple[str, str] | None:
    """Return the method and the file_id that send what a request delivers; None for no such file.

    A request that was not made in this chat has none, nor has one whose file Telegram doesn't have.
    Buyers from before codes may have `bought` a former file, and Telegram's id is of the latest.
    """
    listing_id = listing_id_of(tx, request_id)
    listing = listings.find_listing(tx, listing_id) if listing_id else None
    goods = listing.wish.goods if listing else None
    if goods is None or goods.kind != FILE or goods.telegram_id is None:
        return None
    if bought is not None and (bought.name, bought.size) != (goods.name, goods.size):
        return None
    method = METHODS.get(goods.sent_as or "")
    return None if method is None else (method, goods.telegram_id)
