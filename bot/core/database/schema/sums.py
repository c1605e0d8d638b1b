"""What a listing took: `billions` and `rest` of minor units (core/database/big_sums.py)."""

from bot.core.database import big_sums

ADDED_UP = """
    UPDATE takings SET {0} = (
        SELECT COALESCE(SUM({1}), 0) FROM received_payments AS paid
        WHERE paid.listing_id = takings.listing_id AND paid.currency = takings.currency
    )
"""

SUMS = (
    "ALTER TABLE takings ADD COLUMN billions BIGINT NOT NULL DEFAULT 0",
    "ALTER TABLE takings ADD COLUMN rest BIGINT NOT NULL DEFAULT 0",
    ADDED_UP.format("billions", big_sums.BILLIONS),
    ADDED_UP.format("rest", big_sums.REST),
    "ALTER TABLE takings DROP COLUMN amount",
)
