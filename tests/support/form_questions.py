"""The questions of forms, by which tests of the whole product find messages.

`tests/chat/forms/test_question_texts.py` alone compares them with words.
"""

from __future__ import annotations

import html
import re

from bot.core.text.translations import t

VARIABLES = ("count", "example", "meant", "most", "name", "there")
QUESTION = re.compile(r"<b>(.*?)</b>")


def question_of(key: str, language: str = "en") -> str:
    """Return the question in a text, as a person reads it: the part in bold."""
    found = QUESTION.search(t(language, key, **dict.fromkeys(VARIABLES, 2)))
    assert found, key
    return html.unescape(found[1])
