"""ASGI middleware of the demo: pages that let nobody frame them let the chat page do it."""

from starlette.types import ASGIApp, Message, Receive, Scope, Send

POLICY = b"content-security-policy"
NOBODY, OURSELVES = b"frame-ancestors 'none'", b"frame-ancestors 'self'"


class AllowOwnFrames:
    """Lets pages of this server show its other pages in frames; other sites still may not.

    The chat page shows pay pages in the browser of a simulated phone. A server without a chat page
    does not use this.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, and widen the policy of its answer."""

        async def widened(message: Message) -> None:
            if message["type"] == "http.response.start":
                message = {**message, "headers": [_widen(*pair) for pair in message["headers"]]}
            await send(message)

        await self._app(scope, receive, widened)


def _widen(name: bytes, value: bytes) -> tuple[bytes, bytes]:
    return name, value.replace(NOBODY, OURSELVES) if name == POLICY else value
