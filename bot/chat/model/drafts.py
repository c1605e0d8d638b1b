"""The answers to a form so far, and the seller's settings that forms need."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from decimal import Decimal
from urllib.parse import urlsplit

from bot.chat.model import payout, request_spec
from bot.core import stored_json
from bot.interface import parts

# The seller's profile, which payers see.


@dataclass(frozen=True, slots=True)
class Profile:
    """The seller's profile as payers see it; they see nothing until it has a `name`."""

    name: str | None = None
    image: str | None = None
    """Id of the picture."""
    about: str | None = None
    """A line about the seller."""
    contact: str | None = None
    """An @username, an email address or a link."""
    accent: str | None = None
    """A name in core/brand.py."""


@dataclass(frozen=True, slots=True)
class ProfileHints:
    """Values that the profile's forms suggest; they are not stored."""

    name: str | None = None
    """The person's name on Telegram."""
    contacts: tuple[str, ...] = ()
    """The seller's @username and notification email address."""
    page: str | None = None
    """URL of the seller's newest pay page."""


NO_PROFILE, NO_HINTS = Profile(), ProfileHints()

PROFILE_FIELDS = tuple(field.name for field in fields(Profile))

PROFILE_STEPS = {f"seller{name}": name for name in PROFILE_FIELDS}
"""The profile attribute that each settings step asks for."""


# Files in Telegram messages.


@dataclass(frozen=True, slots=True)
class Attachment:
    """A file in a Telegram message."""

    file_id: str
    sent_as: str
    """The message field that holds the file (Bot API, Message)."""
    name: str
    """The file name that Telegram sends."""
    media_type: str
    size: stored_json.Whole | None = None
    """Bytes, as Telegram reports them."""
    album_id: str | None = None
    """None if the message is not part of an album."""
    has_words: bool = False
    """The message has a caption."""

    @property
    def is_picture(self) -> bool:
        """True if the file could also be used as a photo."""
        return self.sent_as in ("photo", "document") and self.media_type.startswith("image/")


@dataclass(frozen=True, slots=True)
class Enclosure:
    """The attachment of a text message; both fields are None if it can't be used here."""

    photo: str | None = None
    """The file_id of a picture; a picture sent as a file also sets `file`."""
    file: Attachment | None = None

    @property
    def is_photo(self) -> bool:
        """True if it can only be a photo; a file could also be the goods."""
        return self.photo is not None and (self.file is None or self.file.sent_as == "photo")


@dataclass(frozen=True, slots=True)
class PayoutService:
    """The service that pays sellers."""

    host: str | None = None
    """None for the embedded service."""
    rails: tuple[str, ...] = ()
    """Kinds of real money that the embedded service accepts; empty for test money."""

    @classmethod
    def at(cls, url: str | None, rails: tuple[str, ...] = ()) -> PayoutService:
        """Return the service at PAYMENTS_URL, or the embedded service if `url` is None."""
        return cls(urlsplit(url).hostname if url else None, rails)

    @property
    def is_embedded(self) -> bool:
        """True for the embedded service, which sends additional fields."""
        return self.host is None

    @property
    def is_handcash(self) -> bool:
        """True if destinations are HandCash handles and paymails."""
        return self.host is not None and f".{self.host}".endswith(".handcash.io")


TEST_MONEY = PayoutService()


@dataclass(frozen=True, slots=True)
class Seller:
    """The settings of a seller."""

    language: str
    destination: str | None = None
    """With real money, the name that stands for the payout `accounts`."""
    currency: str | None = None
    """The currency used last."""
    prices: tuple[tuple[int, str], ...] = ()
    """The latest prices, as minor units and currency."""
    zone: str | None = None
    """IANA time zone name."""
    quiet: tuple[int, int] | None = None
    """Start and end of the quiet hours, in minutes of the local day."""
    summary: int | None = None
    """Minute of the local day at which the summary is sent."""
    paid_at: PayoutService = TEST_MONEY
    """Not stored; taken from the configuration."""
    profile: Profile = NO_PROFILE
    hints: ProfileHints = NO_HINTS
    """Set only while an update from the seller is handled."""
    accounts: tuple[payout.PayoutAccount, ...] = ()
    """Payout accounts for real money, in the order in which the service tries them."""
    pays_later: bool = False
    """True once a seller without accounts chose to make payment links that can't be paid yet."""

    @property
    def has_destination(self) -> bool:
        """True if the seller need not be asked where the money goes."""
        if not self.paid_at.rails:
            return self.destination is not None
        return bool(self.accounts) or self.pays_later

    def account_of(self, way: str) -> payout.PayoutAccount | None:
        """Return the seller's account for a payout method, if any (payouts/payout_account.py)."""
        return next((account for account in self.accounts if account.way == way), None)


@dataclass(frozen=True, slots=True)
class Portion:
    """One receiver's share of the price, as the seller typed it."""

    destination: str
    measure: request_spec.Measure
    """`60%` of the price, `2.50` in major units, REST, or empty for an equal share."""


@dataclass(frozen=True, slots=True)
class Draft(request_spec.RequestOptions):
    """An unfinished form; None means not answered yet, or an option that is not set."""

    id: str
    form: str
    """`new`, `line`, `settings`, `payout`, `payback`, `edit` or `codes`."""
    step: str
    """The step whose question was asked last."""
    kind: request_spec.Kind | None = None
    name: str | None = None
    description: str | None = None
    amount: Decimal | None = None
    """In major units, because the currency may be asked later."""
    currency: str | None = None
    units: stored_json.Whole | None = None
    asks_destination: bool = False
    """True if the destination is one of the numbered steps."""
    paused: Draft | None = None
    """The new form that this shorter one interrupts."""
    receivers: tuple[Portion, ...] = ()
    link_id: str | None = None
    """The link that is edited or that codes are added to."""
    poster_text: str | None = None
    """The text on the poster."""
    in_menu: bool = False
    """True if an answer returns to "More options"."""
    step_after_zone: str | None = None
    """The step that continues once the time zone is known."""
    payment: str | None = None
    """Key of the payment that was paid back."""
    readings: tuple[request_spec.Goods, ...] = ()
    """The possible meanings of a message with goods, until the seller has chosen one."""
    way: str | None = None
    """The payout method of the account, one of `payout.WAYS`."""
    answers: tuple[payout.PayoutAnswer, ...] = ()
    """The seller's answers about a payout account."""
    found: payout.PayoutAccount | None = None
    """The payout account that the service found."""
    file: Attachment | None = None
    """A file sent with other text, until the seller has said whether buyers get it."""
    photos_due: int = 0
    """Number of photos that are still being downloaded."""
    choice: parts.AmountChoice[Decimal] | None = None
    """The amounts that payers can choose from, in major units."""
    must_resume: bool = False
    """True if text is ignored until the seller presses Continue."""
    touched_at: int | None = field(default=None, compare=False)
    """When the draft was stored, in epoch ms; None if it was not."""
