"""SMTP settings and addresses: servers, senders, recipients and their hosts."""

from __future__ import annotations

import pytest

from bot.core.errors import ConfigProblem
from bot.core.net.mail import SmtpServer, parse_sender, parse_server, smtp_passwords
from bot.core.text.links import ascii_host
from tests.support.mail import letter


@pytest.mark.parametrize(
    ("name", "host"),
    [
        ("faß.de", "xn--fa-hia.de"),
        ("Straße.example.", "xn--strae-oqa.example."),
        ("日本。example", "xn--wgv71a.example"),
        ("XN--FA-HIA.de", "xn--fa-hia.de"),
        ("Example.ORG", "Example.ORG"),
        ("a_b.bücher.example", "a_b.xn--bcher-kva.example"),
        ("r3---sn.bücher.example", "r3---sn.xn--bcher-kva.example"),
    ],
)
def test_a_host_is_encoded_as_browsers_do(name: str, host: str) -> None:
    """IDNA of 2003 would make fass.de of faß.de, which is another domain."""
    assert ascii_host(name) == host


@pytest.mark.parametrize(
    "name", ["xn--zz--.example", "xn--a", "XN--A.example", "xn--.example", "ü" * 70]
)
def test_an_invalid_host_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        ascii_host(name)


@pytest.mark.parametrize(
    ("text", "name", "address"),
    [
        ("shop@example.org", "", "shop@example.org"),
        (" Our shop <shop@example.org> ", "Our shop", "shop@example.org"),
        ('"Shop, Inc." <shop@example.org>', "Shop, Inc.", "shop@example.org"),
        ("Bücher <a@bücher.example>", "Bücher", "a@xn--bcher-kva.example"),
        ("<shop@example.org>", "", "shop@example.org"),
    ],
)
def test_a_sender_is_an_address_with_or_without_a_name(text: str, name: str, address: str) -> None:
    sender = parse_sender(text)
    assert (sender.display_name, sender.addr_spec) == (name, address)
    assert letter(sender=text)["from"].addresses == (sender,)


@pytest.mark.parametrize(
    "text",
    ["", "shop", "Shop", "a@b.example, c@d.example", "A\nB <a@b.example>", "A <a@b", "a b@c.d"],
)
def test_an_invalid_sender_is_refused(text: str) -> None:
    with pytest.raises(ConfigProblem, match="write an address such as"):
        parse_sender(text)


@pytest.mark.parametrize(
    ("url", "server"),
    [
        ("smtp://mail.example.org", SmtpServer("mail.example.org", 587, tls=False, is_local=False)),
        (
            "smtps://mail.example.org/",
            SmtpServer("mail.example.org", 465, tls=True, is_local=False),
        ),
        ("smtp://localhost:25", SmtpServer("localhost", 25, tls=False, is_local=True)),
        ("smtp://127.0.0.2:25", SmtpServer("127.0.0.2", 25, tls=False, is_local=True)),
        ("smtp://[::1]:25", SmtpServer("::1", 25, tls=False, is_local=True)),
        ("smtp://10.0.0.1:25", SmtpServer("10.0.0.1", 25, tls=False, is_local=False)),
        (
            "smtp://localhost.example",
            SmtpServer("localhost.example", 587, tls=False, is_local=False),
        ),
        (
            "smtp://me%40shop:p%C3%A4ss%2F%3A@bücher.example:2525",
            SmtpServer(
                "xn--bcher-kva.example", 2525,
                tls=False, is_local=False, user="me@shop", password="päss/:",
            ),
        ),
    ],
)  # fmt: skip
def test_the_server_is_read_from_smtp_url(url: str, server: SmtpServer) -> None:
    assert parse_server(url) == server
    assert "päss" not in repr(parse_server(url))


@pytest.mark.parametrize(
    "url",
    ["", "mail.example.org", "http://mail.example.org", "smtp://", "smtp://:25", "smtp://mail:0",
     "smtp://mail:70000", "smtp://mail:x", "smtp://a b", "smtp://mail\n", "smtp://mail/box",
     "smtp://mail?x=1", "smtp://mail#x", "smtp://u:se/same@mail", "smtp://u:%ff@mail", "smtp://-x",
     "smtp://u:a%00b@mail", "smtp://user@mail", "smtp://:sesame@mail", "smtp://user:@mail",
     "smtp://[::1", "smtp://127.0.0.1.5"],
)  # fmt: skip
def test_an_invalid_smtp_url_is_refused_without_repeating_it(url: str) -> None:
    with pytest.raises(ConfigProblem) as caught:
        parse_server(url)
    assert "sesame" not in str(caught.value)
    assert caught.value.__cause__ is None


def test_a_password_is_returned_in_every_spelling() -> None:
    assert smtp_passwords("smtp://mail") == []
    assert smtp_passwords("smtp://u:sesame@mail") == ["sesame"]
    assert smtp_passwords("smtp://u:open%2Fsesame@mail") == ["open%2Fsesame", "open/sesame"]
