"""The doctor checks Telegram: the token, BotFather's switches, the way of updates, the clock."""

from __future__ import annotations

from email.utils import formatdate
from pathlib import Path
from typing import Any

import pytest

from bot import config
from bot.app.doctor.examination import examine
from bot.app.doctor.findings import Finding
from bot.app.doctor.outside_checks import FEEDBACK_UNKNOWN, LATELY, MOST_OFF, MOST_WAITING
from bot.chat.model.queues import make_queues
from bot.chat.telegram.intake import WEBHOOK_PATH
from bot.core.outbox import outbox
from tests.support.databases import open_in
from tests.support.free_ports import free_port
from tests.support.http_peers import CUT, ScriptedServer, http_response

TOKEN = "123456:a-token-of-the-test"
ME = {"id": 123456, "username": "ShopBot", "supports_inline_queries": True}
AT = 1_800_000_000
PUBLIC = "https://pay.example.org"


def answered(result: Any, at: float = AT) -> bytes:
    return http_response(200, {"ok": True, "result": result}, Date=formatdate(at, usegmt=True))


async def examined(
    folder: Path, peer: ScriptedServer, *, now: float = AT, **given: Any
) -> list[Finding]:
    """The findings about this Telegram."""
    settings = {
        "database_url": f"sqlite:///{folder}/bot.db", "port": int(free_port()),
        "bot_token": TOKEN, "telegram_api_url": peer.url, **given,
    }  # fmt: skip
    found = await examine(config.load(**settings), lambda: int(now * 1000))
    others = {"database", "PUBLIC_URL", "server", "RAILS", "SMTP_URL"}
    return [finding for finding in found if finding.name not in others]


async def hooked(
    folder: Path, peer: ScriptedServer, hook: dict[str, Any], **given: Any
) -> list[str]:
    """The texts of what needs a fix if getWebhookInfo answers this."""
    await peer.add_answers(answered(ME), answered(hook))
    found = await examined(folder, peer, **given)
    return [finding.text for finding in found if not finding.ok]


async def test_a_bot_that_is_set_up_well_needs_no_fix(tmp_path: Path, peer: ScriptedServer) -> None:
    await peer.add_answers(
        answered(ME), answered({"url": "", "pending_update_count": MOST_WAITING})
    )
    found = await examined(tmp_path, peer)
    assert [(one.name, one.ok, one.text) for one in found] == [
        ("BOT_TOKEN", True, "@ShopBot"),
        ("inline mode", True, "on"),
        ("inline feedback", True, FEEDBACK_UNKNOWN),
        ("clock", True, f"within {MOST_OFF} seconds of Telegram's"),
    ]


async def test_a_token_of_the_wrong_length_is_reported_without_a_call(tmp_path: Path) -> None:
    """No secret leaves this machine, and the text does not contain it."""
    settings = config.load(
        database_url=f"sqlite:///{tmp_path}/bot.db", port=int(free_port()), bot_token=TOKEN
    )
    (found,) = [one for one in await examine(settings) if one.name == "BOT_TOKEN"]
    assert not found.ok
    assert "35 characters" in found.text
    assert TOKEN not in found.text


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        (http_response(401, {"ok": False}), "Telegram rejects this token: copy it again"),
        (http_response(404, b"<html>"), "Telegram rejects this token: copy it again"),
        (http_response(502, b"<html>"), "answered 502 without a result: check TELEGRAM_API_URL"),
        (http_response(200, []), "answered 200 without a result: check TELEGRAM_API_URL"),
        (CUT, "can't be reached (RemoteProtocolError): check the network"),
    ],
)
async def test_a_failed_call_is_reported_without_the_token(
    tmp_path: Path, peer: ScriptedServer, answer: bytes, text: str
) -> None:
    await peer.add_answers(answer)
    (found,) = await examined(tmp_path, peer)
    assert (found.name, found.ok) == ("BOT_TOKEN", False)
    assert found.text.endswith(text)
    assert TOKEN not in found.text


@pytest.mark.parametrize(
    ("given", "findings"),
    [
        ({}, [(False, "not set, so people can't ask for help")]),
        ({"operator_contact": "@ops_team"}, [(True, "@ops_team")]),
        ({"telegram_api_url": "http://127.0.0.1:1"}, []),
        ({"bot_token": None}, []),
    ],
)
async def test_a_bot_of_the_real_telegram_needs_a_contact(
    tmp_path: Path, given: dict[str, Any], findings: list[tuple[bool, str]]
) -> None:
    """The token is too short, so Telegram isn't called."""
    settings = {
        "database_url": f"sqlite:///{tmp_path}/bot.db", "port": int(free_port()),
        "bot_token": TOKEN, **given,
    }  # fmt: skip
    found = [one for one in await examine(config.load(**settings)) if "CONTACT" in one.name]
    assert len(found) == len(findings)
    for one, (is_ok, text) in zip(found, findings, strict=True):
        assert one.ok == is_ok
        assert one.text.startswith(text)


async def test_inline_mode_that_is_off_is_reported(tmp_path: Path, peer: ScriptedServer) -> None:
    await peer.add_answers(answered(ME | {"supports_inline_queries": False}), answered({}))
    (found,) = [one for one in await examined(tmp_path, peer) if not one.ok]
    assert (found.name, "/setinline" in found.text) == ("inline mode", True)


async def test_inline_feedback_is_known_to_be_on_once_a_shared_card_was_reported(
    tmp_path: Path, peer: ScriptedServer
) -> None:
    """No method of Telegram tells, and a person who types the word proves nothing."""
    updates = make_queues(None, None, None).updates
    database = open_in(tmp_path)
    for body, expected in (
        ({"message": {"text": '"chosen_inline_result":'}}, FEEDBACK_UNKNOWN),
        ({"chosen_inline_result": {"result_id": "a"}}, "on"),
    ):
        database.run(lambda tx, body=body: outbox.put(tx, updates, "7", body, AT))  # type: ignore[misc]  # the loop's own value
        (taken,) = database.run(lambda tx: outbox.claim(tx, updates, AT, 1))
        database.run(lambda tx, taken=taken: outbox.done(tx, updates, taken, AT))  # type: ignore[misc]  # as above
        await peer.add_answers(answered(ME), answered({}))
        found = {one.name: one for one in await examined(tmp_path, peer)}
        assert (found["inline feedback"].ok, found["inline feedback"].text) == (True, expected)
    database.close()


@pytest.mark.parametrize(("off", "which"), [(-300, "behind"), (300, "ahead of"), (31, "ahead of")])
async def test_a_wrong_clock_is_reported_with_the_difference(
    tmp_path: Path, peer: ScriptedServer, off: int, which: str
) -> None:
    """Telegram's answers carry its time; webhooks are signed with ours."""
    assert await hooked(tmp_path, peer, {}, now=AT + off + 0.5) == [
        f"{abs(off)} seconds {which} Telegram's, so signatures may be refused: turn on NTP"
    ]


async def test_without_a_time_in_the_answer_the_clock_is_not_checked(
    tmp_path: Path, peer: ScriptedServer
) -> None:
    await peer.add_answers(*[http_response(200, {"ok": True, "result": ME})] * 2)
    assert "clock" not in {one.name for one in await examined(tmp_path, peer)}


ELSEWHERE = "updates go to a webhook at other.example.com: restart the bot to get them back;"


async def test_a_webhook_of_another_program_is_named_by_its_host_alone(
    tmp_path: Path, peer: ScriptedServer
) -> None:
    """The rest of the address may be a secret."""
    hook = {"url": "https://user:pass@other.example.com/geheim"}
    for mode in ({}, {"telegram_mode": "webhook", "public_url": PUBLIC}):
        (text,) = await hooked(tmp_path, peer, hook, **mode)
        assert text.startswith(ELSEWHERE)
        assert "geheim" not in text


async def test_a_webhook_of_our_own_needs_no_fix(tmp_path: Path, peer: ScriptedServer) -> None:
    ours = {"telegram_mode": "webhook", "public_url": PUBLIC}
    assert await hooked(tmp_path, peer, {"url": PUBLIC + WEBHOOK_PATH}, **ours) == []
    assert await hooked(tmp_path, peer, {"url": ""}, **ours) == []


@pytest.mark.parametrize(("ago", "number"), [(LATELY - 60, 1), (LATELY + 60, 0)])
async def test_failed_deliveries_to_our_webhook_are_reported_while_recent(
    tmp_path: Path, peer: ScriptedServer, ago: int, number: int
) -> None:
    hook = {"last_error_date": AT - ago, "last_error_message": "Connection\nrefused\x1b"}
    found = await hooked(tmp_path, peer, hook)
    assert len(found) == number
    assert not number or "(Connection refused" in found[0]


async def test_a_backlog_of_updates_is_reported(tmp_path: Path, peer: ScriptedServer) -> None:
    (text,) = await hooked(tmp_path, peer, {"pending_update_count": MOST_WAITING + 1})
    assert text.startswith(f"{MOST_WAITING + 1} updates are waiting at Telegram")


async def test_a_telegram_that_hangs_is_not_waited_for(
    tmp_path: Path, peer: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bot.app.doctor.outside_checks.ASK_SECONDS", 0.05)
    (found,) = await examined(tmp_path, peer)
    assert "can't be reached (ReadTimeout)" in found.text
