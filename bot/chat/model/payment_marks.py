"""A seller's marks on a payment: sent, paid back, and the payer's words hidden."""

from __future__ import annotations

from dataclasses import dataclass

SENT, PAID_BACK, HIDDEN = "sent", "paid-back", "hide"
"""The marks, by the words of their buttons."""

NOTED = (SENT, PAID_BACK)
"""The marks that have a time and a note, of which the buyer hears."""


UNDO = {SENT: "sent-undo", PAID_BACK: "paid-back-undo"}
"""The words of the buttons that take them back."""


@dataclass(frozen=True, slots=True)
class PaymentMarks:
    """The marks of a payment; times in epoch ms."""

    sent_at: int | None = None
    sent_note: str | None = None
    paid_back_at: int | None = None
    paid_back_note: str | None = None
    is_hidden: bool = False

    def noted(self, mark: str) -> tuple[int | None, str | None]:
        """Return the time and the note of a mark of NOTED, None for one that is not set."""
        if mark == SENT:
            return self.sent_at, self.sent_note
        return self.paid_back_at, self.paid_back_note


NO_MARKS = PaymentMarks()
