"""How payers pay, a file a rail; what rails need of banks, Lightning, Nostr and exchange rates."""
