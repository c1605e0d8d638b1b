"""Webhooks to the bot's own receiver, in a queue of their own: not every process can reach it."""

OWN_WEBHOOKS = tuple(
    f"UPDATE {table} SET queue = 'own_webhooks'"  # noqa: S608 - our own names
    " WHERE queue = 'webhooks' AND lane LIKE 'bot.internal/%'"
    for table in ("outbox", "lanes")
)
