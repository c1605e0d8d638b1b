"""English texts read as a native would write them: words that gave translations away stay out."""

from __future__ import annotations

import re

import pytest

from bot.core.text.translations import DEFAULT
from tests.support.source_tree import messages

FOREIGN = {
    r"\btold\b": "“notified”, or say what happened",
    r"\banew\b": "“again”",
    r"\bbe had\b": "“available”",
    r"\bowes? (it|them|that)\b|\bowed back\b": "“Please refund it.”",
    r"(?<!should )\bI (tell|say|give|send|try|look|go|find|ask)\b": "“I'll …”, for a promise",
    r"\b[Ss]hall\b": "“should”",
    r"\b[Ww]rite\b": "“Type” or “Send”",
    r"\b[Pp]ress\b": "“Tap”",
    r"\b[Bb]esides\b": "“also”",
    r"\b(is|are) possible\b": "“the limit is …”",
    r"\bwas taken from\b|\btaken so far\b": "“You haven't been charged.”",
    r"\bnothing was left\b|\bno unit was left\b": "“when you didn't have enough left”",
    r"\bof (yours|one's own)\b": "“your …”",
    r"\bI (see|read|know) (no|only|one)\b": "“I couldn't find …”, “I don't recognise …”",
    r"\b(is|are|was|were|do|does|did|has|have|could|would) not\b|\b[Cc]annot\b": "contract it",
    r"\bsomebody\b|\banybody\b": "“someone”, “anyone”",
    r"\bpieces?\b|\bunits?\b": "“items”",
    r"\b[Ii]dentifiers?\b": "“address”, “number”",
    r"\b[Rr]equests?\b": "“payment link”",
    r"\be-mail|\bE-mail": "“email”",
    r"\b[Pp]ay pages?\b": "“payment page”",
    r"\beverything was sold\b|\bhad sold out\b": "“no longer available”",
    r"\b([Aa]lerts|[Cc]ard|[Cc]ode|[Rr]eport) of\b": "“… for”",
    r"\bin the name of\b": "“from”",
    r"\bone\b[^.]*\bone another\b|\beach another\b": "“each other”",
    r"\b[Ww]ish(es)?\b": "“want”, “would like”",
    r"\bby itself\b|\bgoes on\b": "“automatically”",
    r"\bthat which\b|\bwhat is (due|left)\b": "name the thing",
    r"\.\.\.": "“…”",
}
"""Patterns that a text may not contain, with what is written instead."""

VALUE = re.compile(r"\{\s*(NUMBER|DATETIME)?\(?\s*\$[^{}]*?\}|\$[\w-]+")


def words(source: str) -> str:
    """Return a message without its key and the names of its values."""
    return VALUE.sub("…", source.partition("=")[2])


TEXTS = {key: words(source) for key, source in messages(DEFAULT).items()}


def test_no_text_has_words_of_a_translation() -> None:
    found = [
        (key, text, f"{pattern}: write {better}")
        for pattern, better in FOREIGN.items()
        for key, text in TEXTS.items()
        if re.search(pattern, text)
    ]
    assert not found


@pytest.mark.parametrize(
    ("text", "sound"),
    [
        ("The seller was told.", False),
        ("I tell you here.", False),
        ("I'll tell you here.", True),
        ("You haven't had any payments.", True),
        ("Retold with tolerance.", True),
        ("It can be had again.", False),
        ("Tap Start.", True),
        ("Press Start.", False),
    ],
)
def test_patterns_match_whole_words(text: str, sound: object) -> None:
    assert sound is not any(re.search(pattern, text) for pattern in FOREIGN)
