"""The application put together: the service, the Telegram side, the demo."""
