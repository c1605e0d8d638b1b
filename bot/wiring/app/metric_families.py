"""The figures that /metrics tells of the two slices, by the names that they are counted under.

A test holds every count in the code to a family here, and its labels to their number.
"""

from __future__ import annotations

from bot.chat.telegram.intake import KINDS
from bot.chat.telegram.sender import CLASS_LABELS, FAILURE_LABELS
from bot.core.ops.metrics import Family
from bot.service.model.delivery import Channel
from bot.service.model.request import Kind, PaymentState

SERVICE = (
    Family(
        "payment_requests",
        "Payment requests that applications created, edited and deleted, by kind.",
        ("change", "kind"),
        (("created", "edited", "deleted"), tuple(Kind)),
    ),
    Family(
        "payments",
        "Payments booked: for their unit, after its reservation had lapsed, with no unit left.",
        ("settlement",),
        (tuple(PaymentState),),
    ),
    Family(
        "delivery_attempts",
        "Attempts to deliver webhooks and e-mails: delivered, failed and to be tried again,"
        " failed for the last time, or answered when another attempt had begun.",
        ("channel", "outcome"),
        (tuple(Channel), ("delivered", "failed", "dead", "late")),
    ),
)

CHAT = (
    Family(
        "telegram_updates",
        "Updates that Telegram handed over, each once, by kind.",
        ("kind",),
        (KINDS,),
    ),
    Family(
        "telegram_updates_handled",
        "Updates that were dealt with, those that could not be, and inline queries overtaken by"
        " newer ones.",
        ("outcome",),
        (("done", "set_aside", "dropped"),),
    ),
    Family(
        "telegram_messages",
        "Calls that bring something into a chat, by what came of each: sent, sent when it may have"
        " been before, throttled (429), blocked (403), refused for good, failed, answer lost"
        " (unclear), not needed any more, chat moved.",
        ("method", "class", "outcome"),
        (
            ("sendMessage",),
            tuple(CLASS_LABELS.values()),
            ("sent", "repeated", *FAILURE_LABELS.values()),
        ),
    ),
    Family(
        "payments_told",
        "Payments that the chat came to know of, by a webhook or by looking for them.",
        ("way",),
        (("webhook", "found"),),
    ),
)
