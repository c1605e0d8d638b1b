"""Any texts and presses in any order, with old and forged buttons."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.chat.forms import seller_forms
from bot.chat.forms.form import (
    ExistingRequest,
    duplicate,
    edit_form,
    line_with_photo,
    new_form,
    reopen,
    take_picture,
)
from bot.chat.forms.inputs import cancel
from bot.chat.forms.one_line import one_line
from bot.chat.forms.request_fields import BY_NAME, OPTIONS, STEPS, read_draft
from bot.chat.forms.seller_forms import payout_form, settings_form
from bot.chat.model.drafts import Attachment, Enclosure, PayoutDraft, Seller
from bot.chat.model.payout import CHECKING, SAVING, WAYS
from bot.chat.model.request_spec import PAYER_FIELDS, RequestSpec, Share
from bot.core.errors import FieldProblem
from bot.core.money.amounts import to_minor
from bot.core.text.translations import languages
from bot.interface.parts import AmountChoice
from tests.support.form_harness import (
    BERLIN,
    CONNECTION,
    FORM,
    IBAN,
    KNOWN,
    NOW,
    OTHER,
    SEPA,
    STRANGER,
    UNPAID,
    ButtonInput,
    MessageInput,
    Talk,
    form_at_step,
    paid_to,
)

ZIP = Attachment("t1", "document", "a.zip", "application/zip", size=5)
SETTLED = replace(KNOWN, zone=BERLIN)

TYPED = st.one_of(
    st.text(),
    st.text(st.characters(categories=["Cc", "Cf", "Cs", "Lo", "Mn", "So", "Zs"])),
    st.sampled_from(
        [
            *("Coffee", "5", "5 USD", "1.000", "1.234 EUR", "2.5 JPY", "eur", "10", "1,000"),
            *("$anna", "$a 60%\n$b 40%", "$a 3\n$b 2", "$a\n$b", "$a 1\n$b rest", "BSV"),
            *("in 2 h", "tomorrow 18:00", "3/4", "Berlin", "CET", "22-7", "8 pm"),
            *(IBAN, "Anna Ott", CONNECTION, "anna@bank", "CH"),
            *("https://a.example/b", "anna@example.org", "\n".join(f"{n}" * 80 for n in range(50))),
        ]
    ),
    st.integers(0, 4096).map("😀".__mul__),
)
WORDS = st.sampled_from(
    [
        *("draft", FORM, OTHER, "kind", "donation", "oneoff", "drop", "skip", "keep", "back"),
        *("amount", "5", "0.5", "1.005", "USD", "JPY", "XXX", "currency", "create", "continue"),
        *("restart", "cancel", "review", "units", "currency", "destination", "name", "00000000"),
        *("options", "open", "clear", "done", "ask", "on", "off", "email", "zone", "Europe/Berlin"),
        *("moment", "starts", "ends", "end", "1800000060000", "instrument", "receivers", "BSV"),
        *("hours", "1320-420", "minute", "1200", "quiet", "summary", "picture", "description"),
        *("later", "save", "change", "keep", "skip", "land", "CH", "payiban", "paykey"),
    ]
)
FORGED = st.one_of(
    st.lists(WORDS, max_size=4).map(lambda words: ("draft", FORM, *words)),
    st.lists(st.text() | WORDS, max_size=5).map(tuple),
)
ENTRIES = st.sampled_from(
    [
        *("new", "settings", "line", "reopen", "cancel", "edit", "duplicate", "picture", "sleep"),
        *("payout", "service", "photo-line", "file-line", "photo-came"),
    ]
)
MOVES = st.one_of(
    st.tuples(st.just("say"), TYPED),
    st.tuples(st.just("photo"), st.sampled_from([None, "5 USD", "Coffee"])),
    st.tuples(st.just("file"), st.sampled_from([None, "5 USD", "Coffee"])),
    st.tuples(st.just("press"), st.integers(0, 999)),
    st.tuples(st.just("forge"), FORGED),
    st.tuples(st.just("enter"), st.tuples(ENTRIES, TYPED)),
)


def answer_payout(talk: Talk, text: str) -> None:
    """Let the service answer the form of a payout account that waits for it."""
    draft, seller = talk.draft, talk.seller
    if not isinstance(draft, PayoutDraft) or draft.step not in (CHECKING, SAVING):
        return
    kind, _, scheme = draft.way.partition("-")
    found = replace(SEPA, kind=kind, scheme=scheme, label=text)
    if len(text) % 3 == 0:
        talk.take(
            seller_forms.account_refused(draft, FieldProblem(f"details.{text}", text, text), seller)
        )
    elif len(text) % 3 == 1:
        talk.take(seller_forms.probe_interrupted(draft, "Later.", seller))
    else:
        then = seller_forms.account_probed if draft.step == CHECKING else seller_forms.account_saved
        talk.take(then(draft, found, seller))


def enter(talk: Talk, door: str, text: str) -> None:
    """Call one of the functions that begin, end or continue a form from outside."""
    draft, seller = talk.draft, talk.seller
    kind = ("donation", "oneoff", "drop")[len(text) % 3]
    spec = RequestSpec(kind, "N", None, 100, "USD", 3 if kind == "drop" else None, "$anna")
    field, setting = (STEPS[form][len(text) % 4] for form in ("edit", "settings"))
    present = ExistingRequest("abcdefghij", spec, text.strip() or None)
    image, problem = ("0" * 24, None) if len(text) % 2 else (None, "photo-damaged")
    if door == "sleep":
        talk.draft = draft and replace(draft, touched_at=1)
        return
    if door == "service":
        answer_payout(talk, text)
        return
    result = {
        "payout": lambda: payout_form([*WAYS][len(text) % len(WAYS)], OTHER, seller, draft),
        "new": lambda: new_form(draft, OTHER, seller),
        "settings": lambda: settings_form(setting, OTHER, seller, draft),
        "line": lambda: one_line(kind, text, OTHER, seller, draft),
        "photo-line": lambda: one_line(kind, text, OTHER, seller, draft, sent=Enclosure("p")),
        "file-line": lambda: one_line(kind, text, OTHER, seller, draft, sent=Enclosure(file=ZIP)),
        "photo-came": lambda: line_with_photo(spec, OTHER, image, problem, seller, current=draft),
        "reopen": lambda: reopen(spec, OTHER, text, text, seller, current=draft),
        "cancel": lambda: cancel(draft, seller),
        "edit": lambda: edit_form(OTHER, present, field, seller, current=draft),
        "duplicate": lambda: duplicate(spec, OTHER, seller, draft),
        "picture": lambda: take_picture(
            draft, draft.id if draft else OTHER, image, problem, seller
        ),
    }[door]()
    talk.take(result)


def make_move(talk: Talk, kind: str, what: object) -> None:
    if kind == "say":
        talk.give(MessageInput(str(what)))
    elif kind == "photo":
        talk.give(MessageInput(str(what or ""), photo="file"))
    elif kind == "file":
        talk.give(MessageInput(str(what or ""), file=ZIP))
    elif kind == "forge":
        assert isinstance(what, tuple)
        talk.give(ButtonInput(what))
    elif kind == "enter":
        assert isinstance(what, tuple)
        enter(talk, *what)
    elif talk.replies:
        assert isinstance(what, int)
        buttons = [b.action for reply in talk.replies for row in reply.rows for b in row]
        action = buttons[-1 - what % len(buttons)] if buttons else None
        talk.give(ButtonInput(action or ()))


def check_spec(spec: RequestSpec) -> None:
    """Check a spec against the bounds of the interface."""
    assert 1 <= len(spec.name) <= 100
    assert spec.amount > 0
    assert (spec.units is not None) == (spec.kind == "drop")
    assert sum(share.amount for share in spec.shares) == spec.amount
    assert len(spec.shares) <= 100
    assert spec.instrument != spec.currency
    assert None in (spec.starts_at, spec.ends_at) or spec.starts_at < spec.ends_at  # type: ignore[operator]  # both are there
    assert spec.ends_at is None or spec.ends_at > NOW


def check_ways_out(talk: Talk) -> None:
    """Check that Cancel ends each form from any step, and that Back leads to its beginning."""
    aside = replace(talk, replies=[], specs=[])
    for _ in range(4):
        if aside.draft is not None:
            aside.give(ButtonInput(("draft", aside.form.id, "cancel")))
    assert aside.draft is None
    back = replace(talk, replies=[], specs=[])
    for _ in range(20):
        if back.draft is None or back.form.step == "kind":
            return
        if back.form.form == "line":
            return
        back.give(ButtonInput(("draft", back.form.id, "back", back.form.step)))
    raise AssertionError(f"no way back from {talk.draft}")


@settings(max_examples=400)
@given(
    st.sampled_from([KNOWN, STRANGER, SETTLED, UNPAID, paid_to(SEPA)]), st.lists(MOVES, max_size=40)
)
def test_any_inputs_leave_a_sound_form(seller: Seller, moves: list[tuple[str, object]]) -> None:
    """No exception, nothing that Telegram refuses, a draft that can be read, sound specs."""
    talk = Talk(seller)
    enter(talk, "new", "")
    for kind, what in moves:
        before = len(talk.specs)
        make_move(talk, kind, what)
        assert len(talk.specs) <= before + 1
    check_ways_out(talk)
    for spec in talk.specs:
        check_spec(spec)


OPEN_MOVES = st.one_of(
    st.tuples(st.just("say"), TYPED),
    st.tuples(st.just("press"), st.integers(0, 999)),
    st.tuples(
        st.just("forge"),
        st.sampled_from(OPTIONS).map(lambda step: ("draft", FORM, "open", step)),
    ),
)


@settings(max_examples=200)
@given(st.sampled_from([KNOWN, SETTLED]), st.lists(OPEN_MOVES, max_size=40))
def test_any_inputs_to_the_options_leave_a_sound_form(
    seller: Seller, moves: list[tuple[str, object]]
) -> None:
    """The same from the review, so that options are reached more often."""
    talk = form_at_step("review")
    talk.seller = seller
    for kind, what in moves:
        make_move(talk, kind, what)
    check_ways_out(talk)
    for spec in talk.specs:
        check_spec(spec)


WIDE = "\U0001f600"
"""Two UTF-16 units, as much as a character takes."""


@pytest.mark.long
@pytest.mark.parametrize("language", languages())
@pytest.mark.parametrize("receivers", [0, 100])
def test_the_longest_request_fits_into_one_message(language: str, receivers: int) -> None:
    """Every field has its full length, and so has the refusal above them."""
    seller = Seller(language, WIDE * 512, "USD", zone="America/Argentina/Buenos_Aires")
    spec = RequestSpec(
        "drop", WIDE * 100, WIDE * 500, 10**11, "KES", 1_000_000, WIDE * 512,
        receivers=tuple(Share(f"{n}" + WIDE * 500, 10**9, "") for n in range(receivers)),
        instrument="MNEE", image="0" * 24, starts_at=NOW + 1, ends_at=NOW + 10**11,
        payer_fields=PAYER_FIELDS, redirect_url="https://a.example/" + "&" * 2000,
        email="x" * 64 + "@" + "y" * 185 + ".org", max_quantity=100, thanks=WIDE * 500,
        choice=AmountChoice(10**10, (10**11, 10**11 - 1, 10**11 - 2, 10**11 - 3), 10**11),
    )  # fmt: skip
    talk = Talk(seller)
    talk.take(reopen(spec, FORM, "", WIDE * 5000, seller))
    assert talk.step == "review"
    talk.press("options")
    for step in (each for each in OPTIONS if spec.kind in BY_NAME[each].kinds):
        talk.take(reopen(spec, FORM, "", WIDE * 5000, seller))
        talk.press("open", step).say("\x00" * 4096)
        assert talk.step in (step, "options")


@given(st.text())
def test_any_other_text_is_no_stored_draft_or_spec(text: str) -> None:
    assert read_draft(text) is None
    assert RequestSpec.from_json(text) is None


@given(st.decimals("0.00000001", "1000000000", places=8))
def test_one_line_creates_exactly_the_amount_that_was_typed(amount: Decimal) -> None:
    talk = Talk(KNOWN)
    talk.take(one_line("donation", f"{amount:f} BTC Coffee", OTHER, KNOWN))
    assert [spec.amount for spec in talk.specs] == [to_minor(amount, "BTC")]
