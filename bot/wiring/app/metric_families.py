"""The counters of the two slices and the database, by the names under which the code counts.

A test checks that each count in the code has a family here, with as many labels.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bot.chat.telegram.failures import FAILURE_LABELS
from bot.chat.telegram.intake import KINDS
from bot.chat.telegram.sender import CLASS_LABELS
from bot.core.ops.metrics import Family
from bot.core.outbox.host_budgets import SHARES
from bot.service.model.checkout_states import CheckoutState
from bot.service.model.delivery import Channel
from bot.service.model.payout import KINDS as RAILS
from bot.service.model.payout import SANDBOX
from bot.service.model.request import Kind, PaymentState

if TYPE_CHECKING:
    from bot.core.database.interface import Engine

DATABASE = (
    Family(
        "database_connections",
        "Connections to the PostgreSQL server: opened, lost, and refused or not reached.",
        ("event",),
        (("opened", "lost", "refused"),),
    ),
    Family(
        "database_retries",
        "Transactions run again, by the SQLSTATE of what was in their way (40P01: a deadlock), or"
        " because their connection was lost.",
        ("reason",),
    ),
    Family(
        "database_commits_unknown",
        "Commits whose answer was lost: found committed, found aborted and run again, or unknown"
        " for good.",
        ("outcome",),
        (("committed", "aborted", "unknown"),),
    ),
)
"""Those of a PostgreSQL server."""

SERVICE = (
    Family(
        "payment_requests",
        "Payment requests that applications created, edited and deleted, by kind.",
        ("change", "kind"),
        (("created", "edited", "deleted"), tuple(Kind)),
    ),
    Family(
        "checkouts",
        "Checkouts by kind of money and the state that they came into; lapses aren't counted.",
        ("kind", "state"),
        ((SANDBOX, *RAILS), tuple(one for one in CheckoutState if one != CheckoutState.LAPSED)),
    ),
    Family(
        "host_calls",
        "Calls of wallets and providers by purpose: taken from the budget of their host"
        " (HOST_CALLS), or delayed until it has room.",
        ("purpose", "outcome"),
        (tuple(SHARES), ("taken", "delayed")),
    ),
    Family("host_closings", "Times that a host asked for no calls for a while (429).", ()),
    Family(
        "payments",
        "Payments booked: with their unit, after its reservation had lapsed, with no unit left,"
        " with less than the price.",
        ("settlement",),
        (tuple(PaymentState),),
    ),
    Family(
        "delivery_attempts",
        "Attempts to deliver webhooks and emails: delivered, failed and retried, failed for the"
        " last time, or answered after another attempt had begun.",
        ("channel", "outcome"),
        (tuple(Channel), ("delivered", "failed", "dead", "late")),
    ),
)

CHAT = (
    Family(
        "telegram_updates",
        "Updates received from Telegram, each once, by kind.",
        ("kind",),
        (KINDS,),
    ),
    Family(
        "telegram_updates_handled",
        "Updates handled, updates that could not be handled, and inline queries replaced by newer"
        " ones.",
        ("outcome",),
        (("done", "set_aside", "dropped"),),
    ),
    Family(
        "telegram_messages",
        "Calls that send to a chat, by outcome: sent, sent when it may have been sent before,"
        " throttled (429), blocked (403), refused for good, failed, answer lost (unclear), no"
        " longer needed, chat moved.",
        ("method", "class", "outcome"),
        (
            ("sendMessage",),
            tuple(CLASS_LABELS.values()),
            ("sent", "repeated", *FAILURE_LABELS.values()),
        ),
    ),
    Family(
        "payments_told",
        "Payments that the chat recorded, by a webhook or by the reconciler.",
        ("way",),
        (("webhook", "found"),),
    ),
)


def of_engine(engine: Engine) -> tuple[Family, ...]:
    """Return the counters of a process whose database is of this kind."""
    return (*SERVICE, *CHAT, *(DATABASE if engine == "postgresql" else ()))
