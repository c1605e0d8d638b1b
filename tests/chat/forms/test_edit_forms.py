"""Forms about an existing request or a setting, and forms that were left."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bot.chat.conversation.actions import start_reply
from bot.chat.forms.flow import Change
from bot.chat.forms.form import (
    LATE_AFTER,
    ExistingRequest,
    duplicate,
    edit_form,
    reopen,
    resume_offer,
    take_picture,
)
from bot.chat.forms.request_fields import STEPS, read_draft, write_draft
from bot.chat.forms.seller_forms import settings_form
from bot.chat.forms.typed_text import read_poster_text
from bot.chat.model.drafts import PROFILE_STEPS, Seller
from bot.chat.model.replies import Problem
from bot.chat.model.request_spec import RequestSpec, Share
from tests.support.form_harness import (
    BERLIN,
    KNOWN,
    NOW,
    OTHER,
    STRANGER,
    ButtonInput,
    MessageInput,
    Talk,
    form_at_step,
    open_option,
)
from tests.support.telegram_limits import actions, check, labels

LINK = "abcdefghij"
SETTLED = replace(KNOWN, zone=BERLIN)
HOUR = 3_600_000
SHARES = (Share("$anna", 300, "60%"), Share("$ben", 200, "40%"))
FULL = RequestSpec(
    "drop", "Coffee", "Warm", 500, "USD", 10, "$anna",
    receivers=SHARES, instrument="BSV", image="0" * 24,
    starts_at=NOW + HOUR, ends_at=NOW + 9 * HOUR, payer_fields=("email",),
    redirect_url="https://a.example/b", email="anna@example.org",
)  # fmt: skip
PLAIN = RequestSpec("donation", "Coffee", None, 500, "USD", None, "$anna")


def edit(field: str, spec: RequestSpec = FULL, talk: Talk | None = None) -> Talk:
    talk = talk or Talk(SETTLED)
    talk.take(edit_form(OTHER, ExistingRequest(LINK, spec), field, talk.seller, current=talk.draft))
    return talk


@pytest.mark.parametrize("field", STEPS["edit"][:-1])
def test_an_edit_can_be_left_by_back_and_by_cancel(field: str) -> None:
    talk = edit(field).press_label("⬅")
    assert (talk.draft, talk.changes, talk.then) == (None, [], ("edit", LINK))
    talk = edit(field).press_label("✖")
    assert (talk.draft, talk.changes) == (None, [])
    assert talk.last == "Cancelled. Nothing was changed."


@pytest.mark.parametrize("field", ["description", "picture", "redirect", "email", "end"])
def test_an_optional_field_can_be_removed_where_it_is_set(field: str) -> None:
    assert edit(field).press_label("🗑").changes == [Change(LINK, field, None)]
    assert "🗑 Remove" not in labels(edit(field, PLAIN).replies[-1].rows)


def test_a_posters_text_is_shown_and_can_be_removed() -> None:
    talk = Talk(SETTLED)
    present = ExistingRequest(LINK, PLAIN, "Open <daily>")
    talk.take(edit_form(OTHER, present, "postertext", talk.seller))
    assert check(talk.replies[-1]).endswith("\n\nYour text: Open <daily>")
    talk.draft = talk.draft and read_draft(write_draft(talk.draft))
    assert talk.press_label("🗑").changes == [Change(LINK, "postertext", None)]
    bare = edit("postertext").replies[-1]
    assert "Your text:" not in bare.text
    assert [word for _, _, word, *_ in actions(bare.rows)] == ["back", "cancel"]


@pytest.mark.parametrize("field", ["name", "units"])
def test_a_required_field_can_not_be_removed(field: str) -> None:
    talk = edit(field)
    before = talk.draft
    talk.press("clear", field)
    assert (talk.draft, talk.changes) == (before, [])


def test_an_edit_of_the_picture_takes_a_photo() -> None:
    talk = edit("name").give(MessageInput("", photo="file"))
    assert talk.photos == []
    talk = edit("picture").give(MessageInput("", photo="file"))
    assert talk.photos == [("file", OTHER)]
    talk.take(take_picture(talk.draft, OTHER, "1" * 24, None, talk.seller))
    assert talk.changes == [Change(LINK, "picture", "1" * 24)]


def test_an_edit_returns_to_the_form_that_it_interrupted() -> None:
    talk = form_at_step("units")
    before = talk.draft
    edit("name", talk=talk).say("Tea")
    assert talk.draft == before
    assert talk.changes == [Change(LINK, "name", "Tea")]
    edit("name", talk=talk).press_label("⬅")
    assert (talk.draft, talk.then) == (before, None)
    assert "How many items are there?" in talk.last


def test_an_end_is_asked_for_after_the_zone_and_follows_the_start() -> None:
    talk = edit("end", talk=Talk(KNOWN))
    assert "Which time zone are you in?" in talk.last
    talk.press_label("London")
    assert talk.step == "end"
    talk.say("in 30 min")
    assert "⚠ It would end before it opens." in talk.last
    talk.give(ButtonInput(("draft", OTHER, "moment", "end", str(NOW + 2 * HOUR))))
    assert talk.changes == [Change(LINK, "end", NOW + 2 * HOUR)]


def test_an_edit_of_a_fixed_field_raises() -> None:
    with pytest.raises(ValueError, match="amount"):
        edit("amount")


def test_a_duplicate_has_all_fields_and_creates_the_same_spec() -> None:
    talk = form_at_step("amount")
    before = talk.draft
    talk.seller = SETTLED
    talk.take(duplicate(FULL, OTHER, talk.seller, talk.draft))
    assert talk.step == "review"
    assert "Description: Warm" in talk.last
    assert talk.press_label("✅").specs == [FULL]
    assert talk.draft == before


TYPED = [
    ("$anna 60%\n$ben 40%", (750, 500), (780, 520)),
    ("$anna 33.5%\n$ben rest", (419, 831), (436, 864)),
    ("$anna 2.50\n$ben rest", (250, 1000), (250, 1050)),
    ("$anna\n$ben", (625, 625), (650, 650)),
]


@pytest.mark.parametrize(("typed", "before", "after"), TYPED)
def test_a_duplicate_divides_another_price_as_its_seller_typed(
    typed: str, before: tuple[int, ...], after: tuple[int, ...]
) -> None:
    """Percentages stay percentages; so does what a server's refusal brings back to the form."""
    talk = open_option("receivers").press("open", "amount").say("12.50 USD")
    (spec,) = talk.press("open", "receivers").say(typed).press("done").press_label("✅").specs
    stored = RequestSpec.from_json(spec.to_json())
    assert stored == spec
    assert tuple(share.amount for share in spec.receivers) == before
    for again in (duplicate(spec, OTHER, KNOWN), reopen(spec, OTHER, "", "no", KNOWN)):
        talk = Talk(KNOWN)
        talk.take(again)
        talk.press("open", "amount").say("13 USD").press("done").press_label("✅")
        assert tuple(share.amount for share in talk.specs[0].receivers) == after


def test_a_duplicate_with_amounts_asks_who_gets_what_of_another_price() -> None:
    talk = open_option("receivers").say("$anna 3\n$ben 2").press("done").press_label("✅")
    again = Talk(KNOWN)
    again.take(duplicate(talk.specs[0], OTHER, KNOWN))
    assert again.press("open", "amount").say("7 USD").step == "receivers"
    assert "These amounts add up to $5.00, but the price is $7.00." in again.last


def test_a_duplicate_of_an_ended_request_asks_for_an_end() -> None:
    talk = Talk(SETTLED, now=NOW + 24 * HOUR)
    talk.take(duplicate(FULL, OTHER, talk.seller))
    assert talk.press_label("✅").step == "ends"
    assert talk.press_label("🗑").press_label("✅").specs == [
        replace(FULL, starts_at=None, ends_at=None)
    ]


REFUSED = [
    ("product.imageUrl", "picture"), ("enabledAt", "starts"), ("expirationInSeconds", "ends"),
    ("expiresAt", "ends"), ("requestedUserData", "asks"), ("requestedUserData[0]", "asks"),
    ("redirectUrl", "redirect"), ("notifications.email", "email"), ("receivers", "receivers"),
    ("receivers.1.destination", "receivers"), ("receivers[1].sendAmount", "receivers"),
    ("instrumentCurrencyCode", "instrument"), ("denominationCurrencyCode", "currency"),
    ("product.description", "description"),
]  # fmt: skip


@pytest.mark.parametrize(("field", "step"), REFUSED)
def test_a_refusal_leads_to_the_step_of_its_option(field: str, step: str) -> None:
    talk = Talk(SETTLED)
    talk.take(reopen(FULL, OTHER, field, "No", talk.seller))
    assert talk.step == step
    assert "didn't accept this: No" in talk.last


def setting(step: str, seller: Seller = SETTLED, talk: Talk | None = None) -> Talk:
    talk = talk or Talk(seller)
    talk.take(settings_form(step, OTHER, talk.seller, talk.draft))
    return talk


def test_quiet_hours_and_the_summary_are_set_and_switched_off() -> None:
    talk = setting("quiet").say("at night").say("22:00-7:30")
    assert (talk.draft, talk.seller.quiet) == (None, (22 * 60, 7 * 60 + 30))
    assert "During your quiet hours, 22:00\N{EN DASH}07:30," in talk.last
    setting("quiet", talk=talk).press_label("Turn off")
    assert talk.seller.quiet is None
    setting("quiet", talk=talk).press_label("20:00\N{EN DASH}09:00")
    assert talk.seller.quiet == (20 * 60, 9 * 60)
    setting("summary", talk=talk).say("8 pm")
    assert talk.seller.summary == 20 * 60
    assert "You'll get the summary every day at 20:00." in talk.last
    setting("summary", talk=talk).press_label("Turn off")
    assert talk.seller.summary is None


@pytest.mark.parametrize("words", [("hours", "1440-1"), ("hours", "5-5"), ("minute", "1440")])
def test_a_forged_hour_is_refused(words: tuple[str, str]) -> None:
    talk = setting("quiet").press(*words)
    assert (talk.step, talk.seller) == ("quiet", SETTLED)
    assert talk.toast


def test_hours_ask_for_the_zone_first() -> None:
    talk = setting("quiet", KNOWN).say("Berlin")
    assert (talk.step, talk.seller.zone) == ("quiet", BERLIN)
    assert talk.say("22-7").seller.quiet == (22 * 60, 7 * 60)
    talk = setting("zone", KNOWN).say("Berlin")
    assert (talk.draft, talk.seller.zone) == (None, BERLIN)


@pytest.mark.parametrize("step", STEPS["settings"])
def test_a_setting_is_left_by_back_and_by_cancel(step: str) -> None:
    talk = setting(step).press_label("⬅")
    page = "profile" if step in PROFILE_STEPS else "settings"
    assert (talk.draft, talk.then, talk.seller) == (None, (page,), SETTLED)
    assert setting(step).press_label("✖").last == "Cancelled. Nothing was changed."
    over = setting(step, talk=form_at_step("amount")).press_label("⬅")
    assert (over.step, over.then) == ("amount", None)


def left(step: str = "amount", age: int = LATE_AFTER + 1) -> Talk:
    """A form whose last answer is `age` ms old."""
    talk = form_at_step(step)
    talk.draft = replace(talk.form, touched_at=NOW - age)
    return talk


def test_a_late_text_is_no_answer_and_the_form_is_offered_again() -> None:
    talk = left().say("5 USD")
    assert (talk.step, talk.form.amount) == ("amount", None)
    assert talk.last.startswith("You've already started a payment link: Coffee.")
    talk.say("5 USD")
    assert talk.form.amount is None
    assert talk.press_label("Continue").say("5 USD").step == "units"


def test_a_late_photo_is_not_taken() -> None:
    talk = left().give(MessageInput("", photo="file"))
    assert talk.photos == []
    assert talk.last.startswith("You've already started a payment link")


def test_a_text_within_a_day_is_an_answer() -> None:
    assert left(age=LATE_AFTER).say("5 USD").step == "units"


def test_a_short_form_left_long_ago_is_offered_again() -> None:
    talk = edit("name")
    talk.draft = replace(talk.form, touched_at=1)
    talk.say("Tea")
    assert (talk.changes, talk.last) == ([], "You left a question unanswered. Answer it now?")
    assert talk.press_label("Continue").say("Tea").changes == [Change(LINK, "name", "Tea")]


def test_start_offers_the_form_under_way() -> None:
    talk = left()
    hello = start_reply(KNOWN, new=False, offer=resume_offer(talk.draft, KNOWN))
    assert "You've already started a payment link: Coffee." in check(hello)
    assert resume_offer(None, KNOWN) is resume_offer(form_at_step("kind").draft, KNOWN) is None


def test_a_duplicate_asks_a_seller_without_a_destination_for_it() -> None:
    talk = Talk(STRANGER)
    talk.take(duplicate(PLAIN, OTHER, talk.seller))
    assert talk.step == "destination"
    assert talk.say("$anna").press_label("✅").specs == [PLAIN]


def test_a_posters_text_keeps_its_line_breaks() -> None:
    assert read_poster_text(" Doors  at 7 \n\n Bring\ta friend ") == "Doors at 7\nBring a friend"
    assert isinstance(read_poster_text(" \n "), Problem)
