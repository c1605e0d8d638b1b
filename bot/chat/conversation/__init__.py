"""The conversation: pure functions from a draft and an input to what follows. No clock, no I/O.

`advance` takes what was said or pressed with the draft as stored, and gives an `Outcome`: what to
store, to say, to create.
"""

from bot.chat.conversation.answers import (
    commands,
    description,
    help_reply,
    menu,
    paysupport_reply,
    privacy_reply,
    settings,
    short_description,
    start_reply,
)
from bot.chat.conversation.draft import Draft, Input, Outcome, Pressed, Said, Seller
from bot.chat.conversation.forms import (
    advance,
    cancel,
    change_destination,
    new_form,
    reopen,
    start_new,
)
from bot.chat.conversation.oneline import one_line
from bot.chat.conversation.prompts import resume_prompt
from bot.chat.conversation.wish import ASKS, KINDS, Share, Wish

__all__ = [
    "ASKS",
    "KINDS",
    "Draft",
    "Input",
    "Outcome",
    "Pressed",
    "Said",
    "Seller",
    "Share",
    "Wish",
    "advance",
    "cancel",
    "change_destination",
    "commands",
    "description",
    "help_reply",
    "menu",
    "new_form",
    "one_line",
    "paysupport_reply",
    "privacy_reply",
    "reopen",
    "resume_prompt",
    "settings",
    "short_description",
    "start_new",
    "start_reply",
]
