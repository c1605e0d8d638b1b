"""Nostr Wallet Connect (NIP-47): keys, events, encryption, relays, and calls of a wallet."""
