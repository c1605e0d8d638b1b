"""A delivered file: sent by Telegram's own id, or left behind the receipt's link."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from bot.chat.cards.receipts import telegram_file
from bot.chat.model.request_spec import FILE, Goods
from bot.sandbox.world.errors import Fault
from tests.support.chat_harness import COFFEE, REQUEST_ID, ChatHarness, service_answer
from tests.support.receipt_steps import PAID, ReceiptSteps

if TYPE_CHECKING:
    from bot.sandbox.world.people import Person


ALBUM = Goods(FILE, file_id="f1", name="album.zip", size=3, telegram_id="doc-1", sent_as="document")


@pytest.mark.parametrize(
    ("goods", "found"),
    [
        (ALBUM, ("sendDocument", "doc-1")),
        (replace(ALBUM, sent_as="photo"), ("sendPhoto", "doc-1")),
        (replace(ALBUM, sent_as="video"), ("sendVideo", "doc-1")),
        (replace(ALBUM, sent_as="animation"), ("sendAnimation", "doc-1")),
        (replace(ALBUM, sent_as="audio"), ("sendAudio", "doc-1")),
        (replace(ALBUM, sent_as="voice"), ("sendVoice", "doc-1")),
        (replace(ALBUM, sent_as="video_note"), None),
        (replace(ALBUM, telegram_id=None), None),
        (Goods("text", text="Hello"), None),
        (None, None),
    ],
)
def test_a_file_is_sent_as_its_seller_sent_it(
    chat: ChatHarness, sam: Person, goods: Goods | None, found: tuple[str, str] | None
) -> None:
    chat.add_link(sam, replace(COFFEE, goods=goods), service_answer())
    assert chat.db.run(lambda tx: telegram_file(tx, REQUEST_ID)) == found
    assert chat.db.run(lambda tx: telegram_file(tx, "f" * 24)) is None


@pytest.mark.parametrize("other", [{"name": "song.zip"}, {"size": 4}])
async def test_a_buyer_of_the_former_file_is_not_sent_the_one_in_its_place(
    steps: ReceiptSteps, pat: Person, sam: Person, other: dict[str, object]
) -> None:
    """Codes came between the two, so nobody corrected it; Telegram's id is of the latest file."""
    steps.chat.add_link(sam, replace(COFFEE, goods=ALBUM), service_answer())
    url = "https://pay.example.org/f"
    file = {"name": "album.zip", "mediaType": "application/zip", "size": 3, "url": url}
    steps.receipt = PAID | {"delivery": {"state": "delivered", "file": file | other}}
    await steps.follow(pat)
    assert len(pat.chat.from_bot()) == 1
    assert steps.chat.said == []


async def test_a_file_that_is_not_delivered_any_more_is_not_sent(
    steps: ReceiptSteps, pat: Person, sam: Person
) -> None:
    """The service shows nothing of a payment that was paid back."""
    steps.chat.add_link(sam, replace(COFFEE, goods=ALBUM), service_answer())
    steps.receipt = PAID | {"status": "paidBack"}
    await steps.follow(pat)
    assert len(pat.chat.from_bot()) == 1
    assert steps.chat.said == []


@pytest.mark.parametrize("refuses", [False, True])
async def test_a_file_that_cannot_be_sent_again_delays_no_other_reply(
    steps: ReceiptSteps, pat: Person, sam: Person, *, refuses: bool
) -> None:
    """Another bot was sent it before BOT_TOKEN changed, or its buyer takes no voice messages.

    The receipt has the download.
    """
    steps.chat.add_link(sam, replace(COFFEE, goods=ALBUM), service_answer())
    if refuses:
        steps.chat.world.faults.add(Fault("error", "sendDocument", code=400))
    url = "https://pay.example.org/f"
    file = {"name": "album.zip", "mediaType": "application/zip", "size": 3, "url": url}
    steps.receipt = PAID | {"delivery": {"state": "delivered", "file": file}}
    await steps.follow(pat)
    (refused,) = steps.chat.world.refused
    assert ("wrong file identifier" in str(refused)) is not refuses
    steps.chat.world.refused.clear()
    assert "What I store" in (await steps.says(pat, "/privacy")).text
    assert steps.chat.states(steps.chat.queues.messages) == []
