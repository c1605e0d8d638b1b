"""Walks the field `motto`, which test_new_field.py adds to a copy of the product."""

from __future__ import annotations

from bot.chat.cards import menus
from bot.chat.cards.request_card import Card
from bot.chat.forms.flow import Change
from bot.chat.forms.form import ExistingRequest, edit_form, reopen
from bot.chat.jobs.request_bodies import Addresses, edit_body, request_body
from bot.chat.jobs.request_changes import apply_edit
from bot.chat.model.request_spec import RequestSpec
from bot.chat.store.link_rows import LIVE, PaymentLink
from tests.support.form_harness import FORM, KNOWN, NOW, OTHER, Talk, open_option
from tests.support.telegram_limits import actions, labels

FIELD, LINK = "motto", "abcdefghij"
ADDRESSES = Addresses("https://bot.example/hooks", "https://bot.example/images")


def link(spec: RequestSpec) -> PaymentLink:
    return PaymentLink(LINK, 1, 1, "token", LIVE, spec, "r", None, 0, NOW)


def walk_form() -> RequestSpec:
    """Answer, review and create."""
    talk = open_option(FIELD)
    assert talk.last.startswith("What do payers read after paying?")
    assert "Skip" in labels(talk.replies[-1].rows)
    assert "Motto: See you" in talk.say("See you").last
    assert "✓ Motto: See you" in labels(talk.replies[-1].rows)
    assert talk.press("done").last.endswith("Motto: See you")
    (spec,) = talk.press_label("✅").specs
    assert getattr(spec, FIELD) == "See you"
    assert request_body(link(spec), ADDRESSES, None, NOW)["mottoText"] == "See you"
    return spec


def walk_edit(spec: RequestSpec) -> None:
    """Open the edit from its menu, change the field and clear it."""
    card = Card(LINK, spec.kind, spec.name, None, 500, "USD", 10, 10, 0, "active", "x")
    assert ("edit", LINK, FIELD) in actions(menus.edit_menu(card, "en").rows)
    talk, request = Talk(KNOWN), ExistingRequest(LINK, spec)
    talk.take(edit_form(OTHER, request, FIELD, KNOWN))
    assert talk.last.endswith("Motto: See you")
    (change,) = talk.say("Bye").changes
    assert getattr(apply_edit(spec, change), FIELD) == "Bye"
    assert edit_body(change, link(spec), ADDRESSES, NOW) == {"mottoText": "Bye"}
    assert "Payers now read: Bye" in menus.saved_reply(card, change, KNOWN, NOW).text
    talk.take(edit_form(OTHER, request, FIELD, KNOWN))
    cleared = talk.press_label("🗑").changes[-1]
    assert cleared == Change(LINK, FIELD, None)
    assert edit_body(cleared, link(spec), ADDRESSES, NOW) == {"mottoText": None}
    assert "Payers read nothing more." in menus.saved_reply(card, cleared, KNOWN, NOW).text


def walk_refusal(spec: RequestSpec) -> None:
    """Come back to the field after a refusal, and clear it there."""
    talk = Talk(KNOWN)
    talk.take(reopen(spec, FORM, "mottoText", "No", KNOWN))
    assert talk.step == FIELD
    assert getattr(talk.press_label("🗑").form, FIELD) is None


if __name__ == "__main__":
    created = walk_form()
    walk_edit(created)
    walk_refusal(created)
