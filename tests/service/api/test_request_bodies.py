"""Bodies: which are taken, which are refused, and the field that the refusal names.

What a refusal says is tested in tests/interface.
"""

from __future__ import annotations

import json
import time
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.core import exact_json
from bot.core.errors import InvalidBody
from bot.core.exact_json import canonical
from bot.interface import refusals
from bot.interface.fields import iso
from bot.interface.vocabulary import Kind
from bot.service.api.calls import read_object
from bot.service.requests.changes import Edit, SellerEdit
from bot.service.requests.request import Product, Receiver, Webhook
from tests.support.service_harness import NEW
from tests.support.wire_bodies import NOW, body, read_create, read_edit, refused, webhook


def test_every_field_of_create_is_read() -> None:
    creation = read_create(
        body(
            product={
                "name": "Coffee",
                "description": "Hot",
                "longDescription": "Very hot",
                "imageUrl": "https://i.example/a.png",
            },
            denominationCurrencyCode="EUR",
            instrumentCurrencyCode="BSV",
            receivers=[
                {"sendAmount": Decimal("0.10"), "destination": "alice", "tags": ["a", "b"]},
                {"sendAmount": 2, "destination": "bob"},
            ],
            priceBeforeDiscount=Decimal("3.5"),
            requestedUserData=["paymail", "phoneNumber"],
            redirectUrl="shop://paid?x=1",
            notifications={
                "webhook": {
                    "webhookUrl": "https://h.example/w",
                    "customParameters": {"a": Decimal("1.10")},
                }
            },
            expirationType="limit",
            totalUnits=7,
            expirationInSeconds=60,
            enabledAt="2027-01-15T10:00:00+02:00",
        ),
    )
    terms = creation.terms
    assert terms.kind is Kind.LIMIT
    assert terms.product == Product("Coffee", "Hot", "Very hot", "https://i.example/a.png")
    assert (terms.instrument, terms.denomination, terms.currency) == ("BSV", "EUR", "EUR")
    assert terms.receivers == (Receiver("alice", 10, ("a", "b")), Receiver("bob", 200))
    assert terms.amount == 210
    assert terms.price_before_discount == 350
    assert terms.requested_user_data == ("paymail", "phoneNumber")
    assert terms.redirect_url == "shop://paid?x=1"
    assert terms.webhook == Webhook("https://h.example/w", '{"a":1.10}')
    assert creation.total_units == 7
    assert creation.expires_at == NOW + 60_000
    assert creation.enabled_at == NOW


def test_every_spelling_of_the_currencies_is_the_same() -> None:
    other = {name: value for name, value in NEW.items() if name != "instrumentCurrencyCode"}
    for denomination in ("denominationCurrencyCode", "denominatedIn", "currency"):
        for instrument in ("instrumentCurrencyCode", "currencyCode"):
            spelled = exact_json.dumps(other | {instrument: "BSV", denomination: "USD"})
            terms = read_create(spelled).terms
            assert (terms.instrument, terms.denomination) == ("BSV", "USD")
    assert refused(exact_json.dumps(other)) == {"instrumentCurrencyCode": "is required"}
    assert refused(exact_json.dumps(other | {"currency": "USD"})) == {
        "instrumentCurrencyCode": "is required"
    }
    assert read_create(body(currencyCode="USD")).terms.instrument == "USD"


def test_spellings_that_differ_are_refused_by_the_later_ones_name() -> None:
    assert refused(body(currencyCode="EUR")) == {
        "currencyCode": "differs from instrumentCurrencyCode"
    }
    assert refused(body(denominationCurrencyCode="EUR", denominatedIn="USD")) == {
        "denominatedIn": "differs from denominationCurrencyCode"
    }
    assert refused(body(denominatedIn="EUR", currency="USD")) == {
        "currency": "differs from denominatedIn"
    }
    assert refused(body(denominationCurrencyCode="EUR", denominatedIn="EUR", currency="USD")) == {
        "currency": "differs from denominationCurrencyCode"
    }


def test_only_the_default_payment_method_of_handcash_is_taken() -> None:
    plain = read_create(body())
    assert read_create(body(paymentMethods=["onChain"])) == plain
    assert read_create(body(paymentMethods=None)) == plain
    assert refused(body(paymentMethods=["externalPaymentProcessor"])) == {
        "paymentMethods.0": "must be onChain: 'externalPaymentProcessor' is no payment method"
        " of this service"
    }


@pytest.mark.parametrize("text", ["one\ntwo", "one\r\n\r\ntwo\n"])
def test_descriptions_keep_their_line_breaks(text: str) -> None:
    product = {"name": "x", "description": text, "longDescription": text}
    terms = read_create(body(product=product)).terms
    assert (terms.product.description, terms.product.long_description) == (text, text)


def test_null_for_an_optional_field_means_that_it_is_left_out() -> None:
    nulls = dict.fromkeys(
        ("redirectUrl", "notifications", "requestedUserData", "totalUnits", "enabledAt")
    )
    assert read_create(body(**nulls)) == read_create(body())


RECEIVER = {"sendAmount": 5, "destination": "alice"}


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"product": None}, "product"),
        ({"product": {"name": "  "}}, "product.name"),
        ({"product": {"name": "a\x00b"}}, "product.name"),
        ({"product": {"name": "a\nb"}}, "product.name"),
        ({"product": {"name": "a\x85b"}}, "product.name"),
        ({"product": {"name": "x", "description": "x" * 501}}, "product.description"),
        ({"product": {"name": "x", "longDescription": "a\x07"}}, "product.longDescription"),
        ({"product": {"name": "x", "description": "a\tb"}}, "product.description"),
        ({"product": {"name": "x", "description": "a\n\x00b"}}, "product.description"),
        ({"product": {"name": "x", "description": "a\x85b"}}, "product.description"),
        ({"product": {"name": "x", "imageUrl": "javascript:x"}}, "product.imageUrl"),
        ({"product": {"name": "x", "imageUrl": "shop:x"}}, "product.imageUrl"),
        ({"product": {"name": "x", "imageUrl": "https://" + "x" * 2048}}, "product.imageUrl"),
        ({"product": {"name": "x", "colour": "red"}}, "product.colour"),
        ({"instrumentCurrencyCode": "usd"}, "instrumentCurrencyCode"),
        ({"instrumentCurrencyCode": "XYZ"}, "instrumentCurrencyCode"),
        ({"denominatedIn": ""}, "denominatedIn"),
        ({"currency": "usd"}, "currency"),
        ({"paymentMethods": "onChain"}, "paymentMethods"),
        ({"paymentMethods": []}, "paymentMethods"),
        ({"paymentMethods": [5]}, "paymentMethods.0"),
        ({"paymentMethods": ["onChain", "card"]}, "paymentMethods.1"),
        ({"receivers": [RECEIVER | {"sendAmount": "5"}]}, "receivers.0.sendAmount"),
        ({"receivers": [RECEIVER | {"sendAmount": True}]}, "receivers.0.sendAmount"),
        ({"receivers": [RECEIVER | {"sendAmount": None}]}, "receivers.0.sendAmount"),
        ({"receivers": [RECEIVER | {"sendAmount": 0}]}, "receivers.0.sendAmount"),
        ({"receivers": [RECEIVER | {"sendAmount": -1}]}, "receivers.0.sendAmount"),
        ({"receivers": [RECEIVER | {"sendAmount": 10**9 + 1}]}, "receivers.0.sendAmount"),
        (
            {"receivers": [RECEIVER, RECEIVER | {"sendAmount": Decimal("0.001")}]},
            "receivers.1.sendAmount",
        ),
        ({"receivers": [RECEIVER | {"sendAmount": 10**9}] * 2}, "receivers"),
        ({"receivers": [{"sendAmount": 5}]}, "receivers.0.destination"),
        ({"receivers": [RECEIVER | {"destination": "a\x1b"}]}, "receivers.0.destination"),
        ({"receivers": [RECEIVER | {"tags": "a"}]}, "receivers.0.tags"),
        ({"receivers": [RECEIVER | {"share": 1}]}, "receivers.0.share"),
        ({"priceBeforeDiscount": "5"}, "priceBeforeDiscount"),
        ({"priceBeforeDiscount": Decimal("0.001")}, "priceBeforeDiscount"),
        ({"requestedUserData": ["shoeSize"]}, "requestedUserData.0"),
        ({"notifications": {"email": "nobody"}}, "notifications.email"),
        ({"notifications": {"email": "=?utf-8?q?a?=@example.org"}}, "notifications.email"),
        ({"notifications": {"email": "a@xn--zz--.example"}}, "notifications.email"),
        ({"notifications": {"email": "a@b\r\nBcc: c@d.example"}}, "notifications.email"),
        ({"requestedUserData": ["email", "email"]}, "requestedUserData"),
        ({"requestedUserData": "email"}, "requestedUserData"),
        ({"redirectUrl": "javascript:alert(1)"}, "redirectUrl"),
        ({"redirectUrl": "DATA:text/html,x"}, "redirectUrl"),
        ({"redirectUrl": "file:///etc/passwd"}, "redirectUrl"),
        ({"redirectUrl": "/thanks"}, "redirectUrl"),
        ({"redirectUrl": "https://"}, "redirectUrl"),
        ({"redirectUrl": "https://a;b/"}, "redirectUrl"),
        ({"redirectUrl": "https://me@a.example"}, "redirectUrl"),
        ({"redirectUrl": "https://a.example/\r\nSet-Cookie: a=b"}, "redirectUrl"),
        ({"notifications": {"webhook": {}}}, "notifications.webhook.webhookUrl"),
        ({"notifications": {"sms": "1"}}, "notifications.sms"),
        (
            {"notifications": {"webhook": {"webhookUrl": "x" * 2049}}},
            "notifications.webhook.webhookUrl",
        ),
        ({"expirationType": None}, "expirationType"),
        ({"totalUnits": True}, "totalUnits"),
        ({"totalUnits": Decimal("1.5")}, "totalUnits"),
        ({"expirationInSeconds": 0}, "expirationInSeconds"),
        ({"expirationInSeconds": 315_360_001}, "expirationInSeconds"),
        ({"expirationInSeconds": 5, "expiresAt": "2027-01-15T10:00:00Z"}, "expiresAt"),
        ({"enabledAt": "tomorrow"}, "enabledAt"),
        ({"enabledAt": "2027-01-15T10:00:00"}, "enabledAt"),
        ({"enabledAt": 1_800_000_000}, "enabledAt"),
        ({"enabledAt": "9999-12-31T23:59:59-14:00"}, "enabledAt"),
        ({"isEnabled": True}, "isEnabled"),
        ({"": 1}, ""),
    ],
)
def test_a_refused_create_names_its_field(fields: dict[str, Any], field: str) -> None:
    assert list(refused(body(**fields))) == [field]


@pytest.mark.parametrize("parameters", [{"a\nb": 1}, {"a": [{"\x00": 1}]}, {"a": "x" * 8200}, [1]])
def test_custom_parameters_are_bounded_and_their_keys_are_plain(parameters: Any) -> None:
    path = "notifications.webhook.customParameters"
    assert list(refused(body(notifications=webhook(parameters)))) == [path]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "null",
        '"x"',
        body()[:-1] + ',"totalUnits":NaN}',
        body()[:-1] + ',"totalUnits":Infinity}',
        body()[:-1] + ',"totalUnits":-Infinity}',
        body()[:-1] + ',"expirationType":"never"}',
        body()[:-1] + ',"x":"\\ud800"}',
        body()[:-1] + ',"\\ud800":1}',
        body()[:-1] + ',"x":' + "9" * 5000 + "}",
        body()[:-1] + ',"x":1e99999999999999999999}',
        "[" * 30_000,
        "[" * 30_000 + "]" * 30_000,
        '{"a":' * 40 + "1" + "}" * 40,
        "\x00",
    ],
)
def test_a_body_that_is_no_valid_json_object_is_refused(text: str) -> None:
    assert refused(text) == {}
    assert refused(text, edit=True) == {}


@pytest.mark.parametrize(
    "number", ["5e999999999", "1e-999999999", "-0", "0.0", "1E+1000000", "9" * 4000]
)
def test_an_absurd_amount_is_refused_quickly(number: str) -> None:
    text = body().replace('"sendAmount":5', f'"sendAmount":{number}')
    assert list(refused(text)) == ["receivers.0.sendAmount"]
    assert list(refused(body()[:-1] + f',"totalUnits":{number}}}')) == ["totalUnits"]


@pytest.mark.parametrize(("number", "minor"), [("5.00", 500), ("5e0", 500), ("0.29", 29)])
def test_amounts_are_exact(number: str, minor: int) -> None:
    text = body().replace('"sendAmount":5', f'"sendAmount":{number}')
    assert read_create(text).terms.amount == minor


def test_json_has_one_kind_of_number() -> None:
    text = body(expirationType="limit")[:-1] + ',"totalUnits":5.0}'
    assert read_create(text).total_units == 5


def test_a_refusal_names_many_fields_but_not_thousands() -> None:
    unknown = {f"x{number}": 1 for number in range(3000)}
    assert len(refused(body(**unknown))) == refusals.MAX_PROBLEMS
    assert max(map(len, refused(body(**{"y" * 9000: 1})))) == refusals.MAX_FIELD


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text(), st.lists, max_leaves=9))
def test_any_json_of_custom_parameters_comes_back_as_it_was(value: Any) -> None:
    parameters = {"value": value}
    read = read_create(body(notifications=webhook(parameters))).terms.webhook
    assert read is not None
    assert json.loads(read.custom_parameters or "") == parameters


LEAVES = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.decimals(allow_nan=False, allow_infinity=False)
    | st.text()
    | st.sampled_from(["USD", "never", "limit", "https://a.example", "2027-01-15T08:00:00Z", "x:y"])
)
NAMES = st.sampled_from(
    [
        *("product", "name", "imageUrl", "receivers", "sendAmount", "destination", "tags"),
        *("instrumentCurrencyCode", "denominatedIn", "expirationType", "totalUnits", "enabledAt"),
        *("notifications", "webhook", "webhookUrl", "customParameters", "email", "redirectUrl"),
        *("requestedUserData", "expirationInSeconds", "expiresAt", "decreaseRemainingUnits"),
        *("priceBeforeDiscount", "longDescription", "description", "currencyCode"),
    ]
)
ANYTHING = st.recursive(
    LEAVES, lambda inner: st.lists(inner) | st.dictionaries(NAMES | st.text(), inner)
)


@given(st.dictionaries(NAMES, ANYTHING), st.booleans())
def test_no_body_is_a_bug(fields: dict[str, Any], edit: bool) -> None:  # noqa: FBT001 - drawn
    """Any JSON is read, or refused with the names of its fields."""
    text = exact_json.dumps(fields if edit else NEW | fields)
    named = None
    try:
        read_edit(text) if edit else read_create(text)
    except InvalidBody as refusal:
        named = [one.field for one in refusal.info]
    assert named != []


def test_equal_bodies_have_one_canonical_text() -> None:
    one, other = '{"a": [1.0, {"c": 1, "b": 2}], "d": null}', '{"d":null,"a":[1.0,{"b":2,"c":1}]}'
    assert canonical(read_object(one)) == canonical(read_object(other))


def test_times_are_written_as_javascript_writes_them() -> None:
    assert iso(NOW) == "2027-01-15T08:00:00.000Z"
    assert iso(-1) == "1969-12-31T23:59:59.999Z"


def test_duplicate_names_are_found_in_linear_time() -> None:
    """Other requests wait for the parser: quadratic time would be a second and more."""
    names = [*map(str, range(30_000)), "29999"]
    began = time.process_time()
    with pytest.raises(InvalidBody, match="The field '29999' is given twice"):
        read_object("{" + ",".join(f'"{name}":1' for name in names) + "}")
    assert time.process_time() - began < 1


def test_texts_for_people_are_in_order() -> None:
    """Characters that reorder a title would let it pass for another one on pages and previews."""
    wild, tame = "photo \u202egpj.exe\u2066", "photo gpj.exe"
    product = {"name": wild, "description": wild, "longDescription": f"{wild}\n{wild}"}
    seller = {"name": wild, "description": wild}
    terms = read_create(body(product=product, seller=seller, thanks=wild)).terms
    assert terms.product == Product(tame, tame, f"{tame}\n{tame}", None)
    assert terms.seller is not None
    assert (terms.seller.name, terms.seller.description, terms.thanks) == (tame,) * 3
    edit = read_edit(exact_json.dumps({"product": product, "seller": seller}))
    assert isinstance(edit.seller, SellerEdit)
    assert (edit.name, edit.long_description, edit.seller.name) == (tame, f"{tame}\n{tame}", tame)
    assert read_create(body(product={"name": "x" * 100 + "\u202e"})).terms.product.name == "x" * 100
    assert refused(body(product={"name": "\u202e"})).keys() == {"product.name"}


@pytest.mark.parametrize(
    ("text", "edit"),
    [
        ("{}", Edit()),
        ('{"product":{}}', Edit()),
        ('{"product":{"name":"Tea"}}', Edit(name="Tea")),
        ('{"product":{"description":null}}', Edit(description=None)),
        ('{"redirectUrl":null}', Edit(redirect_url=None)),
        ('{"expirationInSeconds":1}', Edit(expires_at=NOW + 1000, paused=True)),
        ('{"expirationInSeconds":null}', Edit(expires_at=None, paused=False)),
        ('{"expirationInSeconds":2}', Edit(expires_at=NOW + 2000, paused=False)),
        ('{"expiresAt":"2027-01-15T08:00:00Z"}', Edit(expires_at=NOW, paused=True)),
        ('{"decreaseRemainingUnits":3}', Edit(decrease=3)),
        ('{"priceBeforeDiscount":1.10}', Edit(price_before_discount=Decimal("1.10"))),
        ('{"notifications":null}', Edit(webhook_url=None, email=None)),
        ('{"notifications":{}}', Edit()),
        ('{"notifications":{"email":null}}', Edit(email=None)),
        ('{"notifications":{"webhook":null}}', Edit(webhook_url=None)),
        (
            '{"notifications":{"webhook":{"webhookUrl":"https://h.example"}}}',
            Edit(webhook_url="https://h.example"),
        ),
        (
            '{"notifications":{"webhook":{"customParameters":{"b":1}}}}',
            Edit(custom_parameters='{"b":1}'),
        ),
        (
            '{"notifications":{"webhook":{"customParameters":null}}}',
            Edit(custom_parameters=None),
        ),
    ],
)
def test_an_edit_has_only_the_fields_of_its_body(text: str, edit: Edit) -> None:
    assert read_edit(text) == edit


@pytest.mark.parametrize(
    ("text", "field"),
    [
        ('{"product":null}', "product"),
        ('{"product":{"name":null}}', "product.name"),
        ('{"receivers":[]}', "receivers"),
        ('{"expirationType":"never"}', "expirationType"),
        ('{"totalUnits":5}', "totalUnits"),
        ('{"enabledAt":"2027-01-15T08:00:00Z"}', "enabledAt"),
        ('{"decreaseRemainingUnits":0}', "decreaseRemainingUnits"),
        ('{"decreaseRemainingUnits":-1}', "decreaseRemainingUnits"),
        ('{"decreaseRemainingUnits":"1"}', "decreaseRemainingUnits"),
        ('{"decreaseRemainingUnits":null}', "decreaseRemainingUnits"),
        (
            '{"notifications":{"webhook":{"webhookUrl":null}}}',
            "notifications.webhook.webhookUrl",
        ),
        ('{"expirationInSeconds":1,"expiresAt":"2027-01-15T08:00:00Z"}', "expiresAt"),
    ],
)
def test_a_field_that_cannot_be_edited_is_named(text: str, field: str) -> None:
    assert list(refused(text, edit=True)) == [field]
