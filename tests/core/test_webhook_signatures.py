"""Signatures are valid for their secret, their time and their body alone."""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st
from standardwebhooks import Webhook

from bot.core import signing
from bot.core.errors import BadSignature

NOW = datetime(2026, 11, 21, 1, 2, 3, 456_789, tzinfo=UTC)
BODY = '{"paymentRequestId":"abc","amount":2.5,"name":"Zoë"}'.encode()
SECRET, OTHER = signing.new_secret(), signing.new_secret()


def signed(*secrets: str, body: bytes = BODY) -> dict[str, str]:
    return signing.sign(secrets or (SECRET,), "msg_1", NOW, body)


def accepted(
    secrets: Sequence[str], headers: dict[str, str], body: bytes = BODY, now: datetime = NOW
) -> bool:
    try:
        signing.verify(secrets, headers, body, now)
    except BadSignature:
        return False
    return True


def test_secrets_are_24_random_bytes() -> None:
    """A new secret is whsec_ and base64 of 24 random bytes."""
    assert len({signing.new_secret() for _ in range(50)}) == 50
    assert len(base64.b64decode(SECRET.removeprefix("whsec_"), validate=True)) == 24


def test_headers_are_those_of_the_published_example() -> None:
    """The example of the Standard Webhooks libraries is reproduced byte for byte."""
    headers = signing.sign(
        ["whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"],
        "msg_p5jXN8AQM9LWM0D4loKWxJek",
        datetime.fromtimestamp(1614265330, UTC),
        b'{"test": 2432232314}',
    )
    assert headers == {
        "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
        "webhook-timestamp": "1614265330",
        "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
    }


def test_the_package_itself_accepts_what_we_sign() -> None:
    """A receiver that uses the published package verifies our headers."""
    headers = signing.sign([SECRET], "msg_1", datetime.now(UTC), BODY)
    assert Webhook(SECRET).verify(BODY, headers) == json.loads(BODY)


@given(st.text(), st.datetimes(timezones=st.just(UTC)).filter(lambda at: at.year > 1971))
def test_a_signed_body_verifies(text: str, now: datetime) -> None:
    """Any UTF-8 body verifies with its own headers at its own time."""
    body = text.encode("utf-8", "replace")
    assert accepted([SECRET], signing.sign([SECRET], "m", now, body), body, now)


def test_header_names_are_accepted_in_any_case() -> None:
    """HTTP header names have no case."""
    headers = {name.title(): value for name, value in signed().items()}
    assert accepted([SECRET], headers)


@pytest.mark.parametrize(
    ("signers", "known"),
    [((SECRET, OTHER), (OTHER,)), ((SECRET,), (OTHER, SECRET)), ((SECRET, OTHER), (SECRET,))],
)
def test_secrets_rotate_without_a_gap(signers: tuple[str, ...], known: tuple[str, ...]) -> None:
    """One common secret is enough."""
    assert accepted(known, signed(*signers))


def test_five_minutes_either_way_are_accepted() -> None:
    """Clocks may differ; a replayed webhook, or one dated further ahead, is refused."""
    moments = {
        seconds: NOW.replace(microsecond=0) + timedelta(seconds=seconds)
        for seconds in (-86_400, -301, -300, -1, 0, 1, 299, 301, 86_400)
    }
    fresh = {at for at, now in moments.items() if accepted([SECRET], signed(), now=now)}
    assert fresh == {-300, -1, 0, 1, 299}


def test_the_zone_of_now_changes_nothing() -> None:
    """Times in different zones are compared as moments."""
    abroad = NOW.astimezone(timezone(timedelta(hours=9)))
    assert signed() == signing.sign([SECRET], "msg_1", abroad, BODY)
    assert accepted([SECRET], signed(), now=abroad)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("webhook-id", "msg_2"),
        ("webhook-id", ""),
        ("webhook-id", "\udcff"),
        ("webhook-timestamp", ""),
        ("webhook-timestamp", "soon"),
        ("webhook-timestamp", "nan"),
        ("webhook-timestamp", "1e9"),
        ("webhook-timestamp", "-1"),
        ("webhook-timestamp", "\u0661"),
        ("webhook-timestamp", "9" * 5000),
        ("webhook-timestamp", str(int(NOW.timestamp()) + 1)),
        ("webhook-signature", ""),
        ("webhook-signature", "   "),
        ("webhook-signature", "v1,"),
        ("webhook-signature", "v1"),
        ("webhook-signature", "v1,not base64!"),
        ("webhook-signature", "v1,a,b"),
        ("webhook-signature", "v1,\u00e9"),
        ("webhook-signature", "v1,\udcff"),
        pytest.param("webhook-signature", signed(OTHER)["webhook-signature"], id="another secret"),
        pytest.param(
            "webhook-signature",
            signed()["webhook-signature"].replace("v1,", "v2,"),
            id="another version",
        ),
        pytest.param("webhook-signature", signed()["webhook-signature"][:-2], id="cut"),
    ],
)
def test_altered_headers_are_refused(name: str, value: str) -> None:
    """Any altered header raises BadSignature and no other error."""
    with pytest.raises(BadSignature):
        signing.verify([SECRET], signed() | {name: value}, BODY, NOW)


def test_all_three_headers_the_body_and_the_secret_are_needed() -> None:
    """No secret, a wrong one and a malformed one fail closed."""
    for missing in signed():
        headers = {name: value for name, value in signed().items() if name != missing}
        assert not accepted([SECRET], headers), missing
    for body in (b"", BODY + b" ", BODY[:-1], b"\xff\xfe", BODY.upper()):
        assert not accepted([SECRET], signed(), body), body
    assert not accepted([], signed())
    for secret in (OTHER, "", "whsec_", "whsec_###", "whsec_a", "\u00e9", SECRET + "!"):
        assert not accepted([secret], signed()), secret


def test_a_secret_may_lack_its_prefix_and_padding() -> None:
    """The bare base64 is the same secret, with none, two or one `=` at its end."""
    for size in (24, 25, 26):
        bare = base64.b64encode(b"0" * size).decode()
        headers = signing.sign(["whsec_" + bare], "m", NOW, BODY)
        assert accepted([bare.rstrip("=")], headers)


def test_signing_with_a_malformed_secret_raises_bad_signature() -> None:
    """A secret that is not base64 signs nothing."""
    with pytest.raises(BadSignature):
        signing.sign(["whsec_###"], "m", NOW, BODY)


def test_our_own_mistakes_are_bugs() -> None:
    """No secret to sign with, and a time without a zone, are ValueErrors."""
    with pytest.raises(ValueError, match="secret"):
        signing.sign([], "m", NOW, BODY)
    with pytest.raises(ValueError, match="zone"):
        signing.sign([SECRET], "m", NOW.replace(tzinfo=None), BODY)


@given(
    st.dictionaries(
        st.sampled_from(["webhook-id", "webhook-timestamp", "webhook-signature"]), st.text()
    ),
    st.binary(),
    st.lists(st.text(), max_size=3),
)
def test_no_input_raises_anything_else(
    headers: dict[str, str], body: bytes, secrets: list[str]
) -> None:
    """Any input of a stranger raises BadSignature."""
    with pytest.raises(BadSignature):
        signing.verify([*secrets, SECRET], headers, body, NOW)
