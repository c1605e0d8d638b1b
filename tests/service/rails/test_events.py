"""Events are signed as NIP-01 says, and nothing of a relay is believed that is not signed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import nostr_sdk
import pytest

from bot.core import exact_json
from bot.core.errors import BadAnswer
from bot.service.rails.nostr import (
    Filter,
    SecretKey,
    is_public_key,
    is_signed,
    read_event,
    sign_event,
)

KEY = SecretKey("5c0c523f52a5b6fad39ed2403092df8cebc36318b39383bca6c00808626fab3a")
OTHER = SecretKey("4b22aa260e4acb7021e32f38a6cdf4b673c6a277755bfce287e370c924dc936d")
CONTENT = (
    'quote " backslash \\ newline \n tab \t control \x01 delete \x7f line \u2028 slash / <é> 🍋'
)
EVENT = sign_event(KEY, 23194, (("p", OTHER.public), ("e", "ab", "extra")), CONTENT, 1_794_000_000)


def changed(**fields: Any) -> dict[str, Any]:
    return EVENT.as_json() | fields


def test_our_event_is_verified_by_another_implementation() -> None:
    event = nostr_sdk.Event.from_json(exact_json.dumps(EVENT.as_json()))
    assert event.verify()
    assert event.content() == CONTENT


def test_an_event_of_another_implementation_is_read() -> None:
    keys = nostr_sdk.Keys.generate()
    tag = nostr_sdk.Tag.parse(["e", "ab"])
    made = nostr_sdk.EventBuilder(nostr_sdk.Kind(23195), CONTENT).tags([tag]).finalize(keys)
    event = read_event(exact_json.loads(made.as_json()))
    assert (event.content, event.values("e")) == (CONTENT, ("ab",))
    assert event.pubkey == keys.public_key().to_hex()


def test_an_event_survives_the_way_over_a_relay() -> None:
    assert read_event(exact_json.loads(exact_json.dumps(EVENT.as_json()))) == EVENT


@pytest.mark.parametrize(
    "data",
    [
        changed(content="other"),
        changed(created_at=EVENT.created_at + 1),
        changed(kind=23195),
        changed(tags=[]),
        changed(pubkey=OTHER.public),
        changed(id="00" * 32),
        changed(id=EVENT.id.upper()),
        changed(sig="00" * 64),
        changed(sig=EVENT.sig[:-2]),
        changed(sig="zz" * 64),
        changed(sig=OTHER.sign(bytes.fromhex(EVENT.id))),
        changed(pubkey="ff" * 32),
        changed(pubkey=1),
        changed(created_at=True),
        changed(created_at=1.5),
        changed(created_at=None),
        changed(kind="23194"),
        changed(tags=[["p", 1]]),
        changed(tags=["p"]),
        changed(tags={}),
        changed(content=None),
        changed(content="\ud800"),
        {"id": EVENT.id},
        [],
        None,
    ],
)
def test_a_changed_event_is_refused(data: Any) -> None:
    with pytest.raises(BadAnswer):
        read_event(data)


@pytest.mark.parametrize(
    "make",
    [
        lambda tags: sign_event(OTHER, 23195, tags, "", 1),
        lambda tags: sign_event(KEY, 23196, tags, "", 1),
        lambda tags: sign_event(KEY, 23195, tags[:1], "", 1),
        lambda tags: sign_event(KEY, 23195, (tags[0], ("e", "of another request")), "", 1),
        lambda tags: sign_event(KEY, 23195, (("p", KEY.public), tags[1]), "", 1),
        lambda tags: sign_event(KEY, 23195, (("e",), ("p",), *tags[:0]), "", 1),
    ],
)
def test_an_event_that_was_not_asked_for_does_not_match(make: Callable[[Any], Any]) -> None:
    tags = (("p", OTHER.public), ("e", "request"))
    where = Filter(23195, KEY.public, tags)
    assert where.matches(sign_event(KEY, 23195, tags, "", 1))
    assert not where.matches(make(tags))


@pytest.mark.parametrize("secret", ["", "0" * 64, "f" * 64, "zz" * 32, "1" * 63, "1" * 65])
def test_a_wrong_secret_key_is_refused_without_being_shown(secret: str) -> None:
    with pytest.raises(ValueError, match=r"64 hex digits|out of range") as caught:
        SecretKey(secret)
    assert not secret or secret not in str(caught.value)


def test_a_secret_key_does_not_show_itself() -> None:
    assert "5c0c" not in f"{KEY!r} {KEY}"
    assert KEY.public in repr(KEY)


def test_a_public_key_is_a_point_on_the_curve() -> None:
    assert is_public_key(KEY.public)
    assert not any(map(is_public_key, ["", "ff" * 32, KEY.public[:-1], KEY.public.upper()]))
    assert not is_signed("ff" * 32, EVENT.sig, bytes(32))
