"""A form's answers so far, and what forms need to know of their seller."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from decimal import Decimal
from urllib.parse import urlsplit

from bot.chat.model import payout, request_spec

# The profile of a seller: what payers see of the person they pay.


MAX_ABOUT = 160
"""Characters of the line about a seller (the service has the same bound)."""


@dataclass(frozen=True, slots=True)
class Profile:
    """What payers see of a seller: nothing while there is no `name`."""

    name: str | None = None
    image: str | None = None
    """Id of the picture."""
    about: str | None = None
    """A line about them."""
    contact: str | None = None
    """An @username, an email address or a link."""
    accent: str | None = None
    """A name in core/brand.py."""


@dataclass(frozen=True, slots=True)
class ProfileHints:
    """What the profile's forms offer beside the stored profile; none of it is stored."""

    name: str | None = None
    """The person's name at Telegram."""
    contacts: tuple[str, ...] = ()
    """Their @username and the address of their email notifications."""
    page: str | None = None
    """Their newest pay page."""


NO_PROFILE, NO_HINTS = Profile(), ProfileHints()

PROFILE_FIELDS = tuple(field.name for field in fields(Profile))

PROFILE_STEPS = {f"seller{name}": name for name in PROFILE_FIELDS}
"""The attribute of the profile that each step of the settings asks for."""


# A file in a message of Telegram, and what came with the words of a message.


@dataclass(frozen=True, slots=True)
class Attachment:
    """A file in a message of Telegram."""

    file_id: str
    sent_as: str
    """Its field of the message (Bot API, Message)."""
    name: str
    """As Telegram names it."""
    media_type: str
    size: int | None = None
    """Bytes, by Telegram."""
    album_id: str | None = None
    """None for a message of its own."""
    has_words: bool = False
    """The message has a caption."""

    @property
    def is_picture(self) -> bool:
        """True if it can be a photo too."""
        return self.sent_as in ("photo", "document") and self.media_type.startswith("image/")


@dataclass(frozen=True, slots=True)
class Enclosure:
    """What came with the words of a message; both fields are None if it has no use here."""

    photo: str | None = None
    """The file_id of a picture, which may be a `file` too."""
    file: Attachment | None = None

    @property
    def is_photo(self) -> bool:
        """True if it can only be a photo: any file may be what buyers get."""
        return self.photo is not None and (self.file is None or self.file.sent_as == "photo")


@dataclass(frozen=True, slots=True)
class PayoutService:
    """The service at which sellers are paid."""

    host: str | None = None
    """None for the embedded service."""
    rails: tuple[str, ...] = ()
    """Kinds of real money that the embedded one takes; empty for test money."""

    @classmethod
    def at(cls, url: str | None, rails: tuple[str, ...] = ()) -> PayoutService:
        """Return the service at PAYMENTS_URL, the embedded one for None."""
        return cls(urlsplit(url).hostname if url else None, rails)

    @property
    def is_embedded(self) -> bool:
        """True if it is the embedded service, which has fields of its own."""
        return self.host is None

    @property
    def is_handcash(self) -> bool:
        """True if destinations are HandCash's handles and paymails."""
        return self.host is not None and f".{self.host}".endswith(".handcash.io")


TEST_MONEY = PayoutService()


@dataclass(frozen=True, slots=True)
class Seller:
    """The settings of a seller."""

    language: str
    destination: str | None = None
    """With real money, the name of the payout `accounts`."""
    currency: str | None = None
    """The last one used."""
    prices: tuple[tuple[int, str], ...] = ()
    """The last ones, in minor units with their currency."""
    zone: str | None = None
    """An IANA name."""
    quiet: tuple[int, int] | None = None
    """Minutes of the zone's day at which quiet hours begin and end."""
    summary: int | None = None
    """Minute of the zone's day at which the summary comes."""
    paid_at: PayoutService = TEST_MONEY
    """Not stored: it follows from the configuration."""
    profile: Profile = NO_PROFILE
    hints: ProfileHints = NO_HINTS
    """Known only while an update of the seller is handled."""
    accounts: tuple[payout.PayoutAccount, ...] = ()
    """Payout accounts of real money, in the order in which they are asked."""
    pays_later: bool = False
    """True once a seller without accounts chose to make payment links that can't be paid yet."""

    @property
    def has_destination(self) -> bool:
        """True if a request needs no question about where its money goes."""
        if not self.paid_at.rails:
            return self.destination is not None
        return bool(self.accounts) or self.pays_later

    def account_of(self, way: str) -> payout.PayoutAccount | None:
        """Return the seller's account of a way (payouts/payout_account.py); None without one."""
        return next((account for account in self.accounts if account.way == way), None)


@dataclass(frozen=True, slots=True)
class Portion:
    """What one of several receivers gets, as the seller typed it."""

    destination: str
    measure: str
    """`60%` of the price, `2.50` major units, REST, or empty for an equal share."""


@dataclass(frozen=True, slots=True)
class Draft(request_spec.RequestOptions):
    """A form under way; None is a question still open, or an option that is not set."""

    id: str
    form: str
    """`new`, `line`, `settings`, `payout`, `payback`, `edit` or `codes`."""
    step: str
    """The question that was asked last."""
    kind: str | None = None
    name: str | None = None
    description: str | None = None
    amount: Decimal | None = None
    """In major units: its currency may be asked after it."""
    currency: str | None = None
    units: int | None = None
    asks_destination: bool = False
    """True if the destination is one of the numbered steps."""
    paused: Draft | None = None
    """The new form that this shorter one interrupts."""
    receivers: tuple[Portion, ...] = ()
    link_id: str | None = None
    """The link that is edited, or gets codes."""
    poster_text: str | None = None
    """The text on its poster."""
    in_menu: bool = False
    """An answer leads back to "More options"."""
    step_after_zone: str | None = None
    """The step that waits for the time zone."""
    payment: str | None = None
    """Key of the payment that was paid back."""
    readings: tuple[request_spec.Goods, ...] = ()
    """What a message of goods may mean, while its seller is asked."""
    way: str | None = None
    """Of a payout account."""
    answers: tuple[payout.PayoutAnswer, ...] = ()
    """What the seller typed for a payout account."""
    found: payout.PayoutAccount | None = None
    """The payout account that the service found."""
    file: Attachment | None = None
    """A file that came with other words, while its seller is asked whether buyers get it."""
    photos_due: int = 0
    """Number of photos that are being fetched."""
    choice: request_spec.AmountChoice[Decimal] | None = None
    """The amounts that payers choose from, in major units."""
    must_resume: bool = False
    """Take no text until the seller presses Continue."""
    touched_at: int | None = field(default=None, compare=False)
    """Set on a draft that was stored, in epoch ms."""
