"""Connections over a transport of the user's own."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Mapping
from typing import Any, Final

from snodo_actors.actors.exchange import Exchange
from snodo_actors.actors.in_place import LOST
from snodo_actors.ports.calls import Flow
from snodo_actors.ports.transport import Carriage, carriage, missing, offers
from snodo_actors.words.client_options import ClientOptions, allowed_versions
from snodo_actors.words.errors import Error
from snodo_actors.words.lost import could_not_connect
from snodo_actors.words.types import Custom

_CLIENT_OPTIONS: Final = frozenset(
    field.name for field in dataclasses.fields(ClientOptions) if field.init
)


@dataclasses.dataclass(frozen=True, slots=True)
class CustomOpening:
    """What a connection over somebody's own transport is opened with, checked."""

    target: Custom
    allowed: tuple[str, ...]
    client: ClientOptions
    options: Mapping[str, Any]

    @property
    def can_notify(self) -> bool:
        """Whether an initialize-era version can be spoken."""
        return offers(self.target.transport, "notify")

    def connect(self) -> Flow[Carriage]:
        """Call the transport's `connect`, and bind its other functions to what that returned."""
        transport, answer = self.target.transport, Exchange(self.client).answer
        call = functools.partial(
            transport.connect, self.target.init_arg, **self.options, on_server_request=answer
        )
        try:
            state = yield call
        except LOST as error:
            raise could_not_connect(error) from error
        if isinstance(state, Error):
            raise state
        return carriage(transport, state)


def read_custom(target: Custom, options: dict[str, Any]) -> CustomOpening | Error:
    """Check what `connect` was given; the options that are not the client's are the transport's.

    Raises:
        TypeError: The transport lacks a function, or an option has the wrong type.
        ValueError: An option has a wrong value.
    """
    lacking = missing(target.transport)
    if lacking:
        raise TypeError(
            f"{target.transport!r} is no transport: it has no {', no '.join(lacking)}; "
            "snodo_actors.Transport says what one offers"
        )
    allowed = allowed_versions(options["protocol"]) if "protocol" in options else allowed_versions()
    if isinstance(allowed, Error):
        return allowed
    client = {name: value for name, value in options.items() if name in _CLIENT_OPTIONS}
    return CustomOpening(target, allowed, ClientOptions(**client), options)
