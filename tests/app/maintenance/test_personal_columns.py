"""Every column of the schema that can hold words is erased, or is known to hold nobody's data."""

from __future__ import annotations

import pytest

from bot.app.maintenance import payer_erasure, personal_data
from bot.core import erasure
from bot.core.database import database, migrations
from bot.core.database.database import Database
from bot.core.database.postgres import copying

OTHERS = {
    # Ids, states, settings, and what sellers or their applications wrote about goods and places.
    "apps": "id name secret_hash webhook_secret former_secret_hash former_webhook_secret",
    "payment_requests": "id app_id owner name description long_description image_url"
    " instrument_currency denomination_currency receivers requested_user_data redirect_url"
    " webhook_url custom_parameters payout webhook_events amount_choice thanks keep_url shop"
    " delivery delivery_text delivery_file expiration_type stage",
    "offered_rails": "kind",
    "exchange_rates": "source currency price",
    # The keyed hashes of a network, and the random id of a cookie, go when they stop counting.
    "checkouts": "id request_id token state quote network payer site language kind way account_id"
    " host external_id reference failure lie",
    "payments": "id request_id checkout_id rail external_id state currency receivers"
    " instrument_currency instrument_shares rate rate_source",
    "idempotency": "app_id key_digest call_digest made",
    "deliveries": "id app_id request_id payment_id checkout_id channel recipient_id letter",
    "delivery_attempts": "delivery_id",
    # A digest, by which it stays known that a mailbox wants no letters.
    "unsubscribed": "app_id owner mailbox",
    "files": "id app_id owner name media_type",
    "file_parts": "file_id data",
    "former_deliveries": "request_id delivery delivery_text delivery_file",
    "codes": "request_id code",
    "sellers": "language destination currency zone prices quiet album",
    "seller_accounts": "id kind scheme currencies",
    "listings": "id token state wish folded_name request_id answer alerts poster_text file_id"
    " file_key",
    "received_payments": "request_id transaction_id listing_id currency number number_reversed"
    " paid_by checkout_id reference",
    "claims": "id checkout_id request_id listing_id kind currency reference folded state",
    "claim_digests": "listing_id sending editing",
    "sightings": "listing_id",
    "payment_gaps": "listing_id",
    "paid_doubles": "request_id listing_id",
    "takings": "listing_id currency",
    "posts": "id listing_id lane picture shown menu waiting refused",
    "shown_texts": "lane text_key",
    "sent_alerts": "lane",
    "images": "id",
    "dialects": "server name",
    "seller_refusals": "server",
    "unchecked_prices": "server",
    "outbox": "id queue subject state lease",
    "lanes": "queue paused waits_for",
    "kept_secrets": "name sealed",
    "audit": "id actor action subject",
}
"""Columns that erasure leaves alone."""


def test_every_column_of_text_is_erased_or_holds_nobodys_data() -> None:
    """A new column belongs in personal_data.py, or in the list above."""
    schema = copying.read_tables(len(migrations.MIGRATIONS))
    every = {
        (table.name, column.name)
        for table in schema
        for column in table.columns
        if column.type in {"TEXT", "BYTEA"}
    }
    others = {(table, column) for table, columns in OTHERS.items() for column in columns.split()}
    elsewhere = personal_data.CHANGED_WITH_THEM
    erased = {(table, column) for table, columns in elsewhere.items() for column in columns}
    for row in personal_data.TABLES:
        erased |= {(row.name, column) for column in row.erased}
        if row.is_deleted:
            erased |= {one for one in every if one[0] == row.name}
    assert every - erased - others == set()
    assert others - every == set()
    assert erased & others == set()


@pytest.mark.parametrize("table", personal_data.TABLES, ids=lambda table: table.name)
async def test_no_row_is_found_in_an_empty_database(
    db: Database, table: personal_data.PersonalTable
) -> None:
    """Each statement fits the schema, whether SQL narrows it or not."""
    people = (None, frozenset({"anna@mail.example"}))
    scopes = [erasure.Scope(some, ids=frozenset({"t1"})) for some in people]
    for scope in scopes:
        condition, given = table.condition(scope)
        pages = database.read_pages(db, f"{table.select} AND {condition}", table.keys, **given)
        assert [page async for page in pages] == []
        assert (await payer_erasure.survey(db, scope)).rows == 0


def test_all_tables_with_erased_columns_are_vacuumed() -> None:
    """PostgreSQL keeps the erased bytes of any other table, such as those of pictures."""
    erased = {row.name for row in personal_data.TABLES}
    assert {*payer_erasure.TOUCHED} == erased | {*personal_data.CHANGED_WITH_THEM}
    assert {"images", "drafts", "lanes", "delivery_attempts"} <= {*payer_erasure.TOUCHED}
