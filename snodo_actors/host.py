"""Where connections come from: opened for the calling process, or put into a supervision tree."""

from __future__ import annotations

from typing import Any, Final, Literal

from snodo_actors.actors import telemetry
from snodo_actors.actors.connection import (
    AnyOpening,
    close_connection,
    connection_spec,
    open_connection,
)
from snodo_actors.actors.request import ended_because, given_up
from snodo_actors.actors.stdio_opening import Opening
from snodo_actors.client import Client, WhenDown
from snodo_actors.words.checks import text
from snodo_actors.words.client_options import ClientOptions, allowed_versions
from snodo_actors.words.errors import Error
from snodo_actors.words.lost import connection_closed
from snodo_actors.words.stdio_options import StdioOptions
from snodo_actors.words.targets import read_target
from snodo_actors.words.types import Custom, Http, Stdio
from supervisors import (
    SHUTDOWN,
    Backoff,
    ChildSpec,
    ExitReason,
    Future,
    Node,
    Ref,
    current_node,
    self_,
    spawn,
    stop,
    when_down,
)

_STDIO_OPTIONS: Final = frozenset(
    ("env", "cd", "max_line_bytes", "max_server_requests", "stderr", "owner")
)
_HTTP_OPTIONS: Final = frozenset({
    "connect_timeout", "headers", "max_response_bytes", "pool_idle_timeout", "pool_max_requests",
    "pool_size", "proxy", "server_stream", "ssl", "token_provider", "transport",
})  # fmt: skip
RESTART_DELAY: Final = Backoff(initial=0.1, maximum=30.0)
"""How long a supervised connection waits before it starts its server again."""


def connect(target: Any, **options: Any) -> Future[Client]:
    """Connect to a server in another process.

    `connect(("stdio", command, [arguments]))` runs *command* and speaks over its stdin and stdout;
    `connect(("http", url))` speaks with the server at *url*. The future has the `Client` once the
    protocol version is settled; it fails with an `Error`. The connection closes when the calling
    process (actor, task or thread) ends.

    Options for every target, times in seconds: protocol, client_capabilities, client_info, timeout
    (30.0), probe_timeout (10.0), input_handlers, max_input_rounds, max_pages, cache. For stdio:
    env, cd, max_line_bytes, max_server_requests, stderr. For HTTP: headers, token_provider, ssl,
    proxy, transport, connect_timeout, max_response_bytes, pool_size, pool_idle_timeout,
    pool_max_requests, server_stream. For both: owner (another process, or a node: then the
    connection lives until it is closed).

    `connect((transport, argument))` uses a `Transport` of your own, which gets the options too; it
    is opened where the future is awaited.

    Raises:
        TypeError: The target or an option has the wrong type.
        ValueError: An option has a wrong value.
    """
    node = current_node()
    custom = read_target(target)
    if isinstance(custom, Custom):
        from snodo_actors.in_place import open_custom  # noqa: PLC0415  # few programs have one

        return open_custom(node, custom, options)
    opening = _read_opening(custom, options, owned=True)
    opened = _Opened(node, str(custom))
    if isinstance(opening, Error):
        opened.try_fail(opening)
        return opened

    async def open_it() -> None:
        start = node.now()
        telemetry.emit("connect.start", who=opening.who)
        try:
            refs = await open_connection(node, opening, opened.started)
        except Exception as error:  # noqa: BLE001  # the edge of the process: whoever waits is told
            _tell_of(opening.who, node.now() - start, None, error)
            opened.try_fail(error)
            return
        _tell_of(opening.who, node.now() - start, refs.profile.version, None)
        handle = Client(
            node,
            opening.who,
            opening.client,
            connection=refs.connection,
            port=refs.port,
            subscriptions=refs.subscriptions,
            profile=refs.profile,
            sharing=None if isinstance(opening, Opening) else opening.sharing,
        )
        if not opened.try_set(handle):
            await close_connection(refs.connection)

    def ended(down: Future[ExitReason]) -> None:
        if not opened.done():  # it was stopped with its node
            opened.try_fail(ended_because(down.get()).again().named(opening.who))

    when_down(spawn(open_it, node=node)).add_done_callback(ended)
    return opened


def _tell_of(who: str, duration: float, version: str | None, error: BaseException | None) -> None:
    telemetry.emit("connect.stop", who=who, duration=duration, version=version, error=error)


class _Opened(Future[Client]):
    """The client that will be there; a connection nobody waits for any more is closed."""

    __slots__ = ("_connection", "_who")

    def __init__(self, node: Node, who: str) -> None:
        super().__init__(node)
        self._who = who
        self._connection: Ref | None = None

    def started(self, connection: Ref) -> None:
        """Take note of the connection, which is there, though not settled yet."""
        self._connection = connection
        if self.done():
            stop(connection, SHUTDOWN)

    def _withdrawn(self) -> None:
        self._give_up(connection_closed("closed"))

    def _expired(self, timeout: float | None) -> None:
        self._give_up(given_up(self._who, timeout))

    def _give_up(self, error: Error) -> None:
        # Set first, looked at second, and in `started` the other way round: one of them sees both.
        self.try_fail(error)
        if self._connection is not None:
            stop(self._connection, SHUTDOWN)


def child_spec(
    name: str,
    target: Any,
    *,
    restart: Literal["permanent", "transient", "temporary"] = "permanent",
    restart_delay: Backoff | None = RESTART_DELAY,
    **options: Any,
) -> ChildSpec:
    """The spec that puts a connection into a supervision tree, under *name*.

    `client(name)` gives a handle that survives restarts. The server is started again, after
    *restart_delay*, for as long as it takes; it never takes its supervisor down. The options are
    those of `connect`.

    Raises:
        TypeError: The target or an option has the wrong type.
        ValueError: An option has a wrong value.
        Error: The `protocol` option names a version this client does not speak.
    """
    opening = _read_opening(target, options, owned=False, who=text("name", name))
    if isinstance(opening, Error):
        raise opening
    return connection_spec(name, opening, restart=restart, restart_delay=restart_delay)


def client(name: str, *, when_down: WhenDown = "wait", **options: Any) -> Client:
    """A handle on the connection that is, or will be, called *name*; it survives restarts.

    While the connection is down, a call waits for it within its own time, or with
    `when_down="fail"` fails at once. *options* are what calls of this handle use: timeout,
    input_handlers, max_input_rounds, max_pages, cache.

    Raises:
        TypeError: An option has the wrong type.
        ValueError: An option has a wrong value.
    """
    if when_down not in ("wait", "fail"):
        raise ValueError(f'when_down is "wait" or "fail", not {when_down!r}')
    return Client(
        current_node(),
        text("name", name),
        ClientOptions(**options),
        name=name,
        when_down=when_down,
    )


def _read_opening(
    target: Any, options: dict[str, Any], *, owned: bool, who: str | None = None
) -> AnyOpening | Error:
    read = read_target(target)
    if not isinstance(read, Stdio | Http):
        raise TypeError(f"a transport of one's own cannot be put into a tree: {read}")
    allowed = (
        allowed_versions(options.pop("protocol")) if "protocol" in options else allowed_versions()
    )
    if isinstance(allowed, Error):
        return allowed.named(who or str(read))
    if isinstance(read, Http):
        from snodo_actors.actors.http_opening import read_http_opening  # noqa: PLC0415  # not everybody has HTTP

        owner = _owner(options.pop("owner", None), owned)
        return read_http_opening(read, options, allowed, who or str(read), owner)
    for name in options.keys() & _HTTP_OPTIONS:
        raise TypeError(
            f"{name} is for HTTP targets; what a server over stdio has to know, its credentials "
            'too, goes into its environment: write env={"TOKEN": ...}'
        )
    stdio = {name: options.pop(name) for name in tuple(options) if name in _STDIO_OPTIONS}
    client = ClientOptions(**options)
    checked = StdioOptions(**stdio)
    return Opening(who or str(read), read, allowed, client, checked, _owner(checked.owner, owned))


def _owner(owner: Any, owned: bool) -> Ref | None:
    if owner is None:
        return self_() if owned else None
    if isinstance(owner, Ref):
        return owner
    if isinstance(owner, Node):
        return None
    raise TypeError(
        f"owner must be the ref of a process or a node, not {owner!r}: write owner=current_node()"
    )
