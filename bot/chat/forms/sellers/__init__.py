"""What the forms about sellers themselves say: their payout accounts and their profile; pure."""
