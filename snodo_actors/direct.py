"""Clients of servers in the same Python process."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

from snodo_actors.actors.caching import sharing_of_runtime
from snodo_actors.client import Client
from snodo_actors.ports.transport import Carriage
from snodo_actors.words.client_options import ClientOptions, allowed_versions
from snodo_actors.words.errors import Error
from supervisors import Future, current_node

if TYPE_CHECKING:
    from snodo_actors.ports.calls import Flow


class Runtime(Protocol):
    """An in-process server, as `direct` needs it."""

    @property
    def name(self) -> str:
        """What the server is called."""
        ...

    @property
    def versions(self) -> Sequence[str]:
        """The protocol versions that are enabled, newest first."""
        ...

    def attach(self, *, auth: Any) -> Carriage:
        """Make the functions that the messages of one client go through."""
        ...


def direct(runtime: Runtime, **options: Any) -> Future[Client]:
    """Make a client of an in-process server, such as `server.runtime()`.

    Its calls run in the task or thread that awaits them, and have no timeout. The newest allowed
    version that the server enables is spoken; the handshake of an initialize-era version is made
    where the future is awaited. The future has the `Client`; it fails with an `Error`.

    Options: protocol, client_capabilities, client_info, input_handlers, max_input_rounds,
    max_pages, cache, and auth, which the functions of the server see.

    Raises:
        TypeError: *runtime* is none, or an option has the wrong type.
        ValueError: An option has a wrong value.
    """
    if not callable(getattr(runtime, "attach", None)):
        raise TypeError(f"{runtime!r} is no runtime: write direct(server.runtime())")
    node, who = current_node(), f"direct {runtime.name}"
    allowed = (
        allowed_versions(options.pop("protocol")) if "protocol" in options else allowed_versions()
    )
    if isinstance(allowed, Error):
        refused: Future[Client] = Future(node)
        refused.try_fail(allowed.named(who))
        return refused
    client = ClientOptions(**options)
    from snodo_actors.machines.negotiation import Negotiation  # noqa: PLC0415  # few programs need it

    negotiation = Negotiation(
        allowed, capabilities=client.capabilities, client_info=client.client_info
    )

    def connect() -> Flow[Carriage]:
        yield from ()
        return runtime.attach(auth=client.auth)

    from snodo_actors.in_place import open_in_place  # noqa: PLC0415  # few programs need it

    begin = negotiation.start_direct(runtime.versions)
    return open_in_place(
        node,
        who,
        client,
        negotiation=negotiation,
        deed=begin,
        connect=connect,
        sharing=sharing_of_runtime(runtime, client.auth),
    )
