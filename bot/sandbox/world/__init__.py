"""The pretended Telegram: people, chats, messages, files, limits."""
