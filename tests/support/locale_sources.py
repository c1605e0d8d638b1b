"""The sources of the translated texts."""

from __future__ import annotations

import re

from fluent.runtime import FluentResource
from fluent.syntax import ast

from bot.core.text.translations import LOCALES

VARIABLE = re.compile(r"\$([a-zA-Z][\w-]*)")


def messages(language: str) -> dict[str, str]:
    """Read the source of each text of a language by its key; a repeated key fails."""
    found: dict[str, str] = {}
    for path in sorted((LOCALES / language).glob("*.ftl")):
        source = path.read_text(encoding="utf-8")
        for entry in FluentResource(source).body:
            assert not isinstance(entry, ast.Junk), f"{path.name}: {entry.content}"
            if isinstance(entry, ast.Message):
                key = entry.id.name
                assert key not in found, f"{path.name} says {key} again"
                assert entry.span
                found[key] = source[entry.span.start : entry.span.end]
    return found
