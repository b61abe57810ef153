"""Assertions that somebody else signs: a text, or a function that has a fresh one."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias, cast

from snodo_actors.oauth.words.errors import AuthorizationError

Assertion: TypeAlias = str | Callable[[], str | Awaitable[str]]


async def read_assertion_source(source: Assertion, what: str) -> str:
    """Have the assertion; a plain function runs in a worker thread.

    Raises:
        AuthorizationError: The function failed, or gave no text.
    """
    if isinstance(source, str):
        return source
    import anyio.to_thread  # noqa: PLC0415  # costs 30 ms; it is there once a loop runs

    try:
        if inspect.iscoroutinefunction(source):
            value: Any = await source()
        else:
            value = await anyio.to_thread.run_sync(
                cast("Callable[[], Any]", source), abandon_on_cancel=True
            )
            value = await value if inspect.isawaitable(value) else value
    except Exception as error:
        raise AuthorizationError(
            "token", f"{what} could not be had: {type(error).__name__}: {error}", cause=error
        ) from error
    if not isinstance(value, str) or not value:
        raise AuthorizationError("token", f"{what} could not be had: its function gave no text")
    return value
