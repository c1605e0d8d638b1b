"""Bank transfers: each field of a code is what was asked for; only the seller knows of money."""

from __future__ import annotations

import io
import re
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from PIL import Image
from pix_utils import Code
from qrbill.bill import QRBill
from segno import QRCode, helpers
from stdnum import iso11649

from bot.core.errors import InvalidBody
from bot.core.images import qr
from bot.service.rails import bank, bank_accounts
from bot.service.rails.bank import CROSS, QUIET, SIDE, BankRail
from bot.service.rails.rail import Charge, Unavailable, Waiting
from tests.service.rails.test_bank_accounts import ADDRESS, PIX, SEPA, SWISS, UPI
from tests.support.bank_codes import (
    READERS,
    crc16,
    read_epc,
    read_pix,
    read_swiss,
    second_decoder,
    zxing,
)

REFERENCE = "RF19234567"
ALL: dict[str, dict[str, Any]] = {"EUR": SEPA, "BRL": PIX, "INR": UPI, "CHF": SWISS}
ACCOUNTS = [pytest.param(details, currency, id=currency) for currency, details in ALL.items()]
EXPECTED = {
    "EUR": {"tag": "BCD", "version": "002", "charset": "1", "kind": "SCT", "name": "Zoe Mueller"}
    | {"iban": "DE89370400440532013000", "amount": "EUR12.30", "text": REFERENCE},
    "BRL": {"key": "12345678909", "name": "Jose Conceicao", "city": "Maceio", "country": "BR"}
    | {"txid": REFERENCE, "currency": "986", "amount": "12.30", "gui": "br.gov.bcb.pix"},
    "INR": {"pa": "asha.1@okaxis", "pn": "आशा", "am": "12.30", "cu": "INR", "tn": REFERENCE},
    "CHF": {"header": "SPC", "version": "0200", "iban": "CH5800791123000889012", "type": "S"}
    | {"name": "Zoë", **ADDRESS, "country": "CH", "amount": "12.30", "currency": "CHF"}
    | {"referenceType": "SCOR", "reference": REFERENCE, "message": "", "end": "EPD"},
}
AMOUNTS = st.integers(1, bank.MOST_AMOUNT)
LATIN = "ÀÇÉÑÖØŁŐŞĦŻßæđıĳŉſ"
NAMES = st.text(
    st.sampled_from("aZ09 /-?:().,'+&" + LATIN + "Ωψού" + "Жщя" + "–’🍰\u200d\u0301½№"),
    min_size=1,
    max_size=70,
)


def code(details: dict[str, Any], amount: int, currency: str, reference: str = REFERENCE) -> str:
    connected = bank_accounts.connect(details)
    text = bank.pay_with(connected.details, amount, currency, reference).qr_text
    assert text
    return text


def draw(text: str, scheme: str) -> bytes:
    return bank.swiss_picture(text) if scheme == "swiss" else qr.png(text)


def price(amount: int) -> str:
    return f"{amount // 100}.{amount % 100:02}"


@pytest.mark.parametrize(("details", "currency"), ACCOUNTS)
def test_the_picture_is_read_back_field_by_field(details: dict[str, Any], currency: str) -> None:
    """By two decoders, from the picture as it is sent."""
    text = code(details, 1230, currency)
    picture = draw(text, details["scheme"])
    assert zxing(picture) == (text, "M")
    assert second_decoder(picture) in {text, None}
    read = READERS[details["scheme"]](text)
    assert EXPECTED[currency].items() <= read.items()


@settings(max_examples=25, deadline=None)
@given(st.sampled_from([*ALL]), NAMES, AMOUNTS, st.builds(bank.new_reference))
def test_names_in_many_scripts_are_decoded_from_the_picture(
    currency: str, name: str, amount: int, reference: str
) -> None:
    details: dict[str, Any] = {**ALL[currency], "name": name}
    try:
        bank_accounts.connect(details)
    except InvalidBody:
        assume(False)  # noqa: FBT003 - hypothesis's own way to leave an example out
    text = code(details, amount, currency, reference)
    picture = draw(text, details["scheme"])
    assert zxing(picture) == (text, "M")
    assert second_decoder(picture) in {text, None}


@settings(max_examples=40, deadline=None)
@given(NAMES, AMOUNTS, st.builds(bank.new_reference))
def test_epc_is_what_segno_writes(name: str, amount: int, reference: str) -> None:
    """Segno leaves zeros of the amount out: EUR12.3."""
    assume(bank_accounts.fold(name, bank_accounts.SEPA_CHARACTERS, german=True))
    text = code(SEPA | {"name": name}, amount, "EUR", reference)
    read = read_epc(text)
    theirs = helpers.make_epc_qr(
        name=read["name"],
        iban=read["iban"],
        amount=Decimal(price(amount)),
        text=reference,
        encoding="utf-8",
    )
    assert int(theirs.version) <= 13
    written = read_epc(zxing(_png(theirs))[0])
    assert Decimal(written.pop("amount").removeprefix("EUR")) == Decimal(price(amount))
    assert read.pop("amount") == f"EUR{price(amount)}"
    assert written == read
    assert re.fullmatch(r"[A-Za-z0-9?:().,'+ /-]{1,70}", read["name"])
    assert "//" not in read["name"]


def _png(symbol: QRCode) -> bytes:
    out = io.BytesIO()
    symbol.save(out, kind="png", scale=4)
    return out.getvalue()


def test_epc_keeps_what_a_name_would_break() -> None:
    """A line break in a name starts no line, and a name of accents alone is no empty line."""
    text = code(SEPA | {"name": "Shop\nEUR1\r\nRF00"}, 500, "EUR")
    assert read_epc(text)["name"] == "Shop EUR1 RF00"
    long = code(SEPA | {"name": "ü" * 70, "bic": "COBADEFFXXX"}, bank.MOST_AMOUNT, "EUR")
    assert read_epc(long)["name"] == "ue" * 35
    assert read_epc(long)["bic"] == "COBADEFFXXX"
    assert len(long.encode()) <= 331
    assert "EUR999999999.99" in long


def test_umlauts_follow_the_country_of_the_account() -> None:
    finnish = SEPA | {"iban": "FI21 1234 5600 0007 85", "name": "Mäkinen"}
    assert read_epc(code(finnish, 100, "EUR"))["name"] == "Makinen"


@given(NAMES, AMOUNTS, st.builds(bank.new_reference), st.sampled_from(["São Paulo", "Óbidos"]))
def test_pix_is_what_another_writer_writes(
    name: str, amount: int, reference: str, city: str
) -> None:
    """pix-utils writes its domain in capitals, and no zeros in front of the checksum."""
    assume(bank_accounts.fold(name, bank_accounts.PIX_CHARACTERS))
    text = code(PIX | {"name": name, "city": city}, amount, "BRL", reference)
    read = read_pix(text)
    assert len(read["name"]) <= 25
    theirs = Code(
        key=read["key"],
        name=read["name"],
        city=read["city"],
        value=Decimal(price(amount)),
        identifier=reference,
    )
    body, _, checksum = theirs.rpartition("6304")
    assert checksum.zfill(4) == crc16(f"{body}6304")
    assert body.replace("BR.GOV.BCB.PIX", "br.gov.bcb.pix") + "6304" == text[:-4]


def test_the_longest_pix_key_leaves_room() -> None:
    key = f"{'a' * 60}@{'b' * 13}.br"
    longest = PIX | {"key": key, "name": "x" * 70, "city": "São José dos Campos"}
    read = read_pix(code(longest, bank.MOST_AMOUNT, "BRL"))
    assert len(key) == bank_accounts.LONGEST_PIX_KEY
    assert (read["key"], read["city"], read["name"]) == (key, "Sao Jose dos Ca", "x" * 25)


def test_the_checksum_is_that_of_the_published_example() -> None:
    """The example of the Banco Central do Brasil's manual."""
    text = (
        "00020126580014br.gov.bcb.pix0136123e4567-e12b-12d1-a456-426655440000"
        "5204000053039865802BR5913Fulano de Tal6008BRASILIA62070503***63041D3D"
    )
    assert text[-4:] == crc16(text[:-4])


@given(NAMES, AMOUNTS, st.builds(bank.new_reference), st.sampled_from(["CHF", "EUR"]))
def test_swiss_is_what_qrbill_writes(name: str, amount: int, reference: str, currency: str) -> None:
    assume(bank_accounts.fold(name, bank_accounts.SWISS_CHARACTERS))
    text = code(SWISS | {"name": name}, amount, currency, reference)
    read = read_swiss(text)
    creditor = {
        "name": read["name"],
        "street": read["street"],
        "house_num": read["houseNumber"],
        "pcode": read["postalCode"],
        "city": read["town"],
        "country": read["country"],
    }
    theirs = QRBill(
        account=read["iban"],
        creditor=creditor,
        amount=Decimal(price(amount)),
        currency=currency,
        reference_number=reference,
    )
    assert theirs.qr_data() == text
    assert all(bank_accounts.SWISS_CHARACTERS.fullmatch(char) for char in text.replace("\r\n", ""))


def test_the_swiss_code_has_the_cross_and_prints_46_millimetres() -> None:
    picture = Image.open(io.BytesIO(bank.swiss_picture(code(SWISS, 1230, "CHF"))))
    dots, _ = picture.info["dpi"]
    millimetre = dots / 25.4
    assert picture.width >= round((SIDE + 2 * QUIET) * millimetre)
    dark = picture.convert("L").point(lambda grey: 255 - grey).getbbox()
    assert dark
    assert dark[2] - dark[0] == pytest.approx(SIDE * millimetre, abs=0.5)
    assert dark[0] >= QUIET * millimetre
    middle, side = picture.width // 2, CROSS * millimetre
    assert picture.getpixel((middle, middle)) == 255
    assert picture.getpixel((middle + round(side * 0.4), middle)) == 0
    assert picture.getpixel((middle + round(side * 0.25), middle)) == 255
    assert picture.getpixel((middle + round(side * 0.25), middle + round(side * 0.25))) == 0


@pytest.mark.parametrize(
    ("details", "currency", "names"),
    [
        (SEPA, "EUR", "holder iban amount reference"),
        (SEPA | {"bic": "COBADEFF"}, "EUR", "holder iban bic amount reference"),
        (PIX, "BRL", "code key holder city amount reference"),
        (UPI, "INR", "id holder amount reference"),
        (SWISS, "CHF", "holder address iban amount reference"),
    ],
)
def test_the_payer_may_copy_each_field_instead(
    details: dict[str, Any], currency: str, names: str
) -> None:
    """With the holder's true name, not the folded one."""
    connected = bank_accounts.connect(details)
    shown = bank.pay_with(connected.details, 1230, currency, REFERENCE)
    fields = dict(shown.fields)
    assert [name for name, _ in shown.fields] == names.split()
    assert (fields["amount"], fields["reference"]) == ("12.30", REFERENCE)
    assert fields["holder"] == details["name"]
    assert fields.get("code") in {None, shown.qr_text}
    assert fields.get("address") in {None, "Rue du Lac 12a\nCH-8001 Zürich"}


def test_an_address_without_a_street_has_one_line() -> None:
    address = {"postalCode": "9490", "town": "Vaduz"}
    details = SWISS | {"iban": "LI21 0881 0000 2324 013A A", "address": address}
    connected = bank_accounts.connect(details)
    shown = bank.pay_with(connected.details, 100, "EUR", REFERENCE)
    assert dict(shown.fields)["address"] == "LI-9490 Vaduz"


RAIL = BankRail()


async def charge(amount: int = 1230) -> Charge:
    details = (await RAIL.connect(SEPA)).details
    return Charge("c1", amount, "EUR", "Coffee", "RF19234567", 0, 1000, details)


async def test_a_checkout_opens_at_once_with_its_code_and_is_never_polled() -> None:
    ask = await charge()
    opened = RAIL.open_offline(ask)
    assert opened
    assert (opened.external_id, opened.poll_times, opened.arrived) == (ask.reference, (), None)
    assert opened.pay_with
    assert opened.pay_with.qr_text
    assert read_epc(opened.pay_with.qr_text)["amount"] == "EUR12.30"
    assert await RAIL.open(ask) == opened
    assert await RAIL.poll(ask, opened) == Waiting()
    assert RAIL.host(ask.details) == ""


async def test_an_amount_that_no_code_can_ask_for_is_refused() -> None:
    assert RAIL.open_offline(await charge(bank.MOST_AMOUNT))
    ask = await charge(bank.MOST_AMOUNT + 1)
    assert RAIL.open_offline(ask) is None
    refused = await RAIL.open(ask)
    assert isinstance(refused, Unavailable)
    assert refused.reason == "tooLarge"


async def test_a_wrong_account_is_refused() -> None:
    with pytest.raises(InvalidBody) as refused:
        await RAIL.connect(SEPA | {"iban": "DE88370400440532013000"})
    assert [problem.field for problem in refused.value.info] == ["details.iban"]


def test_a_reference_is_a_creditor_reference_of_ten_characters() -> None:
    made = {bank.new_reference() for _ in range(500)}
    assert len(made) == 500
    for one in made:
        assert iso11649.is_valid(one)
        assert re.fullmatch(rf"RF[0-9]{{2}}[{bank.REFERENCE_ALPHABET}]{{6}}", one)


def test_no_two_characters_of_the_alphabet_look_alike() -> None:
    alike = ["0O", "1IL", "2Z", "5S", "8B", "6G", "UV"]
    counts = [sum(one in bank.REFERENCE_ALPHABET for one in group) for group in alike]
    assert counts == [0, 0, 1, 1, 1, 1, 1]
    assert not set("AEIOU") & set(bank.REFERENCE_ALPHABET)
