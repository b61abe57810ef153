"""Where the tokens of HTTP connections come from: the user's provider, with its hooks."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from snodo_actors.words.checks import mapping, text


@dataclass(frozen=True, slots=True, repr=False)
class TokenProvider:
    """Where bearer tokens come from: `token(request)` and `refresh(challenge, request)`.

    Attributes:
        at_hand: Gives a token that is there already, without waiting; None: `token` is asked.
        authorize: Makes the headers that a message carries in place of its bearer token.
        answered: Hears of the head of every answer.
        scheme: Which challenge counts where a server sends several; lower case.
        extensions: What the client declares of extensions, besides its own capabilities.
    """

    token: Callable[[Any], Any]
    refresh: Callable[[Any, Any], Any]
    at_hand: Callable[[Any], Any] | None = None
    authorize: Callable[[str, dict[str, str]], Any] | None = None
    answered: Callable[[dict[str, str], int, dict[str, str]], Any] | None = None
    scheme: str = "bearer"
    extensions: Mapping[str, Any] = field(default_factory=dict[str, Any])

    def __repr__(self) -> str:
        return "<a token provider>"  # what it is made of may hold secrets


def read_provider(value: Any) -> TokenProvider | None:
    """Read the option `token_provider`; no text of an error shows it, for it may hold secrets.

    Raises:
        TypeError: It lacks what every provider has, or has a hook that is none.
    """
    if value is None or isinstance(value, TokenProvider):
        return value
    match value:
        case (source, state):
            given: tuple[Any, ...] = (state,)
        case _:
            source, given = value, ()
    return TokenProvider(
        _method(source, "token", given),
        _method(source, "refresh", given),
        _hook(source, "at_hand", given),
        _hook(source, "authorize", given),
        _hook(source, "answered", given),
        text("token_provider.scheme", getattr(source, "scheme", "bearer")).lower(),
        _extensions(getattr(source, "extensions", {})),
    )


def _method(source: Any, name: str, given: tuple[Any, ...]) -> Callable[..., Any]:
    method: Callable[..., Any] | None = getattr(source, name, None)
    if not callable(method):
        raise TypeError(
            f"token_provider must have {name}(), which a {type(source).__name__} has not: "
            "write token_provider=(provider, state), or an object with token() and refresh()"
        )
    return partial(method, *given) if given else method


def _hook(source: Any, name: str, given: tuple[Any, ...]) -> Callable[..., Any] | None:
    if getattr(source, name, None) is None:
        return None
    hook = _method(source, name, given)
    if inspect.iscoroutinefunction(hook):
        raise TypeError(
            f"{name}() of the token_provider must be a plain function, for it is called on the way "
            f"of every message: write def {name}(...), and wait for what it needs in token()"
        )
    return hook


def _extensions(value: Any) -> dict[str, Any]:
    name = "token_provider.extensions"
    extensions = mapping(name, value)
    return {key: mapping(f"{name}[{key!r}]", settings) for key, settings in extensions.items()}
