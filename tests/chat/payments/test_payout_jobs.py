"""Jobs of payout accounts against a scripted service: what it answers, and when it doesn't."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from bot.chat.forms.seller_texts import fingerprint
from bot.chat.model.drafts import Draft, PayoutDraft
from bot.chat.model.jobs import CheckRequest, ConnectAccount, RefreshPayable
from bot.chat.model.payout import PayoutAccount
from bot.chat.payments.client import Client
from bot.chat.payments.seller_jobs import PAYOUT_PATIENCE
from bot.chat.store import seller_rows
from bot.core import exact_json
from bot.core.database.database import Database
from bot.core.outbox import outbox
from bot.core.text.translations import languages, t
from bot.interface.vocabulary import NO_PAYOUT
from bot.sandbox.world.people import Person
from tests.support.chat_harness import COFFEE, VAULT, ChatHarness, service_answer
from tests.support.form_harness import IBAN, KEY, LIGHTNING, RAILS, SEPA, answer, link, refusal
from tests.support.form_questions import question_of
from tests.support.http_peers import ScriptedServer, http_response
from tests.support.request_jobs import ScriptedJobs
from tests.support.service_harness import Clock

DOWN = http_response(503)


@pytest.fixture
def chat(db: Database, clock: Clock) -> ChatHarness:
    return ChatHarness(db, clock, rails=RAILS)


@pytest.fixture
def jobs(chat: ChatHarness, peer: ScriptedServer, client: Client) -> ScriptedJobs:
    made = ScriptedJobs(chat, peer, client)
    made.handler = made.made(client, rails=RAILS)
    return made


def draft_of(chat: ChatHarness, person: Person) -> Draft | None:
    return chat.db.run(lambda tx: seller_rows.find_draft(tx, person.id, person.id))


def known(chat: ChatHarness, person: Person) -> tuple[PayoutAccount, ...]:
    return chat.db.run(lambda tx: seller_rows.accounts_of(tx, person.id))


def save(chat: ChatHarness, person: Person, *accounts: PayoutAccount) -> None:
    def work(tx: Any) -> None:
        seller_rows.ensure_seller(tx, person.id, "en", chat.clock())
        seller_rows.save_accounts(tx, person.id, accounts)

    chat.db.run(work)


async def type_sepa(chat: ChatHarness, sam: Person) -> None:
    await chat.presses(sam, "getpaid:bank-sepa")
    await chat.says(sam, IBAN)
    await chat.says(sam, "Anna Ott")


async def press_save(chat: ChatHarness, sam: Person) -> None:
    draft = draft_of(chat, sam)
    assert isinstance(draft, PayoutDraft)
    await chat.presses(sam, f"draft:{draft.id}:save:{fingerprint(draft.answers)}")


async def test_what_was_typed_is_checked_shown_and_saved(
    chat: ChatHarness, jobs: ScriptedJobs, sam: Person
) -> None:
    await type_sepa(chat, sam)
    await jobs.work(answer(SEPA))
    body = exact_json.loads(jobs.peer.calls[-1].body)
    assert body == {
        "owner": f"seller-{sam.id}",
        "kind": "bank",
        "details": {"scheme": "sepa", "iban": IBAN, "name": "Anna Ott"},
        "dryRun": True,
    }
    assert question_of("payout-found") in chat.texts[-1]
    assert known(chat, sam) == ()
    await press_save(chat, sam)
    assert [call[0] for call in await jobs.work(answer(SEPA), link(SEPA))] == ["POST", "GET"]
    assert "dryRun" not in exact_json.loads(jobs.peer.calls[-2].body)
    assert "Connected." in chat.texts[-1]
    assert (known(chat, sam), draft_of(chat, sam)) == ((SEPA,), None)
    changes = [row for row in chat.rows("audit") if row["action"] == "payout.changed"]
    assert len(changes) == 1
    assert IBAN not in f"{changes}"


@pytest.mark.parametrize("language", languages())
async def test_a_known_refusal_is_explained_in_the_sellers_language(
    chat: ChatHarness, jobs: ScriptedJobs, language: str
) -> None:
    sam = chat.add_person("Anna", language_code=language)
    await type_sepa(chat, sam)
    await jobs.work(refusal("details.iban", "That's a QR-IBAN.", "qrIban"))
    assert chat.texts[-1].startswith(t(language, "payout-wrong-qrIban"))


@pytest.mark.parametrize("code", [5, ["qrIban"], {}, "unheard-of"])
async def test_a_code_of_any_other_kind_leaves_the_services_words(
    chat: ChatHarness, jobs: ScriptedJobs, sam: Person, code: object
) -> None:
    await type_sepa(chat, sam)
    await jobs.work(refusal("details.iban", "No.", code))
    assert chat.texts[-1].startswith("⚠ That didn't work: No.")


async def test_a_refused_field_is_asked_for_again(
    chat: ChatHarness, jobs: ScriptedJobs, sam: Person
) -> None:
    await type_sepa(chat, sam)
    await jobs.work(refusal("details.iban", "That's a <QR-IBAN>."))
    draft = draft_of(chat, sam)
    assert isinstance(draft, PayoutDraft)
    assert draft.step == "payiban"
    assert "a &lt;QR-IBAN&gt;" in chat.texts[-1]
    assert [one.text for one in draft.answers] == [IBAN, "Anna Ott"]


async def test_while_the_service_is_down_the_seller_is_told_once_and_nothing_is_lost(
    chat: ChatHarness, jobs: ScriptedJobs, sam: Person
) -> None:
    await type_sepa(chat, sam)
    for _ in range(3):
        await jobs.work(DOWN)
        chat.clock.advance(60)
    assert chat.texts.count(t("en", "payout-waiting")) == 1
    await jobs.work(answer(SEPA))
    assert question_of("payout-found") in chat.texts[-1]


async def test_a_busy_service_is_asked_again_without_a_word(
    chat: ChatHarness, jobs: ScriptedJobs, sam: Person
) -> None:
    await type_sepa(chat, sam)
    await jobs.work(http_response(429, b"{}", Retry_After="20"))
    assert t("en", "payout-waiting") not in chat.texts
    assert (jobs.waits or 0) >= 20_000
    chat.clock.advance(21)
    await jobs.work(answer(SEPA))
    assert question_of("payout-found") in chat.texts[-1]


async def test_a_service_that_stays_down_leaves_the_form_with_all_answers(
    chat: ChatHarness, jobs: ScriptedJobs, sam: Person
) -> None:
    await type_sepa(chat, sam)
    await jobs.work(DOWN)
    chat.clock.advance(PAYOUT_PATIENCE / 1000 + 60)
    await jobs.work(DOWN)
    draft = draft_of(chat, sam)
    assert draft is not None
    assert draft.step == "payname"
    assert chat.texts[-1].startswith(t("en", "payout-given-up"))
    assert chat.jobs == []


async def test_an_outcome_that_nobody_waits_for_changes_no_form(
    chat: ChatHarness, jobs: ScriptedJobs, sam: Person
) -> None:
    await type_sepa(chat, sam)
    await chat.says(sam, "/cancel")
    before = len(chat.texts)
    await jobs.work(answer(SEPA))
    assert (len(chat.texts), draft_of(chat, sam)) == (before, None)


async def test_the_outcome_of_former_answers_is_not_shown(
    chat: ChatHarness, jobs: ScriptedJobs, sam: Person
) -> None:
    await type_sepa(chat, sam)
    draft = draft_of(chat, sam)
    assert draft is not None
    await chat.presses(sam, f"draft:{draft.id}:back:{draft.step}")
    await chat.says(sam, "Bea Ott")
    await jobs.work(answer(replace(SEPA, label="former")), answer(SEPA))
    assert [text for text in chat.texts if question_of("payout-found") in text] == chat.texts[-1:]
    assert SEPA.label in chat.texts[-1]


async def test_a_save_goes_on_although_the_form_was_cancelled(
    chat: ChatHarness, jobs: ScriptedJobs, sam: Person
) -> None:
    """The seller is told, for their money goes there now."""
    await type_sepa(chat, sam)
    await jobs.work(answer(SEPA))
    await press_save(chat, sam)
    await chat.says(sam, "/cancel")
    await jobs.work(answer(SEPA), link(SEPA))
    assert "Connected." in chat.texts[-1]
    assert known(chat, sam) == (SEPA,)


async def test_a_secret_is_sealed_in_the_queue_and_gone_when_its_job_is_done(
    chat: ChatHarness, jobs: ScriptedJobs, sam: Person
) -> None:
    await chat.presses(sam, "getpaid:lnbits")
    await chat.says(sam, "https://lnbits.example.org")
    await chat.says(sam, KEY)
    (job,) = (one for one in chat.jobs if isinstance(one, ConnectAccount))
    assert exact_json.loads(VAULT.open(job.sealed))["key"] == KEY
    everything = str([chat.rows(table) for table in ("outbox", "drafts", "audit", "sellers")])
    assert KEY not in everything
    await jobs.work(answer(LIGHTNING))
    assert exact_json.loads(jobs.peer.calls[-1].body)["details"]["key"] == KEY
    assert chat.jobs == []
    assert KEY not in str(chat.rows("outbox"))


async def test_a_job_that_was_set_aside_leaves_the_decision_to_the_seller(
    chat: ChatHarness, jobs: ScriptedJobs, sam: Person
) -> None:
    await type_sepa(chat, sam)
    (message,) = jobs.claim()
    chat.db.run(lambda tx: jobs.handler.on_dead_letter(tx, message))
    draft = draft_of(chat, sam)
    assert draft is not None
    assert draft.step == "payname"
    assert t("en", "payout-given-up") in chat.texts[-1]


async def test_removing_an_account_counts_what_it_alone_was_paid_to(
    chat: ChatHarness, jobs: ScriptedJobs, sam: Person
) -> None:
    save(chat, sam, SEPA)
    chat.add_link(sam, told=service_answer())
    await chat.presses(sam, "account:bank-sepa:remove")
    assert "1 payment link can't be paid" in chat.texts[-1]
    await chat.presses(sam, f"account:bank-sepa:remove:{fingerprint(SEPA)}")
    calls = await jobs.work(http_response(200), link(), DOWN)
    assert [call[0] for call in calls[:2]] == ["DELETE", "GET"]
    assert "Removed." in chat.texts[-1]
    assert "1 payment link can't be paid" in chat.texts[-1]
    assert known(chat, sam) == ()


async def test_an_old_remove_button_does_not_remove_the_account_of_today(
    chat: ChatHarness, sam: Person
) -> None:
    save(chat, sam, LIGHTNING)
    await chat.presses(sam, "account:lightning:remove:00000000")
    assert chat.jobs == []
    assert LIGHTNING.label in chat.texts[-1]
    await chat.presses(sam, "account:bank-sepa:remove:00000000")
    assert chat.answers[-1].text == t("en", "toast-payout-gone")
    assert chat.jobs == []


async def test_only_links_that_could_not_be_paid_are_brought_up_to_date(
    chat: ChatHarness, jobs: ScriptedJobs, sam: Person
) -> None:
    """In batches, the newest first, however many there are."""
    chat.add_link(sam, told=service_answer(id="a" * 24))
    unpaid = []
    for number in range(seller_rows.BATCH + 3):
        chat.clock.advance(1)
        told = service_answer(id=f"{number:024x}", is_enabled=False, status=NO_PAYOUT)
        unpaid.append(chat.add_link(sam, COFFEE, told=told).id)
    queue, now, checked = chat.queues.jobs, chat.clock(), []
    body = RefreshPayable(sam.id, unpayable=True)
    chat.db.run(lambda tx: outbox.put(tx, queue, "x", body, now) and None)
    for _ in range(2):
        (message,) = jobs.claim()
        await jobs.handler.perform(message)
        checked += [one.link_id for one in chat.jobs if isinstance(one, CheckRequest)]
        chat.db.run(lambda tx: tx.execute("DELETE FROM outbox WHERE body LIKE '%check%'") and None)
        chat.clock.advance(60)
    assert sorted(checked) == sorted(unpaid)
    assert chat.jobs == []
