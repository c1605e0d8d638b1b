"""What the doctor says of Telegram: the token, BotFather's switches, who gets the updates, time."""

from __future__ import annotations

from email.utils import formatdate
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from bot import config
from bot.chat.messages.queues import make_queues
from bot.chat.telegram.intake import WEBHOOK_PATH
from bot.core.database.database import open_database
from bot.core.outbox import outbox
from bot.wiring.doctor.examination import examine
from bot.wiring.doctor.telegram import FEEDBACK_UNKNOWN, LATELY, MOST_OFF, MOST_WAITING
from tests.support.product_process import free_port
from tests.support.scripted_server import CUT, http_response

if TYPE_CHECKING:
    from pathlib import Path

    from bot.wiring.doctor.finding import Finding
    from tests.support.scripted_server import Peer

TOKEN = "123456:a-token-of-the-test"
ME = {"id": 123456, "username": "ShopBot", "supports_inline_queries": True}
AT = 1_800_000_000
PUBLIC = "https://pay.example.org"


def answered(result: Any, at: float = AT) -> bytes:
    return http_response(200, {"ok": True, "result": result}, Date=formatdate(at, usegmt=True))


async def examined(folder: Path, peer: Peer, *, now: float = AT, **given: Any) -> list[Finding]:
    """What it finds with this Telegram, without what it says of other things."""
    settings = {
        "database_url": f"sqlite:///{folder}/bot.db", "port": int(free_port()),
        "bot_token": TOKEN, "telegram_api_url": peer.url, **given,
    }  # fmt: skip
    found = await examine(config.load(**settings), lambda: int(now * 1000))
    others = {"database", "PUBLIC_URL", "server", "SMTP_URL"}
    return [finding for finding in found if finding.name not in others]


async def hooked(folder: Path, peer: Peer, hook: dict[str, Any], **given: Any) -> list[str]:
    """What is to be mended where getWebhookInfo says this."""
    await peer.say(answered(ME), answered(hook))
    found = await examined(folder, peer, **given)
    return [finding.text for finding in found if not finding.well]


async def test_a_bot_that_is_as_it_should_be_has_nothing_to_mend(
    tmp_path: Path, peer: Peer
) -> None:
    await peer.say(answered(ME), answered({"url": "", "pending_update_count": MOST_WAITING}))
    found = await examined(tmp_path, peer)
    assert [(one.name, one.well, one.text) for one in found] == [
        ("BOT_TOKEN", True, "@ShopBot"),
        ("inline mode", True, "on"),
        ("inline feedback", True, FEEDBACK_UNKNOWN),
        ("clock", True, f"within {MOST_OFF} seconds of Telegram's"),
    ]


async def test_a_token_that_cannot_be_botfathers_is_told_without_asking(tmp_path: Path) -> None:
    """No secret leaves this machine for it, nor stands in what is said."""
    settings = config.load(
        database_url=f"sqlite:///{tmp_path}/bot.db", port=int(free_port()), bot_token=TOKEN
    )
    (found,) = [one for one in await examine(settings) if one.name == "BOT_TOKEN"]
    assert not found.well
    assert "35 characters" in found.text
    assert TOKEN not in found.text


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        (http_response(401, {"ok": False}), "Telegram does not know it: copy it again"),
        (http_response(404, b"<html>"), "Telegram does not know it: copy it again"),
        (http_response(502, b"<html>"), "answered 502 and no result: look at TELEGRAM_API_URL"),
        (http_response(200, []), "answered 200 and no result: look at TELEGRAM_API_URL"),
        (CUT, "is not reached (RemoteProtocolError): is there a network?"),
    ],
)
async def test_what_stands_between_us_and_telegram_is_told_without_the_token(
    tmp_path: Path, peer: Peer, answer: bytes, text: str
) -> None:
    await peer.say(answer)
    (found,) = await examined(tmp_path, peer)
    assert (found.name, found.well) == ("BOT_TOKEN", False)
    assert found.text.endswith(text)
    assert TOKEN not in found.text


async def test_inline_mode_that_is_off_is_to_be_mended(tmp_path: Path, peer: Peer) -> None:
    await peer.say(answered(ME | {"supports_inline_queries": False}), answered({}))
    (found,) = [one for one in await examined(tmp_path, peer) if not one.well]
    assert (found.name, "/setinline" in found.text) == ("inline mode", True)


async def test_inline_feedback_is_known_to_be_on_once_a_shared_card_was_told(
    tmp_path: Path, peer: Peer
) -> None:
    """Telegram never says; nor does a person who only writes the word."""
    updates = make_queues(None, None, None).updates
    database = open_database(f"sqlite:///{tmp_path}/bot.db")
    for body, expected in (
        ({"message": {"text": '"chosen_inline_result":'}}, FEEDBACK_UNKNOWN),
        ({"chosen_inline_result": {"result_id": "a"}}, "on"),
    ):
        database.run(lambda tx, body=body: outbox.put(tx, updates, "7", body, AT))  # type: ignore[misc]  # the loop's own value
        (taken,) = database.run(lambda tx: outbox.claim(tx, updates, AT, 1))
        database.run(lambda tx, taken=taken: outbox.done(tx, updates, taken, AT))  # type: ignore[misc]  # as above
        await peer.say(answered(ME), answered({}))
        found = {one.name: one for one in await examined(tmp_path, peer)}
        assert (found["inline feedback"].well, found["inline feedback"].text) == (True, expected)
    database.close()


@pytest.mark.parametrize(("off", "which"), [(-300, "slow"), (300, "fast"), (31, "fast")])
async def test_a_clock_that_is_wrong_is_told_by_how_much(
    tmp_path: Path, peer: Peer, off: int, which: str
) -> None:
    """Telegram's answer has its own; webhooks are signed with ours."""
    assert await hooked(tmp_path, peer, {}, now=AT + off + 0.5) == [
        f"{abs(off)} seconds {which} by Telegram's: let NTP set it, or signatures won't hold"
    ]


async def test_a_server_that_tells_no_time_leaves_the_clock_unjudged(
    tmp_path: Path, peer: Peer
) -> None:
    await peer.say(*[http_response(200, {"ok": True, "result": ME})] * 2)
    assert "clock" not in {one.name for one in await examined(tmp_path, peer)}


TAKEN = "updates go to a webhook at other.example.com: start the bot again, which takes them back;"


async def test_updates_that_go_to_another_program_are_told_by_its_host_alone(
    tmp_path: Path, peer: Peer
) -> None:
    """The rest of a webhook's address may be its secret."""
    hook = {"url": "https://user:pass@other.example.com/geheim"}
    for mode in ({}, {"telegram_mode": "webhook", "public_url": PUBLIC}):
        (text,) = await hooked(tmp_path, peer, hook, **mode)
        assert text.startswith(TAKEN)
        assert "geheim" not in text


async def test_a_webhook_of_our_own_is_well(tmp_path: Path, peer: Peer) -> None:
    ours = {"telegram_mode": "webhook", "public_url": PUBLIC}
    assert await hooked(tmp_path, peer, {"url": PUBLIC + WEBHOOK_PATH}, **ours) == []
    assert await hooked(tmp_path, peer, {"url": ""}, **ours) == []


@pytest.mark.parametrize(("ago", "number"), [(LATELY - 60, 1), (LATELY + 60, 0)])
async def test_telegrams_trouble_with_our_webhook_is_told_while_it_is_news(
    tmp_path: Path, peer: Peer, ago: int, number: int
) -> None:
    hook = {"last_error_date": AT - ago, "last_error_message": "Connection\nrefused\x1b"}
    found = await hooked(tmp_path, peer, hook)
    assert len(found) == number
    assert not number or "(Connection refused" in found[0]


async def test_updates_that_pile_up_are_told(tmp_path: Path, peer: Peer) -> None:
    (text,) = await hooked(tmp_path, peer, {"pending_update_count": MOST_WAITING + 1})
    assert text.startswith(f"{MOST_WAITING + 1} updates wait at Telegram")


async def test_the_doctor_does_not_wait_for_a_telegram_that_hangs(
    tmp_path: Path, peer: Peer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bot.wiring.doctor.telegram.PATIENCE", httpx.Timeout(0.05))
    (found,) = await examined(tmp_path, peer)
    assert "is not reached (ReadTimeout)" in found.text
