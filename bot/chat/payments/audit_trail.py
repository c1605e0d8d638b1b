"""The sellers' side of the audit log, which records their requests for changes.

The service logs the actual changes, in the name of the bot's application. The request's id finds
both sides.
"""

from __future__ import annotations

from collections.abc import Sequence

from bot.chat.model import drafts, jobs, payout, request_spec
from bot.chat.payments import request_changes
from bot.chat.store import claim_rows, link_rows
from bot.core.database import database
from bot.core.money import amounts
from bot.core.ops import audit


def record_spec(
    tx: database.Transaction,
    seller_id: int,
    link_id: str,
    spec: request_spec.RequestSpec,
    now: int,
) -> None:
    """Record that a seller asked for a request, by its link's id: it has no request id yet."""
    choice, price = request_spec.in_major(spec.choice, spec.currency), spec.amount
    asked = (
        f"{amounts.from_minor(price, spec.currency)}"
        if choice is None
        else request_spec.spelled(choice)
    )
    details = {
        "kind": spec.kind,
        "name": spec.name,
        "price": f"{asked} {spec.currency}",
        "to": spec.destination,
    }
    units = {} if spec.units is None else {"units": spec.units}
    audit.record(tx, audit.seller(seller_id), "request.asked", link_id, now, {**details, **units})


ACTIONS: dict[type[jobs.ChangeJob], str] = {
    jobs.PauseRequest: "request.stop-asked",
    jobs.ResumeRequest: "request.resume-asked",
    jobs.DeleteRequest: "request.delete-asked",
}
"""The action for each job that changes a request."""


def record_press(
    tx: database.Transaction, link: link_rows.PaymentLink, job: jobs.CardJob, now: int
) -> None:
    """Record that a seller pressed a button that changes their request.

    A press that changes nothing is not recorded, because old buttons can be pressed forever.
    """
    if isinstance(job, jobs.ChangeJob) and link.state != request_changes.STATES[type(job)]:
        subject, details = link.request_id or link.id, {"name": link.spec.name}
        actor = audit.seller(link.seller_id)
        audit.record(tx, actor, ACTIONS[type(job)], subject, now, details)


def record_decision(
    tx: database.Transaction, claim: claim_rows.Claim, now: int, *, confirms: bool
) -> None:
    """Record that a seller confirmed or rejected a claim."""
    action = "claim.confirm-asked" if confirms else "claim.reject-asked"
    details = {"checkout": claim.checkout_id, "reference": claim.reference}
    audit.record(tx, audit.seller(claim.seller_id), action, claim.request_id, now, details)


MARK_ACTIONS = {
    "paid-back": "payment.paid-back",
    "paid-back-undo": "payment.paid-back-undone",
    "sent": "payment.sent",
    "sent-undo": "payment.sent-undone",
    "hide": "payment.words-hidden",
    "hide-undo": "payment.words-shown",
}
"""The action for each button that marks a payment."""


def record_mark(
    tx: database.Transaction, seller_id: int, payment: tuple[str, str], word: str, now: int
) -> None:
    """Record how a seller marked a payment, which is given by its request and transaction ids.

    `word` is the button's word, such as `paid-back`, or `paid-back-undo` to remove that mark.
    """
    request_id, transaction_id = payment
    action, details = MARK_ACTIONS[word], {"transaction": transaction_id}
    audit.record(tx, audit.seller(seller_id), action, request_id, now, details)


def record_edit(
    tx: database.Transaction,
    link: link_rows.PaymentLink,
    field: str,
    values: Sequence[object],
    now: int,
) -> None:
    """Record an edit with the field's former and new value; for goods, only the kind."""
    actor, subject = audit.seller(link.seller_id), link.request_id or link.id
    details = {
        "name": link.spec.name,
        field: [value.kind if isinstance(value, request_spec.Goods) else value for value in values],
    }
    audit.record(tx, actor, "request.edited", subject, now, details)


def record_destination(
    tx: database.Transaction, seller_id: int, before: str | None, destination: str, now: int
) -> None:
    """Record a change of the destination of a seller's money."""
    if destination != before:
        details = {"destination": [before, destination]}
        actor = audit.seller(seller_id)
        audit.record(tx, actor, "destination.changed", str(seller_id), now, details)


def record_account(
    tx: database.Transaction,
    seller_id: int,
    before: payout.PayoutAccount | None,
    after: payout.PayoutAccount | None,
    now: int,
) -> None:
    """Record a change of a payout account with its former and new label; None means no account."""
    account = after or before
    if account is None or before == after:
        return
    labels = [one and one.label for one in (before, after)]
    actor, details = audit.seller(seller_id), {"way": account.way, "label": labels}
    audit.record(tx, actor, "payout.changed", str(seller_id), now, details)


def record_profile(
    tx: database.Transaction,
    seller_id: int,
    before: drafts.Profile,
    after: drafts.Profile,
    now: int,
) -> None:
    """Record a change of a seller's profile: the names of the changed parts, not their values."""
    changed = [
        name for name in drafts.PROFILE_FIELDS if getattr(before, name) != getattr(after, name)
    ]
    actor, details = audit.seller(seller_id), {"changed": changed}
    audit.record(tx, actor, "profile.changed", str(seller_id), now, details)
