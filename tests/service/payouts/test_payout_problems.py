"""Every reason to refuse a payout account has a code, and every code is raised somewhere."""

from __future__ import annotations

import ast
from pathlib import Path

from bot.chat.forms.seller_texts import refusal_text
from bot.core.errors import FieldProblem
from bot.core.text import translations
from bot.interface.vocabulary import DetailError
from bot.service.payouts import payout_account

SERVICE = Path(payout_account.__file__).parents[1]
WORDS = "words of the service"


def _raised() -> set[str]:
    return {
        node.attr
        for path in SERVICE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Attribute) and ast.unparse(node.value).endswith("DetailError")
    }


def test_every_code_is_raised_and_no_other() -> None:
    assert _raised() == {wrong.name for wrong in DetailError}


def test_no_rail_refuses_details_without_a_code() -> None:
    bare = [
        f"{path.name}:{node.lineno}"
        for path in (SERVICE / "rails").rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Call)
        and ast.unparse(node.func).endswith("FieldProblem")
        and len(node.args) + len(node.keywords) < len(FieldProblem.__match_args__)
    ]
    assert not bare


def test_the_chat_has_a_text_for_every_code_in_every_language() -> None:
    for language in translations.languages():
        texts = {
            wrong: refusal_text(FieldProblem("details", WORDS, wrong), language)
            for wrong in DetailError
        }
        assert len(set(texts.values())) == len(DetailError)
        assert [wrong for wrong, text in texts.items() if WORDS in text] == [DetailError.HOST_SAYS]


def test_a_code_that_the_chat_does_not_know_leaves_the_services_words() -> None:
    for code in (None, "", "new", "x\ny"):
        told = refusal_text(FieldProblem("details", "<b>No.", code), "en")
        assert told == "⚠ That didn't work: &lt;b&gt;No."
