"""A conversation in tests: the lead's part, without a database."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from bot.chat.conversation.getting_paid import seal_secrets
from bot.chat.forms.field import Field
from bot.chat.forms.flow import Change, FormResult, Setting, start_new
from bot.chat.forms.form import take_message
from bot.chat.forms.inputs import take_press
from bot.chat.forms.request_fields import BY_NAME, read_draft, write_draft
from bot.chat.forms.seller_forms import payout_form
from bot.chat.model.drafts import PROFILE_STEPS, Attachment, Draft, Enclosure, PayoutService, Seller
from bot.chat.model.payout import PayoutAccount, account_destination
from bot.chat.model.replies import Action, Reply
from bot.chat.model.request_spec import RequestSpec
from bot.core.database.vault import Vault
from tests.support.http_peers import http_response
from tests.support.telegram_limits import actions, check, check_toast, labels

VAULT = Vault("a key for tests")
KNOWN = Seller("en", "$anna", "USD")
STRANGER = Seller("en", None, None)
FORM = "ab2c3d"
OTHER = "zzzzzz"
NOW = 1_800_000_000_000
"""Friday, 15 January 2027, 08:00 UTC, in epoch ms."""

BERLIN = "Europe/Berlin"


@dataclass(frozen=True)
class MessageInput:
    """A message of the seller."""

    text: str
    photo: str | None = None
    file: Attachment | None = None

    @property
    def sent(self) -> Enclosure | None:
        return Enclosure(self.photo, self.file) if self.photo or self.file else None


@dataclass(frozen=True)
class ButtonInput:
    """A press of a button."""

    action: Action


class Photo(NamedTuple):
    """A photo to download for a form."""

    file_id: str
    draft_id: str


@dataclass
class Talk:
    """A seller's conversation: stores outcomes, checks replies against Telegram's limits."""

    seller: Seller
    draft: Draft | None = None
    replies: list[Reply] = field(default_factory=list)
    toast: str | None = None
    specs: list[RequestSpec] = field(default_factory=list)
    waiting: list[RequestSpec] = field(default_factory=list)
    """Requests that wait for their photo."""
    changes: list[Change] = field(default_factory=list)
    photos: list[Photo] = field(default_factory=list)
    then: Action | None = None
    connects: list[str] = field(default_factory=list)
    now: int = NOW

    def take(self, result: FormResult) -> FormResult:
        """Store what follows, as the lead does; the draft goes through its JSON."""
        self.draft = None
        if result.draft is not None:
            self.draft = read_draft(write_draft(result.draft))
            assert result.draft == self.draft
            self.draft = replace(seal_secrets(self.form, VAULT), touched_at=self.now)
        if result.spec is not None:
            assert RequestSpec.from_json(result.spec.to_json()) == result.spec
            if result.photo is None:
                self.specs.append(result.spec)
            else:
                self.waiting.append(result.spec)
        if result.setting is not None:
            self.set(result.setting)
        self.changes.extend(filter(None, [result.change]))
        if result.photo is not None and result.spec is None:
            self.photos.append(Photo(result.photo, self.form.id))
        self.connects.extend(filter(None, [result.connect]))
        self.then = result.then
        for reply in result.replies:
            check(reply)
        check_toast(result.toast)
        self.replies.extend(result.replies)
        self.toast = result.toast
        return result

    def set(self, setting: Setting) -> None:
        """Keep a setting, as the use case does."""
        name, value = setting.name, setting.value
        if part := PROFILE_STEPS.get(name):
            profile = replace(self.seller.profile, **{part: value})  # type: ignore[arg-type]  # as below
            self.seller = replace(self.seller, profile=profile)
            return
        if name == "payoutlater":
            self.seller = replace(self.seller, pays_later=True)
            return
        assert name in ("destination", "zone", "quiet", "summary")
        self.seller = replace(self.seller, **{name: value})  # type: ignore[arg-type]  # by its name

    def give(self, *inputs: MessageInput | ButtonInput) -> Talk:
        for given in inputs:
            self.take(
                take_press(self.draft, given.action, self.seller, self.now)
                if isinstance(given, ButtonInput)
                else take_message(self.draft, given.text, given.sent, self.seller, self.now)
            )
        return self

    def say(self, *texts: str) -> Talk:
        return self.give(*map(MessageInput, texts))

    def press(self, *words: str) -> Talk:
        """Press a button of the form under way."""
        return self.give(ButtonInput(("draft", self.form.id, *words)))

    def press_label(self, label: str) -> Talk:
        """Press a button of the last reply by the start of its label."""
        last = self.replies[-1].rows
        found = [b.action for row in last for b in row if b.label.startswith(label)]
        assert found, f"{label!r} is none of {labels(last)}"
        assert found[0] is not None
        return self.give(ButtonInput(found[0]))

    @property
    def form(self) -> Any:
        """Return the open form, of any kind."""
        assert self.draft is not None
        return self.draft

    @property
    def step(self) -> str | None:
        return None if self.draft is None else self.draft.step

    @property
    def last(self) -> str:
        """Return the last reply as a person reads it."""
        return check(self.replies[-1])

    @property
    def offered(self) -> list[Action]:
        return actions(self.replies[-1].rows)


def new_form(seller: Seller = KNOWN) -> Talk:
    """Open a new form at its first question."""
    talk = Talk(seller)
    talk.take(start_new(FORM, seller))
    return talk


def form_at_step(step: str, kind: str = "drop") -> Talk:
    """Open a form and answer everything before `step`."""
    talk = new_form()
    answers = {
        "kind": lambda: talk.press("kind", kind),
        "name": lambda: talk.say("Coffee"),
        "amount": lambda: talk.say("5 USD"),
        "units": lambda: talk.say("10"),
    }
    while talk.step != step:
        answers[talk.step or ""]()
    return talk


def kind_with(field: Field) -> str:
    """Return a kind of request that has the field."""
    return "drop" if "drop" in field.kinds else field.kinds[0]


def open_option(step: str, seller: Seller = KNOWN) -> Talk:
    """Open one of the options of a form whose questions are all answered."""
    talk = form_at_step("review", kind_with(BY_NAME[step]))
    talk.seller = seller
    return talk.press("open", step)


RAILS = ("bank", "lightning", "lnbits", "nwc")
IBAN, OTHER_IBAN = "DE89370400440532013000", "DE02120300000000202051"
SWISS_IBAN = "CH9300762011623852957"
KEY = "5d0605a2fa0d4d6c8fe13fdec25720ca"
CONNECTION = f"nostr+walletconnect://{'ab' * 32}?relay=wss%3A%2F%2Fr.example&secret={'cd' * 32}"
SEPA = PayoutAccount("1" * 24, "bank", "sepa", automatic=False, currencies=("EUR",), label="DE89…")
LIGHTNING = PayoutAccount(
    "2" * 24, "lightning", "", automatic=True, currencies=("SAT",), label="anna@example.org"
)
UNPAID = replace(KNOWN, destination=account_destination(7), paid_at=PayoutService(rails=RAILS))
"""A seller with real money and without an account."""

TYPED = {
    "bank-sepa": (IBAN, "Anna Ott"),
    "bank-pix": ("anna@example.org", "Anna Ott", "São Paulo"),
    "bank-upi": ("anna@okbank", "Anna Ott"),
    "bank-swiss": (SWISS_IBAN, "Anna Ott", "Seestrasse", "1a", "8001", "Zürich", "CH"),
    "lightning": ("anna@example.org",),
    "lnbits": ("https://lnbits.example.org", KEY),
    "nwc": (CONNECTION,),
}
"""What is typed for each way, field by field."""


def paid_to(*accounts: PayoutAccount) -> Seller:
    """Return a seller with these accounts."""
    return replace(UNPAID, accounts=accounts)


def connecting(way: str, seller: Seller = UNPAID) -> Talk:
    """Begin the form of a way."""
    talk = Talk(seller)
    talk.take(payout_form(way, FORM, seller))
    return talk


def shown(account: PayoutAccount) -> dict[str, Any]:
    """Return an account as the service sends it."""
    return {
        "id": account.id, "owner": "seller-1", "kind": account.kind, "scheme": account.scheme,
        "automatic": account.automatic, "currency": account.currencies[0],
        "currencies": [*account.currencies], "label": account.label,
    }  # fmt: skip


def answer(account: PayoutAccount) -> bytes:
    return http_response(200, shown(account))


def link(*accounts: PayoutAccount) -> bytes:
    items = [shown(account) for account in accounts]
    return http_response(200, {"items": items})


def refusal(field: str, message: str, code: object = None) -> bytes:
    info = [{"field": field, "message": message, "code": code}]
    body = {"code": "invalidBody", "message": "No.", "info": info}
    return http_response(400, body)
