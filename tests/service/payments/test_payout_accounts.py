"""Payout accounts: connected, replaced, removed, kept while somebody may pay; secrets sealed."""

from __future__ import annotations

import ast
import asyncio
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from bot.chat.forms.seller_texts import refusal_text
from bot.core.database.vault import Vault
from bot.core.errors import FieldProblem
from bot.core.ops import audit
from bot.core.text import translations
from bot.interface.vocabulary import BANK, LIGHTNING, DetailError
from bot.service.api import rate_limits
from bot.service.checkouts import checkout, inventory
from bot.service.payments import account_rows, payout_accounts
from bot.service.payments.payout_accounts import Payouts
from bot.service.rails.rail import Rails
from tests.support import source_tree
from tests.support.command_line import run_bot
from tests.support.databases import SQLITE
from tests.support.real_rails import (
    ACCOUNTS_PATH,
    OWNER,
    SECRET,
    TO_ANNA,
    ScriptedRail,
    connect,
    make_bank,
    open_real_service,
)
from tests.support.service_harness import (
    KEY,
    NOON_ISO,
    ServiceHarness,
    headers_of,
    refusal_code,
    refused_fields,
)


@pytest.fixture
def rail() -> ScriptedRail:
    return ScriptedRail()


@pytest.fixture
async def real(database_url: str, rail: ScriptedRail) -> AsyncIterator[ServiceHarness]:
    async with open_real_service(database_url, make_bank(), rail) as service:
        yield service


async def listed(service: ServiceHarness, owner: str = OWNER) -> list[dict[str, Any]]:
    answer = await service.seller.get(ACCOUNTS_PATH, params={"owner": owner})
    assert answer.status_code == 200, answer.text
    items: list[dict[str, Any]] = answer.json()["items"]
    return items


async def test_an_account_is_answered_without_its_details(real: ServiceHarness) -> None:
    answer = await connect(real)
    account = answer.json()
    assert account == {
        "id": account["id"],
        "owner": OWNER,
        "kind": LIGHTNING,
        "automatic": True,
        "currency": "SAT",
        "currencies": ["SAT"],
        "label": "Ann…",
        "createdAt": NOON_ISO,
    }
    assert await listed(real) == [account]
    bank = (await connect(real, BANK, name="Anna Ott", scheme="sepa")).json()
    assert (bank["scheme"], bank["automatic"], bank["currency"]) == ("sepa", False, "EUR")


async def test_a_dry_run_answers_what_it_found_and_stores_nothing(
    real: ServiceHarness, rail: ScriptedRail
) -> None:
    body = {"owner": OWNER, "kind": LIGHTNING, "details": {"name": "Anna"}, "dryRun": True}
    answer = await real.seller.post(ACCOUNTS_PATH, json=body)
    assert answer.json() == {
        "owner": OWNER,
        "kind": LIGHTNING,
        "automatic": True,
        "currency": "SAT",
        "currencies": ["SAT"],
        "label": "Ann…",
    }
    assert (await listed(real), rail.probes) == ([], 1)
    refused = await real.seller.post(ACCOUNTS_PATH, json=body | {"details": {}})
    assert refused_fields(refused) == ["details.name"]


async def test_another_owner_and_another_application_see_nothing_of_it(
    real: ServiceHarness,
) -> None:
    made = (await connect(real)).json()
    assert await listed(real, "bert") == []
    real.seller.headers.update(real.stranger())
    assert await listed(real) == []
    gone = await real.seller.delete(f"{ACCOUNTS_PATH}/{made['id']}")
    assert refusal_code(gone) == (404, "notFound")
    real.seller.headers.update(headers_of(real.credentials))
    assert len(await listed(real)) == 1


async def test_posting_again_replaces_the_account_of_this_way_and_keeps_its_place(
    real: ServiceHarness,
) -> None:
    first = (await connect(real)).json()
    real.clock.advance(1)
    await connect(real, BANK, name="Anna Ott", scheme="sepa")
    real.clock.advance(60)
    second = (await connect(real, name="Bea", key="another")).json()
    assert second["id"] != first["id"]
    assert [(one["kind"], one["label"]) for one in await listed(real)] == [
        (LIGHTNING, "Bea…"),
        (BANK, "Ann…"),
    ]


async def test_each_scheme_of_banks_is_a_way_of_its_own(real: ServiceHarness) -> None:
    for scheme in ("sepa", "pix", "sepa"):
        real.clock.advance(1)
        await connect(real, BANK, name=f"{scheme} of Anna", scheme=scheme)
    assert [one["scheme"] for one in await listed(real)] == ["sepa", "pix"]


async def test_the_same_details_again_change_nothing(
    real: ServiceHarness, rail: ScriptedRail
) -> None:
    first, again = await connect(real), await connect(real)
    assert first.json() == again.json()
    assert rail.probes == 2
    assert len(await real.rows("payout_accounts")) == 1
    assert len([row for row in await real.rows("audit") if "payout" in row["action"]]) == 1


async def test_two_posts_of_one_way_at_once_leave_one_account(
    real: ServiceHarness, rail: ScriptedRail
) -> None:
    rail.gate = asyncio.Event()
    both = asyncio.gather(connect(real, name="Anna"), connect(real, name="Bea"))
    await rail.begun.acquire()
    await rail.begun.acquire()
    rail.gate.set()
    answers = await both
    assert [one.status_code for one in answers] == [200, 200]
    assert len(await listed(real)) == 1
    live = [row for row in await real.rows("payout_accounts") if row["retired_at"] is None]
    assert len(live) == 1


async def test_a_removed_account_is_gone_and_cannot_be_removed_again(real: ServiceHarness) -> None:
    made = (await connect(real)).json()
    gone = await real.seller.delete(f"{ACCOUNTS_PATH}/{made['id']}")
    assert (gone.status_code, gone.content) == (200, b"")
    assert await listed(real) == []
    again = await real.seller.delete(f"{ACCOUNTS_PATH}/{made['id']}")
    assert refusal_code(again) == (404, "notFound")


async def test_a_wrong_body_names_the_field_and_stores_nothing(real: ServiceHarness) -> None:
    for body, field in (
        ({"owner": "a b", "kind": LIGHTNING, "details": {"name": "A"}}, "owner"),
        ({"owner": "a" * 65, "kind": LIGHTNING, "details": {"name": "A"}}, "owner"),
        ({"kind": LIGHTNING, "details": {"name": "A"}}, "owner"),
        ({"owner": OWNER, "kind": "nwc", "details": {"name": "A"}}, "kind"),
        ({"owner": OWNER, "kind": "sandbox", "details": {"name": "A"}}, "kind"),
        ({"owner": OWNER, "kind": LIGHTNING, "details": "A"}, "details"),
        ({"owner": OWNER, "kind": LIGHTNING, "details": {}}, "details.name"),
        ({"owner": OWNER, "kind": LIGHTNING, "details": {"name": "A"}, "more": 1}, "more"),
    ):
        answer = await real.seller.post(ACCOUNTS_PATH, json=body)
        assert refusal_code(answer) == (400, "invalidBody"), body
        assert refused_fields(answer) == [field], body
        assert "pattern" not in answer.text, body
        assert await real.rows("payout_accounts") == [], body


async def test_the_list_needs_an_owner(real: ServiceHarness) -> None:
    for owner in (
        None,
        "",
        "a b",
    ):
        params = {} if owner is None else {"owner": owner}
        answer = await real.seller.get(ACCOUNTS_PATH, params=params)
        assert (refusal_code(answer), refused_fields(answer)) == (
            (400, "invalidBody"),
            ["owner"],
        ), owner


async def test_with_test_money_all_calls_say_why_there_are_no_accounts(
    service: ServiceHarness,
) -> None:
    calls = [
        await service.seller.get(ACCOUNTS_PATH, params={"owner": OWNER}),
        await connect(service),
        await service.seller.post(ACCOUNTS_PATH, json={}),
        await service.seller.delete(f"{ACCOUNTS_PATH}/{'0' * 24}"),
    ]
    for answer in calls:
        assert refusal_code(answer) == (400, "invalidBody")
        assert answer.json()["message"] == payout_accounts.TEST_MONEY


async def test_a_probe_that_takes_too_long_is_given_up(
    real: ServiceHarness, rail: ScriptedRail, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(payout_accounts, "PROBE_SECONDS", 0)
    rail.gate = asyncio.Event()
    answer = await connect(real)
    assert (refusal_code(answer), refused_fields(answer)) == ((400, "invalidBody"), ["details"])
    assert await real.rows("payout_accounts") == []


async def test_an_application_runs_a_bounded_number_of_probes_at_once(
    real: ServiceHarness, rail: ScriptedRail
) -> None:
    rail.gate = asyncio.Event()
    running = [
        asyncio.ensure_future(connect(real, owner=f"o{number}"))
        for number in range(payout_accounts.PROBES)
    ]
    for _ in running:
        await rail.begun.acquire()
    answer = await connect(real)
    assert refusal_code(answer) == (429, "rateLimited")
    assert rail.probes == payout_accounts.PROBES
    rail.gate.set()
    assert {one.status_code for one in await asyncio.gather(*running)} == {200}
    assert (await connect(real)).status_code == 200


async def test_an_owner_connects_a_bounded_number_of_wallets_a_minute(
    real: ServiceHarness,
) -> None:
    """Another owner is not held up, nor a bank account, for which nobody is asked."""
    for _ in range(rate_limits.PROBES_OF_OWNER.count):
        assert (await connect(real)).status_code == 200
    answer = await connect(real)
    assert refusal_code(answer) == (429, "rateLimited")
    assert int(answer.headers["Retry-After"]) > 0
    assert (await connect(real, owner="bert")).status_code == 200
    assert (await connect(real, BANK)).status_code == 200


async def test_the_audit_log_has_each_change_with_the_label_alone(real: ServiceHarness) -> None:
    first = (await connect(real)).json()
    second = (await connect(real, name="Bea", key=SECRET)).json()
    await real.seller.delete(f"{ACCOUNTS_PATH}/{second['id']}")
    lines = await real.db.read(lambda tx: audit.read(tx, 3))
    said = {"kind": LIGHTNING, "owner": OWNER}
    actor = audit.app(real.credentials.app_id)
    assert [(one.actor, one.action, one.subject, one.details) for one in reversed(lines)] == [
        (actor, "payout.connected", first["id"], said | {"label": "Ann…"}),
        (actor, "payout.replaced", second["id"], said | {"label": "Bea…"}),
        (actor, "payout.removed", second["id"], said | {"label": "Bea…"}),
    ]


@pytest.mark.only(SQLITE, "a file")
async def test_the_secret_is_sealed_wherever_it_is_stored(
    real: ServiceHarness, tmp_path: Path
) -> None:
    answer = await connect(real)
    texts = [answer.text, str(await listed(real)), str(await real.rows("audit"))]
    assert not [text for text in texts if SECRET in text]
    files = await asyncio.to_thread(
        lambda: [path.read_bytes() for path in tmp_path.glob("bot.db*")]
    )
    assert files
    assert not [data for data in files if SECRET.encode() in data]
    (row,) = await real.rows("payout_accounts")
    assert SECRET in Vault(KEY).open(row["details"])


async def test_no_command_and_no_log_shows_the_secret(
    real: ServiceHarness, database_url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    account = (await connect(real)).json()
    made = await real.create(receivers=TO_ANNA, instrumentCurrencyCode="SAT")
    await real.pay(made["id"])
    await real.seller.delete(f"{ACCOUNTS_PATH}/{account['id']}")
    commands = (
        ("export", "payments"), ("export", "requests", "--format", "json"),
        ("export", "sellers"), ("audit", "--json"), ("deliveries", "list", "--json"),
        ("apps", "list"),
    )  # fmt: skip
    given = {"DATABASE_URL": database_url, "SECRET_KEY": KEY}
    for command in commands:
        done = await asyncio.to_thread(run_bot, *command, env=given)
        assert done.exit_code == 0, (command, done.stderr)
        assert SECRET not in done.stdout + done.stderr
    assert SECRET not in "".join(capsys.readouterr())


async def test_the_rail_gets_the_details_back_as_it_gave_them(
    real: ServiceHarness, rail: ScriptedRail
) -> None:
    await connect(real)
    (account,) = real.db.run(lambda tx: account_rows.ways(tx, real.credentials.app_id, OWNER))
    keeper = Payouts(real.db, Vault(KEY), Rails(rail), real.clock)
    assert keeper.details_of(account) == {"name": "Anna", "key": SECRET}


async def test_a_kind_that_is_no_longer_offered_is_listed_but_no_way_to_pay(
    real: ServiceHarness,
) -> None:
    await connect(real)
    real.db.run(lambda tx: account_rows.write_offered(tx, [BANK]))
    app_id = real.credentials.app_id
    assert real.db.run(lambda tx: account_rows.ways(tx, app_id, OWNER)) == []
    assert len(await listed(real)) == 1


WORDS = "words of the service"


def _raised() -> set[str]:
    return {
        node.attr
        for _, node in source_tree.nodes(ast.Attribute, source_tree.room("service"))
        if ast.unparse(node.value).endswith("DetailError")
    }


def test_every_code_is_raised_and_no_other() -> None:
    assert _raised() == {wrong.name for wrong in DetailError}


def test_no_rail_refuses_details_without_a_code() -> None:
    bare = [
        f"{path.name}:{node.lineno}"
        for path, node in source_tree.nodes(ast.Call, source_tree.room("service/rails"))
        if ast.unparse(node.func).endswith("FieldProblem")
        and len(node.args) + len(node.keywords) < len(FieldProblem.__match_args__)
    ]
    assert not bare


def test_the_chat_has_a_text_for_every_code_in_every_language() -> None:
    for language in translations.languages():
        texts = {
            wrong: refusal_text(FieldProblem("details", WORDS, wrong), language)
            for wrong in DetailError
        }
        assert len(set(texts.values())) == len(DetailError)
        assert [wrong for wrong, text in texts.items() if WORDS in text] == [DetailError.HOST_SAYS]


def test_a_code_that_the_chat_does_not_know_leaves_the_services_words() -> None:
    for code in (None, "", "new", "x\ny"):
        told = refusal_text(FieldProblem("details", "<b>No.", code), "en")
        assert told == "⚠ That didn't work: &lt;b&gt;No."


async def labels(service: ServiceHarness) -> list[str]:
    rows = await service.rows("payout_accounts ORDER BY created_at")
    return [row["label"] for row in rows]


async def sweep(service: ServiceHarness) -> int:
    now = service.clock()
    await service.db.transaction(partial(inventory.close_lapsed, now=now, most=9))
    return await service.db.transaction(partial(payout_accounts.sweep, now=now, most=9))


async def connect_anew(service: ServiceHarness, kind: str = LIGHTNING) -> None:
    service.clock.advance(1)
    await connect(service, kind, name="Bea")


async def test_an_account_that_nobody_pays_to_goes_at_once(real: ServiceHarness) -> None:
    await connect(real)
    await connect_anew(real)
    assert await labels(real) == ["Bea…"]
    (account,) = await real.rows("payout_accounts")
    await real.seller.delete(f"{ACCOUNTS_PATH}/{account['id']}")
    assert await labels(real) == []


@pytest.mark.parametrize("kind", [BANK, LIGHTNING])
async def test_an_account_stays_while_a_checkout_holds_a_unit(
    real: ServiceHarness, kind: str
) -> None:
    await connect(real, kind)
    made = await real.create(receivers=TO_ANNA, instrumentCurrencyCode="EUR")
    assert (await real.pay(made["id"])).status_code == 303
    await connect_anew(real, kind)
    assert await labels(real) == ["Ann…", "Bea…"]
    assert await sweep(real) == 0
    real.clock.advance(900)
    assert await sweep(real) == 1
    assert await labels(real) == ["Bea…"]


async def test_an_account_stays_until_the_last_look_at_its_invoices(real: ServiceHarness) -> None:
    await connect(real)
    made = await real.create(receivers=TO_ANNA, instrumentCurrencyCode="EUR")
    await real.pay(made["id"])
    end = real.clock() + 900_000
    await real.db.transaction(
        lambda tx: tx.execute(
            "UPDATE checkouts SET state = 'open', expires_at = :end, looked_at = 1", end=end
        )
    )
    await connect_anew(real)
    real.clock.at = end + checkout.LAST - 1
    assert await sweep(real) == 0
    real.clock.at += 1
    assert await sweep(real) == 1
    assert await labels(real) == ["Bea…"]
    assert [row["state"] for row in await real.rows("checkouts")] == ["lapsed"]
