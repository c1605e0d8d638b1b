"""How often in a row the attempts of a message were ended by the end of who made them."""

CRASHES = ("ALTER TABLE outbox ADD COLUMN crashes INTEGER NOT NULL DEFAULT 0",)
