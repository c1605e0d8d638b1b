"""The simulated Telegram: people, chats, messages, files, limits."""
