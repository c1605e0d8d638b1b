"""How payers pay: the rail and exchange rates."""
