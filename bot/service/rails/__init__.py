"""Rails, one per way to pay, and their code for banks, Lightning, Nostr and exchange rates."""
