"""The form of a payout account, step by step."""

from __future__ import annotations

from dataclasses import replace
from urllib.parse import parse_qs, urlsplit
from uuid import UUID

import pytest

from bot.chat.forms import seller_forms
from bot.chat.forms.flow import PROBE, SAVE
from bot.chat.forms.form import new_form
from bot.chat.forms.one_line import one_line
from bot.chat.forms.request_fields import read_draft, write_draft
from bot.chat.forms.seller_texts import fingerprint
from bot.chat.forms.typed_text import is_connection, read_field
from bot.chat.model.drafts import PayoutService, Seller
from bot.chat.model.payout import CHECKING, FOUND, SAVING, SECRETS, WAYS, details_of
from bot.chat.model.replies import Problem
from bot.core.errors import FieldProblem
from bot.core.text.translations import languages, t
from tests.support.form_harness import (
    BERLIN,
    CONNECTION,
    FORM,
    IBAN,
    KEY,
    KNOWN,
    LIGHTNING,
    OTHER,
    OTHER_IBAN,
    SEPA,
    SWISS_IBAN,
    TYPED,
    UNPAID,
    VAULT,
    Talk,
    connecting,
    paid_to,
)
from tests.support.form_harness import new_form as fresh
from tests.support.telegram_limits import labels


def typed(talk: Talk) -> dict[str, str]:
    """Return the fields as the job gets them."""
    return {
        one.field: VAULT.open(one.text) if one.is_sealed else one.text for one in talk.form.answers
    }


@pytest.mark.parametrize("way", WAYS)
def test_each_field_is_asked_for_and_then_the_account_is_checked(way: str) -> None:
    talk = connecting(way)
    talk.say(*TYPED[way])
    assert talk.step == CHECKING
    assert talk.connects == [PROBE]
    assert typed(talk) == dict(zip(WAYS[way], TYPED[way], strict=True))


@pytest.mark.parametrize("language", languages())
@pytest.mark.parametrize("way", WAYS)
def test_every_question_can_be_asked_in_every_language(way: str, language: str) -> None:
    talk = connecting(way, replace(UNPAID, language=language))
    for answer in TYPED[way]:
        assert len(talk.last) > 10
        talk.say(answer)
    found = replace(LIGHTNING, kind=way.partition("-")[0], scheme=way.partition("-")[2])
    talk.take(seller_forms.account_probed(talk.form, found, talk.seller))
    assert t(language, "payout-found").startswith("<b>")
    assert "anna@example.org" in talk.last


BRITISH, OTHER_SWISS = "GB29NWBK60161331926819", "CH5800791123000889012"


@pytest.mark.parametrize("language", languages())
def test_an_account_outside_the_eea_is_asked_for_its_bic(language: str) -> None:
    """Bank apps refuse codes without it (EPC069-12, version 002)."""
    talk = connecting("bank-sepa", replace(UNPAID, language=language))
    talk.say(BRITISH, "Anna Ott")
    assert talk.step == "paybic"
    assert talk.last.splitlines()[0].count("3") == 2
    assert t(language, "payout-ask-bank-sepa-bic").startswith("<b>")
    talk.say("NWBK")
    assert (talk.step, talk.last.startswith("⚠")) == ("paybic", True)
    talk.say(" nwbk gb2l ")
    assert (talk.step, talk.connects) == (CHECKING, [PROBE])
    given = {"iban": BRITISH, "name": "Anna Ott", "bic": "NWBKGB2L"}
    assert typed(talk) == given
    assert details_of("bank-sepa", given) == {"scheme": "sepa"} | given
    talk.take(seller_forms.account_probed(talk.form, SEPA, talk.seller))
    assert "Anna Ott\nNWBKGB2L" in talk.last
    talk.press("back", talk.form.step)
    assert talk.step == "paybic"
    talk.press("keep")
    assert typed(talk) == given


@pytest.mark.parametrize(("iban", "step"), [(OTHER_SWISS, "paybic"), (IBAN, CHECKING)])
def test_a_bic_belongs_to_its_iban(iban: str, step: str) -> None:
    talk = connecting("bank-sepa").say(BRITISH, "Anna Ott", "NWBKGB2L")
    problem = FieldProblem("details.iban", "No.")
    talk.take(seller_forms.account_refused(talk.form, problem, talk.seller))
    talk.say(iban)
    assert talk.step == step
    assert typed(talk) == {"iban": iban, "name": "Anna Ott"}


def test_an_account_checked_before_bics_were_asked_for_can_be_saved() -> None:
    talk = connecting("bank-sepa").say(BRITISH, "Anna Ott", "NWBKGB2L")
    talk.take(seller_forms.account_probed(talk.form, SEPA, talk.seller))
    old = replace(talk.form, answers=talk.form.answers[:2])
    assert read_draft(write_draft(old)) == old
    talk.draft = replace(old, touched_at=talk.now)
    talk.press("save", fingerprint(old.answers))
    assert (talk.step, talk.connects[-1]) == (SAVING, SAVE)
    missing = FieldProblem("details.bic", "Enter the bank's BIC.", "missing")
    talk.take(seller_forms.account_refused(talk.form, missing, talk.seller))
    assert talk.step == "paybic"


def test_alby_hub_is_asked_for_a_key_that_can_only_receive() -> None:
    """Its form is filled in by the address alone: the key is made there and pasted here."""
    (link,) = [one.url for row in connecting("nwc").replies[-1].rows for one in row if one.url]
    query = parse_qs(urlsplit(link).query)
    assert query["request_methods"] == ["get_info make_invoice lookup_invoice"]
    assert query["name"] == ["Payment links"]


def test_a_secret_is_in_no_draft_and_in_no_reply() -> None:
    for way, secret in (("lnbits", KEY), ("nwc", CONNECTION)):
        talk = connecting(way)
        talk.say(*TYPED[way])
        assert secret not in write_draft(talk.form)
        talk.press("back", talk.form.step)
        assert talk.step == f"pay{WAYS[way][-1]}"
        assert "Keep: …" in labels(talk.replies[-1].rows)
        assert not any(secret in f"{reply}" for reply in talk.replies)
        talk.press("keep")
        assert (talk.step, talk.connects) == (CHECKING, [PROBE, PROBE])
        assert typed(talk)[WAYS[way][-1]] == secret
    assert {way for way, _ in SECRETS} == {"lnbits", "nwc"}


def test_a_refused_field_is_asked_for_again_and_the_others_are_kept() -> None:
    talk = connecting("bank-sepa").say(*TYPED["bank-sepa"])
    talk.take(
        seller_forms.account_refused(
            talk.form, FieldProblem("details.iban", "Not <there>"), talk.seller
        )
    )
    assert talk.step == "payiban"
    assert talk.last.startswith("⚠ That didn't work: Not <there>")
    talk.say(OTHER_IBAN)
    assert talk.step == CHECKING
    assert typed(talk) == {"iban": OTHER_IBAN, "name": "Anna Ott"}


@pytest.mark.parametrize(("code", "kept"), [("spendingKey", []), ("unknownKey", ["key"])])
def test_a_key_that_can_spend_is_not_kept(code: str, kept: list[str]) -> None:
    talk = connecting("lnbits").say(*TYPED["lnbits"])
    talk.take(
        seller_forms.account_refused(talk.form, FieldProblem("details.key", "", code), talk.seller)
    )
    assert list(typed(talk)) == ["url", *kept]
    assert talk.step == "paykey"


@pytest.mark.parametrize("path", ["details", "kind", "", "details.address.country"])
def test_a_refusal_of_no_field_of_the_form_leads_to_the_last_one(path: str) -> None:
    talk = connecting("lnbits").say(*TYPED["lnbits"])
    talk.take(seller_forms.account_refused(talk.form, FieldProblem(path, "No."), talk.seller))
    assert talk.step == "paykey"


def test_a_part_of_an_address_that_is_refused_is_asked_for_again() -> None:
    talk = connecting("bank-swiss").say(*TYPED["bank-swiss"])
    path = "details.address.postalCode"
    talk.take(seller_forms.account_refused(talk.form, FieldProblem(path, "Too long."), talk.seller))
    assert talk.step == "paypostalcode"


def test_what_was_found_is_shown_before_it_is_saved() -> None:
    talk = connecting("lightning", paid_to(replace(LIGHTNING, label="old@example.org")))
    talk.say("anna@example.org")
    talk.take(
        seller_forms.account_probed(talk.form, replace(LIGHTNING, automatic=False), talk.seller)
    )
    assert "anna@example.org" in talk.last
    assert "confirm each one with a tap" in talk.last
    assert "It replaces old@example.org." in talk.last
    assert labels(talk.replies[-1].rows) == ["✅ Save", "✏ Change", "⬅ Back", "✖ Cancel"]
    talk.press("save", fingerprint(talk.form.answers))
    assert (talk.step, talk.connects) == (SAVING, [PROBE, SAVE])


def test_the_holder_and_the_address_are_read_again_before_they_are_saved() -> None:
    talk = connecting("bank-swiss").say(*TYPED["bank-swiss"])
    found = replace(SEPA, scheme="swiss", label="CH93 … 2957")
    talk.take(seller_forms.account_probed(talk.form, found, talk.seller))
    assert "CH93 … 2957\nAnna Ott\nSeestrasse 1a 8001 Zürich CH\n👆" in talk.last
    secret = connecting("lnbits").say(*TYPED["lnbits"])
    secret.take(
        seller_forms.account_probed(secret.form, replace(LIGHTNING, kind="lnbits"), secret.seller)
    )
    assert KEY not in secret.last


def test_a_save_button_of_other_answers_saves_nothing() -> None:
    talk = connecting("bank-sepa").say(*TYPED["bank-sepa"])
    talk.take(seller_forms.account_probed(talk.form, SEPA, talk.seller))
    old = fingerprint(talk.form.answers)
    talk.press("change").say(OTHER_IBAN)
    talk.take(seller_forms.account_probed(talk.form, SEPA, talk.seller))
    talk.press("save", old)
    assert (talk.step, talk.toast) == (FOUND, t("en", "toast-changed"))
    assert talk.connects == [PROBE, PROBE]


def test_change_keeps_every_answer_on_a_button() -> None:
    talk = connecting("bank-sepa").say(*TYPED["bank-sepa"])
    talk.take(seller_forms.account_probed(talk.form, SEPA, talk.seller))
    talk.press("change")
    assert f"Keep: {IBAN}" in labels(talk.replies[-1].rows)
    talk.press("keep").say("Anna Maria Ott")
    assert typed(talk) == {"iban": IBAN, "name": "Anna Maria Ott"}
    assert talk.step == CHECKING


def test_the_parts_of_an_address_that_not_everybody_has_can_be_skipped() -> None:
    talk = connecting("bank-swiss").say(*TYPED["bank-swiss"][:2])
    talk.press("skip").press("skip").say("3999", "Oberwald").press("land", "CH")
    assert talk.step == CHECKING
    values = {name: text for name, text in typed(talk).items() if text}
    assert details_of("bank-swiss", values) == {
        "scheme": "swiss",
        "iban": TYPED["bank-swiss"][0],
        "name": "Anna Ott",
        "address": {"postalCode": "3999", "town": "Oberwald", "country": "CH"},
    }


def test_back_before_the_first_field_leads_to_the_accounts() -> None:
    talk = connecting("bank-sepa").say(IBAN)
    talk.press("back", talk.form.step)
    assert talk.step == "payiban"
    talk.press("back", talk.form.step)
    assert (talk.draft, talk.then) == (None, ("getpaid",))


@pytest.mark.parametrize("words", ["Anna Ott", "", "x" * 5000])
def test_a_text_while_the_account_is_checked_changes_nothing(words: str) -> None:
    talk = connecting("bank-sepa").say(*TYPED["bank-sepa"])
    before = talk.form.answers
    talk.say(words)
    assert (talk.form.answers, talk.step, talk.connects) == (before, CHECKING, [PROBE])
    assert "Checking" in talk.last


def test_a_call_that_came_to_nothing_leaves_all_answers() -> None:
    talk = connecting("bank-sepa").say(*TYPED["bank-sepa"])
    talk.take(seller_forms.probe_interrupted(talk.form, "Later.", talk.seller))
    assert (talk.step, typed(talk)["iban"]) == ("payname", IBAN)
    talk.press("keep")
    talk.take(seller_forms.account_probed(talk.form, SEPA, talk.seller))
    talk.press("save", fingerprint(talk.form.answers))
    talk.take(seller_forms.probe_interrupted(talk.form, "Later.", talk.seller))
    assert talk.step == FOUND
    assert talk.last.startswith("Later.")


def test_cancel_ends_the_form_without_a_change() -> None:
    talk = connecting("lnbits").say(*TYPED["lnbits"]).press("cancel")
    assert talk.draft is None
    assert talk.last == t("en", "cancelled-edit")


@pytest.mark.parametrize(
    "change",
    [
        {"way": None}, {"way": "paypal"}, {"step": "paykey"}, {"step": FOUND}, {"answers": ()},
        {"step": "name"},
    ],
)  # fmt: skip
def test_a_draft_whose_parts_do_not_fit_is_none(change: dict[str, object]) -> None:
    form = connecting("bank-sepa").say(*TYPED["bank-sepa"]).form
    assert read_draft(write_draft(form)) is not None
    assert read_draft(write_draft(replace(form, **change))) is None


# The first request, and prices.


def test_the_first_request_of_a_seller_without_an_account_asks_for_one() -> None:
    talk = fresh(UNPAID)
    talk.press("kind", "donation").say("Coffee", "5 EUR")
    assert talk.step == "destination"
    offered = [action for action in talk.offered if action[0] == "getpaid"]
    assert offered == [("getpaid", kind) for kind in UNPAID.paid_at.rails]
    talk.say("$anna")
    assert talk.step == "destination"
    talk.press("later")
    assert talk.step == "review"
    assert "Nobody can pay this until you connect an account" in talk.last
    talk.press_label("✅")
    assert [spec.destination for spec in talk.specs] == ["account:seller-7"]


def test_a_seller_who_chose_later_is_not_asked_again() -> None:
    talk = Talk(replace(UNPAID, pays_later=True))
    talk.take(one_line("donation", "5 EUR Coffee", FORM, talk.seller))
    assert [spec.destination for spec in talk.specs] == ["account:seller-7"]


def test_a_line_of_a_seller_without_an_account_waits_while_one_is_connected() -> None:
    talk = Talk(UNPAID)
    talk.take(one_line("donation", "5 EUR Coffee", FORM, talk.seller))
    assert (talk.step, talk.specs) == ("destination", [])
    talk.take(seller_forms.payout_form("bank-sepa", OTHER, talk.seller, talk.draft))
    talk.say(*TYPED["bank-sepa"])
    talk.take(seller_forms.account_probed(talk.form, SEPA, talk.seller))
    talk.press("save", fingerprint(talk.form.answers))
    before = len(talk.replies)
    talk.take(seller_forms.account_saved(talk.form, SEPA, talk.seller))
    talk.seller = paid_to(SEPA)
    assert [reply.text.partition(".")[0] for reply in talk.replies[before:]] == [
        "✅ <b>Connected",
        talk.replies[-1].text.partition(".")[0],
    ]
    assert talk.step == "review"
    assert "You get paid by: DE89…" in talk.last
    talk.press_label("✅")
    assert [spec.name for spec in talk.specs] == ["Coffee"]


def test_a_request_with_an_account_asks_neither_for_it_nor_for_receivers_or_an_instrument() -> None:
    talk = fresh(paid_to(SEPA))
    talk.press("kind", "donation").say("Coffee", "5 EUR")
    assert talk.step == "review"
    assert "You get paid by: DE89…" in talk.last
    talk.press("options")
    opened = {action[3] for action in talk.offered if action[2] == "open"}
    assert "description" in opened
    assert not {"receivers", "instrument"} & opened
    talk.press("open", "receivers")
    assert talk.step == "options"


@pytest.mark.parametrize(
    ("rails", "words"),
    [
        (("bank", "lightning"), "Connect a Lightning address with /getpaid"),
        (("bank",), "Use a price in EUR, or connect another account"),
    ],
)
def test_a_price_that_no_account_takes_is_warned_of_and_goes_on(
    rails: tuple[str, ...], words: str
) -> None:
    seller = replace(paid_to(SEPA), paid_at=PayoutService(rails=rails))
    talk = fresh(seller)
    talk.press("kind", "drop").say("Sticker", "5 USD")
    assert talk.step == "units"
    assert talk.last.startswith("⚠ Your account only takes EUR")
    assert words in talk.last
    talk.say("10")
    assert words in talk.last
    talk.press_label("✅")
    assert len(talk.specs) == 1
    line = Talk(seller)
    line.take(one_line("donation", "5 USD Tea", FORM, seller))
    assert len(line.specs) == 1
    assert words in line.last


def test_wallets_take_every_price() -> None:
    talk = fresh(paid_to(SEPA, LIGHTNING))
    talk.press("kind", "drop").say("Sticker", "5 USD")
    assert talk.last.startswith("Step")
    talk.say("10")
    assert "You get paid by: anna@example.org" in talk.last


def test_the_paused_form_of_a_seller_is_offered_again() -> None:
    talk = fresh(paid_to(SEPA))
    talk.press("kind", "donation").say("Coffee")
    talk.take(seller_forms.payout_form("lightning", OTHER, talk.seller, talk.draft))
    talk.say("anna@example.org")
    talk.take(seller_forms.account_probed(talk.form, LIGHTNING, talk.seller))
    talk.take(seller_forms.account_saved(talk.form, LIGHTNING, talk.seller))
    assert (talk.form.form, talk.step) == ("new", "amount")


def test_test_money_and_other_servers_are_as_before() -> None:
    talk = Talk(replace(KNOWN, zone=BERLIN))
    talk.take(new_form(None, FORM, talk.seller))
    talk.press("kind", "donation").say("Coffee", "5 USD").press("options")
    opened = {action[3] for action in talk.offered if action[2] == "open"}
    assert {"receivers", "instrument"} <= opened
    assert Seller("en", "$anna").has_destination
    assert not Seller("en").has_destination


# What sellers type about a payout account, checked without a server.


@pytest.mark.parametrize(
    ("way", "field", "text", "value"),
    [
        ("bank-sepa", "iban", " de89 3704-0044 0532 0130 00 ", IBAN),
        ("bank-sepa", "iban", f"IBAN: {IBAN}", IBAN),
        ("bank-sepa", "iban", SWISS_IBAN, SWISS_IBAN),
        ("bank-swiss", "iban", "CH93 0076 2011 6238 5295 7", SWISS_IBAN),
        ("bank-sepa", "name", " Anna  Ott ", "Anna Ott"),
        ("bank-pix", "key", " 529.982.247-25 ", "529.982.247-25"),
        ("bank-pix", "key", "12.345.678/0001-95", "12.345.678/0001-95"),
        ("bank-pix", "key", "+55 (11) 98765-4321", "+55 (11) 98765-4321"),
        ("bank-pix", "key", "anna.ott@example.org", "anna.ott@example.org"),
        *(("bank-pix", "key", key, key) for key in (KEY, str(UUID(KEY)))),
        ("bank-upi", "id", " anna@okbank ", "anna@okbank"),
        ("bank-swiss", "country", "ch", "CH"),
        ("bank-sepa", "bic", " nwbk gb2l xxx\u200e", "NWBKGB2LXXX"),
        ("lightning", "address", "⚡ Anna@Example.org", "anna@example.org"),
        ("lightning", "address", "lightning:anna+tips@example.org", "anna+tips@example.org"),
        ("lightning", "address", "anna@localhost:8080", "anna@localhost:8080"),
        ("lightning", "address", "Lightning://anna@example.org", "anna@example.org"),
        ("lightning", "address", "mailto: anna@example.org", "anna@example.org"),
        ("lnbits", "url", "lnbits.example.org", "https://lnbits.example.org"),
        ("lnbits", "url", "http://127.0.0.1:5000", "http://127.0.0.1:5000"),
        ("lnbits", "url", "Https://demo.example.org", "Https://demo.example.org"),
        ("lnbits", "key", f" {KEY}\n", KEY),
        ("nwc", "connection", f" {CONNECTION} ", CONNECTION),
    ],
)
def test_a_value_is_read_as_people_write_it(way: str, field: str, text: str, value: str) -> None:
    assert read_field(way, field, text) == value


@pytest.mark.parametrize(
    ("way", "field", "text", "key"),
    [
        ("bank-sepa", "iban", "Anna Ott", "payout-wrong-ibanForm"),
        ("bank-sepa", "iban", "DE89370400440532013001", "payout-wrong-ibanTypo"),
        ("bank-swiss", "iban", IBAN, "payout-wrong-notSwiss"),
        ("bank-sepa", "name", "\u2800", "problem-payout-empty"),
        ("bank-sepa", "name", "x" * 141, "problem-payout-long"),
        *(("bank-sepa", "name", typed, "payout-wrong-name") for typed in (IBAN, f"IBAN: {IBAN}")),
        *(
            ("bank-pix", "key", typed, "payout-wrong-pixKey")
            for typed in ("12345", "Anna Ott", "@")
        ),
        ("bank-upi", "id", "anna", "payout-wrong-upiForm"),
        *(("bank-sepa", "bic", typed, "payout-wrong-bicForm") for typed in ("NWBK", IBAN, "")),
        ("bank-swiss", "country", "Schweiz", "payout-wrong-countryForm"),
        ("lightning", "address", "anna", "payout-wrong-addressForm"),
        ("lightning", "address", "anna@a b", "payout-wrong-addressForm"),
        ("lightning", "address", "LNURL1DP68GURN8GHJ7", "payout-wrong-lnurl"),
        ("lightning", "address", "lightning:lnbc20n1pj", "payout-wrong-invoice"),
        ("lnbits", "url", "ftp://example.org", "payout-wrong-urlForm"),
        ("lnbits", "url", "not an address", "payout-wrong-urlForm"),
        ("lnbits", "key", "two words", "payout-wrong-keyForm"),
        ("lnbits", "key", "schlüssel", "payout-wrong-keyForm"),
        ("nwc", "connection", "nostr+walletconnect://abc", "payout-wrong-connectionForm"),
        ("nwc", "connection", "", "payout-wrong-connectionForm"),
    ],
)
def test_a_wrong_value_is_answered_by_what_is_wrong(
    way: str, field: str, text: str, key: str
) -> None:
    found = read_field(way, field, text)
    assert isinstance(found, Problem)
    assert found.key == key


def test_a_connection_string_is_recognized_within_a_text() -> None:
    assert is_connection(f"here: {CONNECTION}")
    assert not is_connection("nostr+walletconnect:// is how it starts")
