"""The values callers get and give.

Results themselves are what the server sent: plain dicts with string keys.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from re import compile
from typing import Any, Final, Literal, NotRequired, TypeAlias, TypedDict, TypeGuard

from snodo_actors.words.errors import Error

_PASSWORD = compile("//[^/]*@")

JSONObject: TypeAlias = dict[str, Any]
Headers: TypeAlias = tuple[tuple[str, str], ...]

ListKind = Literal["tools", "resources", "resource_templates", "prompts"]
InputKind = Literal["form", "url", "sampling", "roots"]
Overflow = Literal["drop_oldest", "drop_newest"]
InputHandler: TypeAlias = Callable[[JSONObject], Any]
ProgressFunction: TypeAlias = Callable[[JSONObject], Any]


def is_object(value: Any) -> TypeGuard[JSONObject]:
    """Tell whether *value*, which came as JSON, is an object."""
    return isinstance(value, dict)


def is_list(value: Any) -> TypeGuard[list[Any]]:
    """Tell whether *value*, which came as JSON, is an array."""
    return isinstance(value, list)


def is_mapping(value: Any) -> TypeGuard[Mapping[Any, Any]]:
    """Tell whether *value*, which a caller gave, is a mapping."""
    return isinstance(value, dict) or isinstance(value, Mapping)  # noqa: SIM101  # what nearly all are is asked for without the machinery of abstract classes


class Inherit(Enum):
    """The value of an option that was not given, where None means something else."""

    INHERIT = "what the client has"


INHERIT: Final = Inherit.INHERIT


class Implementation(TypedDict):
    """Who a program is: `client_info`, or a server's name for itself."""

    name: str
    version: str
    title: NotRequired[str]
    description: NotRequired[str]
    websiteUrl: NotRequired[str]
    icons: NotRequired[Sequence[Mapping[str, Any]]]


class TraceContext(TypedDict):
    """The W3C trace fields of one request."""

    traceparent: str
    tracestate: NotRequired[str]


@dataclass(frozen=True, slots=True)
class Stdio:
    """A server to be run as a child process."""

    command: str
    args: tuple[str, ...] = ()

    def __str__(self) -> str:
        return " ".join(("stdio", self.command, *self.args))


@dataclass(frozen=True, slots=True)
class Http:
    """A server at a Streamable HTTP endpoint."""

    url: str = field(repr=False)

    def __str__(self) -> str:
        """Name it without what may be a secret: a password or a query."""
        plain = _PASSWORD.sub("//", self.url.partition("?")[0].partition("#")[0])
        return f"http {plain}"


@dataclass(frozen=True, slots=True)
class Custom:
    """A server behind somebody's own transport."""

    transport: Any
    init_arg: Any

    def __str__(self) -> str:
        return f"transport {getattr(self.transport, '__name__', type(self.transport).__name__)}"


Target: TypeAlias = Stdio | Http | Custom


@dataclass(frozen=True, slots=True)
class InputRequired:
    """An answer that asks for input before the request can be completed."""

    result: JSONObject

    @property
    def input_requests(self) -> JSONObject:
        """What is asked for, by request id; send the answers as `input_responses`."""
        requests = self.result.get("inputRequests")
        return requests if is_object(requests) else {}

    @property
    def request_state(self) -> Any:
        """What to send back unchanged as `request_state`; None when there is none."""
        return self.result.get("requestState")


@dataclass(frozen=True, slots=True)
class Session:
    """What `initialize` settled; a 2026-07-28 connection has none."""

    version: str
    id: str | None = field(default=None, repr=False)  # who knows it can speak in the session
    server_info: JSONObject = field(default_factory=dict[str, Any])
    server_capabilities: JSONObject = field(default_factory=dict[str, Any])
    instructions: str | None = None


@dataclass(frozen=True, slots=True)
class Page:
    """One page of a list; `next_cursor` is None on the last."""

    items: list[JSONObject]
    next_cursor: str | None
    result: JSONObject


@dataclass(frozen=True, slots=True)
class Acknowledged:
    """What the acknowledgement of a `listen` settled; `id` names the stream on the wire."""

    ref: Any
    id: int
    accepted: JSONObject


@dataclass(frozen=True, slots=True)
class Challenge:
    """One challenge of a `www-authenticate` header; scheme and names are lower case."""

    scheme: str
    params: dict[str, str] = field(default_factory=dict[str, str])

    @property
    def resource_metadata(self) -> str | None:
        """Where the metadata of the protected resource are."""
        return self.params.get("resource_metadata")

    @property
    def scope(self) -> list[str]:
        """The scopes the request needs."""
        return [scope for scope in self.params.get("scope", "").split(" ") if scope]

    @property
    def error(self) -> str | None:
        """Why the request was refused, such as ``insufficient_scope``."""
        return self.params.get("error")

    @property
    def error_description(self) -> str | None:
        """The refusal in the server's words."""
        return self.params.get("error_description")


# What an owner receives: ("snodo_subscription", ref, payload), ("snodo_progress", params).
Notification: TypeAlias = tuple[Literal["notification"], str, JSONObject]
Dropped: TypeAlias = tuple[Literal["dropped"], int]
Closed: TypeAlias = tuple[Literal["closed"], Literal["complete"] | Error]
Payload: TypeAlias = Notification | Dropped | Closed
SubscriptionMessage: TypeAlias = tuple[Literal["snodo_subscription"], Hashable, Payload]
ProgressMessage: TypeAlias = tuple[Literal["snodo_progress"], JSONObject]
