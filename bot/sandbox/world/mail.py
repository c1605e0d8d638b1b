"""Emails as the chat page shows them: receivers, subject, text and HTML."""

import email
import email.policy
from collections import deque
from dataclasses import dataclass
from email.message import EmailMessage

from bot.sandbox.world import model

KEPT = 100


@dataclass(frozen=True, slots=True)
class Mail:
    """An email that was sent."""

    id: int

    date: int
    """In epoch seconds."""

    sender: str
    recipients: tuple[str, ...]
    subject: str
    text: str

    html: str
    """Empty if it has no HTML part."""

    def json(self) -> model.Json:
        """Return the email as an entry of a list of emails, with its text."""
        return {
            "id": self.id,
            "date": self.date,
            "from": self.sender,
            "to": list(self.recipients),
            "subject": self.subject,
            "text": self.text,
            "has_html": bool(self.html),
        }


class Mails:
    """The newest emails."""

    def __init__(self) -> None:
        self.address: str | None = None
        """URL of the mail server; None while no server runs."""

        self.count = 0
        self._kept: deque[Mail] = deque(maxlen=KEPT)

    def add(self, content: bytes, recipients: tuple[str, ...], date: int) -> Mail:
        """Keep an email as it came over the wire. Errors: LookupError, ValueError if unreadable."""
        message = email.message_from_bytes(content, policy=email.policy.default)
        assert isinstance(message, EmailMessage)
        sender, subject = str(message["From"] or ""), str(message["Subject"] or "")
        text, html = _body(message, "plain"), _body(message, "html")
        self.count += 1
        mail = Mail(self.count, date, sender, recipients, subject, text, html)
        self._kept.append(mail)
        return mail

    def find(self, number: int) -> Mail | None:
        return next((mail for mail in self._kept if mail.id == number), None)

    def json(self) -> model.Json:
        """Return all emails, the newest first."""
        kept = [mail.json() for mail in reversed(self._kept)]
        return {"address": self.address, "count": self.count, "mails": kept}


def _body(message: EmailMessage, kind: str) -> str:
    part = message.get_body((kind,))
    return "" if part is None else str(part.get_content()).replace("\r\n", "\n")
