"""What an HTTP connection is opened with, and how it is read from the options of `connect`."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import Any, Final

from snodo_actors.actors.caching import Sharing
from snodo_actors.actors.http_sharing import sharing_of_endpoint
from snodo_actors.actors.starts import Starts
from snodo_actors.ports.http.origin import Origin, read_origin
from snodo_actors.words.client_options import ClientOptions
from snodo_actors.words.errors import Error
from snodo_actors.words.http_options import HttpOptions
from snodo_actors.words.types import Http
from supervisors import Ref

_HTTP_OPTIONS: Final = frozenset(field.name for field in dataclasses.fields(HttpOptions))


@dataclass(frozen=True, slots=True, repr=False)
class HttpOpening:
    """What an HTTP connection is opened with, checked."""

    who: str
    target: Http
    origin: Origin
    allowed: tuple[str, ...]
    client: ClientOptions
    http: HttpOptions
    owner: Ref | None = None
    starts: Starts = field(default_factory=Starts)

    def __repr__(self) -> str:
        return f"<the opening of {self.who}>"  # headers and options may hold secrets

    @property
    def sharing(self) -> Sharing:
        """With whom its client shares what is kept."""
        return sharing_of_endpoint(self.target.url, self.http)


def read_http_opening(
    target: Http, options: dict[str, Any], allowed: tuple[str, ...], who: str, owner: Ref | None
) -> HttpOpening | Error:
    """Check what `connect` was given for an HTTP target.

    Raises:
        TypeError: An option has the wrong type.
        ValueError: An option has a wrong value.
    """
    own = {name: options.pop(name) for name in tuple(options) if name in _HTTP_OPTIONS}
    client, http = ClientOptions(**options), HttpOptions(**own)
    origin = read_origin(target.url, http)
    if isinstance(origin, Error):
        return origin.named(who)
    return HttpOpening(who, target, origin, allowed, client, http, owner)
