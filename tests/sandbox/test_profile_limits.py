"""The bot's profile: commands and texts by language, each within Telegram's bounds."""

from typing import Any

import pytest

from tests.support.sandbox_server import Bot


def command(name: str, description: str = "d") -> dict[str, str]:
    return {"command": name, "description": description}


@pytest.mark.parametrize(
    ("commands", "refusal"),
    [
        ([command("new_1")], None),
        ([command("x" * 32, "d" * 256)], None),
        ([command("x" * 33)], "BOT_COMMAND_INVALID"),
        ([command("New")], "BOT_COMMAND_INVALID"),
        ([command("")], "BOT_COMMAND_INVALID"),
        ([command("new", "d" * 257)], "BOT_COMMAND_DESCRIPTION_INVALID"),
        ([command("new", " ")], "BOT_COMMAND_DESCRIPTION_INVALID"),
        ([command("new")] * 101, "BOT_COMMANDS_TOO_MUCH"),
        (["new"], "can't parse commands: BotCommand must be an Object"),
        ({}, "can't parse commands: expected an Array of BotCommand"),
    ],
)
async def test_commands_are_checked(bot: Bot, commands: Any, refusal: str | None) -> None:
    answer = await bot.call("setMyCommands", commands=commands)
    assert answer.get("description") == (refusal and f"Bad Request: {refusal}")
    assert await bot.done("getMyCommands") == ([] if refusal else commands)


async def test_commands_belong_to_a_language(bot: Bot) -> None:
    await bot.done("setMyCommands", commands=[command("all")])
    await bot.done("setMyCommands", commands=[command("neu")], language_code="de")
    assert await bot.done("getMyCommands") == [command("all")]
    shown = bot.world.profile.commands_for
    assert (shown("de"), shown("fr")) == ([command("neu")], [command("all")])
    await bot.done("setMyCommands", commands=[], language_code="de")
    assert shown("de") == [command("all")]


@pytest.mark.parametrize(
    "method", ["setMyCommands", "getMyCommands", "setMyDescription", "getMyDescription"]
)
@pytest.mark.parametrize("code", ["deu", "DE", "d"])
async def test_a_language_is_two_small_letters(bot: Bot, method: str, code: str) -> None:
    answer = await bot.refused(method, commands=[], language_code=code)
    assert answer == (400, "Bad Request: invalid language code specified")


@pytest.mark.parametrize(
    ("method", "kind", "most"),
    [
        ("MyDescription", "description", 512),
        ("MyShortDescription", "short_description", 120),
    ],
)
async def test_the_bots_texts_are_kept_by_language_within_their_lengths(
    bot: Bot, method: str, kind: str, most: int
) -> None:
    await bot.done(f"set{method}", **{kind: "x" * most})
    await bot.done(f"set{method}", **{kind: "German", "language_code": "de"})
    assert await bot.done(f"get{method}") == {kind: "x" * most}
    assert await bot.done(f"get{method}", language_code="de") == {kind: "German"}
    assert await bot.done(f"get{method}", language_code="fr") == {kind: "x" * most}
    long = await bot.refused(f"set{method}", **{kind: "x" * (most + 1)})
    assert long == (400, f"Bad Request: bot {kind.replace('_', ' ')} is too long")
    await bot.done(f"set{method}", **{kind: ""})
    assert await bot.done(f"get{method}") == {kind: ""}
