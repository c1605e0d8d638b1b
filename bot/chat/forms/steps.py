"""The steps of each form."""

from __future__ import annotations

from bot.chat.fields.registry import EDITS, OPTIONS

PATH = ("kind", "name", "amount", "currency", "units", "destination", "review")
"""The steps of a new request without options."""

SETTINGS = ("destination", "zone", "quiet", "summary")

STEPS = {
    "new": (*PATH, "options", *OPTIONS, "zone"),
    "line": ("amount", "currency", "destination"),
    "settings": SETTINGS,
    "edit": (*EDITS, "zone"),
}
"""The steps of each form, by its name."""

_PRICED = ("kind", "name", "amount", "currency")


def needed_before(form: str, step: str) -> tuple[str, ...]:
    """Return the attributes of a draft that have to be set before a step is reached."""
    if form == "line":
        return ("kind", "name")
    if form != "new" or step == "kind":
        return ()
    return ("kind",) if step in PATH and step != "review" else _PRICED
