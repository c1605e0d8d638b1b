"""The seller over the interface: created, edited, cleared, shown; the application's own."""

from __future__ import annotations

from typing import Any

from bot.service.requests import applications
from bot.service.requests.changes import SellerEdit
from tests.support.service_harness import REQUESTS_PATH, ServiceHarness, refused_fields

ANNA: dict[str, Any] = {
    "name": "Anna",
    "imageUrl": "https://i.example/anna.png",
    "contact": "@anna_bakes",
    "accentColor": "teal",
    "description": "Bread since 1987",
}


async def public(service: ServiceHarness, request_id: str) -> dict[str, Any]:
    found: dict[str, Any] = (
        await service.anyone.get(f"{REQUESTS_PATH}/public/{request_id}")
    ).json()
    return found


async def listed(service: ServiceHarness) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = (await service.seller.get(REQUESTS_PATH)).json()["items"]
    return items


async def describe(service: ServiceHarness, change: SellerEdit | None) -> None:
    app_id = service.credentials.app_id
    await service.db.transaction(
        lambda tx: applications.change_seller(tx, app_id, change, service.clock())
    )


async def test_every_answer_shows_the_seller_that_was_given(service: ServiceHarness) -> None:
    made = await service.create(seller=ANNA)
    assert made["seller"] == ANNA
    assert (await service.get(made["id"]))["seller"] == ANNA
    assert [one["seller"] for one in await listed(service)] == [ANNA]
    assert (await public(service, made["id"]))["seller"] == ANNA


async def test_without_a_seller_no_answer_has_the_field(service: ServiceHarness) -> None:
    made = await service.create()
    every = [made, await service.get(made["id"]), *await listed(service)]
    every += [await public(service, made["id"]), (await service.edit(made["id"], {})).json()]
    assert not [one for one in every if "seller" in one]


async def test_an_edit_keeps_what_it_does_not_name(service: ServiceHarness) -> None:
    for change, left in (
        ({}, ANNA),
        ({"seller": {}}, ANNA),
        ({"seller": {"name": "Ben"}}, ANNA | {"name": "Ben"}),
        ({"seller": {"contact": "ben@example.org"}}, ANNA | {"contact": "ben@example.org"}),
        ({"seller": {"accentColor": "red"}}, ANNA | {"accentColor": "red"}),
        (
            {"seller": {"imageUrl": None, "contact": None, "accentColor": None}},
            {"name": "Anna", "description": "Bread since 1987"},
        ),
        ({"seller": {"description": None}}, {k: v for k, v in ANNA.items() if k != "description"}),
        ({"seller": None}, None),
    ):
        made = await service.create(seller=ANNA)
        edited = await service.edit(made["id"], change)
        assert (edited.status_code, edited.json().get("seller")) == (200, left), change
        assert (await public(service, made["id"])).get("seller") == left, change


async def test_a_first_seller_needs_its_name(service: ServiceHarness) -> None:
    made = await service.create()
    for seller in ({}, {"contact": "@anna_bakes"}):
        refused = await service.edit(made["id"], {"seller": seller, "product": {"name": "Tea"}})
        assert (refused.status_code, refused_fields(refused)) == (400, ["seller.name"])
    assert (await service.get(made["id"]))["product"] == {"name": "Coffee"}
    assert (await service.edit(made["id"], {"seller": {"name": "Anna"}})).json()["seller"] == {
        "name": "Anna"
    }


async def test_a_wrong_field_is_named_and_nothing_changes(service: ServiceHarness) -> None:
    made = await service.create(seller=ANNA)
    refused = await service.edit(made["id"], {"seller": {"name": "Ben", "contact": "ben"}})
    assert (refused.status_code, refused_fields(refused)) == (400, ["seller.contact"])
    assert (await service.get(made["id"]))["seller"] == ANNA


async def test_the_applications_seller_stands_in_where_a_request_names_none(
    service: ServiceHarness,
) -> None:
    """Payers see it; the application's own answers show what it gave."""
    bare, own = await service.create(), await service.create(seller=ANNA)
    await describe(service, SellerEdit(name="The shop", accent="red"))
    assert (await public(service, bare["id"]))["seller"] == {
        "name": "The shop",
        "accentColor": "red",
    }
    assert (await public(service, own["id"]))["seller"] == ANNA
    assert "seller" not in await service.get(bare["id"])
    await service.edit(own["id"], {"seller": None})
    assert (await public(service, own["id"]))["seller"]["name"] == "The shop"
    await describe(service, None)
    assert "seller" not in await public(service, own["id"])


async def test_the_audit_log_says_that_the_seller_changed_but_not_to_whom(
    service: ServiceHarness,
) -> None:
    made = await service.create(seller=ANNA)
    await service.edit(made["id"], {"seller": {"name": "Ben"}})
    await describe(service, SellerEdit(name="The shop"))
    await describe(service, SellerEdit(name="The shop"))
    lines = [(row["action"], row["details"]) for row in await service.rows("audit")]
    assert lines[-2:] == [
        ("request.edited", '{"seller":"changed"}'),
        ("app.seller_changed", '{"changed":["name"]}'),
    ]
    assert not [details for _, details in lines if "Anna" in details or "Ben" in details]
