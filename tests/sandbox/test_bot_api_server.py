"""The Bot API over HTTP: who may call, how parameters travel, what is recorded, what may fail."""

import asyncio
import json
from random import Random
from typing import Any

import httpx
import pytest

from bot.sandbox.world import people
from bot.sandbox.world.errors import Fault, Faults
from bot.sandbox.world.world import World
from tests.support.sandbox_server import START, Bot, Clock


async def test_another_token_is_unauthorized(bot: Bot) -> None:
    response = await bot.http.get("/bot1:other/getMe")
    assert response.status_code == 401
    assert response.json() == {"ok": False, "error_code": 401, "description": "Unauthorized"}


async def test_an_unknown_method_is_not_found(bot: Bot) -> None:
    assert await bot.refused("sendNothing") == (404, "Not Found: method not found")


async def test_get_me_tells_who_the_bot_is(bot: Bot) -> None:
    me = await bot.done("getMe")
    assert (me["id"], me["is_bot"], me["username"]) == (42, True, "PaymentRequestBot")
    assert me["supports_inline_queries"] is True


@pytest.mark.parametrize("name", ["sendMessage", "sendmessage", "SENDMESSAGE"])
async def test_method_names_are_read_in_any_case(bot: Bot, sam: people.Person, name: str) -> None:
    await bot.done(name, chat_id=sam.id, text="hi")
    assert [call.method for call in bot.world.calls] == ["sendMessage"]


@pytest.mark.parametrize("way", ["query", "json", "form", "multipart"])
async def test_parameters_travel_in_four_ways(bot: Bot, sam: people.Person, way: str) -> None:
    path = f"/bot{bot.world.token}/sendMessage"
    markup = {"inline_keyboard": [[{"text": "A", "callback_data": "a"}]]}
    flat = {"chat_id": str(sam.id), "text": "ü", "reply_markup": json.dumps(markup)}
    sent = {
        "query": lambda: bot.http.get(path, params=flat),
        "json": lambda: bot.http.post(path, json=flat | {"reply_markup": markup}),
        "form": lambda: bot.http.post(path, data=flat),
        "multipart": lambda: bot.http.post(path, data=flat, files={"unused": b"x"}),
    }
    answer = (await sent[way]()).json()
    assert answer["result"]["text"] == "ü"
    assert answer["result"]["reply_markup"] == markup


async def test_a_body_that_is_no_json_object_is_refused(bot: Bot) -> None:
    path = f"/bot{bot.world.token}/getMe"
    response = await bot.http.post(
        path, content=b"[1", headers={"content-type": "application/json"}
    )
    assert response.status_code == 400
    assert response.json()["error_code"] == 400


@pytest.mark.parametrize(
    "params",
    [
        {"text": "\ud800"},
        {"text": "x", "reply_markup": '{"inline_keyboard": [[{"text": "\\ud800"}]]}'},
        {"text": "x", "link_preview_options": 5},
        {"text": "x", "message_thread_id": "y"},
    ],
)
async def test_nonsense_is_refused_and_never_a_crash(
    bot: Bot, sam: people.Person, params: dict[str, Any]
) -> None:
    body = json.dumps({"chat_id": sam.id, **params}).encode()
    path, headers = f"/bot{bot.world.token}/sendMessage", {"content-type": "application/json"}
    response = await bot.http.post(path, content=body, headers=headers)
    assert (response.status_code, response.json()["ok"]) == (400, False)
    assert sam.chat.visible == []


async def test_a_broken_form_is_refused(bot: Bot) -> None:
    headers = {"content-type": "multipart/form-data; boundary=x"}
    response = await bot.http.post(
        f"/bot{bot.world.token}/getMe", content=b"--y\r\nnonsense", headers=headers
    )
    assert (response.status_code, response.json()["error_code"]) == (400, 400)


async def test_a_body_above_the_size_limit_is_413(bot: Bot) -> None:
    path = f"/bot{bot.world.token}/getMe"
    response = await bot.http.post(path, content=b"x" * (51 * 1024 * 1024 + 1))
    assert response.json() == {
        "ok": False,
        "error_code": 413,
        "description": "Request Entity Too Large",
    }


async def test_unknown_parameters_are_ignored(bot: Bot, sam: people.Person) -> None:
    assert (await bot.done("sendMessage", chat_id=sam.id, text="x", fancy=1))["text"] == "x"


async def test_calls_are_recorded_in_order_and_refused_ones_apart(
    bot: Bot, sam: people.Person
) -> None:
    await bot.done("getMe")
    await bot.refused("sendMessage", chat_id=999, text="x")
    await bot.done("sendMessage", chat_id=sam.id, text="x")
    assert [call.method for call in bot.world.calls] == ["getMe", "sendMessage"]
    assert bot.world.calls[1].params == {"chat_id": sam.id, "text": "x"}
    assert bot.world.calls[1].time == START
    assert [(call.method, call.code) for call in bot.world.refused] == [("sendMessage", 400)]
    assert len(bot.world.calls_of("sendMessage")) == 1


async def test_a_planned_error_is_answered_as_often_as_asked_and_takes_nothing(
    bot: Bot, sam: people.Person
) -> None:
    bot.world.faults.add(
        Fault("error", "sendMessage", times=2, code=502, description="Bad Gateway")
    )
    for _ in range(2):
        refusal = await bot.refused("sendMessage", chat_id=sam.id, text="x")
        assert refusal == (502, "Bad Gateway")
    await bot.done("sendMessage", chat_id=sam.id, text="x")
    assert len(sam.chat.from_bot()) == 1


async def test_a_planned_429_carries_retry_after_for_the_chat_concerned_only(
    bot: Bot, sam: people.Person
) -> None:
    pat = people.join(bot.world, "Pat", started=True)
    bot.world.faults.add(Fault("error", "sendMessage", chat_id=sam.id, retry_after=7))
    await bot.done("sendMessage", chat_id=pat.id, text="x")
    assert await bot.call("sendMessage", chat_id=sam.id, text="x") == {
        "ok": False,
        "error_code": 429,
        "description": "Too Many Requests: retry after 7",
        "parameters": {"retry_after": 7},
    }


async def test_a_cut_connection_leaves_the_message_and_a_dropped_one_does_not(
    bot: Bot, sam: people.Person
) -> None:
    for kind, seen in (("cut", ["cut"]), ("drop", ["cut"])):
        bot.world.faults.add(Fault(kind, "sendMessage"))  # type: ignore[arg-type] # both are kinds
        with pytest.raises(httpx.RemoteProtocolError):
            await bot.call("sendMessage", chat_id=sam.id, text=kind)
        assert [message.text for message in sam.chat.from_bot()] == seen
    assert len(bot.world.calls) == 1


async def test_an_accepted_error_leaves_the_message(bot: Bot, sam: people.Person) -> None:
    bot.world.faults.add(Fault("error", accepted=True, code=504, description="Gateway Timeout"))
    assert (await bot.refused("sendMessage", chat_id=sam.id, text="x"))[0] == 504
    assert [message.text for message in sam.chat.from_bot()] == ["x"]


async def test_a_delayed_answer_is_accepted_at_once(bot: Bot, sam: people.Person) -> None:
    bot.world.faults.add(Fault("delay", "sendMessage", seconds=600))
    waiting = asyncio.create_task(bot.call("sendMessage", chat_id=sam.id, text="x"))
    message = await bot.world.bot_message(sam.chat)
    assert (message.text, waiting.done()) == ("x", False)
    await bot.world.close()
    assert (await waiting)["ok"]


async def test_faults_that_name_no_method_spare_get_updates(bot: Bot) -> None:
    bot.world.faults.add(Fault("error"))
    assert await bot.done("getUpdates") == []
    assert (await bot.refused("getMe"))[0] == 500
    assert bot.world.faults.planned == []


async def test_chance_picks_calls_by_a_seed_and_counts_only_those(
    bot: Bot, sam: people.Person
) -> None:
    def picked(seed: int) -> list[bool]:
        faults = Faults(dice=Random(seed))
        fault = faults.add(Fault("error", times=99, chance=0.25))
        found = [faults.take("sendmessage", sam.id) is not None for _ in range(20)]
        assert fault.times == 99 - sum(found)
        return found

    assert picked(7) == picked(7) != picked(8)
    assert sum(picked(7)) == 8
    bot.world.faults.add(Fault("error", chance=0.0))
    assert (await bot.call("getMe"))["ok"]


async def test_faults_can_be_cleared(bot: Bot) -> None:
    bot.world.faults.add(Fault("error", times=9))
    bot.world.faults.clear()
    assert (await bot.call("getMe"))["ok"]


@pytest.mark.parametrize(
    ("token", "status"), [("42:wrong", 401), (None, 404)], ids=["another token", "unknown path"]
)
async def test_other_downloads_are_refused(bot: Bot, token: str | None, status: int) -> None:
    response = await bot.http.get(f"/file/bot{token or bot.world.token}/photos/none.png")
    assert (response.status_code, response.json()["error_code"]) == (status, status)


async def test_an_unknown_file_has_no_path(bot: Bot) -> None:
    answer = await bot.refused("getFile", file_id="nothing")
    assert answer == (400, "Bad Request: wrong file_id or the file is temporarily unavailable")


async def test_update_and_message_ids_rise_across_restarts() -> None:
    """A world started a minute later numbers above all that a busy minute has used."""
    first, second = World(now=Clock()), World(now=Clock(START + 60))
    sam = people.join(first, "Sam", started=True)
    last = [sam.send(f"{number}") for number in range(400)][-1]
    later = people.join(second, "Sam", started=True).send("again")
    assert first.updates.pending[-1]["update_id"] < second.updates.pending[0]["update_id"]
    assert last.id < later.id < 2**31
    assert second.updates.pending[0]["update_id"] < 2**31


async def test_closing_the_world_ends_every_wait_at_once(bot: Bot) -> None:
    polling = asyncio.create_task(bot.done("getUpdates", timeout=50))
    await bot.world.wait_for(lambda: bot.world.polls)
    await bot.world.close()
    assert await polling == []


async def test_waiting_for_what_does_not_come_times_out() -> None:
    with pytest.raises(TimeoutError):
        await World().wait_for(lambda: False, seconds=0)
