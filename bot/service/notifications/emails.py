"""Sends queued letters to sellers and payers: composes, sends by SMTP, settles by the answer."""

from __future__ import annotations

import asyncio
import base64
import socket
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from email import policy
from email.message import EmailMessage
from email.utils import parseaddr
from typing import Generic, TypeVar, cast

import aiosmtplib
from aiosmtplib import SMTP, SMTPException, SMTPResponseException

from bot.core import errors
from bot.core.database import database
from bot.core.net import http_client, mail
from bot.core.outbox import outbox, queue_policy, worker
from bot.core.text import contacts, links, sanitize
from bot.service.notifications import (
    letter_texts,
    notification,
    notification_queues,
    payer_letters,
    receipt_letter,
    recipients,
)
from bot.service.payments import payment_reports

# The operator's mail server.


TIMEOUT = 15.0  # seconds for DNS, connection, TLS, login and message together
QUIT_TIMEOUT = 2.0  # seconds for the answer to QUIT, which doesn't affect the outcome
LONGEST_REPLY = 1024  # bytes
SEVEN_BIT = policy.SMTP.clone(cte_type="7bit")
UNREACHED = "check its host and port, and that this machine can reach it"
PERMANENT = range(500, 600)
"""RFC 5321 section 4.2.1."""

LOGIN_WRONG = frozenset({530, 534, 535, 538})
"""RFC 4954 section 6. The operator can correct the login, so later attempts may succeed."""

LETTER_REFUSED: tuple[type[SMTPResponseException], ...] = (
    aiosmtplib.SMTPSenderRefused,
    aiosmtplib.SMTPRecipientRefused,
    aiosmtplib.SMTPDataError,
)
REPEATS_ADDRESS = (aiosmtplib.SMTPRecipientRefused, aiosmtplib.SMTPDataError)
"""Answers that often repeat the recipient's address, which must not get into a log."""

STEPS: dict[type[SMTPException], str] = {
    aiosmtplib.SMTPConnectResponseError: "the connection",
    aiosmtplib.SMTPHeloError: "EHLO",
    aiosmtplib.SMTPAuthenticationError: "the login",
    aiosmtplib.SMTPSenderRefused: "the sender",
    aiosmtplib.SMTPRecipientRefused: "the recipient",
    aiosmtplib.SMTPDataError: "the message",
}


class Mailer:
    """Sends letters to one server, each over a new connection.

    A server on another machine needs TLS with a certificate that `context` trusts. The default
    context trusts the certifi bundle or SSL_CERT_FILE. `timeout` is in seconds.
    """

    def __init__(
        self,
        server: mail.SmtpServer,
        *,
        timeout: float = TIMEOUT,
        context: ssl.SSLContext | None = None,
    ) -> None:
        self._server = server
        self._timeout = timeout
        # Not the HTTP clients' context: mail servers end connections with its ALPN.
        self._context = context or http_client.new_ssl_context(verify=not server.is_local)
        self._under_way: set[asyncio.Timeout] = set()

    async def send(self, message: EmailMessage) -> tuple[int, str]:
        """Send a letter and return the server's code and text. Raises MailRefused.

        If the answer to the message is lost, the server may have accepted it. The message is resent
        with the same Message-ID.
        """
        sender, recipient = (parseaddr(message[name])[1] for name in ("From", "To"))
        with letter_texts.refuse_unwritable():
            content = message.as_bytes(policy=SEVEN_BIT)
        async with self._session() as client:
            await client.mail(sender)
            await client.rcpt(recipient)
            answer = await client.data(content)
        return answer.code, self._plain(answer.message)

    async def check(self, sender: str | None = None) -> None:
        """Check the server without sending. Raises MailRefused with a remedy.

        If `sender` is given, also ask whether the server accepts letters from it, because many
        servers require a login only then.
        """
        async with self._session() as client:
            await client.noop()
            if sender is not None:
                await client.mail(sender)
                await client.rset()

    async def close(self) -> None:
        """End all sessions; their letters are resent."""
        for limit in self._under_way:
            if not limit.expired():
                limit.reschedule(asyncio.get_running_loop().time())

    @asynccontextmanager
    async def _session(self) -> AsyncIterator[SMTP]:
        server, own_name = self._server, socket.gethostname()
        if not links.ascii_domain(own_name) or "." not in own_name:
            own_name = "[127.0.0.1]"  # DNS could find a name, but it can hang (RFC 5321, 4.1.4)
        client = SMTP(
            hostname=server.host, port=server.port, use_tls=server.tls, start_tls=False,
            tls_context=self._context, timeout=self._timeout, local_hostname=own_name,
        )  # fmt: skip
        limit = asyncio.timeout(self._timeout)
        try:
            async with limit:
                self._under_way.add(limit)
                await self._greet(client)
                yield client
                self._under_way.discard(limit)
            # The letter is already accepted, whatever the server answers.
            with suppress(SMTPException, OSError):
                await client.execute_command(b"QUIT", timeout=QUIT_TIMEOUT)
        except (SMTPException, OSError) as error:
            raise self._refusal(error) from error
        finally:
            self._under_way.discard(limit)
            # At once, without waiting for the server to end TLS.
            transport = cast("asyncio.WriteTransport | None", client.transport)
            client.close()
            if transport is not None:
                transport.abort()

    async def _greet(self, client: SMTP) -> None:
        """Connect, start TLS and log in; the login is never sent without TLS."""
        server = self._server
        await client.connect()
        await client.ehlo()
        if not server.tls and client.supports_extension("starttls"):
            await client.starttls()
            await client.ehlo()
        elif not server.tls and not server.is_local:
            raise errors.MailRefused(
                f"{server.name} offers no STARTTLS, and without TLS nothing is sent:"
                " where it has a port for TLS from the start, write smtps://"
            )
        if server.user is not None:
            await self._log_in(client, server.user, server.password or "")

    async def _log_in(self, client: SMTP, user: str, password: str) -> None:
        """Log in with only one method, because servers count failures and lock accounts."""
        methods = {
            "plain": client.auth_plain,
            "login": client.auth_login,
            "cram-md5": client.auth_crammd5,
        }
        for name, log_in in methods.items():
            if name in client.server_auth_methods:
                await log_in(user, password)
                return
        reason = f"{self._server.name} offers none of the logins {', '.join(methods)}"
        raise errors.MailRefused(f"{reason}: leave user and password out, or choose another port")

    def _refusal(self, error: SMTPException | OSError) -> errors.MailRefused:
        name = self._server.name
        if isinstance(error, SMTPResponseException) and error.code > 0:
            return self._answered(error)
        if isinstance(error, TimeoutError):
            reason = f"{name} did not answer within {self._timeout:g} s"
            return errors.MailRefused(reason, remedy=UNREACHED)
        cause = error.__cause__ or error
        if isinstance(cause, ssl.SSLCertVerificationError):
            reason = f"{name} has no certificate that we trust ({cause.verify_message})"
            return errors.MailRefused(f"{reason}: SSL_CERT_FILE can name others")
        reason = self._plain(f"{name}: {getattr(cause, 'message', cause)}")
        return errors.MailRefused(reason, remedy=UNREACHED)

    def _answered(self, error: SMTPResponseException) -> errors.MailRefused:
        step = STEPS.get(type(error), "a command")
        reason = f"{self._server.name} answered {error.code} to {step}"
        if not isinstance(error, REPEATS_ADDRESS):
            reason = f"{reason}: {error.message}"
        is_permanent = error.code in PERMANENT and error.code not in LOGIN_WRONG
        return errors.MailRefused(
            self._plain(reason),
            final=is_permanent and isinstance(error, LETTER_REFUSED),
            code=error.code,
            answer=self._plain(error.message),
            remedy=self._remedy(error),
        )

    def _remedy(self, error: SMTPResponseException) -> str:
        """Return where the operator can look for the cause."""
        has_login = self._server.user is not None
        if error.code in LOGIN_WRONG:
            login = "check the user and the password"
            return login if has_login else "it needs a user and a password: add them to SMTP_URL"
        if isinstance(error, aiosmtplib.SMTPSenderRefused) and error.code in PERMANENT:
            beside = "" if has_login else ", and whether it needs a user and a password"
            return f"check SMTP_FROM{beside}"
        return "ask its operator"

    def _plain(self, text: str) -> str:
        """Return a server's text as one truncated line without our password, encoded or not."""
        if password := self._server.password:
            sent = (f"\0{self._server.user}\0{password}", password)
            for secret in (*(base64.b64encode(each.encode()).decode() for each in sent), password):
                text = text.replace(secret, "[hidden]")
        return sanitize.line(text).encode()[:LONGEST_REPLY].decode(errors="ignore")


# The queues of letters.


CONCURRENT_LETTERS = 4
"""Letters to sellers that are sent at once: mail servers limit connections."""

CONCURRENT_RECEIPTS = 2
"""Letters to payers that are sent at once, on their own connections."""

Contents = TypeVar("Contents")


class LetterSender(Generic[Contents]):
    """Sends the queued letters of a channel; a worker runs its `queue_handler`.

    `prepare` returns what `compose` needs, None if the letter must wait or is already settled.
    """

    def __init__(
        self,
        db: database.Database,
        mailer: Mailer,
        now: Callable[[], int],
        channel: notification.Channel,
        queue: queue_policy.Queue,
        concurrency: int,
        prepare: Callable[[database.Transaction, outbox.Message, int], Contents | None],
        compose: Callable[[outbox.Message, Contents], EmailMessage],
    ) -> None:
        self._db, self._mailer, self._now = db, mailer, now
        self._prepare, self._compose = prepare, compose
        self._recorder = notification_queues.AttemptRecorder(db, channel, queue, now)
        self.queue_handler = worker.QueueHandler(
            queue, self.handle, concurrency, self._recorder.settle_dead_letter
        )

    async def handle(self, message: outbox.Message) -> None:
        """Make one attempt and settle it, unless there is nothing to send now."""
        began = self._now()
        contents = await self._db.transaction(lambda tx: self._prepare(tx, message, began))
        if contents is None:
            return
        try:
            code, text = await self._mailer.send(self._compose(message, contents))
            outcome = notification_queues.AttemptOutcome(code, text.encode())
        except errors.MailRefused as error:
            outcome = notification_queues.AttemptOutcome(
                error.code, error.answer.encode(), error.reason, error.final
            )
        domain = message.body.address.rpartition("@")[2]  # the log doesn't get the address
        await self._recorder.settle(message, outcome, began, domain)


def to_sellers(
    db: database.Database,
    mailer: Mailer,
    now: Callable[[], int],
    origin: letter_texts.LetterOrigin,
) -> LetterSender[recipients.Letter]:
    """Return the sender of letters to sellers."""

    def compose(message: outbox.Message, letter: recipients.Letter) -> EmailMessage:
        recipient, body = letter.recipient, message.body
        target = letter_texts.LetterTarget(message.id, body.address, recipient.stop_token)
        if letter.reports:
            return letter_texts.payment_letter(letter.reports, target, origin, letter.seller)
        token = recipient.token or ""
        return letter_texts.confirmation_letter(token, body.asked_at, target, origin)

    return LetterSender(
        db, mailer, now, notification.Channel.EMAIL, recipients.MAILS, CONCURRENT_LETTERS,
        recipients.prepare_letter, compose,
    )  # fmt: skip


def to_payers(
    db: database.Database,
    mailer: Mailer,
    now: Callable[[], int],
    origin: letter_texts.LetterOrigin,
    key: bytes,
) -> LetterSender[notification.LetterContents]:
    """Return the sender of letters to payers.

    `key` signs the links that end receipts. The service's pages check it.
    """

    def compose(message: outbox.Message, contents: notification.LetterContents) -> EmailMessage:
        body, mailbox = message.body, contacts.mailbox_digest(message.body.address)
        stop = f"{notification.STOP_RECEIPTS}{notification.stop_token(key, mailbox)}"
        target = letter_texts.LetterTarget(message.id, body.address, stop)
        match body:
            case payment_reports.RejectionNotice():
                return receipt_letter.rejection_letter(body, target, origin)
            case payment_reports.PaymentNotice():
                return receipt_letter.notice_letter(body, target, origin, contents)
            case _:
                return receipt_letter.receipt_letter(body, target, origin, contents)

    return LetterSender(
        db, mailer, now, notification.Channel.RECEIPT, payer_letters.RECEIPTS,
        CONCURRENT_RECEIPTS, payer_letters.prepare_receipt, compose,
    )  # fmt: skip
