"""Names in `.env` and the environment that are no settings are named by a start and by doctor."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.support.product_process import run_command, start_bot

FILE = "PUBLIC_ULR=https://example.org\nEDITOR=vi\nBOT_TOKEN: 42:secret-of-a-test\n"
MISTAKES = {
    ".env": "line 3 can't be read: write NAME=value",
    "PUBLIC_ULR": "isn't a setting, so its line in .env does nothing: did you mean PUBLIC_URL?",
    "SMTP_URI": "isn't a setting, but a variable of the environment: did you mean SMTP_URL?",
}
OTHER = "isn't a setting: nothing reads it from .env"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / ".env").write_text(FILE)
    return tmp_path


@pytest.mark.parametrize("command", [("service",), ("demo", "--no-browser")], ids=" ".join)
async def test_a_start_warns_of_names_that_are_no_settings(
    folder: Path, command: tuple[str, ...]
) -> None:
    secret = ["secret-of-a-test"]
    async with start_bot(folder, *command, unseen=secret, SMTP_URI="smtp://mail") as run:
        await run.ready()
        for name, advice in MISTAKES.items():
            line = await run.line(f"name={name}")
            assert ("[warning" in line, "unknown setting" in line, advice in line) == (True,) * 3
        line = await run.line("name=EDITOR")
        assert f'[info     ] unknown setting name=EDITOR reason="{OTHER}"' in line
        assert not any("dotenv" in line for line in run.err)


async def test_a_command_that_a_misspelt_setting_fails_names_it(folder: Path) -> None:
    given = {"SMTP_URI": "smtp://mail", "SMTP_FROM": "shop@example.org"}
    code, out, err = await run_command(folder, "apps", "list", **given)
    named = [f"{name}: {advice}" for name, advice in MISTAKES.items()]
    assert (code, out) == (2, [])
    assert err == ["SMTP_URL: SMTP_FROM needs the server that takes the emails", *named]


async def test_doctor_has_them_fixed_and_lists_the_names_of_others(folder: Path) -> None:
    code, out, err = await run_command(folder, "doctor", SMTP_URI="smtp://mail")
    assert (code, err) == (1, [])
    found = [f"FIX  {name}: {advice}" for name, advice in MISTAKES.items()]
    assert out[:4] == [found[0], f"ok   EDITOR: {OTHER}", *found[1:]]


async def test_a_file_that_cannot_be_read_is_one_line(tmp_path: Path) -> None:
    await asyncio.to_thread((tmp_path / ".env").write_bytes, b"OPERATOR_CONTACT=\xe9")
    for command in ("service", "doctor"):
        code, out, err = await run_command(tmp_path, command)
        assert (code, out, err) == (2, [], [".env: can't be read: it isn't UTF-8 text"])


async def test_secrets_that_everybody_can_read_are_reported_with_the_command_that_mends_it(
    tmp_path: Path,
) -> None:
    """By a start and by doctor; the command works in every folder, whatever its name."""
    place = tmp_path / "our shop"
    place.mkdir()
    file = place / ".env"
    file.write_text("METRICS_TOKEN=secret-of-a-test\n")
    file.chmod(0o644)
    command = f"chmod 600 '{file}'"
    async with start_bot(place, "service", unseen=["secret-of-a-test"]) as run:
        await run.ready()
        line = await run.line("other users can read the secrets in a file")
        assert ("[warning" in line, command in line) == (True, True)
    _, out, _ = await run_command(place, "doctor")
    told = f"FIX  .env: other users of this machine can read the secrets in it: {command}"
    assert told in out
    mend = await asyncio.create_subprocess_shell(command)
    assert await mend.wait() == 0
    _, out, _ = await run_command(place, "doctor")
    assert not [line for line in out if ".env" in line]
