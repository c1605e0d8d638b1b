"""The values of a goal's bar."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any

from bot.service.page.money_texts import short_text

if TYPE_CHECKING:
    from bot.service.model.request import PaymentRequest
    from bot.service.page.forms import Reader

WHOLE = 100  # per cent


def goal_values(reader: Reader, request: PaymentRequest) -> dict[str, Any] | None:
    """Return how much of its goal a request has raised, also beyond it; None without a goal.

    The share is rounded down: 100 % stands for a goal that is reached.
    """
    goal = request.terms.goal
    if goal is None:
        return None
    currency, percent = request.terms.currency, request.raised * WHOLE // goal
    return {
        "text": reader.t(
            "page-goal",
            raised=short_text(request.raised, currency, reader.tag),
            goal=short_text(goal, currency, reader.tag),
        ),
        "percent": reader.t("page-percent", share=Decimal(percent) / WHOLE),
        "share": min(percent, WHOLE),
        "reached": percent >= WHOLE,
    }
