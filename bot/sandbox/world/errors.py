"""What goes wrong, on the bot's side of the sandbox and on the people's side.

ApiError     Telegram's refusal of a bot's call, answered as JSON
WorldError   a person asked for what a Telegram client would not offer
"""

from typing import Any


class ApiError(Exception):
    """A refused Bot API call: HTTP status, Telegram's description, `parameters` if any."""

    def __init__(self, code: int, description: str, **parameters: int) -> None:
        super().__init__(description)
        self.code = code
        self.description = description
        self.parameters = parameters

    def json(self) -> dict[str, Any]:
        """Return the body as Telegram writes it: ok, error_code, description, parameters."""
        body: dict[str, Any] = {
            "ok": False,
            "error_code": self.code,
            "description": self.description,
        }
        return body | ({"parameters": self.parameters} if self.parameters else {})


class WorldError(Exception):
    """A person's action that no Telegram client would let happen; the message says why."""


def bad_request(reason: str, **parameters: int) -> ApiError:
    return ApiError(400, f"Bad Request: {reason}", **parameters)


def forbidden(reason: str) -> ApiError:
    return ApiError(403, f"Forbidden: {reason}")


def conflict(reason: str) -> ApiError:
    return ApiError(409, f"Conflict: {reason}")


def too_many(seconds: int) -> ApiError:
    """Return 429 with the seconds to wait, in the description and in `parameters.retry_after`."""
    return ApiError(429, f"Too Many Requests: retry after {seconds}", retry_after=seconds)
