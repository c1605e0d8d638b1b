"""Keys, encryption and events of Nostr: the product and its judge, held to the specifications."""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import Any

import nostr_sdk
import pytest

from bot.core import exact_json
from bot.core.errors import BadAnswer
from bot.service.rails.nostr_wallet import (
    Scheme,
    SecretKey,
    is_public_key,
    newest_of,
    tag_value,
)
from bot.service.rails.relays import read_event
from tests.support import nwc_wallet
from tests.support.nwc_wallet import ORDER, NostrKey, Tags, is_genuine, is_signed

OURS, THEIRS = SecretKey(f"{1:064x}"), NostrKey(f"{2:064x}")
SHARED = THEIRS.shared_with(OURS.public)
LONGEST = 65_408
"""Bytes that nostr-sdk seals with NIP-44, which allows 65,535; it opens these, too."""

SCRIPTS = "表ポあA鷗ŒéＢ逍Üßªąñ丂㐀𠀀"

SEALED = [
    (
        f"{1:064x}",
        f"{2:064x}",
        f"{1:064x}",
        "a",
        (
            "AgAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAABee0G5VSK0/9YypIObAtDKfYEAjD35uVkHyB0"
            "F4DwrcNaCXlC"
            "WZKaArsGrY6M9wnuTMxWfp1RTN9Xga8no+kF5Vsb"
        ),
    ),
    (
        f"{2:064x}",
        f"{1:064x}",
        "f00000000000000000000000000000f00000000000000000000000000000000f",
        "🍕🫃",
        (
            "AvAAAAAAAAAAAAAAAAAAAPAAAAAAAAAAAAAAAAAAAAAPSKSK6is9ngkX2+cSq85Th16oRTISAOfhStni"
            "xqZziKMDvB0Q"
            "QzgFZdjLTPicCJaV8nDITO+QfaQ61+KbWQIOO2Yj"
        ),
    ),
    (
        "5c0c523f52a5b6fad39ed2403092df8cebc36318b39383bca6c00808626fab3a",
        "4b22aa260e4acb7021e32f38a6cdf4b673c6a277755bfce287e370c924dc936d",
        "b635236c42db20f021bb8d1cdff5ca75dd1a0cc72ea742ad750f33010b24f73b",
        SCRIPTS,
        (
            "ArY1I2xC2yDwIbuNHN/1ynXdGgzHLqdCrXUPMwELJPc7s7JqlCMJBAIIjfkpHReBPXeoMCyuClwgbT41"
            "9jUWU1PwaNl4"
            "FEQYKCDKVJz+97Mp3K+Q2YGa77B6gpxB/lr1QgoqpDf7wDVrDmOqGoiPjWDqy8KzLueKDcm9BVP8xeTJIxs="
        ),
    ),
]
"""Two secret keys, a nonce, a text and the sealed text (NIP-44's `encrypt_decrypt`)."""

NO_POINTS = [
    "ff" * 32,
    "1234567890abcdef1234567890abcdef1234567890abcdef1234567890abcdef",
    "00" * 32,
    "eb1f7200aecaa86682376fb1c13cd12b732221e774f553b0a0857f88fa20f86d",
    "709858a4c121e4a84eb59c0ded0261093c71e8ca29efeef21a6161c447bcaf9f",
]
"""Public keys of NIP-44's invalid conversation keys; the last three lie on the curve's twist."""


@pytest.mark.parametrize(("one", "two", "nonce", "text", "sealed"), SEALED)
def test_texts_of_the_specification_are_sealed_and_opened(
    one: str, two: str, nonce: str, text: str, sealed: str
) -> None:
    """The nonce of the product can't be chosen, so what it seals is opened by its judge below."""
    key = nwc_wallet.conversation_key(NostrKey(one).shared_with(NostrKey(two).public))
    assert nwc_wallet.seal_nip44(key, text, bytes.fromhex(nonce)) == sealed
    for own, other in ((one, two), (two, one)):
        assert SecretKey(own).open(SecretKey(other).public, sealed) == text
        assert NostrKey(own).open(NostrKey(other).public, sealed) == text


@pytest.mark.parametrize("public", NO_POINTS)
def test_no_point_of_the_curve_is_no_key(public: str) -> None:
    assert not is_public_key(public)
    with pytest.raises(BadAnswer):
        OURS.open(public, SEALED[0][-1])


@pytest.mark.parametrize("scheme", Scheme)
@pytest.mark.parametrize("size", [1, 31, 32, 33, 1_000, 60_000, LONGEST])
def test_a_text_of_any_length_is_opened_by_the_other(scheme: Scheme, size: int) -> None:
    text = "é" * (size // 2) + "x" * (size % 2)
    assert THEIRS.open(OURS.public, OURS.seal(scheme, THEIRS.public, text)) == text
    assert OURS.open(THEIRS.public, THEIRS.seal(scheme, OURS.public, text)) == text


def test_the_longest_text_of_the_specification_is_opened() -> None:
    sealed = THEIRS.seal("nip44_v2", OURS.public, "x" * 65_535)
    assert OURS.open(THEIRS.public, sealed) == "x" * 65_535


@pytest.mark.parametrize("size", [0, LONGEST + 1])
def test_a_text_of_no_or_too_many_bytes_is_not_sealed(size: int) -> None:
    with pytest.raises(nostr_sdk.NostrSdkError):
        OURS.seal(Scheme.NIP44, THEIRS.public, "x" * size)


@pytest.mark.parametrize("scheme", Scheme)
def test_no_two_sealed_texts_are_equal(scheme: Scheme) -> None:
    assert len({OURS.seal(scheme, THEIRS.public, "x") for _ in range(9)}) == 9


def damaged(at: int) -> str:
    raw = bytearray(base64.b64decode(SEALED[0][-1]))
    raw[at] ^= 1
    return base64.b64encode(raw).decode()


@pytest.mark.parametrize(
    "sealed",
    [
        *(damaged(at) for at in (0, 1, 33, 66, -1)),
        *("", "#", "#" + SEALED[0][-1], SEALED[0][-1][:-4], SEALED[0][-1] + "AAAA"),
        *(SEALED[0][-1][:-1] + "!", "A" * 87_476, "é" * 200, "\x00" * 200, "Ag=="),
        *("?iv=", "AAAA?iv=AAAA", f"{'A' * 22}==?iv={'A' * 22}==", "YWJj?iv=" + "A" * 22 + "=="),
        *("x?iv=y?iv=z", f"{'A' * 600_000}?iv={'A' * 22}=="),
    ],
)
def test_a_damaged_text_is_refused(sealed: str) -> None:
    with pytest.raises(BadAnswer):
        OURS.open(THEIRS.public, sealed)


@pytest.mark.parametrize(
    "padded",
    [
        b"",
        bytes(34),  # no text
        b"\x00\x02a" + bytes(30),  # too short
        b"\x00\x02ab" + bytes(62),  # too long
        b"\x00\x21" + bytes(32),  # a text longer than its place
        b"\xff\xff" + bytes(64),
        b"\x00\x01\xff" + bytes(31),  # no UTF-8
    ],
)
def test_wrong_padding_is_refused_though_the_mac_holds(padded: bytes) -> None:
    key = nwc_wallet.conversation_key(SHARED)
    with pytest.raises(BadAnswer):
        OURS.open(THEIRS.public, nwc_wallet.seal_padded(key, padded, bytes(32)))


def test_a_text_for_another_key_is_refused() -> None:
    sealed = THEIRS.seal("nip44_v2", NostrKey(f"{3:064x}").public, "x")
    with pytest.raises(BadAnswer):
        OURS.open(THEIRS.public, sealed)


SECRET = "5c0c523f52a5b6fad39ed2403092df8cebc36318b39383bca6c00808626fab3a"
SIGNER = SecretKey(SECRET)
KEY, OTHER = NostrKey(SECRET), NostrKey(f"{7:064x}")
CONTENT = (
    'quote " backslash \\ newline \n tab \t control \x01 delete \x7f line \u2028 slash / <é> 🍋'
)
GIVEN: Tags = (("p", OTHER.public), ("e", "ab", "extra"), ("e", "cd"), ("none",))
EVENT = KEY.sign_event(23194, GIVEN, CONTENT, 1_794_000_000)

SIGNATURES = [
    (
        "0000000000000000000000000000000000000000000000000000000000000003",
        "0000000000000000000000000000000000000000000000000000000000000000",
        "0000000000000000000000000000000000000000000000000000000000000000",
        (
            "E907831F80848D1069A5371B402410364BDF1C5F8307B0084C55F1CE2DCA8215"
            "25F66A4A85EA8B71E482A74F382D2CE5EBEEE8FDB2172F477DF4900D310536C0"
        ),
    ),
    (
        "B7E151628AED2A6ABF7158809CF4F3C762E7160F38B4DA56A784D9045190CFEF",
        "0000000000000000000000000000000000000000000000000000000000000001",
        "243F6A8885A308D313198A2E03707344A4093822299F31D0082EFA98EC4E6C89",
        (
            "6896BD60EEAE296DB48A229FF71DFE071BDE413E6D43F917DC8DCF8C78DE3341"
            "8906D11AC976ABCCB20B091292BFF4EA897EFCB639EA871CFA95F6DE339E4B0A"
        ),
    ),
    (
        "0B432B2677937381AEF05BB02A66ECD012773062CF3FA2549E44F58ED2401710",
        "FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF",
        "FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF",
        (
            "7EB0509757E246F19449885651611CB965ECC1A187DD51B64FDA1EDC9637D5EC"
            "97582B9CB13DB3933705B32BA982AF5AF25FD78881EBB32771FC5922EFC66EA3"
        ),
    ),
]
"""A secret key, auxiliary randomness, 32 bytes and their signature (BIP 340, vectors 0, 1, 3)."""

FALSE_PUBLIC = "DFF1D77F2A671C5F36183726DB2341BE58FEAE1DA2DECED843240F7B502BA659"
FALSE_DIGEST = "243F6A8885A308D313198A2E03707344A4093822299F31D0082EFA98EC4E6C89"
FALSE_SIGNATURES = {
    "the nonce's point has an odd y": (
        "FFF97BD5755EEEA420453A14355235D382F6472F8568A18B2F057A1460297556"
        "3CC27944640AC607CD107AE10923D9EF7A73C643E166BE5EBEAFA34B1AC553E2"
    ),
    "negated bytes": (
        "1FA62E331EDBC21C394792D2AB1100A7B432B013DF3F6FF4F99FCB33E0E1515F"
        "28890B3EDB6E7189B630448B515CE4F8622A954CFE545735AAEA5134FCCDB2BD"
    ),
    "the order of the group": (
        "6CFF5C3BA86C69EA4B7376F31A9BCB4F74C1976089B2D9963DA2E5543E177769"
        "FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141"
    ),
}
"""Signatures that do not hold (BIP 340, test vectors 6, 7 and 13)."""


def changed(**fields: Any) -> dict[str, Any]:
    return EVENT | fields


@pytest.mark.parametrize(("secret", "aux", "digest", "signature"), SIGNATURES)
def test_the_judge_signs_as_bip_340_does(
    secret: str, aux: str, digest: str, signature: str
) -> None:
    key = NostrKey(secret)
    assert key.sign(bytes.fromhex(digest), bytes.fromhex(aux)) == signature.lower()
    assert is_signed(key.public, signature.lower(), bytes.fromhex(digest))
    assert key.public == SecretKey(secret.lower()).public


@pytest.mark.parametrize("signature", FALSE_SIGNATURES.values(), ids=FALSE_SIGNATURES)
def test_the_judge_refuses_what_bip_340_does(signature: str) -> None:
    assert not is_signed(FALSE_PUBLIC, signature, bytes.fromhex(FALSE_DIGEST))


def test_our_event_is_genuine_to_the_judge() -> None:
    tags = (("p", OTHER.public), ("encryption", "nip44_v2"))
    sent = exact_json.loads(SIGNER.sign_event(23194, tags, CONTENT, 1_794_000_000).as_json())
    assert is_genuine(sent)
    assert sent == {
        "id": sent["id"],
        "pubkey": KEY.public,
        "created_at": 1_794_000_000,
        "kind": 23194,
        "tags": [["p", OTHER.public], ["encryption", "nip44_v2"]],
        "content": CONTENT,
        "sig": sent["sig"],
    }


def test_an_event_of_another_implementation_is_read() -> None:
    event = read_event(exact_json.loads(exact_json.dumps(EVENT)))
    assert (event.content(), event.author().to_hex()) == (CONTENT, KEY.public)
    assert [tag_value(event, name) for name in ("e", "none", "x")] == ["ab", "", ""]


@pytest.mark.parametrize(
    "data",
    [
        changed(content="other"),
        changed(created_at=-1),
        changed(pubkey=OTHER.public),
        changed(id="00" * 32),
        changed(sig=OTHER.sign(bytes.fromhex(EVENT["id"]))),
        changed(sig=EVENT["sig"][:64] + f"{ORDER - int(EVENT['sig'][64:], 16):064x}"),
        changed(pubkey="ff" * 32),
        changed(created_at=1.5),
        changed(tags=[["p", 1]]),
        changed(content="\ud800"),
        {"id": EVENT["id"]},
        [],
        None,
        1,
    ],
)
def test_a_changed_event_is_refused(data: Any) -> None:
    with pytest.raises(BadAnswer):
        read_event(data)


TAGS = (("p", OTHER.public), ("e", "ab" * 32))


@pytest.mark.parametrize(
    "make",
    [
        lambda tags: OTHER.sign_event(23195, tags, "", 1),
        lambda tags: KEY.sign_event(23196, tags, "", 1),
        lambda tags: KEY.sign_event(23195, tags[:1], "", 1),
        lambda tags: KEY.sign_event(23195, (tags[0], ("e", "cd" * 32)), "", 1),
        lambda tags: KEY.sign_event(23195, (("p", KEY.public), tags[1]), "", 1),
        lambda tags: KEY.sign_event(23195, (("e",), ("p",), *tags[:0]), "", 1),
    ],
)
def test_an_event_that_was_not_asked_for_does_not_match(
    make: Callable[[Tags], dict[str, Any]],
) -> None:
    where = newest_of(KEY.public, 23195, **dict(TAGS))
    assert where.match_event(read_event(KEY.sign_event(23195, TAGS, "", 1)))
    assert not where.match_event(read_event(make(TAGS)))


@pytest.mark.parametrize("secret", ["", "0" * 64, "f" * 64, "zz" * 32, "1" * 63, "1" * 65])
def test_a_wrong_secret_key_is_refused_without_being_shown(secret: str) -> None:
    with pytest.raises(ValueError, match=r"64 hex digits|out of range") as caught:
        SecretKey(secret)
    assert not secret or secret not in str(caught.value)


def test_a_secret_key_does_not_show_itself() -> None:
    assert "5c0c" not in f"{SIGNER!r} {SIGNER}"
    assert KEY.public in repr(SIGNER)


def test_a_public_key_is_64_hex_digits() -> None:
    """nostr-sdk reads other spellings, which wallets do not write."""
    assert is_public_key(KEY.public)
    npub = nostr_sdk.PublicKey.parse(KEY.public).to_bech32()
    others = ["", "x", KEY.public[:-1], KEY.public.upper(), npub, f"nostr:{npub}"]
    assert not any(map(is_public_key, others))
