"""Jobs about sellers themselves: their payout accounts and their profile."""
