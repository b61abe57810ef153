"""What a token provider raises when it has no token to give."""

from __future__ import annotations

from typing import Any, Literal

from snodo_actors.words.errors import Delivery, TransportError

Step = Literal[
    "fetch",  # a request to a metadata document or an authorization server
    "discovery",  # which authorization server, and what it can do
    "registration",  # who we are there
    "user",  # the browser, and who sits in front of it
    "authorization",  # what the authorization server answered the user
    "token",  # a token for a code, an assertion or credentials
    "refresh",  # a token for a refresh token
    "step_up",  # more scopes
    "store",  # where tokens are kept
]


class AuthorizationError(TransportError):
    """No token could be had; no text or attribute of it shows a secret.

    Attributes:
        step: Where it failed.
        error: The error code of the authorization server, such as ``invalid_grant``, or None.
        error_description: The server's words for it, or None.
    """

    def __init__(
        self,
        step: Step,
        message: str,
        *,
        error: str | None = None,
        error_description: str | None = None,
        cause: Any = None,
        delivery: Delivery = "never_sent",
    ) -> None:
        super().__init__(
            -32000,
            message,
            kind="authorization",
            cause=("authorization", step, error) if cause is None else cause,
            delivery=delivery,
        )
        self.step: Step = step
        self.error = error
        self.error_description = error_description
