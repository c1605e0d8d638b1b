"""Letters to a real mail server: TLS first, and the meaning of each refusal."""

from __future__ import annotations

import asyncio
import ssl
from dataclasses import replace
from email.message import EmailMessage
from typing import Any

import pytest
import uvloop

from bot.core.errors import MailRefused
from bot.core.net import http_client
from bot.core.net.mail import SmtpServer
from bot.service.notifications.emails import LONGEST_REPLY, Mailer
from tests.support.asgi_server import TlsContexts, make_tls
from tests.support.mail import (
    SENDER,
    MailServerStub,
    composed_letter,
    mail_server,
    scripted_smtp_server,
)

LOGIN = ("shop@example.org", "open/sesame")
GREETING, HELLO = "220 mail.test", "250 mail.test"


@pytest.fixture(scope="module")
def sealed(tmp_path_factory: pytest.TempPathFactory) -> TlsContexts:
    return make_tls(tmp_path_factory.mktemp("seals"))


def letter(**changes: Any) -> EmailMessage:
    return composed_letter(letter_id="mail-1", **changes)


async def refusal(server: SmtpServer, **options: object) -> MailRefused:
    """Return the MailRefused of a letter."""
    with pytest.raises(MailRefused) as caught:
        await Mailer(server, **options).send(letter())  # type: ignore[arg-type]
    return caught.value


async def test_a_letter_arrives_and_its_answer_is_returned() -> None:
    async with mail_server() as post:
        answer = await Mailer(post.server()).send(letter())
    assert answer == (250, "2.0.0 taken as 7")
    (taken,) = post.letters
    assert (taken["to"], taken["subject"]) == ("seller@example.org", "$5.00 for Coffee")
    assert post.asked == ["EHLO", "MAIL", "RCPT", "DATA", "QUIT"]


async def test_across_the_network_a_letter_goes_by_starttls(sealed: TlsContexts) -> None:
    async with mail_server(starttls=sealed.server, account=LOGIN) as post:
        await Mailer(post.server(is_local=False), context=sealed.client).send(letter())
    assert (len(post.letters), post.over_tls) == (1, [True])
    assert post.logins == [("PLAIN", *LOGIN)]


async def test_smtps_is_tls_from_the_start(sealed: TlsContexts) -> None:
    async with mail_server(tls=sealed.server, account=LOGIN) as post:
        mailer = Mailer(post.server(tls=True, is_local=False), context=sealed.client)
        assert (await mailer.send(letter()))[0] == 250
    assert len(post.letters) == 1


@pytest.mark.parametrize("tls", [False, True], ids=["smtp", "smtps"])
async def test_on_this_machine_any_certificate_will_do(sealed: TlsContexts, *, tls: bool) -> None:
    given = {"tls": sealed.server} if tls else {"starttls": sealed.server}
    async with mail_server(**given) as post:  # type: ignore[arg-type]
        await Mailer(post.server(tls=tls)).send(letter())
    assert (len(post.letters), post.over_tls[0] or tls) == (1, True)


@pytest.mark.parametrize("tls", [False, True], ids=["smtp", "smtps"])
async def test_across_the_network_an_unknown_certificate_ends_it(
    sealed: TlsContexts, *, tls: bool
) -> None:
    """Nothing is sent to an unidentified server; the refusal is not final."""
    given = {"tls": sealed.server} if tls else {"starttls": sealed.server}
    async with mail_server(account=LOGIN, **given) as post:  # type: ignore[arg-type]
        error = await refusal(post.server(tls=tls, is_local=False))
    assert (error.final, error.code) == (False, None)
    told = f"127.0.0.1:{post.port} has no certificate that we trust (self-signed certificate)"
    assert error.reason.startswith(told)
    assert (post.logins, post.letters) == ([], [])


async def test_without_starttls_nothing_is_sent_across_the_network() -> None:
    """A man in the middle could remove STARTTLS to get the password."""
    async with mail_server(account=LOGIN) as post:
        error = await refusal(post.server(is_local=False))
    assert (error.final, error.code) == (False, None)
    assert "offers no STARTTLS" in error.reason
    assert (post.asked, post.logins, post.letters) == (["EHLO"], [], [])


@pytest.mark.parametrize(
    ("without", "way"), [((), "PLAIN"), (("PLAIN",), "LOGIN")], ids=["plain", "login"]
)
async def test_the_operators_login_is_used(without: tuple[str, ...], way: str) -> None:
    async with mail_server(account=LOGIN, without=without) as post:
        await Mailer(post.server()).send(letter())
    assert post.logins == [(way, *LOGIN)]


async def test_a_wrong_password_is_tried_once_and_can_be_corrected() -> None:
    """Servers that count failures would lock the account."""
    async with mail_server(account=LOGIN) as post:
        error = await refusal(replace(post.server(), password="sesame, open"))
    assert (error.final, error.code) == (False, 535)
    assert error.reason == (
        f"127.0.0.1:{post.port} answered 535 to the login: 5.7.8 Authentication credentials invalid"
    )
    assert (len(post.logins), post.letters) == (1, [])


async def test_a_server_without_a_known_login_method_is_named() -> None:
    async with mail_server() as post:
        post.account = LOGIN
        error = await refusal(post.server())
    assert (error.final, error.code) == (False, None)
    assert "offers none of the logins plain, login, cram-md5" in error.reason


FINAL = {
    "MAIL": ("550 5.1.8 Unknown sender", "the sender"),
    "RCPT": ("550 5.1.1 No such user", "the recipient"),
    "DATA": ("554 5.7.1 Looks like spam", "the message"),
}


@pytest.mark.parametrize("command", FINAL)
async def test_a_letter_refused_for_good_is_not_tried_again(command: str) -> None:
    answer, step = FINAL[command]
    async with mail_server(answers={command: answer}) as post:
        error = await refusal(post.server())
    assert (error.final, error.code) == (True, int(answer[:3]))
    words = f": {answer[4:]}" if command == "MAIL" else ""
    assert error.reason == f"127.0.0.1:{post.port} answered {answer[:3]} to {step}{words}"
    assert error.answer == answer[4:]
    assert post.letters == []


@pytest.mark.parametrize("command", ["RCPT", "DATA"])
async def test_a_refusal_does_not_repeat_the_recipient(command: str) -> None:
    """Servers repeat it in answers, which are stored with the notification but not logged."""
    async with mail_server(answers={command: "550 5.1.1 <seller@example.org>: unknown"}) as post:
        error = await refusal(post.server())
    assert "seller" not in error.reason
    assert error.answer == "5.1.1 <seller@example.org>: unknown"


async def test_a_letter_that_cannot_be_sent_is_refused_without_a_connection() -> None:
    hostile = EmailMessage()
    hostile["From"], hostile["To"] = SENDER, "seller@example.org"
    hostile.set_payload("\ud800")
    async with mail_server() as post:
        with pytest.raises(MailRefused, match="can't be written") as caught:
            await Mailer(post.server()).send(hostile)
    assert (caught.value.final, post.asked) == (True, [])


@pytest.mark.parametrize(
    ("command", "answer"),
    [
        ("EHLO", "550 Not today"),
        ("EHLO", "421 Too busy"),
        ("MAIL", "451 4.3.0 Later"),
        ("MAIL", "530 5.7.0 Authentication required"),
        ("RCPT", "451 4.7.1 Greylisted"),
        ("DATA", "452 4.3.1 No room"),
    ],
)
async def test_a_refusal_that_can_end_is_retried(command: str, answer: str) -> None:
    async with mail_server(answers={command: answer}) as post:
        error = await refusal(post.server())
    assert (error.final, error.code) == (False, int(answer[:3]))
    assert post.letters == []


async def test_a_refusal_in_the_greeting_is_reported() -> None:
    for greeting, code in (("421 Too many connections", 421), ("554 Blocked", 554)):
        async with scripted_smtp_server(greeting) as server:
            error = await refusal(server)
        assert (error.final, error.code) == (False, code)
        assert error.reason.endswith(f"answered {code} to the connection: {greeting[4:]}")


@pytest.mark.parametrize(
    "replies",
    [
        (),
        (GREETING,),
        (GREETING, HELLO),
        (GREETING, HELLO, "250 OK", "250 OK"),
        (GREETING, HELLO, "250 OK", "250 OK", "354 Go on"),
        (GREETING, "nonsense"),
    ],
    ids=["no greeting", "EHLO", "MAIL", "DATA", "the letter", "nonsense"],
)
async def test_a_server_that_hangs_up_is_tried_again(replies: tuple[str, ...]) -> None:
    async with scripted_smtp_server(*replies) as server:
        error = await refusal(server)
    assert (error.final, error.code) == (False, None)
    assert error.reason.startswith(server.name)


@pytest.mark.parametrize(
    "replies",
    [(), (GREETING,), (GREETING, HELLO, "250 OK", "250 OK", "354 Go on")],
    ids=["no greeting", "EHLO", "the letter"],
)
async def test_a_silent_server_is_given_up_in_time(replies: tuple[str, ...]) -> None:
    async with scripted_smtp_server(*replies, silent=True) as server:
        error = await refusal(server, timeout=0.1)
    assert (error.final, error.code) == (False, None)
    assert error.reason == f"{server.name} did not answer within 0.1 s"


async def test_the_timeout_is_for_the_whole_session() -> None:
    """A server that sends a line now and then is given up too."""
    async with scripted_smtp_server(GREETING, "250-mail.test", silent=True) as server:
        error = await refusal(server, timeout=0.1)
    assert error.reason.endswith("did not answer within 0.1 s")


async def test_an_unreachable_server_is_retried() -> None:
    async with mail_server() as post:
        gone = post.server()
    error = await refusal(gone)
    assert (error.final, error.code) == (False, None)
    assert error.reason.startswith(f"127.0.0.1:{gone.port}: ")


@pytest.mark.parametrize("goodbye", ["421 Out of order", "500 What?"])
async def test_the_answer_to_quit_changes_nothing(goodbye: str) -> None:
    async with mail_server(answers={"QUIT": goodbye}) as post:
        assert (await Mailer(post.server()).send(letter()))[0] == 250
    assert len(post.letters) == 1


async def test_an_accepted_letter_is_delivered_although_the_server_hangs_up() -> None:
    replies = (GREETING, HELLO, "250 OK", "250 OK", "354 Go on", "250 taken")
    async with scripted_smtp_server(*replies) as server:
        assert await Mailer(server).send(letter()) == (250, "taken")


@pytest.mark.parametrize(
    "said",
    ["open/sesame", "b3Blbi9zZXNhbWU=", "AHNob3BAZXhhbXBsZS5vcmcAb3Blbi9zZXNhbWU="],
    ids=["as it is", "LOGIN", "PLAIN"],
)
async def test_the_password_is_never_in_a_refusal(said: str) -> None:
    async with mail_server(account=LOGIN, answers={"RCPT": f"550 you said {said}"}) as post:
        error = await refusal(post.server())
    assert error.answer == "you said [hidden]"
    async with mail_server(account=LOGIN, answers={"MAIL": f"550 you said {said}"}) as post:
        error = await refusal(post.server())
    assert error.reason.endswith("answered 550 to the sender: you said [hidden]")
    async with mail_server(account=LOGIN, answers={"DATA": f"250 you said {said}"}) as post:
        assert await Mailer(post.server()).send(letter()) == (250, "you said [hidden]")


async def test_a_servers_answer_is_cut_to_one_line() -> None:
    lines = "\r\n".join(f"554-{'ü' * 300}\t\x1b[31m" for _ in range(9))
    async with scripted_smtp_server(f"{lines}\r\n554 end") as server:
        error = await refusal(server)
    assert (error.code, len(error.reason.encode()) // 4) == (554, (LONGEST_REPLY - 1) // 4)
    assert error.reason.isprintable()


async def test_letters_side_by_side_each_arrive_once() -> None:
    async with mail_server() as post:
        mailer = Mailer(post.server())
        subjects = [f"Drop {number}" for number in range(20)]
        await asyncio.gather(*(mailer.send(letter(product=name)) for name in subjects))
    assert sorted(taken["subject"] for taken in post.letters) == sorted(
        f"$5.00 for {name}" for name in subjects
    )


async def test_closing_ends_what_is_under_way() -> None:
    async with scripted_smtp_server(GREETING, silent=True) as server:
        mailer = Mailer(server)
        sending = asyncio.create_task(mailer.send(letter()))
        while not mailer._under_way:  # noqa: ASYNC110 - nobody rings a bell for it
            await asyncio.sleep(0)
        await mailer.close()
        with pytest.raises(MailRefused) as caught:
            await sending
    assert not caught.value.final


async def test_a_check_does_everything_but_send(sealed: TlsContexts) -> None:
    async with mail_server(starttls=sealed.server, account=LOGIN) as post:
        await Mailer(post.server(is_local=False), context=sealed.client).check()
    assert (len(post.logins), post.letters) == (1, [])
    assert post.asked == ["EHLO", "EHLO", "NOOP", "QUIT"]


async def test_a_check_asks_whether_the_sender_is_accepted() -> None:
    async with mail_server() as post:
        await Mailer(post.server()).check("shop@example.org")
        assert post.asked == ["EHLO", "NOOP", "MAIL", "RSET", "QUIT"]
        post.answers["MAIL"] = "550 5.7.1 not yours"
        with pytest.raises(MailRefused, match=r"answered 550 to the sender: 5\.7\.1 not"):
            await Mailer(post.server()).check("shop@example.org")
    assert post.letters == []


async def test_starttls_works_on_uvloop(sealed: TlsContexts) -> None:
    """The service runs on uvloop, whose TLS is its own."""

    def send(post: MailServerStub, *, tls: bool) -> tuple[int, str]:
        mailer = Mailer(post.server(tls=tls, is_local=False), context=sealed.client)
        return uvloop.run(mailer.send(letter()))

    async with mail_server(starttls=sealed.server) as post:
        assert (await asyncio.to_thread(send, post, tls=False))[0] == 250
    async with mail_server(tls=sealed.server) as post:
        assert (await asyncio.to_thread(send, post, tls=True))[0] == 250


def test_certificates_are_checked_except_on_this_machine() -> None:
    far = Mailer(SmtpServer("mail.example.org", 587, tls=False, is_local=False))._context
    near = Mailer(SmtpServer("127.0.0.1", 587, tls=False, is_local=True))._context
    assert (far.verify_mode, far.check_hostname) == (ssl.CERT_REQUIRED, True)
    assert (near.verify_mode, near.check_hostname) == (ssl.CERT_NONE, False)


def test_the_certificates_are_not_those_that_http_clients_share() -> None:
    """Those offer "http/1.1" by ALPN, at which mail servers end the connection."""
    ours = Mailer(SmtpServer("mail.example.org", 587, tls=False, is_local=False))._context
    assert ours is not http_client.ssl_context()


@pytest.mark.parametrize("tls", [False, True], ids=["STARTTLS", "certificate"])
async def test_a_refusal_with_its_remedy_has_no_second_one(
    sealed: TlsContexts, *, tls: bool
) -> None:
    async with mail_server(tls=sealed.server if tls else None) as post:
        error = await refusal(post.server(tls=tls, is_local=False))
    assert error.remedy == ""
    assert "write smtps://" in error.reason or "SSL_CERT_FILE" in error.reason
