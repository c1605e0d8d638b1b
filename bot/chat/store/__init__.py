"""SQL of the chat, one module per concept; how updates are stored."""
