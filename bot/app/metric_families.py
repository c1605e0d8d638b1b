"""The counters of the service, the chat and the database, by their names in the code.

A test checks that each counter in the code has a family here with the same number of labels.
"""

from __future__ import annotations

from bot.chat.telegram import intake, sender, transport
from bot.core.database import database
from bot.core.ops import metrics
from bot.core.outbox import host_budgets
from bot.interface import vocabulary
from bot.service.notifications import notification
from bot.service.requests import request

DATABASE = (
    metrics.Family(
        "database_connections",
        "Connections to the PostgreSQL server: opened, lost, and refused or not reached.",
        ("event",),
        (("opened", "lost", "refused"),),
    ),
    metrics.Family(
        "database_retries",
        "Transactions run again, by the SQLSTATE of what was in their way (40P01: a deadlock),"
        " because their connection was lost, or because another was faster (overtaken).",
        ("reason",),
    ),
    metrics.Family(
        "database_commits_unknown",
        "Commits whose answer was lost: found committed, found aborted and run again, or unknown"
        " for good.",
        ("outcome",),
        (("committed", "aborted", "unknown"),),
    ),
)
"""The counters of a PostgreSQL server."""

SERVICE = (
    metrics.Family(
        "payment_requests",
        "Payment requests that applications created, edited and deleted, by kind.",
        ("change", "kind"),
        (("created", "edited", "deleted"), tuple(vocabulary.Kind)),
    ),
    metrics.Family(
        "checkouts",
        "Checkouts by kind of money and the state that they came into; lapses aren't counted.",
        ("kind", "state"),
        (
            (vocabulary.SANDBOX, *vocabulary.PAYOUT_KINDS),
            tuple(
                one for one in vocabulary.CheckoutState if one != vocabulary.CheckoutState.LAPSED
            ),
        ),
    ),
    metrics.Family(
        "host_calls",
        "Calls of wallets and providers by purpose: taken from the budget of their host"
        " (HOST_CALLS), or delayed until it has room.",
        ("purpose", "outcome"),
        (tuple(host_budgets.SHARES), ("taken", "delayed")),
    ),
    metrics.Family("host_closings", "Times that a host asked for no calls for a while (429).", ()),
    metrics.Family(
        "payments",
        "Payments booked: with their unit, after its reservation had lapsed, with no unit left,"
        " with less than the price.",
        ("settlement",),
        (tuple(request.PaymentState),),
    ),
    metrics.Family(
        "delivery_attempts",
        "Attempts to deliver webhooks and emails: delivered, failed and retried, failed for the"
        " last time, or answered after another attempt had begun.",
        ("channel", "outcome"),
        (tuple(notification.Channel), ("delivered", "failed", "dead", "late")),
    ),
)

CHAT = (
    metrics.Family(
        "telegram_updates",
        "Updates received from Telegram, each once, by kind.",
        ("kind",),
        (intake.KINDS,),
    ),
    metrics.Family(
        "telegram_updates_handled",
        "Updates handled, updates that could not be handled, and inline queries replaced by newer"
        " ones.",
        ("outcome",),
        (("done", "set_aside", "dropped"),),
    ),
    metrics.Family(
        "telegram_messages",
        "Calls that send to a chat, by outcome: sent, sent when it may have been sent before,"
        " throttled (429), blocked (403), refused for good, failed, answer lost (unclear), no"
        " longer needed, chat moved.",
        ("method", "class", "outcome"),
        (
            ("sendMessage",),
            tuple(sender.CLASS_LABELS.values()),
            ("sent", "repeated", *transport.FAILURE_LABELS.values()),
        ),
    ),
    metrics.Family(
        "payments_told",
        "Payments that the chat recorded, by a webhook or by the reconciler.",
        ("way",),
        (("webhook", "found"),),
    ),
)


def of_engine(engine: database.Engine) -> tuple[metrics.Family, ...]:
    """Return the counters of a process with this kind of database."""
    return (*SERVICE, *CHAT, *(DATABASE if engine == "postgresql" else ()))
