"""NIP-44 and NIP-04, held to the vectors of the specification and to another implementation."""

from __future__ import annotations

import base64

import nostr_sdk
import pytest

from bot.core.errors import BadAnswer
from bot.service.rails.nostr import (
    MAX_PLAIN,
    Cryptor,
    Scheme,
    SecretKey,
    conversation_key,
    open_nip44,
    padded_length,
    seal_nip44,
)

ONE, TWO = SecretKey(f"{1:064x}"), SecretKey(f"{2:064x}")
KEY = bytes.fromhex("c41c775356fd92eadc63ff5a0dc1da211b268cbea22316767095b2871ea1412d")
SEALED_A = (
    "AgAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAABee0G5VSK0/9YypIObAtDKfYEAjD35uVkHyB0F4DwrcNaCXlC"
    "WZKaArsGrY6M9wnuTMxWfp1RTN9Xga8no+kF5Vsb"
)
SCRIPTS = "表ポあA鷗ŒéＢ逍Üßªąñ丂㐀𠀀"


@pytest.mark.parametrize(
    ("secret", "public", "key"),
    [
        (f"{1:064x}", TWO.public, KEY.hex()),
        (
            "315e59ff51cb9209768cf7da80791ddcaae56ac9775eb25b6dee1234bc5d2268",
            "c2f9d9948dc8c7c38321e4b85c8558872eafa0641cd269db76848a6073e69133",
            "3dfef0ce2a4d80a25e7a328accf73448ef67096f65f79588e358d9a0eb9013f1",
        ),
    ],
)
def test_conversation_keys_of_the_specification(secret: str, public: str, key: str) -> None:
    assert conversation_key(SecretKey(secret).shared_with(public)).hex() == key


def test_texts_of_the_specification_are_sealed_and_opened() -> None:
    assert seal_nip44(KEY, "a", bytes(31) + b"\x01") == SEALED_A
    assert open_nip44(KEY, SEALED_A) == "a"
    one = SecretKey("5c0c523f52a5b6fad39ed2403092df8cebc36318b39383bca6c00808626fab3a")
    two = SecretKey("4b22aa260e4acb7021e32f38a6cdf4b673c6a277755bfce287e370c924dc936d")
    nonce = bytes.fromhex("b635236c42db20f021bb8d1cdff5ca75dd1a0cc72ea742ad750f33010b24f73b")
    sealed = seal_nip44(conversation_key(one.shared_with(two.public)), SCRIPTS, nonce)
    assert sealed == (
        "ArY1I2xC2yDwIbuNHN/1ynXdGgzHLqdCrXUPMwELJPc7s7JqlCMJBAIIjfkpHReBPXeoMCyuClwgbT419jUWU1PwaN"
        "l4FEQYKCDKVJz+97Mp3K+Q2YGa77B6gpxB/lr1QgoqpDf7wDVrDmOqGoiPjWDqy8KzLueKDcm9BVP8xeTJIxs="
    )


@pytest.mark.parametrize(
    ("size", "padded"),
    [
        *((1, 32), (16, 32), (32, 32), (33, 64), (65, 96), (100, 128), (200, 224), (250, 256)),
        *((320, 320), (383, 384), (400, 448), (515, 640), (1020, 1024), (65535, 65536)),
    ],
)
def test_lengths_are_padded_as_specified(size: int, padded: int) -> None:
    assert padded_length(size) == padded


@pytest.mark.parametrize("size", [1, 31, 32, 33, 1_000, 60_000, MAX_PLAIN])
def test_a_text_of_any_length_comes_back(size: int) -> None:
    text = "é" * (size // 2) + "x" * (size % 2)
    sealed = seal_nip44(KEY, text, bytes(32))
    assert open_nip44(KEY, sealed) == text


@pytest.mark.parametrize("size", [0, MAX_PLAIN + 1])
def test_a_text_of_no_or_too_many_bytes_is_not_sealed(size: int) -> None:
    with pytest.raises(ValueError, match="1 to 65,535"):
        seal_nip44(KEY, "x" * size, bytes(32))


def damaged(at: int) -> str:
    raw = bytearray(base64.b64decode(SEALED_A))
    raw[at] ^= 1
    return base64.b64encode(raw).decode()


@pytest.mark.parametrize(
    "sealed",
    [
        *(damaged(at) for at in (0, 1, 33, 66, -1)),
        *("", "#", "#" + SEALED_A, SEALED_A[:-4], SEALED_A + "AAAA", SEALED_A[:-1] + "!"),
        *("A" * 87_476, "é" * 200, "?iv=", "AAAA?iv=AAAA", f"{'A' * 22}==?iv={'A' * 22}=="),
        "YWJj?iv=" + "A" * 22 + "==",
    ],
)
def test_a_damaged_text_is_refused(sealed: str) -> None:
    with pytest.raises(BadAnswer):
        Cryptor(ONE.shared_with(TWO.public)).open(sealed)


@pytest.mark.parametrize("scheme", Scheme)
def test_both_schemes_agree_with_another_implementation(scheme: Scheme) -> None:
    theirs = nostr_sdk.Keys.generate()
    public = theirs.public_key().to_hex()
    cryptor = Cryptor(ONE.shared_with(public))
    to = nostr_sdk.PublicKey.parse(ONE.public)
    nip44 = scheme is Scheme.NIP44
    encrypt = theirs.nip44_encrypt if nip44 else theirs.nip04_encrypt
    decrypt = theirs.nip44_decrypt if nip44 else theirs.nip04_decrypt
    assert decrypt(to, cryptor.seal(scheme, SCRIPTS)) == SCRIPTS
    assert cryptor.open(encrypt(to, SCRIPTS)) == SCRIPTS


def test_a_text_for_another_key_is_refused() -> None:
    sealed = Cryptor(ONE.shared_with(TWO.public)).seal(Scheme.NIP44, "x")
    with pytest.raises(BadAnswer):
        Cryptor(ONE.shared_with(SecretKey(f"{3:064x}").public)).open(sealed)
