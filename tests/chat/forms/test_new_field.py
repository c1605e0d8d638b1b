"""A new request field is an attribute, an entry of `request_fields`, a line of the body, its texts.

The interface must have the field.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
ATTRIBUTE = "    motto: str | None = None\n"
OF_INTERFACE = "    motto_text: fields.Text | None = None\n"
OF_BODY = "        motto_text=spec.motto,\n"
ENTRY = """    field.Field(
        name="motto",
        attribute="motto",
        option=98,
        is_optional=True,
        read=_text(typed_text.read_description),
        wire=field.Wire(path="mottoText"),
        edit=field.Edit(place=98),
    ),
"""
TEXTS = """
option-motto = Motto
ask-motto = What do payers read after paying?
review-motto = Motto: { $value }
button-edit-motto = Motto
saved-motto = Payers now read: { $value }
cleared-motto = Payers read nothing more.
"""


@pytest.mark.long
def test_a_new_field_works_from_the_form_to_the_wire_and_in_its_edit(tmp_path: Path) -> None:
    """It is added to a copy of the product, which then walks it."""
    copy = tmp_path / "bot"
    shutil.copytree(ROOT / "bot", copy)  # with the bytecode of what stays unchanged
    options = copy / "chat/model/request_spec.py"
    email = "    email: str | None = None\n"
    options.write_text(options.read_text("utf-8").replace(email, email + ATTRIBUTE), "utf-8")
    entries = copy / "chat/forms/request_fields.py"
    last = "    POSTER_TEXT,\n)"
    entries.write_text(entries.read_text("utf-8").replace(last, ENTRY + last), "utf-8")
    for path, line, more in (
        ("interface/bodies.py", "    thanks: fields.Text | None = None\n", OF_INTERFACE),
        ("chat/jobs/request_bodies.py", "        thanks=spec.thanks,\n", OF_BODY),
    ):
        module = copy / path
        module.write_text(module.read_text("utf-8").replace(line, line + more), "utf-8")
    with (copy / "core/text/locales/en/forms.ftl").open("a", encoding="utf-8") as texts:
        texts.write(TEXTS)
    walk = subprocess.run(
        [sys.executable, "-m", "tests.chat.forms.walk_new_field"],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), str(ROOT)])},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert walk.returncode == 0, walk.stderr
