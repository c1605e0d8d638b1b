"""The Bot API: intake of updates, sender, transport, errors, profile, inline, photos."""
