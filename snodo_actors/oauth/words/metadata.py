"""What servers publish about themselves: a protected resource, and an authorization server.

Knows which fields there are and of what type; believes nothing. Fields nobody here asks for are
passed over, as the standards want (RFC 9728, RFC 8414, OpenID Connect Discovery).
"""

from __future__ import annotations

from typing import Any, TypeVar

import msgspec


class ResourceMetadata(msgspec.Struct, frozen=True, kw_only=True):
    """The metadata of a protected resource, here an MCP server (RFC 9728)."""

    resource: str
    authorization_servers: tuple[str, ...] = ()
    scopes_supported: tuple[str, ...] | None = None


class ServerMetadata(msgspec.Struct, frozen=True, kw_only=True):
    """The metadata of an authorization server (RFC 8414)."""

    issuer: str
    token_endpoint: str
    authorization_endpoint: str | None = None
    registration_endpoint: str | None = None
    scopes_supported: tuple[str, ...] | None = None
    code_challenge_methods_supported: tuple[str, ...] | None = None
    token_endpoint_auth_methods_supported: tuple[str, ...] | None = None
    client_id_metadata_document_supported: bool | None = None
    authorization_response_iss_parameter_supported: bool | None = None


M = TypeVar("M", ResourceMetadata, ServerMetadata)


def read_metadata(value: Any, kind: type[M]) -> M | str:
    """Read a decoded document; a text says what is wrong with it."""
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        return str(error)
