"""The conversation: pure functions from a draft and an input to what follows. No clock, no I/O.

`advance` takes what was said or pressed with the draft as stored, and gives an `Outcome`: what to
store, to say, to create, to change.
"""

from bot.chat.conversation.again import Present, duplicate, edit_form, reopen
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
from bot.chat.conversation.draft import Draft, Portion, Seller
from bot.chat.conversation.forms import (
    advance,
    cancel,
    left_over,
    new_form,
    pictured,
    settings_form,
    start_new,
)
from bot.chat.conversation.oneline import one_line
from bot.chat.conversation.outcome import (
    Change,
    Input,
    Outcome,
    Photo,
    Pressed,
    Said,
    Setting,
)
from bot.chat.conversation.prompts import resume_prompt
from bot.chat.conversation.records import ASKS
from bot.chat.conversation.wish import KINDS, Share, Wish

__all__ = [
    "ASKS",
    "KINDS",
    "Change",
    "Draft",
    "Input",
    "Outcome",
    "Photo",
    "Portion",
    "Present",
    "Pressed",
    "Said",
    "Seller",
    "Setting",
    "Share",
    "Wish",
    "advance",
    "cancel",
    "commands",
    "description",
    "duplicate",
    "edit_form",
    "help_reply",
    "left_over",
    "menu",
    "new_form",
    "one_line",
    "paysupport_reply",
    "pictured",
    "privacy_reply",
    "reopen",
    "resume_prompt",
    "settings",
    "settings_form",
    "short_description",
    "start_new",
    "start_reply",
]
