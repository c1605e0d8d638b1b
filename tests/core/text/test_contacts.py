"""Contacts: an email address, a link or an @username, and what each opens."""

from __future__ import annotations

import pytest

from bot.core.text.contacts import check_contact, contact_link, contact_text


@pytest.mark.parametrize(
    ("contact", "link", "shown"),
    [
        ("@anna_shop", "https://t.me/anna_shop", "@anna_shop"),
        ("help@example.org", "mailto:help@example.org", "help@example.org"),
        ("o'h+x@mail.example", "mailto:o'h+x@mail.example", "o'h+x@mail.example"),
        ("ich@münchen.example", "mailto:ich@xn--mnchen-3ya.example", "ich@münchen.example"),
        ("https://example.org/", "https://example.org/", "example.org"),
        ("HTTP://example.org/help?a=1", "HTTP://example.org/help?a=1", "example.org/help?a=1"),
        ("http://[2001:db8::1]/", "http://[2001:db8::1]/", "[2001:db8::1]"),
        (
            "https://\u0440aypal.example:8443/\u0430",
            "https://\u0440aypal.example:8443/\u0430",
            "xn--aypal-uye.example:8443/\u0430",
        ),
        (
            "ich@\u0440aypal.example",
            "mailto:ich@xn--aypal-uye.example",
            "ich@xn--aypal-uye.example",
        ),
        ("https://пример.example", "https://пример.example", "пример.example"),
    ],
)
def test_a_contact_is_kept_as_typed_and_opens_a_link(contact: str, link: str, shown: str) -> None:
    assert check_contact(contact) == contact
    assert (contact_link(contact), contact_text(contact)) == (link, shown)


@pytest.mark.parametrize(
    ("contact", "link"),
    [
        ("a?bcc=b@example.org", "mailto:a%3Fbcc%3Db@example.org"),
        ("a&b%0a@example.org", "mailto:a%26b%250a@example.org"),
        ("a/b#c@example.org", "mailto:a%2Fb%23c@example.org"),
    ],
)
def test_an_address_adds_no_field_to_the_letter(contact: str, link: str) -> None:
    """RFC 6068 section 2: a browser would read the rest as recipients, subject or text."""
    assert contact_link(check_contact(contact)) == link


@pytest.mark.parametrize(
    "typed",
    ["", "@", "@bob", "@anna-shop", f"@a{'b' * 32}", "anna", "example.org", "+49 30 1", "a b@c.org",
     "a@b@c.example", "a@127.0.0.1", f"{'a' * 65}@example.org", f"a@{'b.' * 130}example",
     "a@-x.org", "<a@example.org>", "a@example.org\nb", " a@example.org", "mailto:a@example.org",
     "javascript:alert(1)//example.org", "tg://resolve?domain=anna",
     f"https://example.org/{'a' * 254}"],
)  # fmt: skip
def test_anything_else_is_refused_with_what_it_must_be(typed: str) -> None:
    with pytest.raises(ValueError, match=r"^must be an @username of Telegram"):
        check_contact(typed)


@pytest.mark.parametrize("typed", ["https://", "https://a b.org", "https://user@example.org"])
def test_a_link_that_leads_nowhere_is_refused(typed: str) -> None:
    with pytest.raises(ValueError, match=r"is no|has no|may not"):
        check_contact(typed)
