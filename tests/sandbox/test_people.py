"""Buttons, inline mode and the bot's profile, from both ends."""

import asyncio
from typing import Any

import pytest

from bot.sandbox.world import people
from bot.sandbox.world.errors import WorldError
from bot.sandbox.world.world import World
from tests.support.sandbox_server import Bot, Clock, button_row, png_header

TOO_OLD = (
    400,
    "Bad Request: query is too old and response timeout expired or query ID is invalid",
)
A = {"text": "Yes, stop", "callback_data": "stop:1"}
LINK = {"text": "Open", "url": "https://example.com"}


@pytest.fixture
def pat(bot: Bot) -> people.Person:
    return people.join(bot.world, "Pat", started=True)


def article(number: str, **more: Any) -> dict[str, Any]:
    content = {"message_text": "<b>x</b>", "parse_mode": "HTML"}
    return {
        "type": "article",
        "id": number,
        "title": "T",
        "input_message_content": content,
        **more,
    }


async def asked(bot: Bot, sam: people.Person) -> Any:
    """A message with two buttons, as the person sees it."""
    await bot.done("sendMessage", chat_id=sam.id, text="?", reply_markup=button_row(A, LINK))
    return sam.chat.visible[-1]


@pytest.mark.parametrize("name", ["Yes, stop", "stop:1", "stop"])
async def test_a_press_becomes_a_callback_query_and_its_answer_comes_back(
    bot: Bot, sam: people.Person, name: str
) -> None:
    query = sam.press(await asked(bot, sam), name)
    (update,) = await bot.updates()
    assert update["callback_query"]["data"] == "stop:1"
    assert update["callback_query"]["message"]["text"] == "?"
    identifier = update["callback_query"]["id"]
    await bot.done("answerCallbackQuery", callback_query_id=identifier, text="ok", show_alert=True)
    assert await sam.answer(query) == {"text": "ok", "show_alert": True, "url": ""}


async def test_a_press_is_answered_once_and_within_half_a_minute(
    bot: Bot, sam: people.Person, sandbox_clock: Clock
) -> None:
    message = await asked(bot, sam)
    first, second = sam.press_at(message, 0, 0), sam.press_old(message, "old")
    await bot.done("answerCallbackQuery", callback_query_id=first.id)
    assert await bot.refused("answerCallbackQuery", callback_query_id=first.id) == TOO_OLD
    sandbox_clock.now += 31
    assert await bot.refused("answerCallbackQuery", callback_query_id=second.id) == TOO_OLD
    assert await bot.refused("answerCallbackQuery", callback_query_id="0") == TOO_OLD
    assert second.answer is None


@pytest.mark.parametrize(("length", "taken"), [(200, True), (201, False)])
async def test_an_answer_has_at_most_200_characters(
    bot: Bot, sam: people.Person, length: int, *, taken: bool
) -> None:
    query = sam.press(await asked(bot, sam), "stop")
    answer = await bot.call("answerCallbackQuery", callback_query_id=query.id, text="x" * length)
    assert answer["ok"] is taken
    assert (query.answer is not None) is taken


@pytest.mark.parametrize(
    ("address", "taken"),
    [
        ("https://t.me/PaymentRequestBot?start=x-1", True),
        ("tg://resolve?domain=paymentrequestbot&start=x", True),
        ("https://t.me/PaymentRequestBot", False),
        ("https://t.me/OtherBot?start=x", False),
        ("https://example.com/pay", False),
    ],
)
async def test_an_answer_leads_nowhere_but_to_the_bot_itself(
    bot: Bot, sam: people.Person, address: str, *, taken: bool
) -> None:
    query = sam.press(await asked(bot, sam), "stop")
    answer = await bot.call("answerCallbackQuery", callback_query_id=query.id, url=address)
    assert answer.get("description") == (None if taken else "Bad Request: URL_INVALID")
    assert (query.answer is not None) is taken


@pytest.mark.parametrize("payload", ["x" * 65, "a b", "ü", "a.b"])
async def test_a_deep_link_carries_1_to_64_plain_characters(
    bot: Bot, sam: people.Person, payload: str
) -> None:
    with pytest.raises(WorldError, match="1 to 64"):
        sam.start(payload)
    assert await bot.updates() == []
    assert sam.start("r_" + "x" * 62).text == "/start r_" + "x" * 62


async def test_only_buttons_that_are_there_and_ask_the_bot_can_be_pressed(
    bot: Bot, sam: people.Person
) -> None:
    message = await asked(bot, sam)
    with pytest.raises(LookupError, match="'Yes, stop', 'Open'"):
        sam.press(message, "Delete")
    with pytest.raises(LookupError):
        sam.press_at(message, 1, 0)
    with pytest.raises(WorldError, match="no callback button"):
        sam.press(message, "Open")
    with pytest.raises(WorldError, match="no callback button"):
        sam.press_at(message, 0, 1)
    assert await bot.updates() == []


async def inline(bot: Bot, actor: people.Person, query: str, **answer: Any) -> Any:
    """Ask and answer an inline query; the query as the person has it afterwards."""
    waiting = asyncio.create_task(actor.inline(query))
    update = await bot.update()
    number = update["inline_query"]["id"]
    await bot.done("answerInlineQuery", inline_query_id=number, **answer)
    return await waiting


async def test_a_chosen_result_is_posted_via_the_bot_and_can_be_edited(
    bot: Bot, sam: people.Person, pat: people.Person
) -> None:
    query = await inline(bot, sam, "coffee", results=[article("1", reply_markup=button_row(A))])
    assert query.results[0]["title"] == "T"
    posted = sam.choose(query, "1", sam.dialog(pat))
    assert (posted.text, posted.via_bot, posted.sender) == ("x", bot.world.bot, sam.user)
    assert posted.inline_message_id
    edit = {"inline_message_id": posted.inline_message_id, "text": "sold out"}
    assert await bot.done("editMessageText", **edit) is True
    assert (posted.text, posted.history[0].content["text"]) == ("sold out", "x")
    assert await bot.updates() == []


async def test_a_button_under_an_inline_message_names_it_by_its_inline_id(
    bot: Bot, sam: people.Person, pat: people.Person
) -> None:
    query = await inline(bot, sam, "", results=[article("1", reply_markup=button_row(A))])
    posted = sam.choose(query, "1", sam.dialog(pat))
    pat.press(posted, "stop")
    (update,) = await bot.updates()
    assert update["callback_query"]["inline_message_id"] == posted.inline_message_id
    assert "message" not in update["callback_query"]


async def test_without_a_keyboard_there_is_no_inline_message_id(
    bot: Bot, sam: people.Person, pat: people.Person
) -> None:
    query = await inline(bot, sam, "", results=[article("1")])
    assert sam.choose(query, "1", sam.dialog(pat)).inline_message_id is None
    with pytest.raises(LookupError, match="no result '2'"):
        sam.choose(query, "2", sam.dialog(pat))


@pytest.mark.parametrize("feedback", [True, False])
async def test_a_chosen_result_is_told_only_with_inline_feedback(
    bot: Bot, sam: people.Person, pat: people.Person, *, feedback: bool
) -> None:
    bot.world.inline_feedback = feedback
    query = await inline(bot, sam, "q", results=[article("1", reply_markup=button_row(A))])
    posted = sam.choose(query, "1", sam.dialog(pat))
    told = [update["chosen_inline_result"] for update in await bot.updates()]
    assert (
        told
        == [
            {
                "result_id": "1",
                "from": sam.user.json(),
                "query": "q",
                "inline_message_id": posted.inline_message_id,
            }
        ][: int(feedback)]
    )


async def test_an_inline_photo_is_posted_by_its_file_id(
    bot: Bot, sam: people.Person, pat: people.Person
) -> None:
    sent = await bot.upload("sendPhoto", {"photo": png_header(9, 9)}, chat_id=sam.id)
    file_id = sent["result"]["photo"][0]["file_id"]
    result = {"type": "photo", "id": "p", "photo_file_id": file_id, "caption": "c"}
    query = await inline(bot, sam, "", results=[result])
    posted = sam.choose(query, "p", sam.dialog(pat))
    assert (posted.photo, posted.text) == (file_id, "c")


async def test_an_answer_is_cached_for_everybody_unless_it_is_personal(
    bot: Bot, sam: people.Person, pat: people.Person, sandbox_clock: Clock
) -> None:
    shared = await inline(bot, sam, "q", results=[article("1")])
    assert await pat.inline("q") is shared
    sandbox_clock.now += 301
    own = await inline(bot, sam, "q", results=[article("2")], is_personal=True, cache_time=5)
    assert await sam.inline("q") is own
    pats = pat.ask_inline("q")
    assert pats is not own
    sandbox_clock.now += 6
    assert sam.ask_inline("q") is not own
    assert len(await bot.updates()) == 2


@pytest.mark.parametrize(
    ("answer", "refusal"),
    [
        ({"results": [article(str(n)) for n in range(51)]}, "RESULTS_TOO_MUCH"),
        ({"results": [article("1"), article("1")]}, "RESULT_ID_DUPLICATE"),
        ({"results": [article("é" * 33)]}, "RESULT_ID_INVALID"),
        ({"results": [article("")]}, "RESULT_ID_INVALID"),
        ({"results": "x"}, "can't parse inline query results JSON object"),
        ({"results": {}}, "expected an Array of InlineQueryResult"),
        ({"results": [1]}, "can't parse inline query result: must be an object"),
        (
            {"results": [article("1") | {"title": ""}]},
            "can't parse inline query result: Can't find field \"title\"",
        ),
        (
            {"results": [{"type": "article", "id": "1", "title": "T"}]},
            "input message content is not specified",
        ),
        (
            {"results": [article("1", reply_markup=button_row({"text": "A"}))]},
            "text buttons are unallowed in the inline keyboard",
        ),
        (
            {"results": [article("1", input_message_content={"message_text": ""})]},
            "message text is empty",
        ),
        (
            {"results": [{"type": "photo", "id": "1", "photo_file_id": "no"}]},
            "wrong file identifier/HTTP URL specified",
        ),
        ({"results": [], "next_offset": "x" * 65}, "NEXT_OFFSET_INVALID"),
        ({"results": [], "button": {}}, "InlineQueryResultsButton must be an Object"),
        ({"results": [], "button": {"text": "New"}}, "START_PARAM_EMPTY"),
        ({"results": [], "button": {"text": "New", "start_parameter": "ä"}}, "START_PARAM_INVALID"),
        (
            {"results": [article("1", thumbnail_url="http://localhost/x.png")]},
            "WEBDOCUMENT_URL_INVALID",
        ),
        ({"results": [article("1", thumbnail_url="attach://x")]}, "WEBDOCUMENT_URL_INVALID"),
    ],
)
async def test_inline_answers_are_checked(
    bot: Bot, sam: people.Person, answer: dict[str, Any], refusal: str
) -> None:
    query = sam.ask_inline("q")
    refused = await bot.refused("answerInlineQuery", inline_query_id=query.id, **answer)
    assert refused == (400, f"Bad Request: {refusal}")
    assert not query.answered


async def test_an_inline_query_can_be_answered_for_15_seconds(
    bot: Bot, sam: people.Person, sandbox_clock: Clock
) -> None:
    query = sam.ask_inline("q")
    sandbox_clock.now += 16
    late = await bot.refused("answerInlineQuery", inline_query_id=query.id, results=[])
    assert late == TOO_OLD


async def test_an_inline_query_tells_its_words_offset_and_kind_of_chat(
    bot: Bot, sam: people.Person, pat: people.Person
) -> None:
    sam.ask_inline(" a " + "x" * 300, sam.dialog(pat), offset="50")
    sam.ask_inline("b")
    first, second = [update["inline_query"] for update in await bot.updates()]
    assert (first["query"], first["offset"]) == ("a " + "x" * 254, "50")
    assert (first["chat_type"], second["chat_type"]) == ("private", "sender")


async def test_a_person_cannot_post_where_they_are_not(
    bot: Bot, sam: people.Person, pat: people.Person
) -> None:
    query = await inline(bot, sam, "q", results=[article("1")])
    with pytest.raises(WorldError, match="not a member"):
        sam.choose(query, "1", pat.chat)


def test_the_cast_of_the_demo_is_a_seller_a_payer_and_a_group() -> None:
    world = World()
    sam, pat, group = people.cast(world)
    assert (sam.user.name, sam.chat.bot_status) == ("Sam Seller", "new")
    assert set(group.members) == {sam.id, pat.id}
    assert group.bot_status == "member"
