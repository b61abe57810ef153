"""Which scopes are asked for.

Knows the order of who decides: the challenge of the moment, then who made the provider, then the
server's metadata. A challenge has nothing to do with what the metadata list (R-153, R-154).
"""

from __future__ import annotations

from collections.abc import Iterable

OFFLINE = "offline_access"


def choose_scopes(
    challenged: Iterable[str],
    configured: Iterable[str] | None,
    supported: Iterable[str] | None,
    before: Iterable[str],
) -> tuple[str, ...]:
    """Choose the scopes to ask for; none means that the parameter is left out.

    *before* is what was asked for earlier: it is kept, so that an operation that needs more does
    not take away what another one needs.
    """
    chosen = union(challenged, configured or ())
    if not chosen:
        chosen = union(supported or ()) if configured is None else ()
    return union(before, chosen)


def with_offline_access(
    scopes: tuple[str, ...], supported: Iterable[str] | None
) -> tuple[str, ...]:
    """Ask for a refresh token too, where the authorization server lists the scope for it.

    Where no scope is asked for, this one alone would mean "nothing but that".
    """
    if scopes and OFFLINE in (supported or ()):
        return union(scopes, [OFFLINE])
    return scopes


def union(*several: Iterable[str]) -> tuple[str, ...]:
    """Put scopes together, each once, in the order they came."""
    return tuple(dict.fromkeys(scope for scopes in several for scope in scopes if scope))
