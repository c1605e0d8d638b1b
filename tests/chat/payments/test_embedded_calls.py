"""Our own service understands every call of the client, over a socket and within the process."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import pytest

from bot.chat.payments.client import Client
from bot.core import errors
from bot.core.database.database import Database
from bot.core.database.vault import Vault
from bot.core.net.http_client import app_client
from bot.service.app import create_app
from bot.service.requests import applications
from tests.support.asgi_server import serve_asgi
from tests.support.service_harness import LOOPBACK, NEW, NOON, Clock, make_service


async def with_service(
    db: Database, clock: Clock, act: Callable[[Client], Awaitable[None]], *, inside: bool
) -> None:
    """Run a function with a client of our own service."""
    vault = Vault("key")
    made = db.run(lambda tx: applications.create(tx, vault, "bot", clock()))
    service = make_service(db, clock, "http://pay.test", allow=LOOPBACK)
    app = create_app(service)
    if inside:
        http = app_client(app)
        await act(Client("http://bot.internal", made.app_id, made.app_secret, http=http))
        return
    async with serve_asgi(app) as root:
        client = Client(root, made.app_id, made.app_secret)
        await act(client)
        await client.close()


@pytest.mark.parametrize("inside", [True, False])
async def test_our_own_service_understands_every_call(
    db: Database, clock: Clock, *, inside: bool
) -> None:
    webhook = {"webhookUrl": "http://127.0.0.1/x", "customParameters": {"listing": "abc"}}
    body = NEW | {"notifications": {"webhook": webhook}}

    async def act(client: Client) -> None:
        made = await client.create(body, "abc")
        assert await client.create(body, "abc") == made
        assert (made.link_id, made.is_enabled) == ("abc", True)
        assert (await client.get(made.id), await client.find_by_link("abc", NOON)) == (
            made,
            [made],
        )
        assert await client.find_by_link("other", NOON) == []
        await client.pause(made.id)
        clock.advance(1)
        assert (await client.get(made.id)).is_enabled is False
        await client.resume(made.id, None)
        assert (await client.get(made.id)).is_enabled is True
        await client.delete(made.id)
        await client.delete(made.id)
        with pytest.raises(errors.NotFound):
            await client.get(made.id)

    await with_service(db, clock, act, inside=inside)
