"""NIP-44 and NIP-04: the product and its judge, held to the specification and to each other."""

from __future__ import annotations

import base64

import nostr_sdk
import pytest

from bot.core.errors import BadAnswer
from bot.service.rails.nostr import Scheme, SecretKey, is_public_key
from tests.support import nostr_keys
from tests.support.nostr_keys import NostrKey

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
    (
        "8f40e50a84a7462e2b8d24c28898ef1f23359fff50d8c509e6fb7ce06e142f9c",
        "b9b0a1e9cc20100c5faa3bbe2777303d25950616c4c6a3fa2e3e046f936ec2ba",
        "b20989adc3ddc41cd2c435952c0d59a91315d8c5218d5040573fc3749543acaf",
        "ability🤝的 ȺȾ",
        (
            "ArIJia3D3cQc0sQ1lSwNWakTFdjFIY1QQFc/w3SVQ6yvbG2S0x4Yu86QGwPTy7mP3961I1XqB6SFFTzq"
            "DZZavhxoWMj7"
            "mEVGMQIsh2RLWI5EYQaQDIePSnXPlzf7CIt+voTD"
        ),
    ),
    (
        "875adb475056aec0b4809bd2db9aa00cff53a649e7b59d8edcbf4e6330b0995c",
        "9c05781112d5b0a2a7148a222e50e0bd891d6b60c5483f03456e982185944aae",
        "8d4442713eb9d4791175cb040d98d6fc5be8864d6ec2f89cf0895a2b2b72d1b1",
        "pepper👀їжак",
        (
            "Ao1EQnE+udR5EXXLBA2Y1vxb6IZNbsL4nPCJWisrctGxY3AduCS+jTUgAAnfvKafkmpy15+i9YMwCdcc"
            "isRa8SvzW671"
            "T2JO4LFSPX31K4kYUKelSAdSPwe9NwO6LhOsnoJ+"
        ),
    ),
]
"""Two secret keys, a nonce, a text and the sealed text (NIP-44's `encrypt_decrypt`)."""

CONVERSATION_KEYS = [
    (
        "315e59ff51cb9209768cf7da80791ddcaae56ac9775eb25b6dee1234bc5d2268",
        "c2f9d9948dc8c7c38321e4b85c8558872eafa0641cd269db76848a6073e69133",
        "3dfef0ce2a4d80a25e7a328accf73448ef67096f65f79588e358d9a0eb9013f1",
    ),
    (
        "a1e37752c9fdc1273be53f68c5f74be7c8905728e8de75800b94262f9497c86e",
        "03bb7947065dde12ba991ea045132581d0954f042c84e06d8c00066e23c1a800",
        "4d14f36e81b8452128da64fe6f1eae873baae2f444b02c950b90e43553f2178b",
    ),
    (
        "fffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364139",
        f"{2:064x}",
        "8b6392dbf2ec6a2b2d5b1477fc2be84d63ef254b667cadd31bd3f444c44ae6ba",
    ),
    (
        f"{2:064x}",
        "1234567890abcdef1234567890abcdef1234567890abcdef1234567890abcdeb",
        "be234f46f60a250bef52a5ee34c758800c4ca8e5030bf4cc1a31d37ba2104d43",
    ),
    (
        f"{1:064x}",
        "79be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798",
        "3b4610cb7189beb9cc29eb3716ecc6102f1247e8f3101a03a1787d8908aeb54e",
    ),
]
"""A secret key, a public key and their conversation key (NIP-44's `get_conversation_key`)."""

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
    key = nostr_keys.conversation_key(NostrKey(one).shared_with(NostrKey(two).public))
    assert nostr_keys.seal_nip44(key, text, bytes.fromhex(nonce)) == sealed
    for own, other in ((one, two), (two, one)):
        assert SecretKey(own).open(SecretKey(other).public, sealed) == text
        assert NostrKey(own).open(NostrKey(other).public, sealed) == text


@pytest.mark.parametrize(("secret", "public", "key"), CONVERSATION_KEYS)
def test_conversation_keys_of_the_specification(secret: str, public: str, key: str) -> None:
    shared = nostr_keys.conversation_key(NostrKey(secret).shared_with(public))
    assert shared.hex() == key
    sealed = nostr_keys.seal_nip44(shared, SCRIPTS, bytes(32))
    assert SecretKey(secret).open(public, sealed) == SCRIPTS


@pytest.mark.parametrize("public", NO_POINTS)
def test_no_point_of_the_curve_is_no_key(public: str) -> None:
    assert not is_public_key(public)
    with pytest.raises(BadAnswer):
        OURS.open(public, SEALED[0][-1])


@pytest.mark.parametrize(
    ("size", "padded"),
    [
        *((1, 32), (16, 32), (32, 32), (33, 64), (65, 96), (100, 128), (200, 224), (250, 256)),
        *((320, 320), (383, 384), (400, 448), (515, 640), (1020, 1024), (65535, 65536)),
    ],
)
def test_lengths_are_padded_as_specified(size: int, padded: int) -> None:
    assert nostr_keys.padded_length(size) == padded
    if size < LONGEST:
        sealed = OURS.seal(Scheme.NIP44, THEIRS.public, "x" * size)
        assert len(base64.b64decode(sealed)) == 1 + 32 + 2 + padded + 32


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
    key = nostr_keys.conversation_key(SHARED)
    with pytest.raises(BadAnswer):
        OURS.open(THEIRS.public, nostr_keys.seal_padded(key, padded, bytes(32)))


def test_a_text_for_another_key_is_refused() -> None:
    sealed = THEIRS.seal("nip44_v2", NostrKey(f"{3:064x}").public, "x")
    with pytest.raises(BadAnswer):
        OURS.open(THEIRS.public, sealed)
