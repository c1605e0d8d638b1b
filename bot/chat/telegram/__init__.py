"""The Bot API: updates in, messages out, failures, inline queries, photos, the bot's profile."""
