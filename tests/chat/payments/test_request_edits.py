"""Editing at the service: made once, said as it was made, whatever answer is lost."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bot.chat.model.jobs import EditRequest
from bot.chat.store import link_rows, seller_rows
from bot.chat.store.link_rows import DELETED, LIVE, STOPPED, PaymentLink
from bot.core import exact_json
from bot.core.database.database import Transaction
from bot.core.text.translations import t
from bot.sandbox.world.people import Person
from tests.support.chat_harness import DROP, ChatHarness
from tests.support.http_peers import BROKEN, FAILING, HTML, LOST, ServerFailure, busy, http_response
from tests.support.request_jobs import (
    IMAGES,
    PLACE,
    RECEIVER,
    HandCashJobs,
    edited,
    made,
    put,
    puts,
    saved,
)

DAY = 24 * 3600 * 1000


@pytest.fixture
async def link(cloud: HandCashJobs, chat: ChatHarness, sam: Person) -> PaymentLink:
    """Create a drop of five units, and clear its messages."""
    return await made(cloud, chat, sam, replace(DROP, name="Coffee"))


async def test_an_edit_is_sent_stored_and_confirmed(
    cloud: HandCashJobs, link: PaymentLink, chat: ChatHarness
) -> None:
    after = await edited(cloud, link, "description", "Hot & <b>")
    assert after.spec == replace(link.spec, description="Hot & <b>")
    assert cloud.server.only.body["product"]["description"] == "Hot & <b>"
    (text,) = chat.texts
    assert text == saved("description", name="Coffee", value="Hot &amp; &lt;b&gt;")
    assert link.token in cloud.server.only.body["notifications"]["webhook"]["webhookUrl"]


async def test_a_cleared_field_is_stored_and_confirmed(
    cloud: HandCashJobs, link: PaymentLink, chat: ChatHarness
) -> None:
    assert (await edited(cloud, link, "description", None)).spec.description is None
    assert chat.texts[0].endswith(t("en", "cleared-description"))


async def test_a_picture_is_sent_by_its_address_and_kept(
    cloud: HandCashJobs, link: PaymentLink, chat: ChatHarness, sam: Person
) -> None:
    """Without the mark it would be swept with unused pictures."""
    image = chat.db.run(lambda tx: seller_rows.add_image(tx, sam.id, b"jpeg", chat.clock()))
    assert (await edited(cloud, link, "picture", image)).spec.image == image
    assert cloud.server.only.body["product"]["imageUrl"] == f"{IMAGES}/{image}"
    assert [row["kept"] for row in chat.rows("images")] == [1]


async def test_a_replaced_picture_is_released_unless_another_request_uses_it(
    cloud: HandCashJobs, link: PaymentLink, chat: ChatHarness, sam: Person
) -> None:
    def keep(tx: Transaction) -> list[str]:
        made = [seller_rows.add_image(tx, sam.id, b"jpeg", chat.clock()) for _ in range(2)]
        return [each for each in made if seller_rows.keep_image(tx, each, sam.id)]

    own, both = chat.db.run(keep)
    chat.add_link(sam, replace(link.spec, image=both))
    for picture in (own, both, None):
        await edited(cloud, link, "picture", picture)
    kept = {row["id"]: row["kept"] for row in chat.rows("images")}
    assert kept == {own: 0, both: 1}


@pytest.mark.parametrize("call", ["delete-yes", "stop", "look"])
async def test_the_picture_of_a_deleted_request_is_swept_unless_another_uses_it(
    cloud: HandCashJobs, link: PaymentLink, chat: ChatHarness, sam: Person, call: str
) -> None:
    """Its seller deletes it, or the server has it no more; a duplicate request uses it too."""

    def keep(tx: Transaction) -> list[str]:
        made = [seller_rows.add_image(tx, sam.id, b"jpeg", chat.clock()) for _ in range(2)]
        for picture, wanting in zip(made, (link, *others), strict=False):
            seller_rows.keep_image(tx, picture, sam.id)
            link_rows.set_spec(tx, wanting.id, replace(wanting.spec, image=picture))
        link_rows.set_spec(tx, others[1].id, replace(others[1].spec, image=made[1]))
        return made

    others = [await made(cloud, chat, sam, replace(DROP, name=name)) for name in ("Tea", "Cake")]
    own, both = chat.db.run(keep)
    if call != "delete-yes":
        cloud.server.made.clear()
    for gone in (link, others[0]):
        cloud.put(call, gone, **PLACE)
    await cloud.due()
    assert [cloud.state(each) for each in (link, others[0])] == [DELETED] * 2
    chat.clock.advance(2 * seller_rows.IMAGES_KEPT / 1000)
    before = chat.clock() - seller_rows.IMAGES_KEPT
    assert chat.db.run(lambda tx: seller_rows.sweep_images(tx, before)) == 1
    assert [row["id"] for row in chat.rows("images")] == [both] != [own]


async def test_an_edit_is_in_the_audit_log_with_both_values(
    cloud: HandCashJobs, link: PaymentLink, chat: ChatHarness, sam: Person
) -> None:
    await edited(cloud, link, "name", "Tea")
    (line,) = [row for row in chat.rows("audit") if row["action"] == "request.edited"]
    assert (line["actor"], line["subject"]) == (f"seller {sam.id}", link.request_id)
    assert exact_json.loads(line["details"])["name"] == ["Coffee", "Tea"]


async def test_a_list_is_searched_by_the_new_name(
    cloud: HandCashJobs, link: PaymentLink, chat: ChatHarness
) -> None:
    await edited(cloud, link, "name", "Größe")
    assert chat.rows("listings")[0]["folded_name"] == "grösse"


async def test_a_new_end_is_counted_from_its_sending(
    cloud: HandCashJobs, link: PaymentLink, chat: ChatHarness
) -> None:
    end = chat.clock() + DAY
    put(cloud, link, "end", end)
    chat.clock.advance(60)
    await cloud.due()
    assert puts(cloud)[-1] == {"expirationInSeconds": DAY // 1000 - 60}
    assert chat.link(link.id).spec.ends_at == end


@pytest.mark.parametrize("value", [None, DAY])
async def test_a_new_end_resumes_a_stopped_request(
    cloud: HandCashJobs, link: PaymentLink, chat: ChatHarness, value: int | None
) -> None:
    """This server takes no null: a distant end stands for none."""
    cloud.put("stop", link)
    await cloud.due()
    chat.clock.advance(5)
    assert cloud.state(link) == STOPPED
    end = None if value is None else chat.clock() + value
    after = await edited(cloud, link, "end", end)
    assert (after.state, after.spec.ends_at) == (LIVE, end)
    assert cloud.server.only.closed(chat.clock() / 1000) is None


async def test_resuming_restores_the_wished_end(
    cloud: HandCashJobs, link: PaymentLink, chat: ChatHarness
) -> None:
    end = chat.clock() + DAY // 2
    await edited(cloud, link, "end", end)
    for call in ("stop", "resume"):
        cloud.put(call, link)
        await cloud.due()
    assert cloud.server.only.expires_at == pytest.approx(end / 1000, abs=1)
    assert cloud.state(link) == LIVE


async def test_resuming_after_the_end_removes_it(
    cloud: HandCashJobs, link: PaymentLink, chat: ChatHarness
) -> None:
    await edited(cloud, link, "end", chat.clock() + 60_000)
    chat.clock.advance(120)
    cloud.put("resume", link)
    await cloud.due()
    after = chat.link(link.id)
    assert (after.state, after.spec.ends_at) == (LIVE, None)
    assert cloud.server.only.closed(chat.clock() / 1000) is None


async def test_after_a_lost_stop_an_existing_end_does_not_count_as_stopped(
    cloud: HandCashJobs, link: PaymentLink, chat: ChatHarness
) -> None:
    """The request ends soon anyway, so a near end is no proof of a stop."""
    await edited(cloud, link, "end", chat.clock() + 3_600_000)
    cloud.server.fail("PUT", BROKEN)
    cloud.put("stop", link)
    await cloud.due()
    assert cloud.state(link) == LIVE


async def test_a_refused_edit_shows_the_servers_words_and_asks_again(
    cloud: HandCashJobs, link: PaymentLink, chat: ChatHarness
) -> None:
    after = await edited(cloud, link, "name", "S" * 26)
    assert after.spec == link.spec
    assert "25 characters" in chat.texts[0]
    draft = exact_json.loads(chat.rows("drafts")[0]["body"])
    assert (draft["form"], draft["step"], draft["link_id"]) == ("edit", "name", link.id)


@pytest.mark.parametrize(
    "failure", [LOST, ServerFailure(HTML.answer, works=True)], ids=["cut", "html"]
)
async def test_after_a_lost_answer_an_edit_is_found_by_fetching_the_request(
    cloud: HandCashJobs, link: PaymentLink, chat: ChatHarness, failure: ServerFailure
) -> None:
    cloud.server.fail("PUT", failure)
    assert (await edited(cloud, link, "name", "Tea")).spec.name == "Tea"
    assert (chat.texts, len(puts(cloud))) == ([saved("name", name="Tea", value="Tea")], 1)


async def test_an_edit_that_was_not_made_is_not_confirmed(
    cloud: HandCashJobs, link: PaymentLink, chat: ChatHarness
) -> None:
    cloud.server.fail("PUT", BROKEN)
    assert (await edited(cloud, link, "name", "Tea")).spec == link.spec
    assert chat.texts == [t("en", "edit-unchanged", name="Coffee")]


@pytest.mark.parametrize(
    ("failure", "key"), [(FAILING, "service-silent"), (busy(9), "service-not-done")]
)
async def test_an_unknown_outcome_is_not_confirmed(
    cloud: HandCashJobs, link: PaymentLink, chat: ChatHarness, failure: ServerFailure, key: str
) -> None:
    cloud.server.down(failure)
    assert (await edited(cloud, link, "name", "Tea")).spec == link.spec
    assert chat.texts == [t("en", key)]


async def test_an_edit_that_was_cut_short_is_sent_again(
    cloud: HandCashJobs, link: PaymentLink, chat: ChatHarness
) -> None:
    put(cloud, link, "name", "Tea")
    cloud.crash()
    await cloud.due()
    assert chat.link(link.id).spec.name == "Tea"


async def test_a_check_for_cards_notifies_nobody(
    cloud: HandCashJobs, link: PaymentLink, chat: ChatHarness
) -> None:
    """The seller reads neither the result nor a failure; a missing request is marked as deleted."""
    cloud.put("look", link)
    await cloud.due()
    cloud.server.down(FAILING)
    cloud.put("look", link)
    await cloud.due()
    cloud.server.down(None)
    cloud.server.made.clear()
    for _ in range(2):  # the second one finds it deleted here
        cloud.put("look", link)
        await cloud.due()
    assert (chat.said, cloud.state(link)) == ([], DELETED)


REFUSALS = [
    ("invalidBody", "email", "ben@b.example"),
    ("emailUnavailable", "email", "ben@b.example"),
    ("invalidBody", "redirect", "https://b.test/"),
]


@pytest.mark.parametrize("refusal", REFUSALS, ids=" ".join)
async def test_the_answer_after_a_refusal_is_the_new_value(
    cloud: HandCashJobs,
    link: PaymentLink,
    chat: ChatHarness,
    sam: Person,
    refusal: tuple[str, str, str],
) -> None:
    """It also works after `emailUnavailable`: the operator may have fixed that by then."""
    code, field, said = refusal
    cloud.server.fail("PUT", ServerFailure(http_response(400, {"code": code, "message": "No."})))
    await edited(cloud, link, field, "https://a.test/" if field == "redirect" else "a@b.example")
    assert chat.texts[0] == t("en", "service-refused", words="No.")
    chat.clear_messages()
    await chat.says(sam, said)
    assert [(job.field, job.value) for job in chat.jobs if isinstance(job, EditRequest)] == [
        (field, said)
    ]
    await cloud.due()
    assert chat.texts[-1] == saved(field, value=said)


async def test_a_refusal_that_no_other_value_helps_asks_nothing(
    cloud: HandCashJobs, link: PaymentLink, chat: ChatHarness
) -> None:
    refusal = {"code": "notLimited", "message": "No drop."}
    cloud.server.fail("PUT", ServerFailure(http_response(409, refusal)))
    await edited(cloud, link, "name", "Tea")
    assert (chat.texts, chat.rows("drafts")) == (
        [t("en", "service-refused", words="No drop.")],
        [],
    )


async def test_the_webhook_is_sent_along_with_the_mail_address(
    cloud: HandCashJobs, link: PaymentLink
) -> None:
    """This server replaces `notifications` as a whole: without it webhooks would end."""
    await edited(cloud, link, "email", None)
    hook = cloud.server.only.body["notifications"]["webhook"]
    assert hook["webhookUrl"] == f"{RECEIVER}/{link.token}"
    assert hook["customParameters"] == {"listing": link.id}
