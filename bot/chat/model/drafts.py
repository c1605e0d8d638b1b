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
    """What payers see of a seller: nothing while there is no `name`.

    `image` is the id of the picture, `about` a line about them, `contact` an @username, an email
    address or a link, `accent` a name in core/brand.py.
    """

    name: str | None = None
    image: str | None = None
    about: str | None = None
    contact: str | None = None
    accent: str | None = None


@dataclass(frozen=True, slots=True)
class ProfileHints:
    """What the profile's forms offer beside the stored profile; none of it is stored.

    `name` is the person's at Telegram, `contacts` are their @username and the address of their
    email notifications, `page` is their newest pay page.
    """

    name: str | None = None
    contacts: tuple[str, ...] = ()
    page: str | None = None


NO_PROFILE, NO_HINTS = Profile(), ProfileHints()

PROFILE_FIELDS = tuple(field.name for field in fields(Profile))

PROFILE_STEPS = {f"seller{name}": name for name in PROFILE_FIELDS}
"""The attribute of the profile that each step of the settings asks for."""


# A file in a message of Telegram, and what came with the words of a message.


@dataclass(frozen=True, slots=True)
class Attachment:
    """A file in a message of Telegram; `sent_as` is its field of the message (Bot API, Message).

    `size` in bytes and `name` are those that Telegram names; `album_id` is None for a message of
    its own. `has_words`: the message has a caption.
    """

    file_id: str
    sent_as: str
    name: str
    media_type: str
    size: int | None = None
    album_id: str | None = None
    has_words: bool = False

    @property
    def is_picture(self) -> bool:
        """Return whether it can be a photo too."""
        return self.sent_as in ("photo", "document") and self.media_type.startswith("image/")


@dataclass(frozen=True, slots=True)
class Enclosure:
    """What came with the words of a message.

    `photo` is the file_id of a picture, which may be a `file` too. Neither: it has no use here.
    """

    photo: str | None = None
    file: Attachment | None = None

    @property
    def is_photo(self) -> bool:
        """Return whether it can only be a photo: any file may be what buyers get."""
        return self.photo is not None and (self.file is None or self.file.sent_as == "photo")


@dataclass(frozen=True, slots=True)
class PayoutService:
    """The service at which sellers are paid; `host` is None for the embedded one.

    `rails` are the kinds of real money that the embedded one takes, empty for test money.
    """

    host: str | None = None
    rails: tuple[str, ...] = ()

    @classmethod
    def at(cls, url: str | None, rails: tuple[str, ...] = ()) -> PayoutService:
        """Return the service at PAYMENTS_URL, the embedded one for None."""
        return cls(urlsplit(url).hostname if url else None, rails)

    @property
    def is_embedded(self) -> bool:
        """Return whether it is the embedded service, which has fields of its own."""
        return self.host is None

    @property
    def is_handcash(self) -> bool:
        """Return whether destinations are HandCash's handles and paymails."""
        return self.host is not None and f".{self.host}".endswith(".handcash.io")


TEST_MONEY = PayoutService()


@dataclass(frozen=True, slots=True)
class Seller:
    """The settings of a seller; `currency` is the last one used.

    `prices` are the last ones, in minor units with their currency. `zone` is an IANA name. `quiet`
    hours begin and end, and the `summary` comes, at these minutes of the zone's day. `paid_at` is
    not stored: it follows from the configuration. `hints` are known only while an update of the
    seller is handled. With real money the `destination` names the seller's payout `accounts`, the
    first one asked first, and `pays_later` is set once a seller without any chose to make payment
    links that can't be paid yet.
    """

    language: str
    destination: str | None = None
    currency: str | None = None
    prices: tuple[tuple[int, str], ...] = ()
    zone: str | None = None
    quiet: tuple[int, int] | None = None
    summary: int | None = None
    paid_at: PayoutService = TEST_MONEY
    profile: Profile = NO_PROFILE
    hints: ProfileHints = NO_HINTS
    accounts: tuple[payout.PayoutAccount, ...] = ()
    pays_later: bool = False

    @property
    def has_destination(self) -> bool:
        """Return whether a request needs no question about where its money goes."""
        if not self.paid_at.rails:
            return self.destination is not None
        return bool(self.accounts) or self.pays_later

    def account_of(self, way: str) -> payout.PayoutAccount | None:
        """Return the seller's account of a way (payouts/payout_account.py); None without one."""
        return next((account for account in self.accounts if account.way == way), None)


@dataclass(frozen=True, slots=True)
class Portion:
    """What one of several receivers gets, as the seller typed it.

    `measure` is `60%` of the price, `2.50` of its currency's major units, REST for what the others
    leave, or empty for an equal share.
    """

    destination: str
    measure: str


@dataclass(frozen=True, slots=True)
class Draft(request_spec.RequestOptions):
    """A form under way; None is a question still open, or an option that is not set.

    `form` is `new`, `line`, `settings`, `payout`, `payback` or `edit`, `step` the question that was
    asked last. `amount` is in major units, since its currency may be asked after it; with a
    `choice`, in major units too, payers choose it.
    `asks_destination` is whether the destination is one of the numbered steps. `paused` is the new
    form that this shorter one interrupts. `link_id` is the request that an edit is about,
    `poster_text` the text on its poster. With `in_menu` an answer leads back to "More options".
    `step_after_zone` is the step that waits for the time zone. `payment` is the key of the payment
    that was paid back. `readings` are what a message of goods may mean, while its seller is asked.
    `file` came with other words; its seller is still to be asked whether buyers get it. So many
    photos of a new request as `photos_due` says are being fetched.
    `way`, `answers` and `found` belong to a payout account: its way, what its
    seller typed, and what the service found. A form that `must_resume` takes no text until its
    seller presses Continue. `touched_at` (epoch ms) is set on a draft that was stored.
    """

    id: str
    form: str
    step: str
    kind: str | None = None
    name: str | None = None
    description: str | None = None
    amount: Decimal | None = None
    currency: str | None = None
    units: int | None = None
    asks_destination: bool = False
    paused: Draft | None = None
    receivers: tuple[Portion, ...] = ()
    link_id: str | None = None
    poster_text: str | None = None
    in_menu: bool = False
    step_after_zone: str | None = None
    payment: str | None = None
    readings: tuple[request_spec.Goods, ...] = ()
    way: str | None = None
    answers: tuple[payout.PayoutAnswer, ...] = ()
    found: payout.PayoutAccount | None = None
    file: Attachment | None = None
    photos_due: int = 0
    choice: request_spec.AmountChoice[Decimal] | None = None
    must_resume: bool = False
    touched_at: int | None = field(default=None, compare=False)
