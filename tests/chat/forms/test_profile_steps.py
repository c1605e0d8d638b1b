"""The steps of the settings that ask for a seller's profile."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bot.chat.forms import field_texts, request_fields, seller_texts
from bot.chat.forms.form import take_picture
from bot.chat.forms.seller_forms import settings_form
from bot.chat.forms.seller_texts import (
    PICTOGRAMS,
    name_at_telegram,
    offer_key,
    profile_offer,
    profile_page,
    settings,
    use_label,
)
from bot.chat.model.drafts import PROFILE_STEPS, NewDraft, Profile, ProfileHints
from bot.core.brand import COLOURS
from bot.core.text.translations import languages
from tests.support.form_harness import FORM, KNOWN, NOW, OTHER, Talk, connecting, form_at_step
from tests.support.telegram_limits import actions, check, labels

IMAGE = "0123456789ab0123456789ab"
ANNA = Profile("Anna's Bakery", IMAGE, "Sourdough in Leipzig", "anna@example.org", "green")
HINTS = ProfileHints("Anna Becker", ("@anna_bakes", "anna@example.org"), "https://pay.example/1")
SELLER = replace(KNOWN, profile=ANNA, hints=HINTS)


def asked(step: str, profile: Profile = ANNA) -> Talk:
    """Open a step of the profile."""
    talk = Talk(replace(SELLER, profile=profile))
    talk.take(settings_form(step, OTHER, talk.seller))
    return talk


@pytest.mark.parametrize(
    ("step", "typed", "kept"),
    [
        ("sellername", "  Mia   Meer ", "Mia Meer"),
        ("sellername", "🌊🌊", "🌊🌊"),
        ("sellername", "مريم", "مريم"),
        ("sellername", "x" * 100, "x" * 100),
        ("sellerabout", "Ceramics,\nfired twice", "Ceramics, fired twice"),
        ("sellerabout", "x" * 160, "x" * 160),
        ("sellercontact", "@mia_meer", "@mia_meer"),
        ("sellercontact", " mia@example.org ", "mia@example.org"),
        ("sellercontact", "mailto:mia@example.org", "mia@example.org"),
        ("sellercontact", "example.org/mia", "https://example.org/mia"),
        ("sellercontact", "http://example.org/@mia", "http://example.org/@mia"),
    ],
)
def test_a_typed_value_is_saved_and_shown_as_payers_see_it(
    step: str, typed: str, kept: str
) -> None:
    talk = asked(step).say(typed)
    assert getattr(talk.seller.profile, PROFILE_STEPS[step]) == kept
    assert talk.draft is None
    assert talk.last.startswith("✅ Saved.")
    assert kept.removeprefix("https://").removeprefix("http://") in talk.last


@pytest.mark.parametrize(
    ("step", "typed", "told"),
    [
        ("sellername", "\u2800 \u200b", "Payers couldn't read that."),
        ("sellername", "x" * 101, "That's 101 characters; the limit is 100."),
        ("sellername", "Mia\x07", "⚠"),
        ("sellerabout", "x" * 161, "That's 161 characters; the limit is 160."),
        ("sellerabout", " ", "I couldn't find any words in that."),
        ("sellercontact", "mia", "doesn't look like a contact"),
        ("sellercontact", "@anna", "doesn't look like a contact"),
        ("sellercontact", "example.org/" + "a" * 240, "doesn't look like a contact"),
        ("sellercontact", "@m", "doesn't look like a contact"),
        ("sellercontact", "https://", "doesn't look like a contact"),
        ("sellercontact", "javascript:alert(1)", "doesn't look like a contact"),
        ("sellercontact", "https://user:secret@example.org", "doesn't look like a contact"),
        ("sellercontact", "+49 30 123456", "doesn't look like a contact"),
        ("sellercontact", "example.org/a b", "doesn't look like a contact"),
        ("sellercontact", "", "doesn't look like a contact"),
        ("sellerimage", "my face", "That isn't a picture."),
        ("selleraccent", "green", "one of the buttons below."),
    ],
)
def test_what_is_no_answer_is_asked_again_and_the_profile_stays(
    step: str, typed: str, told: str
) -> None:
    talk = asked(step).say(typed)
    assert told in talk.last
    assert (talk.step, talk.seller.profile) == (step, ANNA)


@pytest.mark.parametrize("step", PROFILE_STEPS)
def test_a_step_shows_the_present_value_and_removes_it(step: str) -> None:
    talk = asked(step)
    assert "Now: " in talk.last
    talk.press("clear", step)
    assert getattr(talk.seller.profile, PROFILE_STEPS[step]) is None
    assert talk.last.startswith("✅ Removed.")
    without = asked(step, talk.seller.profile)
    assert "Now: " not in without.last
    assert not [label for label in labels(without.replies[-1].rows) if "Remove" in label]


def test_a_button_of_another_step_removes_nothing() -> None:
    talk = asked("sellername").press("clear", "sellerabout")
    assert (talk.seller.profile, talk.step) == (ANNA, "sellername")


@pytest.mark.parametrize("step", PROFILE_STEPS)
def test_an_interrupted_request_goes_on_after_a_part_of_the_profile(step: str) -> None:
    talk = form_at_step("amount")
    talk.seller = SELLER
    talk.take(settings_form(step, OTHER, talk.seller, talk.draft))
    talk.press("clear", step)
    assert (talk.step, talk.form.name) == ("amount", "Coffee")


def test_the_name_at_telegram_is_offered_and_taken_by_its_button_alone() -> None:
    talk = asked("sellername", Profile())
    label = use_label("Anna Becker", "en")
    assert label in labels(talk.replies[-1].rows)
    talk.press_label(label)
    assert talk.seller.profile == Profile(name="Anna Becker")


def test_a_button_for_another_name_than_the_present_one_takes_nothing() -> None:
    talk = asked("sellername", Profile()).press("offer", offer_key("Anna Becker-Meer"))
    assert (talk.seller.profile, talk.step) == (Profile(), "sellername")


def test_the_username_and_the_notifications_address_are_offered_as_contacts() -> None:
    talk = asked("sellercontact", Profile("Anna"))
    offered = [action for action in talk.offered if "offer" in action]
    assert offered == [("draft", OTHER, "offer", offer_key(each)) for each in HINTS.contacts]
    assert talk.press_label("Use “@anna").seller.profile.contact == "@anna_bakes"


def test_each_accent_has_a_button_and_the_present_one_a_tick() -> None:
    assert [*PICTOGRAMS] == [*COLOURS]
    talk = asked("selleraccent")
    assert "✓ 🟢 Green" in labels(talk.replies[-1].rows)
    for accent in COLOURS:
        assert asked("selleraccent").press("accent", accent).seller.profile.accent == accent
    assert asked("selleraccent").press("accent", "beige").seller.profile == ANNA


def test_a_photo_is_taken_at_its_step_and_no_other() -> None:
    talk = asked("sellerimage")
    talk.take(take_picture(talk.draft, OTHER, IMAGE[::-1], None, talk.seller))
    assert talk.seller.profile.image == IMAGE[::-1]
    assert asked("sellerimage").press("telegram-photo").photos == [("", OTHER)]
    assert asked("sellername").press("telegram-photo").photos == []


def test_a_refused_photo_is_asked_for_again() -> None:
    talk = asked("sellerimage")
    talk.take(take_picture(talk.draft, OTHER, None, "photo-noProfile", talk.seller))
    assert talk.last.startswith("⚠ I can't see your Telegram photo")
    assert (talk.step, talk.seller.profile) == ("sellerimage", ANNA)


@pytest.mark.parametrize("language", languages())
@pytest.mark.parametrize("profile", [ANNA, replace(ANNA, name=None), Profile(), Profile("A" * 100)])
def test_the_page_and_the_settings_fit_telegram_in_every_language(
    profile: Profile, language: str
) -> None:
    seller = replace(SELLER, profile=profile, language=language)
    page = profile_page(seller)
    assert [action for action in actions(page.rows) if action[0] == "settings"] == [
        *(("settings", step) for step in ("sellername", "sellerimage", "sellerabout")),
        *(("settings", step) for step in ("sellercontact", "selleraccent")),
        ("settings",),
    ]
    check(page)
    check(settings(seller))
    check(profile_offer("A" * 100, language))


def test_the_page_says_what_payers_see_and_what_only_a_name_shows() -> None:
    assert check(profile_page(SELLER)) == (
        "Your profile\nThis is what payers see:\n\nAnna's Bakery\nSourdough in Leipzig\n"
        "Contact: anna@example.org\nColour: 🟢 Green\nPicture added ✓"
    )
    hidden = check(profile_page(replace(SELLER, profile=Profile(about="Bread"))))
    assert "Add a name, and payers will see this too:" in hidden
    assert "can't see who they're paying" in check(profile_page(KNOWN))


def test_the_page_leads_to_the_newest_pay_page_where_there_is_one() -> None:
    urls = [button.url for row in profile_page(SELLER).rows for button in row if button.url]
    assert urls == ["https://pay.example/1"]
    assert not [b for row in profile_page(KNOWN).rows for b in row if b.url]


def test_the_review_names_the_seller_and_a_new_name_makes_its_button_old() -> None:
    talk = form_at_step("review")
    assert "Sold by" not in talk.last
    create = talk.offered[0]
    talk.seller = SELLER
    talk.press(*create[2:])
    assert talk.specs == []
    assert "Sold by: Anna's Bakery" in talk.last
    talk.press_label("✅")
    assert [spec.name for spec in talk.specs] == ["Coffee"]


@pytest.mark.parametrize(
    ("first", "last", "found"),
    [
        ("Anna", "", "Anna"),
        ("Anna", "Becker", "Anna Becker"),
        ("A" * 60, "B" * 60, "A" * 60),
        ("🌸", "", "🌸"),
        ("\u3164", "", None),
        ("", "", None),
    ],
)
def test_a_name_at_telegram_that_payers_could_not_read_is_not_offered(
    first: str, last: str, found: str | None
) -> None:
    assert name_at_telegram(first, last) == found


def test_a_late_text_is_no_name() -> None:
    talk = asked("sellername")
    talk.now = NOW + 25 * 3600 * 1000
    assert talk.say("see you tomorrow").seller.profile == ANNA


# A host that imitates another one is shown in ASCII wherever a seller reads it.


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
