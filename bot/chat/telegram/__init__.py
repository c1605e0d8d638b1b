"""The Bot API: updates in, messages out, failures, inline queries, photos, files, the profile."""
