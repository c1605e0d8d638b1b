"""Shared code below the service and the chat, which it never imports."""
