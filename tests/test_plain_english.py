"""Docstrings of functions open with a verb of the field, so that a reader knows what each does."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[1]
_VERBS = """
Accept Add Adjust Advance Allow Answer Append Apply Ask Assign Assume Await Begin Block Build Cache
Call Cancel Change Check Choose Claim Clear Close Collect Combine Commit Compare Complete Compute
Confirm Connect Convert Copy Count Create Cut Decide Decode Decrypt Delay Delete Deliver Derive
Describe Discard Divide Download Draw Drop Edit Encode Encrypt End Ensure Erase Escape Explain
Export Fetch Fill Filter Find Finish Fit Fold Follow Forget Format Forward Group Handle Hash Hide
Hold Ignore Increment Insert Join Keep Limit List Listen Load Lock Log Make Map Mark Match Measure
Merge Migrate Move Name Normalize Note Notify Number Offer Open Order Paint Parse Pass Pause
Perform Place Poll Post Prepare Press Print Put Query Queue Raise Rank Read Receive Record Redirect
Reduce Refresh Refuse Reject Release Remember Remove Render Replace Reply Report Reserve Reset
Resolve Restart Restore Resume Retry Return Reverse Revoke Rewrite Rotate Round Run Save Schedule
Score Seal Search Select Send Serve Set Settle Shorten Show Sign Skip Sort Spell Split Start Stop
Store Strip Sum Switch Sync Take Truncate Turn Update Use Validate Verify Wait Wake Warn Wrap Write
Yield
"""
VERBS = frozenset(_VERBS.split())
"""A verb may be added: one that programmers use for what the function does."""

OF_TELEGRAM = re.compile(r"`[a-z]+[A-Z]\w+`")
"""A function that serves one method of the Bot API is described by the method's name."""


def docstrings() -> Iterator[tuple[str, str]]:
    """Yield where each function of the product and its cluster demo is, with its docstring."""
    for path in sorted([*(ROOT / "bot").rglob("*.py"), *(ROOT / "demo_cluster").rglob("*.py")]):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                text = ast.get_docstring(node)
                if text:
                    yield f"{path.relative_to(ROOT)}:{node.lineno}", text


def opens_with_a_verb(text: str) -> bool:
    first = text.split(maxsplit=1)[0]
    return bool(OF_TELEGRAM.match(first)) or first.rstrip(".,;:") in VERBS


def test_docstrings_of_functions_open_with_a_verb() -> None:
    found = [*docstrings()]
    assert len(found) > 1_000
    assert not [f"{where} {text}" for where, text in found if not opens_with_a_verb(text)]


@pytest.mark.parametrize(
    "text", ["Give the price.", "Whether it is paid.", "The price.", "`x`: y."]
)
def test_other_openings_are_found(text: str) -> None:
    assert not opens_with_a_verb(text)


@pytest.mark.parametrize("text", ["Return the price.", "Stop.", "`sendMessage`: a text."])
def test_verbs_and_methods_of_telegram_pass(text: str) -> None:
    assert opens_with_a_verb(text)
