"""Contacts: an e-mail address, a link or a @username, and what each opens."""

from __future__ import annotations

import pytest

from bot.core.text.contacts import check_contact, contact_link, contact_text


@pytest.mark.parametrize(
    ("typed", "contact", "link", "shown"),
    [
        ("@anna_shop", "@anna_shop", "https://t.me/anna_shop", "@anna_shop"),
        (" help@example.org ", "help@example.org", "mailto:help@example.org", "help@example.org"),
        ("o'h+x@mail.example", "o'h+x@mail.example", "mailto:o'h+x@mail.example",
         "o'h+x@mail.example"),
        ("ich@münchen.example", "ich@münchen.example", "mailto:ich@münchen.example",
         "ich@münchen.example"),
        ("https://example.org/", "https://example.org/", "https://example.org/", "example.org"),
        ("HTTP://example.org/help?a=1", "HTTP://example.org/help?a=1",
         "HTTP://example.org/help?a=1", "example.org/help?a=1"),
        ("http://[2001:db8::1]/", "http://[2001:db8::1]/", "http://[2001:db8::1]/",
         "[2001:db8::1]"),
    ],
)  # fmt: skip
def test_a_contact_is_kept_as_typed_and_opens_a_link(
    typed: str, contact: str, link: str, shown: str
) -> None:
    assert check_contact(typed) == contact
    assert (contact_link(contact), contact_text(contact)) == (link, shown)


@pytest.mark.parametrize(
    "typed",
    ["", "@", "@bob", "@1234567", "@anna-shop", f"@a{'b' * 32}", "anna", "example.org", "+49 30 1",
     "a@b", "a@b@c.example", "a b@example.org", "a@example.org?subject=x", "a@127.0.0.1",
     f"{'a' * 65}@example.org", f"a@{'b.' * 130}example", "a@-x.org", "<a@example.org>",
     "a%0aBcc:b@example.org", "a@example.org\nb", "a&b@example.org", "https://", "https://a b.org",
     "javascript:alert(1)//example.org", "mailto:a@example.org", "tg://resolve?domain=anna",
     "https://user@example.org", f"https://example.org/{'a' * 2048}"],
)  # fmt: skip
def test_anything_else_is_refused_with_what_to_write(typed: str) -> None:
    with pytest.raises(ValueError, match=r"^write an e-mail address, a link"):
        check_contact(typed)
