"""Each request field is described once: form, review, wire, edit menu and edit follow from it."""

from __future__ import annotations

import ast
from dataclasses import dataclass, replace
from decimal import Decimal

import pytest

from bot.chat.cards import menus
from bot.chat.cards.request_card import Card
from bot.chat.forms.flow import Change
from bot.chat.forms.form import ExistingRequest, duplicate, edit_form, reopen, take_picture
from bot.chat.forms.request_fields import BY_NAME, EDITS, FIELDS, MENU, OPTIONS, PATH
from bot.chat.model.drafts import Seller
from bot.chat.model.request_spec import KINDS, RequestSpec
from bot.chat.payments.request_bodies import Addresses, edit_body, request_body
from bot.chat.payments.request_changes import apply_edit
from bot.chat.store.link_rows import LIVE, PaymentLink
from tests.support import source_tree
from tests.support.form_harness import (
    BERLIN,
    NOW,
    OTHER,
    MessageInput,
    Talk,
    form_at_step,
    kind_with,
    open_option,
)
from tests.support.telegram_limits import actions, check

SAM = Seller("en", "$anna", "USD", zone=BERLIN)
LINK = "abcdefghij"
ADDRESSES = Addresses("https://bot.example/hooks", "https://bot.example/images")
IMAGE = "0" * 24
HOUR = 3_600_000


@dataclass(frozen=True)
class Sample:
    """What a seller answers, as a text or by buttons, and the value on the wire."""

    answer: str | tuple[tuple[str, ...], ...]
    sent: object


SAMPLES = {
    "description": Sample("Warm", "Warm"),
    "picture": Sample("", f"https://bot.example/images/{IMAGE}"),
    "instrument": Sample("BSV", None),
    "receivers": Sample(
        "$anna 60%\n$ben 40%",
        [
            {"sendAmount": Decimal("3.00"), "destination": "$anna"},
            {"sendAmount": Decimal("2.00"), "destination": "$ben"},
        ],
    ),
    "starts": Sample("in 1 h", "2027-01-15T09:00:00.000Z"),
    "ends": Sample("in 2 h", 7200),
    "asks": Sample((("ask", "email", "on"), ("options",)), ["email"]),
    "redirect": Sample("https://a.example/b", "https://a.example/b"),
    "email": Sample("anna@example.org", "anna@example.org"),
    "goods": Sample("https://a.example/album", {"text": "https://a.example/album"}),
    "goal": Sample("1000", Decimal("1000.00")),
    "perbuyer": Sample("3", 3),
    "thanks": Sample("Thanks!\nSee you", "Thanks!\nSee you"),
}
CHANGES: dict[str, tuple[str, object]] = {
    "name": ("Tea", "Tea"),
    "description": ("Hot", "Hot"),
    "picture": ("", f"https://bot.example/images/{IMAGE}"),
    "redirect": ("https://a.example/c", "https://a.example/c"),
    "email": ("ben@example.org", "ben@example.org"),
    "end": ("in 3 h", 3 * 3600),
    "units": ("2", 2),
    "postertext": ("Open daily", None),
    "goods": ("The key is 4711", {"text": "The key is 4711"}),
    "goal": ("2,500.50", Decimal("2500.50")),
    "perbuyer": ("4", 4),
    "thanks": ("Bye", "Bye"),
}
"""What a seller answers to each edit, and the value on the wire."""


def answer(talk: Talk, sample: Sample) -> Talk:
    if isinstance(sample.answer, tuple):
        for words in sample.answer:
            talk.press(*words)
    elif sample.answer:
        talk.say(sample.answer)
    else:
        talk.give(MessageInput("", photo="file"))
        talk.take(take_picture(talk.draft, talk.photos[-1].draft_id, IMAGE, None, talk.seller))
    return talk


def at_path(body: dict[str, object], path: str) -> object:
    found: object = body
    for part in path.split("."):
        found = found.get(part) if isinstance(found, dict) else None
    return found


def link_of(spec: RequestSpec) -> PaymentLink:
    return PaymentLink(LINK, 1, 1, "token", LIVE, spec, "r", None, 0, NOW)


def full_spec(kind: str = "drop") -> RequestSpec:
    """A request with every option of its kind."""
    talk = form_at_step("review", kind)
    talk.seller = SAM
    for name, sample in SAMPLES.items():
        if kind in BY_NAME[name].kinds:
            answer(talk.press("open", name), sample)
    (spec,) = talk.press("done").press_label("✅").specs
    return spec


def test_every_option_and_every_edit_is_walked_below() -> None:
    assert set(SAMPLES) == set(OPTIONS)
    assert set(CHANGES) == set(EDITS)


@pytest.mark.parametrize("name", OPTIONS)
def test_an_option_goes_from_the_menu_to_review_and_wire_and_is_cleared(name: str) -> None:
    field, sample = BY_NAME[name], SAMPLES[name]
    talk = answer(open_option(name, seller=SAM), sample)
    assert talk.step == "options"
    line = field.line(talk.form, SAM)
    assert line
    cleared = Talk(SAM, talk.draft).press("open", name).press("clear", name)
    assert getattr(cleared.form, field.attribute) == field.empty
    review = talk.press("done").replies[-1]
    assert line in review.text
    (spec,) = talk.press_label("✅").specs
    assert getattr(spec, field.attribute) != field.empty
    body = request_body(link_of(spec), ADDRESSES, None, NOW)
    assert field.wire
    if field.wire.path:
        assert at_path(body, field.wire.path) == sample.sent
    again = Talk(SAM)
    again.take(duplicate(spec, OTHER, SAM))
    assert line in again.replies[-1].text or field.name == "receivers"


@pytest.mark.parametrize("name", OPTIONS)
def test_a_refusal_of_an_option_leads_to_its_step(name: str) -> None:
    field, talk = BY_NAME[name], Talk(SAM)
    wire = field.wire
    assert wire
    talk.take(reopen(full_spec(kind_with(field)), OTHER, wire.path or wire.refused_as, "No", SAM))
    assert talk.step == name


@pytest.mark.parametrize("name", EDITS)
def test_an_edit_goes_from_its_button_to_the_wire_and_back_into_the_spec(name: str) -> None:
    field = EDITS[name]
    spec = full_spec(kind_with(field))
    said, sent = CHANGES[name]
    card = Card(LINK, spec.kind, spec.name, None, 500, "USD", 10, 10, 0, "active", "x")
    assert ("edit", LINK, name) in actions(menus.edit_menu(card, "en").rows)
    talk = Talk(SAM)
    talk.take(edit_form(OTHER, ExistingRequest(LINK, spec, "Open"), name, SAM))
    if name != "goods":  # buyers may get any characters
        assert talk.say("\x00").step == name
    (change,) = answer(talk, Sample(said, sent)).changes
    assert (talk.draft, change.link_id, change.field) == (None, LINK, name)
    check(menus.saved_reply(card, change, SAM, NOW))
    if field.wire is None:
        return
    assert field.edit
    body = edit_body(change, link_of(spec), ADDRESSES, NOW)
    assert at_path(body, field.edit.path or field.wire.path) == sent
    after = apply_edit(spec, change)
    before = {field.attribute: getattr(spec, field.attribute)}
    assert replace(after, **before) == spec


@pytest.mark.parametrize("name", [name for name, field in EDITS.items() if field.is_optional])
def test_an_optional_field_is_cleared_by_its_edit(name: str) -> None:
    field, talk = EDITS[name], Talk(SAM)
    spec = full_spec(kind_with(field))
    talk.take(edit_form(OTHER, ExistingRequest(LINK, spec, "Open"), name, SAM))
    assert talk.press("clear", name).changes == [Change(LINK, name, None)]
    if field.wire is None:
        return
    change = Change(LINK, name, None)
    assert at_path(edit_body(change, link_of(spec), ADDRESSES, NOW), field.wire.path) is None
    assert getattr(apply_edit(spec, change), field.attribute) == field.empty


def test_what_only_some_kinds_have_is_offered_for_them_alone() -> None:
    for kind in KINDS:
        talk = form_at_step("review", kind).press("options")
        offered = {words[3] for words in talk.offered if words[2:3] == ("open",)}
        assert offered == {field.name for field in MENU if kind in field.kinds}


def test_places_in_a_menu_are_taken_once() -> None:
    edits = [field.edit for field in FIELDS if field.edit]
    places = [field.option for field in MENU], [edit.place for edit in edits]
    assert all(len(set(each)) == len(each) for each in places)
    assert (len(BY_NAME), len(EDITS)) == (len(FIELDS), len(edits)), "names are taken once too"


NAMES = {*OPTIONS, *EDITS, *(field.attribute for field in FIELDS)} - {*PATH, ""}
SPELLED = {
    "forms/request_fields.py": NAMES,
    # The words of buttons that set a field outside of its question.
    "forms/field_texts.py": {"instrument", "goal", "goods"},
    "forms/goods_form.py": {"goods"},
    "forms/inputs.py": {"instrument", "goal", "goods"},
    # The first part of the keys of problems.
    "forms/typed_text.py": {"description", "postertext", "thanks"},
    # Stored attributes that are not of a plain type.
    "model/request_spec.py": {"receivers", "payer_fields", "email", "goods"},
    "store/link_rows.py": {"poster_text"},
    # Words of the interface, and payers' email addresses.
    "payments/request_bodies.py": {"description"},
    "payments/client.py": {"email"},
    "payments/payment_jobs.py": {"email"},
    "forms/form.py": {"receivers"},
    "model/remote_request.py": {"receivers", "goal", "max_quantity"},
    "store/receipt_rows.py": {"thanks"},
    # Whether a message has a picture; the column of a profile's; an error of Telegram's.
    "store/post_rows.py": {"picture"},
    "telegram/intake.py": {"description"},
}
"""Where the name of a field may be spelled out beside `request_fields`, and why."""


@pytest.mark.long
def test_no_other_module_names_a_field() -> None:
    """A module that asks `if field == "redirect"` has to be found for every new field."""
    found = {
        f"{module}:{node.lineno} {node.value}"
        for path, node in source_tree.nodes(ast.Constant, source_tree.room("chat"))
        for module in [str(path.relative_to(source_tree.BOT / "chat"))]
        if isinstance(node.value, str)
        if node.value in NAMES and node.value not in SPELLED.get(module, ())
    }
    assert not found
