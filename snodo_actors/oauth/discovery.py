"""Finds the authorization server of an MCP server, and what it can do."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass

from snodo_actors.oauth.fetch import Fetcher
from snodo_actors.oauth.machines.discovery import (
    choose_issuer,
    refuse_issuer,
    refuse_resource,
    resource_metadata_urls,
    server_metadata_urls,
    usual_endpoints,
)
from snodo_actors.oauth.machines.said import listed, quoted
from snodo_actors.oauth.machines.urls import canonical_resource, check_endpoint, origin, shown
from snodo_actors.oauth.words.errors import AuthorizationError
from snodo_actors.oauth.words.metadata import (
    M,
    ResourceMetadata,
    ServerMetadata,
    read_metadata,
)

_log = logging.getLogger("snodo_actors.oauth")

_ABSENT = range(300, 500)
"""Statuses that mean: look at the next place."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where tokens for the MCP server at *server_url* are had.

    *resource* is what they are for, as the server itself writes it.
    """

    server_url: str
    resource: str
    metadata: ServerMetadata
    resource_metadata: str | None = None
    scopes_supported: tuple[str, ...] | None = None

    @property
    def issuer(self) -> str:
        """The authorization server."""
        return self.metadata.issuer


async def discover(
    fetcher: Fetcher,
    server_url: str,
    *,
    named: str | None,
    registered: str | None,
    before: str | None,
) -> Place:
    """Find where tokens for *server_url* are had.

    *named* is where its challenge said that its metadata are; *registered* the only issuer we are
    known at, *before* the one that issued the tokens so far.

    Raises:
        AuthorizationError: There are no metadata to be believed.
    """
    refused = check_endpoint(server_url)
    if refused is not None:
        raise AuthorizationError(
            "discovery", f"tokens are not sent to {shown(server_url)}: {refused}; use its https URL"
        )
    places = resource_metadata_urls(server_url, named)
    found = await _first(
        fetcher, places, ResourceMetadata, lambda it: refuse_resource(it, server_url), named=named
    )
    if found is None:  # a server of before 2025-06-18: it is its own authorization server
        issuer = origin(server_url)
        if registered is not None and registered != issuer:
            raise not_registered(registered, (issuer,), server_url)
        metadata = await server_metadata(fetcher, issuer)
        resource = canonical_resource(server_url)
        metadata = usual_endpoints(issuer) if metadata is None else metadata
        return Place(server_url, resource, metadata)
    where, about = found
    chosen = choose_issuer(about, registered=registered, before=before)
    if chosen is None:
        if registered is not None:
            raise not_registered(registered, about.authorization_servers, server_url)
        raise AuthorizationError(
            "discovery", f"the metadata of {shown(server_url)} name no authorization server"
        )
    metadata = await server_metadata(fetcher, chosen)
    if metadata is None:
        raise AuthorizationError(
            "discovery",
            f"the authorization server {shown(chosen)} has no metadata at any of "
            f"{', '.join(map(shown, server_metadata_urls(chosen)))}",
        )
    return Place(server_url, about.resource, metadata, where, about.scopes_supported)


def not_registered(
    registered: str, issuers: tuple[str, ...], server_url: str
) -> AuthorizationError:
    """Make the error for a server that takes no tokens of where we are *registered*."""
    return AuthorizationError(
        "registration",
        f"the client is registered at {registered}, and {shown(server_url)} takes tokens of "
        f"{listed(issuers, 'nobody')}: register there too, and give that client",
    )


async def server_metadata(fetcher: Fetcher, issuer: str) -> ServerMetadata | None:
    """Find the metadata of the authorization server; None: it has none."""
    refused = check_endpoint(issuer)
    if refused is not None:
        raise AuthorizationError(
            "discovery", f"the authorization server {quoted(issuer)} is refused: {refused}"
        )
    places = server_metadata_urls(issuer)
    found = await _first(fetcher, places, ServerMetadata, lambda it: refuse_issuer(it, issuer))
    if found is None:
        return None
    where, metadata = found
    for endpoint in (
        metadata.authorization_endpoint,
        metadata.token_endpoint,
        metadata.registration_endpoint,
    ):
        refused = None if endpoint is None else check_endpoint(endpoint)
        if refused is not None:
            raise AuthorizationError(
                "discovery",
                f"the metadata at {shown(where)} name {quoted(endpoint)}, which is refused: "
                f"{refused}",
            )
    return metadata


async def _first(
    fetcher: Fetcher,
    places: list[str],
    kind: type[M],
    refuse: Callable[[M], str | None],
    *,
    named: str | None = None,
) -> tuple[str, M] | None:
    """Read the document at the first place that has one; *refuse* says why it does not count.

    *named* is the place the server itself spoke of; the others are only looked into.
    """
    for place in places:
        try:
            answer = await fetcher.fetch("GET", place, headers=[("accept", "application/json")])
        except AuthorizationError as error:
            match error.cause:
                case ("redirect", _) if place != named:
                    continue  # to a page for people, as servers do that know of no metadata
                case _:
                    raise
        if answer.status == 200:
            metadata = read_metadata(answer.json(), kind)
            if isinstance(metadata, str):
                raise AuthorizationError(
                    "discovery", f"the metadata at {shown(place)} cannot be read: {metadata}"
                )
            refused = refuse(metadata)
            if refused is not None:
                raise AuthorizationError(
                    "discovery", f"the metadata at {shown(place)} do not count: {refused}"
                )
            _log.debug("metadata found at %s", shown(place))
            return place, metadata
        if answer.status not in _ABSENT:
            raise AuthorizationError(
                "discovery",
                f"{shown(place)} answered with HTTP status {answer.status}; try again later",
            )
    return None
