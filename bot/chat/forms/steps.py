"""The steps of each form."""

from __future__ import annotations

from bot.chat.fields.registry import EDITS, OPTIONS

PATH = ("kind", "name", "amount", "currency", "units", "destination", "review")
"""The steps of a new request without options."""

STEPS = {
    "new": (*PATH, "options", *OPTIONS, "zone"),
    "line": ("amount", "currency", "destination"),
    "settings": ("destination", "zone", "quiet", "summary"),
    "edit": (*EDITS, "zone"),
}
"""The steps of each form, by its name."""
