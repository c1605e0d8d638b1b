"""Bodies of edits: what changes, and what cannot be edited."""

from __future__ import annotations

from decimal import Decimal

import pytest

from bot.service.requests.changes import Edit
from tests.support.wire_bodies import NOW, read_edit, refused


@pytest.mark.parametrize(
    ("text", "edit"),
    [
        ("{}", Edit()),
        ('{"product":{}}', Edit()),
        ('{"product":{"name":"Tea"}}', Edit(name="Tea")),
        ('{"product":{"description":null}}', Edit(description=None)),
        ('{"redirectUrl":null}', Edit(redirect_url=None)),
        ('{"expirationInSeconds":1}', Edit(expires_at=NOW + 1000, paused=True)),
        ('{"expirationInSeconds":null}', Edit(expires_at=None, paused=False)),
        ('{"expirationInSeconds":2}', Edit(expires_at=NOW + 2000, paused=False)),
        ('{"expiresAt":"2027-01-15T08:00:00Z"}', Edit(expires_at=NOW, paused=True)),
        ('{"decreaseRemainingUnits":3}', Edit(decrease=3)),
        ('{"priceBeforeDiscount":1.10}', Edit(price_before_discount=Decimal("1.10"))),
        ('{"notifications":null}', Edit(webhook_url=None, email=None)),
        ('{"notifications":{}}', Edit()),
        ('{"notifications":{"email":null}}', Edit(email=None)),
        ('{"notifications":{"webhook":null}}', Edit(webhook_url=None)),
        (
            '{"notifications":{"webhook":{"webhookUrl":"https://h.example"}}}',
            Edit(webhook_url="https://h.example"),
        ),
        (
            '{"notifications":{"webhook":{"customParameters":{"b":1}}}}',
            Edit(custom_parameters='{"b":1}'),
        ),
        (
            '{"notifications":{"webhook":{"customParameters":null}}}',
            Edit(custom_parameters=None),
        ),
    ],
)
def test_an_edit_has_only_the_fields_of_its_body(text: str, edit: Edit) -> None:
    assert read_edit(text) == edit


@pytest.mark.parametrize(
    ("text", "field"),
    [
        ('{"product":null}', "product"),
        ('{"product":{"name":null}}', "product.name"),
        ('{"receivers":[]}', "receivers"),
        ('{"expirationType":"never"}', "expirationType"),
        ('{"totalUnits":5}', "totalUnits"),
        ('{"enabledAt":"2027-01-15T08:00:00Z"}', "enabledAt"),
        ('{"decreaseRemainingUnits":0}', "decreaseRemainingUnits"),
        ('{"decreaseRemainingUnits":-1}', "decreaseRemainingUnits"),
        ('{"decreaseRemainingUnits":"1"}', "decreaseRemainingUnits"),
        ('{"decreaseRemainingUnits":null}', "decreaseRemainingUnits"),
        (
            '{"notifications":{"webhook":{"webhookUrl":null}}}',
            "notifications.webhook.webhookUrl",
        ),
        ('{"expirationInSeconds":1,"expiresAt":"2027-01-15T08:00:00Z"}', "expiresAt"),
    ],
)
def test_a_field_that_cannot_be_edited_is_named(text: str, field: str) -> None:
    assert list(refused(text, edit=True)) == [field]
