"""The demo alone lets its chat page frame pay pages."""

from __future__ import annotations

from bot.sandbox.web.server import AllowOwnFrames
from bot.service.pages.app import create_app
from tests.support.service_harness import ServiceHarness, client, make_service


async def test_only_pages_of_the_same_server_may_frame_the_demos_pages(
    service: ServiceHarness,
) -> None:
    made = await service.create()
    demo = AllowOwnFrames(create_app(make_service(service.db, service.clock)))
    async with client(demo) as visitor:
        for path in (f"/pay/{made['id']}", "/pay/nothing", "/"):
            as_run, as_demo = await service.anyone.get(path), await visitor.get(path)
            rules = as_run.headers["content-security-policy"]
            assert rules.endswith("frame-ancestors 'none'")
            widened = rules.replace("frame-ancestors 'none'", "frame-ancestors 'self'")
            assert as_demo.headers["content-security-policy"] == widened
            assert as_demo.status_code == as_run.status_code
