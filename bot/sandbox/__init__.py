"""A Telegram Bot API server with people, chats and a chat page, for the demo and the tests."""
