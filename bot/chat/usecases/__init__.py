"""What the chat does with what a person did: one event, one transaction.

The event's "done" mark, the draft, the calls to be made of the service and the
messages to be sent commit together, so a crash leaves nothing half done.
"""

from bot.chat.usecases.chat import Chat
from bot.chat.usecases.commands import FROM_INLINE

__all__ = ["FROM_INLINE", "Chat"]
