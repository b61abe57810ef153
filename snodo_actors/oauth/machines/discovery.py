"""Where metadata are looked for, and which are believed.

Knows the well-known places and whom a document may speak for; knows nothing of requests.
"""

from __future__ import annotations

from urllib.parse import urlsplit

from snodo_actors.oauth.machines.said import quoted
from snodo_actors.oauth.machines.urls import covers, origin, shown
from snodo_actors.oauth.words.metadata import ResourceMetadata, ServerMetadata

_RESOURCE = "/.well-known/oauth-protected-resource"
_SERVER = "/.well-known/oauth-authorization-server"
_OPENID = "/.well-known/openid-configuration"


def resource_metadata_urls(server_url: str, named: str | None) -> list[str]:
    """List where the metadata of an MCP server may be: what it *named*, its path, its root."""
    top, parts = origin(server_url), urlsplit(server_url)
    path = parts.path.rstrip("/")
    query = f"?{parts.query}" if parts.query else ""
    places = [] if named is None else [named]
    places += [f"{top}{_RESOURCE}{path}{query}", f"{top}{_RESOURCE}"]
    return list(dict.fromkeys(places))


def refuse_resource(metadata: ResourceMetadata, server_url: str) -> str | None:
    """Say why the metadata are not those of *server_url*, or None (RFC 9728, section 3.3)."""
    if not covers(metadata.resource, server_url):
        return f"they are about {quoted(metadata.resource)}, not about {shown(server_url)}"
    return None


def choose_issuer(
    metadata: ResourceMetadata, *, registered: str | None, before: str | None
) -> str | None:
    """Choose among the authorization servers: where we are registered, where we were, the first."""
    servers = metadata.authorization_servers
    if registered is not None:
        return registered if registered in servers else None
    return before if before in servers else next(iter(servers), None)


def server_metadata_urls(issuer: str) -> list[str]:
    """List where the metadata of an authorization server may be (R-129, R-130)."""
    top, path = origin(issuer), urlsplit(issuer).path.rstrip("/")
    places = [f"{top}{_SERVER}{path}", f"{top}{_OPENID}{path}"]
    return [*places, f"{top}{path}{_OPENID}"] if path else places


def refuse_issuer(metadata: ServerMetadata, issuer: str) -> str | None:
    """Say why the metadata are not those of *issuer*, or None: it must be the very same text."""
    if metadata.issuer != issuer:
        return f"they name the issuer {quoted(metadata.issuer)}, not {quoted(issuer)}"
    return None


def usual_endpoints(issuer: str) -> ServerMetadata:
    """Build what was usual before servers had metadata: three endpoints at the root."""
    top = origin(issuer)
    return ServerMetadata(
        issuer=issuer,
        authorization_endpoint=f"{top}/authorize",
        token_endpoint=f"{top}/token",
        registration_endpoint=f"{top}/register",
        code_challenge_methods_supported=("S256",),
        token_endpoint_auth_methods_supported=("none", "client_secret_post"),
    )
