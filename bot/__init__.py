"""Payment requests by chat: the bot, the payment request service, and a Telegram for tests."""

__version__ = "0.1.0"
