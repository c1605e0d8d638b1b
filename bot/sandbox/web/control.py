"""The control API of the chat page and of tests from outside: `/chat/api/…`, JSON both ways.

A refused act answers 400 `{"error": …}`, a wait that came to nothing 504.
"""

from collections.abc import Awaitable, Callable
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from bot.sandbox.bot_api.params import params_of
from bot.sandbox.web import actions, views
from bot.sandbox.world.errors import ApiError, WorldError
from bot.sandbox.world.files import Upload
from bot.sandbox.world.model import Json
from bot.sandbox.world.people import person
from bot.sandbox.world.world import Call, World

Read = Callable[[World, Request], Awaitable[Any]]

POLL_SECONDS = 25.0
_UPLOADS = {"photo": actions.photo, "document": actions.document}
_OWN_PAGES = (None, "same-origin", "none")  # Sec-Fetch-Site; None from clients that are no browser


def routes(world: World) -> list[Route]:
    """List the routes below `/chat/api/`."""
    reads: dict[str, Read] = {"state": _state, "events": _events, "calls": _calls, "mails": _mails}
    listed = [
        Route(f"/chat/api/{name}", _handler(world, read), methods=["GET"])
        for name, read in reads.items()
    ]
    for kind, act in _UPLOADS.items():
        handler = _handler(world, _uploaded(kind, act))
        listed.append(Route(f"/chat/api/{kind}", handler, methods=["POST"]))
    listed.append(Route("/chat/api/{act:str}", _handler(world, _act), methods=["POST"]))
    return listed


def _handler(world: World, answer: Read) -> Callable[[Request], Any]:
    async def handle(request: Request) -> Response:
        if request.headers.get("sec-fetch-site") not in _OWN_PAGES:
            return JSONResponse({"error": "asked from another site"}, 403)
        try:
            return JSONResponse(await answer(world, request), headers={"Cache-Control": "no-store"})
        except TimeoutError as error:
            return JSONResponse({"error": str(error)}, 504)
        except KeyError as error:
            return JSONResponse({"error": f"missing or unknown: {error}"}, 400)
        except (ApiError, WorldError, LookupError, ValueError, TypeError) as error:
            return JSONResponse({"error": str(error)}, 400)

    return handle


async def _state(world: World, request: Request) -> Json:
    user_id = request.query_params.get("user")
    return views.state(world, int(user_id or 0))


async def _events(world: World, request: Request) -> Json:
    """Answer with what happened after `since`, at once or when it does, within 25 seconds."""
    since, user_id = int(request.query_params["since"]), int(request.query_params["user"])
    seconds = float(request.query_params.get("seconds", POLL_SECONDS))
    await world.bell.until(lambda: world.feed.seq != since, min(seconds, POLL_SECONDS))
    return views.events(world, person(world, user_id), since) | {"closed": world.bell.closed}


async def _calls(world: World, request: Request) -> Json:
    methods = request.query_params.getlist("method")

    def chosen(calls: list[Call]) -> list[Json]:
        return [views.call(one) for one in calls if not methods or one.method in methods]

    return {"calls": chosen(world.calls), "refused": chosen(world.refused)}


async def _mails(world: World, _request: Request) -> Json:
    return world.mails.json()


def _uploaded(kind: str, act: Callable[[World, actions.Body, Upload], Json]) -> Read:
    async def take(world: World, request: Request) -> Json:
        params = await params_of(request)
        upload = params.upload(kind)
        if upload is None:
            raise WorldError(f"there is no {kind} in the request")
        return act(world, params.values, upload)

    return take


async def _act(world: World, request: Request) -> Any:
    act = actions.ACTS.get(request.path_params["act"])
    if act is None:
        raise WorldError(f"no such act; there are {', '.join(sorted(actions.ACTS))}")
    params = await params_of(request)
    return await act(world, params.values)
