"""A table that refuses rows, as a crash in the middle of a transaction would end it."""

from __future__ import annotations

from bot.core.database.database import Database

REASON = "the power is gone"
FUNCTION = f"""
    CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN RAISE EXCEPTION '{REASON}' USING ERRCODE = 'integrity_constraint_violation'; END $$
"""
ACTIONS = {
    "sqlite": f"BEGIN SELECT RAISE(ABORT, '{REASON}'); END",
    "postgresql": "EXECUTE FUNCTION refuse()",
}


def refuse_rows(db: Database, table: str, condition: str = "1 = 1") -> None:
    """Make each INSERT fail whose row (`NEW`) fulfils the condition."""
    each_row = "FOR EACH ROW" if db.engine == "postgresql" else ""
    if db.engine == "postgresql":
        db.run(lambda tx: tx.execute(FUNCTION))
    trigger = f"CREATE TRIGGER refuse BEFORE INSERT ON {table} {each_row} WHEN ({condition})"
    db.run(lambda tx: tx.execute(f"{trigger} {ACTIONS[db.engine]}"))


def accept_rows(db: Database, table: str) -> None:
    on_table = f" ON {table}" if db.engine == "postgresql" else ""
    db.run(lambda tx: tx.execute(f"DROP TRIGGER refuse{on_table}"))
