"""The draft of each form: its answers so far; and the seller's settings that forms need."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from decimal import Decimal
from typing import Annotated, ClassVar, TypeAlias
from urllib.parse import urlsplit

from pydantic import Field

from bot.chat.model import payout, replies, request_spec
from bot.core import stored_json
from bot.core.text import translations
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

    def text(self, key: str, **values: object) -> str:
        """Return a text in the seller's language."""
        return translations.t(self.language, key, **values)

    @property
    def has_destination(self) -> bool:
        """True if the seller need not be asked where the money goes."""
        if not self.paid_at.rails:
            return self.destination is not None
        return bool(self.accounts) or self.pays_later

    def account_of(self, way: str) -> payout.PayoutAccount | None:
        """Return the seller's account for a payout method, if any (account_rows.py)."""
        return next((account for account in self.accounts if account.way == way), None)


@dataclass(frozen=True, slots=True)
class Portion:
    """One receiver's share of the price, as the seller typed it."""

    destination: str
    measure: request_spec.Measure
    """`60%` of the price, `2.50` in major units, REST, or empty for an equal share."""


# The forms. Each has its own draft, which is stored with the form's name (forms/request_fields.py).

LinkId: TypeAlias = Annotated[str, Field(pattern="^[a-z0-9]{10}$")]


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """An unfinished form; None means not answered yet."""

    form: ClassVar[str]
    """The form's name."""
    id: Annotated[str, Field(pattern="^[a-z0-9]{6}$")]
    step: str
    """The step whose question was asked last."""
    paused: NewDraft | None = None
    """The new request whose form this form interrupts."""
    must_resume: bool = False
    """True if text is ignored until the seller presses Continue."""
    touched_at: int | None = field(default=None, compare=False)
    """When the draft was stored, in epoch ms; None if it was not."""

    def button(self, label: str, *words: str) -> replies.Button:
        """Build a button of this form."""
        return replies.Button(label, action=("draft", self.id, *words))


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestDraft(Draft, request_spec.RequestOptions):
    """A form about a request, with its values; an option that is not set is None or empty."""

    kind: request_spec.Kind | None = None
    name: str | None = None
    description: str | None = None
    amount: Decimal | None = None
    """In major units, because the currency may be asked later."""
    currency: str | None = None
    units: stored_json.Whole | None = None
    receivers: tuple[Portion, ...] = ()
    choice: parts.AmountChoice[Decimal] | None = None
    """The amounts that payers can choose from, in major units."""
    poster_text: str | None = None
    """The text on the poster; only an edit asks for it."""
    readings: tuple[request_spec.Goods, ...] = ()
    """The possible meanings of a message with goods, until the seller has chosen one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NewDraft(RequestDraft):
    """The form of a new request, step by step."""

    form: ClassVar[str] = "new"
    asks_destination: bool = False
    """True if the destination is one of the numbered steps."""
    in_menu: bool = False
    """True if an answer returns to "More options"."""
    step_after_zone: str | None = None
    """The step that continues once the time zone is known."""
    file: Attachment | None = None
    """A file sent with other text, until the seller has said whether buyers get it."""
    photos_due: int = 0
    """Number of photos that are still being downloaded."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LineDraft(RequestDraft):
    """A new request in one line, whose price or destination is still open."""

    form: ClassVar[str] = "line"
    kind: request_spec.Kind
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class EditDraft(RequestDraft):
    """The edit of one field, its step; the values are the present values of the request."""

    form: ClassVar[str] = "edit"
    link_id: LinkId
    step_after_zone: str | None = None
    """The step that continues once the time zone is known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingsDraft(Draft):
    """A setting of the seller, its step."""

    form: ClassVar[str] = "settings"
    step_after_zone: str | None = None
    """The step that continues once the time zone is known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PayoutDraft(Draft):
    """A payout account."""

    form: ClassVar[str] = "payout"
    way: str
    """The payout method of the account, one of `payout.WAYS`."""
    answers: tuple[payout.PayoutAnswer, ...] = ()
    found: payout.PayoutAccount | None = None
    """The payout account that the service found."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NoteDraft(Draft):
    """A note on a payment that the seller marked; the step names the mark."""

    form: ClassVar[str] = "payback"
    payment: Annotated[str, Field(pattern="^[a-z0-9]{10}:[0-9]{1,14}:[0-9a-f]{8}$")]
    """The payment's key."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CodesDraft(Draft):
    """More codes for the buyers of a request."""

    form: ClassVar[str] = "codes"
    link_id: LinkId


TimedDraft: TypeAlias = NewDraft | EditDraft | SettingsDraft
"""Forms that ask for times, and before for the time zone if it is unknown."""
