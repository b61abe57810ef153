"""What the messages of one connection show for a token, and who hears of the answers.

The hooks of the user's provider are called here, on the way of each message, so they have to be
quick. No text of an error has a token, or what was made of one.
"""

from __future__ import annotations

import logging
import traceback
from typing import Final

from snodo_actors.machines.authorization import Guard
from snodo_actors.wire.headers import (
    Fields,
    authorization_fields,
    decode_fields,
    provider_fields,
)
from snodo_actors.wire.http1 import Head
from snodo_actors.words.errors import Error
from snodo_actors.words.lost import invalid_authorization, provider_failed
from snodo_actors.words.token_provider import TokenProvider

_log: Final = logging.getLogger("snodo_actors.http")


class Authorization:
    """The hooks of one connection's provider, if it has any."""

    __slots__ = ("_answered", "_authorize", "_url", "_who", "guard")

    def __init__(self, provider: TokenProvider | None, url: str, who: str) -> None:
        self._url = url
        self._who = who
        self._authorize = authorize = None if provider is None else provider.authorize
        self._answered = answered = None if provider is None else provider.answered
        self.guard: Guard | None = None
        """What answers are judged by; None without a provider."""
        if provider is not None:
            has_both = authorize is not None and answered is not None
            self.guard = Guard(provider.scheme, nonces=has_both, tells=answered is not None)

    def fields(self, token: str, method: str) -> Fields:
        """Make what a message sent by *method* shows for its *token*.

        Raises:
            Error: The provider gave no such thing.
        """
        authorize = self._authorize
        if authorize is None:
            return authorization_fields(token)
        try:
            fields = provider_fields(authorize(token, self._request(method)))
        except Error:
            raise
        except Exception as error:  # noqa: BLE001  # the user's code: whoever sends is told
            failure = provider_failed(error, token)
        else:
            if fields is not None:
                return fields
            failure = invalid_authorization()
        raise failure  # not from what was raised, which may show the token

    def answered(self, method: str, head: Head) -> None:
        """Tell the provider of the *head* of an answer to a message sent by *method*."""
        answered = self._answered
        if answered is None:
            return
        try:
            answered(self._request(method), head.status, decode_fields(head.fields))
        except Exception as error:  # noqa: BLE001  # the user's code, which harms no message
            last = traceback.extract_tb(error.__traceback__)[-1]
            _log.warning(
                "%s: answered() of the token provider raised %s at %s:%s",
                self._who,
                type(error).__name__,  # what it says may show a token
                last.filename,
                last.lineno,
            )

    def _request(self, method: str) -> dict[str, str]:
        return {"url": self._url, "method": method}
