"""Events are signed as NIP-01 says, and nothing of a relay is believed that is not signed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import nostr_sdk
import pytest

from bot.core import exact_json
from bot.core.errors import BadAnswer
from bot.service.rails.nostr import SecretKey, is_public_key, newest_of, read_event, tag_value
from tests.support.nostr_keys import ORDER, NostrKey, Tags, is_genuine, is_signed

SECRET = "5c0c523f52a5b6fad39ed2403092df8cebc36318b39383bca6c00808626fab3a"
OURS = SecretKey(SECRET)
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
        "C90FDAA22168C234C4C6628B80DC1CD129024E088A67CC74020BBEA63B14E5C9",
        "C87AA53824B4D7AE2EB035A2B5BBBCCC080E76CDC6D1692C4B0B62D798E6D906",
        "7E2D58D8B3BCDF1ABADEC7829054F90DDA9805AAB56C77333024B9D0A508B75C",
        (
            "5831AAEED7B44BB74E5EAB94BA9D4294C49BCF2A60728D8B4C200F50DD313C1B"
            "AB745879A5AD954A72C45A91C3A51D3C7ADEA98D82F8481E0E1E03674A6F3FB7"
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
"""A secret key, auxiliary randomness, 32 bytes and their signature (BIP 340, vectors 0 to 3)."""

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
    "the point at infinity": (
        "0000000000000000000000000000000000000000000000000000000000000000"
        "123DDA8328AF9C23A94C1FEECFD123BA4FB73476F0D594DCB65C6425BD186051"
    ),
    "no point of the curve": (
        "4A298DACAE57395A15D0795DDBFD1DCB564DA82B0F269BC70A74F8220429BA1D"
        "69E89B4C5564D00349106B8497785DD7D1D713A8AE82B32FA79D5F7FC407D39B"
    ),
    "the size of the field": (
        "FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEFFFFFC2F"
        "69E89B4C5564D00349106B8497785DD7D1D713A8AE82B32FA79D5F7FC407D39B"
    ),
    "the order of the group": (
        "6CFF5C3BA86C69EA4B7376F31A9BCB4F74C1976089B2D9963DA2E5543E177769"
        "FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141"
    ),
}
"""Signatures that do not hold (BIP 340, test vectors 6, 7, 9, 11, 12 and 13)."""


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
    sent = exact_json.loads(OURS.sign_event(23194, tags, CONTENT, 1_794_000_000).as_json())
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
        changed(created_at=EVENT["created_at"] + 1),
        changed(created_at=-1),
        changed(created_at=2**64),
        changed(kind=23195),
        changed(kind=2**16 + 23194),
        changed(tags=[]),
        changed(pubkey=OTHER.public),
        changed(id="00" * 32),
        changed(sig="00" * 64),
        changed(sig=EVENT["sig"][:-2]),
        changed(sig="zz" * 64),
        changed(sig=OTHER.sign(bytes.fromhex(EVENT["id"]))),
        changed(sig=EVENT["sig"][:64] + f"{ORDER - int(EVENT['sig'][64:], 16):064x}"),
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
        {"id": EVENT["id"]},
        [],
        None,
        "x",
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
    assert "5c0c" not in f"{OURS!r} {OURS}"
    assert KEY.public in repr(OURS)


def test_a_public_key_is_64_hex_digits() -> None:
    """nostr-sdk reads other spellings, which wallets do not write."""
    assert is_public_key(KEY.public)
    npub = nostr_sdk.PublicKey.parse(KEY.public).to_bech32()
    others = ["", "x", KEY.public[:-1], KEY.public.upper(), npub, f"nostr:{npub}"]
    assert not any(map(is_public_key, others))
