"""Authorization servers and protected servers, as many as a test likes."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from oauth.servers.kit import Authority, Program, Resource
from places import at, pytest_generate_tests  # noqa: F401  # pytest finds them here


@pytest.fixture(scope="session")
def programs() -> Iterator[dict[str, Program]]:
    """The programs of the servers: started together, each takes most of a second of its own."""
    running = {name: Program(f"{name}.py") for name in ("authority", "resource")}
    yield running
    for program in running.values():
        program.stop()


@pytest.fixture
def authority_of(programs: dict[str, Program]) -> Iterator[Callable[..., Authority]]:
    """Makes authorization servers that run until the test ends."""
    made: list[Authority] = []

    def make(**knobs: object) -> Authority:
        made.append(Authority(programs["authority"], **knobs))
        return made[-1]

    yield make
    for one in made:
        one.end()


@pytest.fixture
def resource_of(programs: dict[str, Program]) -> Iterator[Callable[..., Resource]]:
    """Makes protected servers that run until the test ends.

    The first arguments are their authorization servers, or the issuers of these.
    """
    made: list[Resource] = []

    def make(*authorities: Authority | str, **knobs: object) -> Resource:
        issuers = [one.issuer if isinstance(one, Authority) else one for one in authorities]
        made.append(Resource(programs["resource"], authorities=issuers, **knobs))
        return made[-1]

    yield make
    for one in made:
        one.end()


@pytest.fixture
def authority(authority_of: Callable[..., Authority]) -> Authority:
    """An ordinary authorization server."""
    return authority_of()


@pytest.fixture
def resource(resource_of: Callable[..., Resource], authority: Authority) -> Resource:
    """A protected server of the ordinary authorization server."""
    return resource_of(authority)


@pytest.fixture
def protect(
    authority_of: Callable[..., Authority], resource_of: Callable[..., Resource]
) -> Callable[..., tuple[Authority, Resource]]:
    """Makes an authorization server and a server it protects.

    The knobs of the first are in a dictionary, those of the second are the keywords.
    """

    def make(knobs: dict[str, object] | None = None, **rest: object) -> tuple[Authority, Resource]:
        authority = authority_of(**(knobs or {}))
        return authority, resource_of(authority, **rest)

    return make
