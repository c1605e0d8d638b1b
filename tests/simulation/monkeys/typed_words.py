"""The texts that sellers type: each has words of its seller alone, so that leaks are found."""

from __future__ import annotations

import io
import re
import sys
import unicodedata
from dataclasses import dataclass
from functools import cache
from random import Random

from PIL import Image

PUBLIC = re.compile(r"n(\d{3})q")
PRIVATE = re.compile(r"d(\d{3})q")
"""The marks of a seller in what others may see, and in what nobody else may."""

CODE = re.compile(r"k(\d{3})q-\w+")
"""A code that a seller gives to one buyer, with the seller's number."""

PAYER = re.compile(r"payer-\d+\.d\d{3}q@example\.org")

TYPED, IN_FILE, MORE_TYPED, MORE_IN_FILE = "tfmn"
"""How codes are given: first or later, in a message or in a file."""

CHOICES = ("3+ EUR", "5/10/20 USD", "2+ 5/10 EUR", "2,50/5 €", "5 10 20 EUR")
"""Amounts that payers choose, and bare numbers that are asked about."""

LONGEST_TEXT = 4096
"""Characters that clients let people type."""

FAVOURITES = (
    "\u202e", "\u2067", "\u2069", "\u200f", "\u200b", "\u200d", "\u0301", "\ufe0f", "\u00ad",
    "\x00", "\x07", "\u2028", "&", "<b>", "</b>", "<", ">", "&lt;", "{ $name }", "%s", '"', "'",
    "👩‍👩‍👧‍👦", "🇩🇪", "אבג", "العربية", "ﷺ", "ß", "İ", "\U000e0041", "/", "@", "http://x.org",
)  # fmt: skip
"""What has broken messages elsewhere."""

COMMANDS = (
    "/start", "/new", "/new", "/list", "/list", "/settings", "/help", "/cancel", "/privacy",
    "/paysupport", "/alerts", "/start new", "/stats", "/donation", "/oneoff x", "/drop 3", "/",
    "/bought", "/bought", "/find", "/find coffee", "/find 4f<b>#",
    "/LIST", "/help@PaymentRequestBot", "/help@SomebodyElse", "/ list", "/new\nlines",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Mark:
    """The words of the seller with this number."""

    number: int

    @property
    def public(self) -> str:
        return f"n{self.number:03}q"

    @property
    def private(self) -> str:
        return f"d{self.number:03}q"

    def payer(self, number: int) -> str:
        """Return the address by which every alert names this payment's payer."""
        return f"payer-{number}.{self.private}@example.org"

    def words(self, number: int) -> dict[str, str]:
        """Return the name and the message that a payer leaves for this seller alone."""
        return {"name": f"Mia <{number}>", "message": f"said-{number}. {self.private}\n& <b>more"}

    def codes(self, way: str, chance: Random) -> str:
        """Return new codes, one a line; `way` is how they are given."""
        series = f"k{self.number:03}q-{way}{chance.getrandbits(32):08x}"
        return "\n".join(f"{series}x{number}" for number in range(chance.randint(2, 6)))

    def name(self, chance: Random) -> str:
        return f"{self.public} {chance.choice(['Coffee', '<Tea> & more', 'شاي', 'Kuchen 🍰'])}"

    def line(self, chance: Random) -> str:
        """Return a one-line form."""
        price = chance.choice(
            ["5 USD", "2,50 €", "$3.20", "1000 JPY", "0.001 BTC", "1.000 EUR", *CHOICES]
        )
        kind = chance.choice(["donation", "donation", "oneoff", "drop", "drop"])
        units = f"{chance.randint(1, 9)} " if kind == "drop" else ""
        return f"/{kind} {units}{price} {self.name(chance)}"

    def answer(self, step: str, form: str, chance: Random) -> str:
        """Return a right answer to the form's question at this step."""
        minutes = chance.randint(2, 40)
        answers: dict[str, tuple[str, ...]] = {
            "name": (self.name(chance),),
            "description": (f"{self.public} by hand <3 {'very ' * chance.randint(0, 40)}good",),
            "amount": ("5 USD", "2,50 €", "1.000", "$7", "12", "0.5 BSV", "1 000 JPY", *CHOICES),
            "goal": ("100", "1,000 USD", "500 €"),
            "perbuyer": ("1", "3", "4", "5"),
            "thanks": (f"{self.public} thanks <you>",),
            "goods": (
                f"{self.public} secret: https://example.org/{self.public}",
                *[self.codes(TYPED, chance)] * 3,
            ),
            "codes": (self.codes(MORE_TYPED, chance),),
            "sent": (f"RR-{self.public}",),
            "paidback": ("by bank",),
            "currency": ("USD", "eur", "JPY"),
            "units": ("1",) if form == "edit" else ("1", "3", "5", "12"),
            "destination": (f"${self.private}", f"wallet-{self.private}"),
            "instrument": ("BSV", "MNEE", "USD"),
            "receivers": (
                f"${self.private} 60%\n$b{self.private} 40%", f"{self.private}\nx{self.private}",
                f"{self.private} 1\nx{self.private} rest",
            ),
            "starts": (f"in {minutes} min",),
            "ends": (f"in {minutes} min", "tomorrow 18:00", "31.12."),
            "end": (f"in {minutes} min", "in 3 days", "31 Dec 23:59"),
            "redirect": (f"https://example.org/{self.private}?a=b&c=%20",),
            "email": (f"{self.private}@example.org",),
            "postertext": (f"{self.private} open <daily>",),
            "zone": ("Berlin", "UTC+2", "New York", "America"),
            "quiet": ("22:00-7:00", "0:00-23:59"),
            "summary": ("9:20", "8:40", "20:00"),
        }  # fmt: skip
        return chance.choice(answers.get(step, ("hm",)))


def nonsense(chance: Random) -> str:
    """Return a text that answers nothing."""
    short = ["?", "yes", "no", "ok", "-1", "0", "99999999999", "1,2,3", "tomorrow", "$", "USD", "%"]
    return chance.choice([*short, "<b>bold", "&amp;", "word " * 50, "x" * LONGEST_TEXT])


def anything(chance: Random) -> str:
    """Return up to 4,096 characters out of all of Unicode that a client can send."""
    length = chance.choice([1, 2, 10, 90, 200, 1000, LONGEST_TEXT])
    odd = chance.random()
    drawn = (
        chance.choice(FAVOURITES) if chance.random() < odd else _character(chance)
        for _ in range(length)
    )
    return "".join(drawn)[:LONGEST_TEXT]


def _character(chance: Random) -> str:
    while True:
        char = chr(chance.randrange(sys.maxunicode + 1))
        if unicodedata.category(char) not in {"Cs", "Cn", "Co"}:
            return char


@cache
def photos() -> tuple[bytes, ...]:
    """Make pictures that clients send as photos."""
    return _picture(320, 240), _picture(90, 1200), _picture(64, 64), _picture(20, 20)


@cache
def documents() -> tuple[tuple[str, bytes], ...]:
    """Make files that clients send unchanged: pictures, broken ones, huge ones, others."""
    whole = _picture(300, 300)
    huge = io.BytesIO()
    Image.new("1", (12_000, 9_000)).save(huge, "PNG")
    return (
        ("good.jpg", whole), ("cut.jpg", whole[: len(whole) // 2]), ("no.png", b"\x89PNG no"),
        ("huge.png", huge.getvalue()), ("empty.webp", b"RIFF"), ("paper.pdf", b"%PDF-1.4"),
        ("codes.txt", b"AAA-1\nBBB-2\nCCC-3\n"), ("album.zip", b"PK" * 900),
    )  # fmt: skip


def _picture(width: int, height: int) -> bytes:
    kept = io.BytesIO()
    Image.linear_gradient("L").resize((width, height)).convert("RGB").save(kept, "JPEG")
    return kept.getvalue()
