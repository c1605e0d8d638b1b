"""What a listing took, in two parts: `billions` and `rest` of minor units, see core/sums.py."""

from bot.core import sums

ADDED_UP = """
    UPDATE takings SET {0} = (
        SELECT COALESCE(SUM({1}), 0) FROM received_payments AS paid
        WHERE paid.listing_id = takings.listing_id AND paid.currency = takings.currency
    )
"""

SUMS = (
    "ALTER TABLE takings ADD COLUMN billions BIGINT NOT NULL DEFAULT 0",
    "ALTER TABLE takings ADD COLUMN rest BIGINT NOT NULL DEFAULT 0",
    ADDED_UP.format("billions", sums.BILLIONS),
    ADDED_UP.format("rest", sums.REST),
    "ALTER TABLE takings DROP COLUMN amount",
)
