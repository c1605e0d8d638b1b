"""A host that imitates another one is shown in ASCII wherever a seller reads it."""

from __future__ import annotations

from dataclasses import replace

from bot.chat.forms import field_texts, request_fields, seller_texts
from bot.chat.model.drafts import NewDraft, Profile
from tests.support.form_harness import FORM, KNOWN
from tests.support.payout_forms import connecting
from tests.support.telegram_limits import labels

HOST, SHOWN = "\u0440aypal.example", "xn--aypal-uye.example"


def test_where_payers_go_afterwards() -> None:
    draft = NewDraft(id=FORM, step="review", redirect_url=f"https://{HOST}/thanks")
    line = field_texts.redirect_line(draft, KNOWN)
    assert line is not None
    assert f"https://{SHOWN}/thanks" in line
    redirect = request_fields.BY_NAME["redirect"]
    assert redirect.words(draft.redirect_url, KNOWN) == f"https://{SHOWN}/thanks"
    assert HOST not in str(redirect.label(draft, KNOWN))


def test_addresses_for_notices_and_contacts() -> None:
    email = request_fields.BY_NAME["email"]
    assert email.words(f"anna@{HOST}", KNOWN) == f"anna@{SHOWN}"
    for contact, shown in ((f"https://{HOST}/", SHOWN), (f"anna@{HOST}", f"anna@{SHOWN}")):
        profile = replace(Profile(), contact=contact)
        assert shown in str(seller_texts.profile_line("sellercontact", profile, "en"))


def test_the_server_of_a_wallet() -> None:
    talk = connecting("lnbits").say(f"https://{HOST}")
    talk.press("back", talk.form.step)
    assert "Keep: https://xn--aypal-uye.e…" in labels(talk.replies[-1].rows)
